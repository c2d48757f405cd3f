// The independent checker on base nests and on broken ones.
#include "corpus.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"

namespace polyweft::poly_test {
namespace {

struct Made {
  Program program;
  LoopNest nest;
};

std::optional<Made> made(const Program& program, int64_t size, NumericsClass cls) {
  Program bound = normalize(small(program, size));
  auto nest = poly::base_nest(bound, cls);
  if (!nest) return std::nullopt;
  return Made{bound, *nest};
}

std::string words(const poly::NestCheck& check) {
  return std::string(name_of(check.verdict)) + " " + check.code + " " + check.message;
}

TEST(CheckNest, proves_the_base_nests_of_the_language) {
  for (const Program& program : corpus()) {
    auto m = made(program, 6, NumericsClass::reassoc);
    if (!m) continue;
    poly::NestCheck check = poly::check_nest(m->program, m->nest);
    EXPECT_EQ(check.verdict, Verdict::proven) << program.name << ": " << words(check);
  }
}

}  // namespace
}  // namespace polyweft::poly_test
