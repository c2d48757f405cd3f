#include "input_files.h"

#include <fmt/format.h>

#include "standard_streams.h"

namespace polyweft::cli {
namespace {

std::string names_of(const Program& program, const std::vector<TensorId>& tensors) {
  std::string out;
  for (TensorId t : tensors) out += (out.empty() ? "" : ", ") + program.tensors[t].name;
  return out;
}

}  // namespace

Result<std::map<std::string, std::string>> named_paths(const std::vector<std::string>& texts, const char* option) {
  std::map<std::string, std::string> out;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail("PW0003", std::string(option) + " " + text + ": expected NAME=FILE.npy");
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

Status names_exist(const std::map<std::string, std::string>& paths, const Program& program,
                   const std::vector<TensorId>& tensors, const char* what) {
  for (const auto& [name, path] : paths) {
    bool found = false;
    for (TensorId t : tensors) found |= program.tensors[t].name == name;
    if (!found)
      return fail("PW0005", fmt::format("{} is no {} of {}", name, what, program.name),
                  {"it has: " + names_of(program, tensors)});
  }
  return Ok{};
}

Result<std::map<std::string, TensorData>> read_inputs(const std::vector<std::string>& texts, const Program& program) {
  auto paths = named_paths(texts, "--input");
  if (!paths) return paths.error();
  if (auto known = names_exist(*paths, program, program.inputs(), "input"); !known) return known.error();
  std::map<std::string, TensorData> out;
  for (const TensorId id : program.inputs()) {
    const Tensor& tensor = program.tensors[id];
    const auto path = paths->find(tensor.name);
    if (path == paths->end()) continue;
    auto file = readable_path(path->second);
    if (!file) return file.error();
    auto loaded = read_npy(*file, tensor.type);
    if (!loaded) return loaded.error();
    out.emplace(tensor.name, std::move(*loaded));
  }
  return out;
}

}  // namespace polyweft::cli
