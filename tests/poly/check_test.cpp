#include "poly/check.h"

#include <chrono>

#include "corpus.h"
#include "error/runner.h"
#include "ir/text/render.h"

namespace polyweft::poly_test {
namespace {

std::string messages(const std::string& text, const std::string& name) {
  auto parsed = lang::parse(text, name);
  if (!parsed) return render(parsed.error(), text);
  std::string out;
  for (const Program& program : parsed->programs) {
    poly::CheckReport report = poly::check(program);
    for (const Diagnostic& each : report.errors) out += render(each, name, text);
    for (const Diagnostic& each : report.warnings) out += render(each, name, text);
  }
  return out;
}

}  // namespace

TEST(Check, accepts_every_program_of_the_language) {
  for (const Program& program : corpus()) {
    poly::CheckReport report = poly::check(program);
    for (const Diagnostic& each : report.errors) ADD_FAILURE() << program.name << ": " << each.text;
    for (const Diagnostic& each : report.warnings) ADD_FAILURE() << program.name << ": " << each.text;
  }
}

TEST(Check, refuses_with_these_words) {
  error_test::run_cases(error_test::Stage::checks, messages);
}

}  // namespace polyweft::poly_test
