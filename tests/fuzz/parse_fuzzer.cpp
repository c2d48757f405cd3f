// libFuzzer target: any text is refused with messages or gives programs that print, parse back and keep their key.
//   cmake -S . -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DPW_FUZZERS=ON
//   ninja -C build/fuzz parse_fuzzer && build/fuzz/tests/fuzz/parse_fuzzer -dict=tests/fuzz/weft.dict CORPUS
//   tests/lang/programs tests/error
#include <cstddef>
#include <cstdint>

#include "ir/text/render.h"
#include "lang/canonical.h"
#include "lang/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto parsed = polyweft::lang::parse(text, "fuzzed");
  if (!parsed.ok()) {
    PW_CHECK(!polyweft::render(parsed.error(), text).empty());
    return 0;
  }
  for (const polyweft::Program& program : parsed->programs) {
    std::string printed = polyweft::print(program);
    auto again = polyweft::lang::parse(printed, "printed");
    PW_CHECK(again.ok());
    PW_CHECK(polyweft::print(again->programs[0]) == printed);
    polyweft::Program without_const = program;
    without_const.const_parameters = again->programs[0].const_parameters;
    PW_CHECK(polyweft::lang::key_of(without_const) == polyweft::lang::key_of(again->programs[0]));
  }
  return 0;
}
