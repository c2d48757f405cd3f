#include "targets/unit/commands.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "targets/unit/runtime/unit_table.h"

namespace polyweft::targets {
namespace {

/// In the order of unit_kind, with what each must be told.
struct KnownCommand {
  const char* name;
  std::vector<const char*> needs;
  bool is_needed = true;
};
const std::vector<KnownCommand>& known_commands() {
  static const std::vector<KnownCommand> all = {{"stride", {"stride"}, false},
                                                {"copy_in", {"memory", "local", "rows", "bytes"}},
                                                {"copy_out", {"memory", "local", "rows", "bytes"}},
                                                {"zero", {"local", "rows", "bytes"}},
                                                {"product", {"a", "b", "c", "rows", "columns", "depth"}},
                                                {"commit", {}},
                                                {"wait", {"groups"}},
                                                {"finish", {}}};
  return all;
}
/// In the order of unit_operand.
constexpr std::array<const char*, unit_operands> kOperands = {"memory", "local",   "rows",    "bytes",   "stride",
                                                              "apart",  "a",       "b",       "c",       "columns",
                                                              "depth",  "a_apart", "b_apart", "c_apart", "groups"};

struct WrongLine {
  std::string why;
};

int64_t number_in_command(const std::string& text, int64_t most) {
  char* end = nullptr;
  const int64_t out = std::strtoll(text.c_str(), &end, 0);
  if (text.empty() || *end != 0 || out < 0 || out > most)
    throw WrongLine{"'" + text + "' is no number up to " + std::to_string(most)};
  return out;
}

UnitField field_of_command(const std::string& word) {
  UnitField out;
  const size_t equals = word.find('=');
  if (equals == std::string::npos) throw WrongLine{"'" + word + "': expected OPERAND=rs1 or OPERAND=rs2<<SHIFT"};
  const std::string left = word.substr(0, equals), right = word.substr(equals + 1);
  const size_t slash = left.find('/'), shift = right.find("<<");
  out.operand = left.substr(0, slash);
  if (slash != std::string::npos) out.divisor = number_in_command(left.substr(slash + 1), 1 << 20);
  if (std::find(kOperands.begin(), kOperands.end(), out.operand) == kOperands.end())
    throw WrongLine{"there is no operand '" + out.operand + "'"};
  const std::string source = right.substr(0, shift);
  if (source != "rs1" && source != "rs2") throw WrongLine{"'" + source + "' is neither rs1 nor rs2"};
  out.source = source == "rs1" ? 1 : 2;
  if (shift != std::string::npos) out.shift = static_cast<int>(number_in_command(right.substr(shift + 2), 63));
  if (out.divisor < 1) throw WrongLine{"'" + word + "' divides by 0"};
  return out;
}

UnitCommand command_of_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  constexpr size_t kHead = 4;
  if (words.size() < kHead) throw WrongLine{"expected COMMAND OPCODE FUNCT3 FUNCT7 and operands"};
  UnitCommand out;
  out.name = words[0];
  out.opcode = static_cast<int>(number_in_command(words[1], 127));
  out.funct3 = static_cast<int>(number_in_command(words[2], 7));
  out.funct7 = static_cast<int>(number_in_command(words[3], 127));
  const auto& all = known_commands();
  const auto known = std::find_if(all.begin(), all.end(), [&](const KnownCommand& c) { return c.name == out.name; });
  if (known == all.end()) throw WrongLine{"there is no command '" + out.name + "'"};
  for (size_t k = kHead; k < words.size(); ++k) out.fields.push_back(field_of_command(words[k]));
  for (const char* needed : known->needs)
    if (std::none_of(out.fields.begin(), out.fields.end(), [&](const UnitField& f) { return f.operand == needed; }))
      throw WrongLine{"it does not say where '" + std::string(needed) + "' lies"};
  for (UnitField& field : out.fields)
    for (const UnitField& other : out.fields) {
      if (&other == &field || other.source != field.source) continue;
      if (other.shift == field.shift) throw WrongLine{field.operand + " and " + other.operand + " begin at one bit"};
      if (other.shift > field.shift) field.bits = std::min(field.bits, other.shift - field.shift);
    }
  for (UnitField& field : out.fields) field.bits = std::min(field.bits, 64 - field.shift);
  return out;
}

int64_t rounded_figure(const Figure<double>& figure) {
  return static_cast<int64_t>(figure.value + 0.5);
}

}  // namespace

Result<std::vector<UnitCommand>> unit_commands(const Machine& machine) {
  std::vector<UnitCommand> out;
  for (const std::string& line : machine.unit.commands) {
    try {
      UnitCommand command = command_of_line(line);
      for (const UnitCommand& other : out)
        if (other.name == command.name ||
            (other.opcode == command.opcode && other.funct3 == command.funct3 && other.funct7 == command.funct7))
          throw WrongLine{"it has the name or the numbers of another"};
      out.push_back(std::move(command));
    } catch (const WrongLine& problem) {
      return fail("PW0511", "commands: '" + line + "': " + problem.why, {"docs/accelerators.md has their form"});
    }
  }
  for (const KnownCommand& known : known_commands())
    if (known.is_needed && std::none_of(out.begin(), out.end(), [&](const auto& c) { return c.name == known.name; }))
      return fail("PW0511", "commands: there is no '" + std::string(known.name) + "'",
                  {"docs/accelerators.md has their form"});
  return out;
}

Result<std::vector<int64_t>> unit_table(const Machine& machine) {
  const auto commands = unit_commands(machine);
  if (!commands) return commands.error();
  const UnitFigures& unit = machine.unit;
  std::vector<int64_t> out(unit_figures);
  out[unit_scratchpad_bytes] = unit.scratchpad_bytes.value;
  out[unit_accumulator_bytes] = unit.accumulator_bytes.value;
  out[unit_accumulator_first] = unit.accumulator_first.value;
  out[unit_row_bytes] = unit.scratchpad_row_bytes.value;
  out[unit_accumulator_row_bytes] = unit.accumulator_row_bytes.value;
  out[unit_element_bytes] = 1;
  out[unit_element_is_signed_a] = out[unit_element_is_signed_b] = 1;
  out[unit_copy_latency] = rounded_figure(unit.copy_latency_cycles);
  out[unit_copy_bytes_per_cycle] = rounded_figure(unit.copy_bytes_per_cycle);
  out[unit_copies_in_flight] = unit.copies_in_flight.value;
  out[unit_queue] = unit.queued_commands.value;
  out[unit_product_row_cycles] = rounded_figure(unit.product_row_cycles);
  out[unit_product_cycles] = rounded_figure(unit.product_cycles);
  out[unit_zero_row_cycles] = rounded_figure(unit.zero_row_cycles);
  out[unit_command_cycles] = rounded_figure(unit.command_cycles);
  out[unit_clock_mhz] = static_cast<int64_t>(machine.clock_ghz.value * 1000 + 0.5);
  out[unit_command_count] = static_cast<int64_t>(commands->size());
  for (const UnitCommand& command : *commands) {
    const auto& all = known_commands();
    const auto kind = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == command.name; });
    std::vector<int64_t> numbers(unit_command_numbers);
    numbers[0] = kind - all.begin();
    numbers[1] = command.opcode, numbers[2] = command.funct3, numbers[3] = command.funct7;
    for (const UnitField& field : command.fields) {
      const auto at = std::find(kOperands.begin(), kOperands.end(), field.operand) - kOperands.begin();
      int64_t* to = &numbers[static_cast<size_t>(unit_command_head + unit_field_numbers * at)];
      to[0] = field.source, to[1] = field.shift, to[2] = field.bits, to[3] = field.divisor;
    }
    out.insert(out.end(), numbers.begin(), numbers.end());
  }
  return out;
}

}  // namespace polyweft::targets
