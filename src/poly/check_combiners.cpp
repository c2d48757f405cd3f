// What combiners promise (LANGUAGE.md section 2), tested: no isl in it.
#include "ir/values/combiner_promises.h"
#include "poly/check_domains.h"

namespace polyweft::poly {
namespace {

std::string broken_text(const Combiner& combiner, const ir::BrokenPromise& broken) {
  switch (broken.promise) {
    case ir::Promise::identity:
      return "what " + combiner.name + " starts from is not its identity: " + broken.witness;
    case ir::Promise::associative:
      return combiner.name + " is not associative: " + broken.witness;
    default:
      return combiner.name + " is not commutative: " + broken.witness;
  }
}

std::string promise_remedy(const ir::BrokenPromise& broken) {
  switch (broken.promise) {
    case ir::Promise::identity:
      return "partial results of an associative combiner start from it: give the identity after 'from', or drop "
             "'associative'";
    case ir::Promise::associative:
      return "drop 'associative': the terms are then folded one by one";
    default:
      return "drop 'commutative': the terms then keep their order";
  }
}

/// Of what only infinities and NaN break, one example is enough.
void report(Inquiry& inquiry, const Combiner& combiner, const std::vector<ir::BrokenPromise>& broken) {
  bool warned = false;
  for (const ir::BrokenPromise& each : broken) {
    if (!each.needs_special)
      inquiry.error("PW0212", broken_text(combiner, each), combiner.where, {promise_remedy(each)});
    else if (!warned)
      inquiry.warning("PW0213", broken_text(combiner, each), combiner.where,
                      {"with an infinity or a NaN in the data the result depends on the schedule"});
    warned |= each.needs_special;
  }
}

}  // namespace

void check_combiners(Inquiry& inquiry) {
  const Program& program = inquiry.program();
  for (uint32_t c = 0; c < program.combiners.size(); ++c)
    report(inquiry, program.combiners[c], ir::broken_promises(program, c));
}

}  // namespace polyweft::poly
