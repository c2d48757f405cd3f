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

// The shape comes first: what does not fit may be of any size.
Result<TensorData> load_input(const std::string& path, const Tensor& tensor) {
  constexpr uint64_t kMostHeader = 1 << 17;
  std::vector<int64_t> wanted;
  auto bytes = static_cast<uint64_t>(size_bytes(tensor.type));
  for (const Affine& extent : tensor.shape) {
    wanted.push_back(extent.constant);
    bytes *= static_cast<uint64_t>(extent.constant);
  }
  auto file = readable_path(path, bytes + kMostHeader);
  if (!file) return file.error();
  const auto extents = npy_extents(*file, tensor.type);
  if (!extents) return extents.error();
  if (*extents == wanted) return read_npy(*file, tensor.type);
  return fail("PW0006",
              fmt::format("{}: its shape [{}] is not the shape [{}] of {}", path, fmt::join(*extents, ", "),
                          fmt::join(wanted, ", "), tensor.name),
              {"bind the sizes with -p NAME=VALUE"});
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

Result<std::map<std::string, TensorData>> read_inputs(const std::vector<std::string>& texts, const Program& program,
                                                      const std::map<std::string, int64_t>& parameters) {
  auto paths = named_paths(texts, "--input");
  if (!paths) return paths.error();
  if (auto known = names_exist(*paths, program, program.inputs(), "input"); !known) return known.error();
  std::map<std::string, TensorData> out;
  if (paths->empty()) return out;
  const auto binding = make_binding(program, parameters);
  if (!binding) return binding.error();
  const Program bound = polyweft::bind(program, *binding);
  for (const TensorId id : program.inputs()) {
    const Tensor& tensor = program.tensors[id];
    const auto path = paths->find(tensor.name);
    if (path == paths->end()) continue;
    auto loaded = load_input(path->second, bound.tensors[id]);
    if (!loaded) return loaded.error();
    out.emplace(tensor.name, std::move(*loaded));
  }
  return out;
}

}  // namespace polyweft::cli
