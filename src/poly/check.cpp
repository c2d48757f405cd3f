#include "poly/check.h"

#include "poly/check_domains.h"

namespace polyweft::poly {

CheckReport check(const Program& program, const CheckOptions& options) {
  CheckReport report;
  Context context;
  Model model(context, program, Sizes::symbolic);
  Inquiry inquiry(model, options, report);
  check_empty(inquiry);
  check_overlap(inquiry);
  check_reads(inquiry);
  check_arguments(inquiry);
  check_outputs(inquiry);
  check_combiners(inquiry);
  if (report.errors.empty()) check_order(inquiry);
  return report;
}

}  // namespace polyweft::poly
