// Descriptions of units: read and printed, one message for each thing that is wrong; instructions as text of assembly.
#include <algorithm>

#include "backend/bits.h"
#include "targets/registry.h"
#include "unit/machines.h"

namespace polyweft::unit_test {
namespace {

std::string plain_description(const std::string& more) {
  return "architecture = \"riscv64-unit\"\nfeatures = [\"a\", \"c\", \"d\", \"f\", \"m\", \"unaligned-scalar-mem\", "
         "\"unit-16x16x16-s8\", \"v\", \"zvl128b\"]\nscratchpad_bytes = 4096\n" +
         more;
}
std::string said_of(const std::string& commands) {
  const auto target = parse_target(plain_description("commands = [" + commands + "]\n"), "t");
  return target ? std::string() : target.error().code + " " + target.error().message;
}

TEST(UnitDescriptions, are_printed_as_they_are_read) {
  for (const char* path : {kGemmini, kMadeUp}) {
    const Target target = machine_of(path);
    EXPECT_TRUE(target.machine.has_unit());
    const auto again = parse_target(describe(target), "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(describe(*again), describe(target));
    EXPECT_EQ(fingerprint(*again), fingerprint(target));
  }
  Target other = machine_of(kGemmini);
  other.machine.unit.copy_latency_cycles.value += 1;
  EXPECT_NE(fingerprint(other), fingerprint(machine_of(kGemmini)));
  EXPECT_EQ(describe(find_target("riscv64-v128").value()).find("scratchpad"), std::string::npos);
}

TEST(UnitDescriptions, what_is_wrong_with_a_command_is_said) {
  const auto begins = [](const std::string& commands, const std::string& with) {
    EXPECT_EQ(said_of(commands).substr(0, with.size()), with);
  };
  begins("\"copy_in 1 2\"", "PW0511 t: commands: 'copy_in 1 2': expected COMMAND OPCODE FUNCT3 FUNCT7 and operands");
  begins("\"jump 1 2 3\"", "PW0511 t: commands: 'jump 1 2 3': there is no command 'jump'");
  begins("\"commit 1 2 x\"", "PW0511 t: commands: 'commit 1 2 x': 'x' is no number up to 127");
  begins("\"commit 1 8 0\"", "PW0511 t: commands: 'commit 1 8 0': '8' is no number up to 7");
  begins("\"wait 1 2 3\"", "PW0511 t: commands: 'wait 1 2 3': it does not say where 'groups' lies");
  begins("\"wait 1 2 3 groups\"",
         "PW0511 t: commands: 'wait 1 2 3 groups': 'groups': expected OPERAND=rs1 or OPERAND=rs2<<SHIFT");
  begins("\"wait 1 2 3 groups=rs3\"", "PW0511 t: commands: 'wait 1 2 3 groups=rs3': 'rs3' is neither rs1 nor rs2");
  begins("\"wait 1 2 3 group=rs1\"", "PW0511 t: commands: 'wait 1 2 3 group=rs1': there is no operand 'group'");
  begins("\"wait 1 2 3 groups/0=rs1\"", "PW0511 t: commands: 'wait 1 2 3 groups/0=rs1': 'groups/0=rs1' divides by 0");
  begins("\"wait 1 2 3 groups=rs1 rows=rs1\"",
         "PW0511 t: commands: 'wait 1 2 3 groups=rs1 rows=rs1': groups and rows begin at one bit");
  begins("\"commit 1 2 3\", \"finish 1 2 3\"",
         "PW0511 t: commands: 'finish 1 2 3': it has the name or the numbers of another");
  begins("\"commit 1 2 3\"", "PW0511 t: commands: there is no 'copy_in'");
}

TEST(UnitDescriptions, what_nobody_reads_is_an_error) {
  const auto said = [](const std::string& text) {
    const auto target = parse_target(text, "t");
    return target ? std::string() : target.error().code + " " + target.error().message;
  };
  const std::string text = describe(machine_of(kMadeUp));
  EXPECT_EQ(said(text), "");
  EXPECT_EQ(said("scratchpad_byte = 3\n" + text), "PW0511 t: line 1: there is no key 'scratchpad_byte'");
  EXPECT_EQ(said("x.rows = 3\n" + text), "PW0511 t: line 1: there is no key 'x'");
  EXPECT_EQ(said("probed = [\"clock\"]\n" + text), "PW0511 t: probed: there is no key 'clock'");
  EXPECT_EQ(said("probed = [\"clock_ghz\", \"cache_bytes[1]\"]\n" + text), "");
  // Each description of ours without one letter of one key, and with one more.
  for (const char* path : {kGemmini, kMadeUp}) {
    const std::string own = describe(machine_of(path));
    for (size_t at = own.find('\n'); at + 1 < own.size(); at = own.find('\n', at + 1)) {
      if (own[at + 1] == ' ' || own[at + 1] == ']') continue;  // inside of a list
      std::string cut = own, more = own;
      cut.erase(at + 1, 1), more.insert(at + 1, "x");
      EXPECT_NE(said(cut), "") << cut.substr(at + 1, 20);
      EXPECT_NE(said(more), "") << more.substr(at + 1, 20);
    }
  }
}

TEST(UnitDescriptions, a_unit_without_an_instruction_is_an_error) {
  const std::string text = describe(machine_of(kMadeUp));
  const auto with = [&](const std::string& feature) {
    const std::string own = "\"unit-8x8x32-s8\"";
    std::string out = text;
    return parse_target(out.replace(out.find(own), own.size(), feature), "t");
  };
  const auto unknown = with("\"unit-9x9x9-s8\"");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code + " " + unknown.error().message,
            "PW0511 t: features: there is no instruction of the unit 'unit-9x9x9-s8'");
  EXPECT_EQ(unknown.error().notes.at(0).find("known are unit-16x16x16-s8, unit-8x8x32-s8"), 0u);
  const auto none = with("\"v\"");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message.find("t: scratchpad_bytes: there is a unit, and features name none: unit-16x16x16-s8"),
            0u);
}

TEST(UnitDescriptions, installed_ones_are_found_by_name) {
  const auto names = description_names();
  EXPECT_TRUE(std::find(names.begin(), names.end(), "gemmini") != names.end());
  const auto target = find_target("gemmini");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(fingerprint(*target), fingerprint(machine_of(kGemmini)));
  const auto of_record = target_of_fingerprint(fingerprint(machine_of(kGemmini)));
  ASSERT_TRUE(of_record) << of_record.error().message;
  EXPECT_EQ(describe(*of_record), describe(*target));
  EXPECT_EQ(target_of_fingerprint("pdp11/16/").error().code, "PW0540");
  EXPECT_EQ(find_target("gemini").error().code, "PW0510");
}

TEST(UnitDescriptions, commands_are_instructions_of_type_r) {
  const Target target = machine_of(kGemmini);
  const Program program = backend_test::program_of_text(
      "program mm(M = 16, N = 16, K = 64)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) "
      "* "
      "i32(B[k, j])\n");
  const LoopNest nest = unit_nest(program, unit_trace(target, 16, 16, 32, 2));
  const auto made = targets::backend_of(target.architecture)->emit(nest, target, Emit::llvm, {"kernel"});
  ASSERT_TRUE(made) << made.error().message;
  const std::string text(made->begin(), made->end());
  for (const char* part : {".insn r 123, 3, 2, x0", ".insn r 123, 3, 3, x0", ".insn r 123, 3, 4, x0"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(text.find("polyweft_unit_instructions"), std::string::npos);  // products for files count nothing
}

}  // namespace
}  // namespace polyweft::unit_test
