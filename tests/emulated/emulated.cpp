#include "emulated/emulated.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "cpu.h"
#include "ir/oracles/interpreter.h"
#include "ir/values/scalar.h"
#include "targets/kernels.h"
#include "targets/registry.h"

namespace polyweft::emulated_test {
namespace {

using targets_test::Argument;

constexpr const char* kOwnFault = "the emulator died of a fault of its own";
constexpr const char* kSymbol = "kernel_of_test";

template <class T>
void put(std::ostream& out, const T& value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::ostream& out, TensorData& data) {
  const halide_type_t type = Argument(data).get()->type;
  put(out, static_cast<int32_t>(type.code));
  put(out, static_cast<int32_t>(type.bits));
  put(out, static_cast<int32_t>(data.extents.size()));
  for (const int64_t extent : data.extents) put(out, static_cast<int32_t>(extent));
  put(out, static_cast<int64_t>(data.bytes.size()));
  out.write(reinterpret_cast<const char*>(data.bytes.data()), static_cast<std::streamsize>(data.bytes.size()));
}

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-emulated-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// "" where the kernel ran and returned 0.
std::string call(const Emulator& emulator, const targets::Artifact& artifact, const std::string& symbol,
                 std::vector<TensorData>& arguments) {
  const Folder folder;
  std::ofstream(folder.file("kernel.so"), std::ios::binary)
      .write(reinterpret_cast<const char*>(artifact.bytes.data()), static_cast<std::streamsize>(artifact.bytes.size()));
  {
    std::ofstream in(folder.file("in"), std::ios::binary);
    put(in, static_cast<int32_t>(arguments.size()));
    for (TensorData& data : arguments) put(in, data);
  }
  const std::string command = emulator.command + " " + emulator.harness + " " + folder.file("kernel.so") + " " +
                              symbol + " < " + folder.file("in") + " > " + folder.file("out") + " 2> " +
                              folder.file("err");
  if (const int status = std::system(command.c_str()); status != 0) {
    std::ostringstream text;
    text << std::ifstream(folder.file("err")).rdbuf();
    if (!emulator.own_fault.empty() && text.str().find(emulator.own_fault) != std::string::npos) return kOwnFault;
    return "the emulator ended with " + std::to_string(status) + ": " + text.str();
  }
  std::ifstream out(folder.file("out"), std::ios::binary);
  int32_t code = 0;
  out.read(reinterpret_cast<char*>(&code), sizeof code);
  for (TensorData& data : arguments)
    out.read(reinterpret_cast<char*>(data.bytes.data()), static_cast<std::streamsize>(data.bytes.size()));
  if (!out) return "the emulator gave too little";
  return code == 0 ? "" : "the kernel returned " + std::to_string(code);
}

/// What a packed argument's own function makes of the tensor.
std::string pack(const Emulator& emulator, const targets::Artifact& artifact, const LoopNest& nest, BufferId packed,
                 TensorData& data) {
  const auto of = std::find_if(nest.packs.begin(), nest.packs.end(), [&](const Pack& p) { return p.packed == packed; });
  std::vector<TensorData> arguments = {data, targets_test::argument_data(nest.buffers[packed])};
  std::string problem =
      call(emulator, artifact, std::string(kSymbol) + "_pack_" + nest.buffers[of->source].name, arguments);
  data = std::move(arguments[1]);
  return problem;
}

BufferId unpacked(const LoopNest& nest, BufferId id) {
  for (const Pack& p : nest.packs)
    if (p.packed == id) return p.source;
  return id;
}

void fill_small(TensorData& data, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int64_t k = 0; k < data.elements(); ++k) {
    const auto value = static_cast<int64_t>(random() % 9) - 4;
    data.set(k, is_float(data.type) ? ir::float_literal(data.type, static_cast<double>(value))
                                    : ir::integer_literal(data.type, value));
  }
}

/// Of the elements that the nest writes.
std::string difference(const TensorData& got, const TensorData& wanted, const std::vector<uint8_t>& written) {
  TensorData seen = got;
  for (int64_t k = 0; k < seen.elements(); ++k)
    if (!written[static_cast<size_t>(k)]) seen.set(k, wanted.at(k));
  return targets_test::difference(seen, wanted);
}

}  // namespace

std::string emulated_difference(const LoopNest& nest, const Target& target, uint64_t seed, Values values) {
  const auto backend = targets::backend_for(target);
  if (!backend) return backend.error().message;
  const auto artifact = (*backend)->build(nest, target, {kSymbol, targets::Caller::anyone});
  if (!artifact) return "refused: " + artifact.error().code + " " + artifact.error().message;
  const Emulator emulator = emulator_of(target);
  std::vector<TensorData> inputs, got;
  for (size_t a = 0; a < nest.arguments.size(); ++a) {
    const BufferId id = nest.arguments[a];
    const Buffer& buffer = nest.buffers[unpacked(nest, id)];
    got.push_back(make_tensor(buffer.type, buffer.extents));
    targets_test::fill_promised(got.back(), buffer, seed + a);
    if (values == Values::small_whole) fill_small(got.back(), seed + a);
    if (!nest.buffers[id].is_output) inputs.push_back(got.back());
    if (!nest.buffers[id].is_packed) continue;
    if (std::string problem = pack(emulator, *artifact, nest, id, got.back()); !problem.empty())
      return "packing " + buffer.name + ": " + problem;
  }
  const auto wanted = ir::interpret(nest, inputs);
  if (!wanted) return wanted.error().message;
  if (std::string problem = call(emulator, *artifact, kSymbol, got); problem == kOwnFault)
    return test::leave_out(nest.name + " for " + target.name + ": " + problem), "";
  else if (!problem.empty())
    return problem;
  for (size_t k = 0; k < wanted->tensors.size(); ++k)
    if (const std::string what = difference(got[inputs.size() + k], wanted->tensors[k], wanted->written[k]);
        !what.empty())
      return "output " + std::to_string(k) + ": " + what;
  return "";
}

}  // namespace polyweft::emulated_test
