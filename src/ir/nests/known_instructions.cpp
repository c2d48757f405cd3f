// The instructions that nests and targets may name: those that this library was built with, and files of folders that
// the process was told of.
#include <algorithm>
#include <filesystem>

#include "ir/nests/added_instructions.h"
#include "ir/nests/instruction.h"
#include "ir/text/instruction_texts.h"
#include "support/files.h"
#include "support/hash.h"

namespace polyweft::ir {
namespace {

namespace fs = std::filesystem;

struct Added {
  Instruction instruction;
  std::string text;
};
struct Known {
  std::deque<Instruction> all;     ///< whoever has the address of one keeps it
  std::vector<std::string> texts;  ///< of those that were added
};

Known built_in() {
  Known out;
  for (const char* text : instruction_texts()) {
    auto instruction = parse_instruction(text);
    PW_CHECK(instruction.ok());
    out.all.push_back(*std::move(instruction));
  }
  return out;
}

Known& known() {
  static Known all = built_in();
  return all;
}

Error unusable(const std::string& path, const std::string& why) {
  return fail("PW0020", "--instructions " + path + ": " + why, {"see docs/add_an_instruction.md"});
}

const Instruction* namesake(const std::string& name) {
  const auto& all = known().all;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Instruction& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool is_known(const std::string& text) {
  const auto& texts = known().texts;
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

void keep(Added added) {
  known().texts.push_back(std::move(added.text));
  known().all.push_back(std::move(added.instruction));
}

Result<std::vector<fs::path>> instruction_files(const std::string& folder) {
  std::error_code problem;
  std::vector<fs::path> out;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    if (at->path().extension() == ".instruction") out.push_back(at->path());
  if (problem) return unusable(folder, "cannot be read: " + problem.message());
  if (out.empty()) return unusable(folder, "has no file NAME.instruction");
  std::sort(out.begin(), out.end());
  return out;
}

Result<Added> instruction_in(const fs::path& path) {
  auto text = read_regular_file(path, kMostSettingsBytes, "PW0020");
  if (!text) return unusable(path, text.error().message);
  auto instruction = parse_instruction(*text);
  if (!instruction) return unusable(path, instruction.error().message);
  instruction->file = path;
  return Added{std::move(*instruction), std::move(*text)};
}

std::string operand_text(const Instruction& instruction, const Instruction::Operand& operand) {
  const Buffer& buffer = instruction.nest.buffers[operand.buffer];
  std::string extents;
  for (const int64_t extent : buffer.extents) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return buffer.name + ": " + name_of(buffer.type) + "[" + extents + "]";
}

}  // namespace

const std::deque<Instruction>& known_instructions() {
  return known().all;
}

// All of a folder or nothing. The same folder again changes nothing.
Status add_instructions(const std::string& folder) {
  const auto files = instruction_files(folder);
  if (!files) return files.error();
  std::vector<Added> added;
  for (const fs::path& file : *files) {
    auto one = instruction_in(file);
    if (!one) return one.error();
    if (is_known(one->text)) continue;
    const std::string& name = one->instruction.name;
    const auto has_its_name = [&](const Added& other) { return other.instruction.name == name; };
    if (namesake(name) || std::any_of(added.begin(), added.end(), has_its_name))
      return unusable(file, "there is an instruction '" + name + "' already");
    added.push_back(std::move(*one));
  }
  for (Added& one : added) keep(std::move(one));
  return Ok{};
}

std::vector<std::string> added_instruction_texts() {
  return known().texts;
}

Status add_instruction_texts(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (is_known(text)) continue;
    auto instruction = parse_instruction(text);
    if (!instruction) return fail("PW0020", instruction.error().message);
    if (namesake(instruction->name))
      return fail("PW0020", "there is an instruction '" + instruction->name + "' already");
    keep({std::move(*instruction), text});
  }
  return Ok{};
}

std::string key_of_added_instructions() {
  std::string all;
  for (const std::string& text : known().texts) all += text;
  return all.empty() ? all : hex(blake2b_128(all));
}

std::string product_text(const Instruction& instruction) {
  std::string out = operand_text(instruction, instruction.operands[0]);
  for (size_t k = 1; k < instruction.operands.size(); ++k)
    out += (k == 1 ? " += " : " * ") + operand_text(instruction, instruction.operands[k]);
  return out;
}

std::vector<std::string> instructions_of(const Target& target) {
  std::vector<std::string> out;
  for (const Instruction& instruction : known_instructions())
    if (instruction.runs_on(target)) out.push_back(instruction.name);
  return out;
}

std::vector<std::string> allowed_instructions(const std::vector<std::string>& names, NumericsClass cls) {
  std::vector<std::string> out;
  for (const std::string& name : names)
    if (const auto found = instruction_named(name); found && (*found)->allows(cls)) out.push_back(name);
  return out;
}

Result<const Instruction*> instruction_named(const std::string& name) {
  if (const Instruction* found = namesake(name)) return found;
  std::string names;
  for (const Instruction& instruction : known_instructions()) names += " " + instruction.name;
  return fail("PW0416", "there is no instruction '" + name + "'", {"known are" + names});
}

}  // namespace polyweft::ir
