// Files and texts to Programs; messages to text.
#include "ir/text/render.h"
#include "ir/values/npy.h"
#include "lang/canonical.h"
#include "lang/parser.h"
#include "polyweft/tuner.h"
#include "support/files.h"

namespace polyweft {

Result<ParsedPrograms> parse_programs(const std::string& text, const std::string& source_name) {
  auto parsed = lang::parse(text, source_name);
  if (!parsed) return parsed.error();
  return ParsedPrograms{std::move(parsed->programs), std::move(parsed->warnings)};
}

Result<Program> parse_program(const std::string& text) {
  auto parsed = parse_programs(text, "");
  if (!parsed) return parsed.error();
  return std::move(parsed->programs.front());
}

Result<std::string> read_file(const std::string& path, uint64_t most_bytes) {
  return read_regular_file(path, most_bytes, "PW0001");
}

Status write_file(const std::string& path, const std::string& bytes) {
  if (write_whole_file(path, bytes)) return Ok{};
  return fail("PW0004", path + ": cannot be written",
              {"does the folder exist, is there space, and may you write there?"});
}

namespace {

// FILE:PROGRAM where FILE itself does not exist; a path may hold a colon.
std::pair<std::string, std::string> split_name(const std::string& file_and_program) {
  const auto colon = file_and_program.rfind(':');
  if (colon == std::string::npos || colon == 0 || is_there(file_and_program)) return {file_and_program, ""};
  return {file_and_program.substr(0, colon), file_and_program.substr(colon + 1)};
}

}  // namespace

Result<Program> load_program(const std::string& file_and_program) {
  const auto [path, name] = split_name(file_and_program);
  auto text = read_file(path, kMostTextBytes);
  if (!text) return text.error();
  auto parsed = parse_programs(*text, path);
  if (!parsed) return parsed.error();
  if (name.empty()) return std::move(parsed->programs.front());
  std::string names;
  for (auto& program : parsed->programs) {
    if (program.name == name) return std::move(program);
    names += (names.empty() ? "" : ", ") + program.name;
  }
  return fail("PW0002", path + " has no program '" + name + "'", {"it has: " + names});
}

std::string program_key(const Program& program) {
  return lang::key_of(program);
}
Result<TensorData> read_npy(const std::string& path, ElementType expected) {
  return ir::read_npy(path, expected);
}
Result<std::vector<int64_t>> npy_extents(const std::string& path, ElementType expected) {
  return ir::npy_extents(path, expected);
}
Status write_npy(const std::string& path, const TensorData& data) {
  return ir::write_npy(path, data);
}

std::optional<Emit> emit_named(const std::string& name) {
  static const std::map<std::string, Emit> names = {
      {"object", Emit::object}, {"assembly", Emit::assembly},     {"llvm", Emit::llvm},
      {"shared", Emit::shared}, {"static", Emit::static_library}, {"header", Emit::header},
      {"c", Emit::c},           {"artifact", Emit::artifact}};
  const auto it = names.find(name);
  return it == names.end() ? std::nullopt : std::optional(it->second);
}

std::optional<ShowStage> stage_named(const std::string& name) {
  static const std::map<std::string, ShowStage> names = {
      {"program", ShowStage::program},   {"scop", ShowStage::scop},         {"dependences", ShowStage::dependences},
      {"schedule", ShowStage::schedule}, {"trace", ShowStage::trace},       {"loops", ShowStage::loops},
      {"llvm", ShowStage::llvm},         {"assembly", ShowStage::assembly}, {"storage", ShowStage::storage},
      {"vectors", ShowStage::vectors},   {"levels", ShowStage::levels}};
  const auto it = names.find(name);
  return it == names.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace polyweft
