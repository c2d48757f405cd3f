#include "targets/gpu/device_program.h"

#include <algorithm>
#include <utility>

#include "ir/nests/sample_points.h"
#include "ir/values/float_places.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "targets/gpu/kernels.h"

namespace polyweft::targets {

bool keeps_promise(const Buffer& buffer, std::string_view part) {
  if (!buffer.values || buffer.is_output) return true;
  TensorData values = make_tensor(buffer.type, {static_cast<int64_t>(part.size()) / size_bytes(buffer.type)});
  std::copy_n(reinterpret_cast<const unsigned char*>(part.data()), values.bytes.size(), values.bytes.begin());
  for (int64_t i = 0; i < values.elements(); ++i)
    if (const int64_t place = ir::place_of(values.at(i)); place < buffer.values->lo || place >= buffer.values->hi)
      return false;
  return true;
}

DeviceProgram::DeviceProgram(DeviceNest device)
    : device_(std::move(device)),
      nest_(device_.nest),
      taken_(kernel_arguments(device_)),
      broken_(nest_.arguments.size(), false),
      values_(nest_.params.size() + nest_.loop_names.size(), 0) {
  for (size_t p = 0; p < nest_.params.size(); ++p) values_[p] = nest_.params[p].value;
}

size_t DeviceProgram::argument_bytes(size_t argument) const {
  return dense_bytes(nest_.buffers[given(argument)]);
}

Status DeviceProgram::put(size_t argument, size_t at, std::string_view bytes) {
  if (at == 0) broken_[argument] = false;
  if (!keeps_promise(nest_.buffers[given(argument)], bytes)) broken_[argument] = true;
  return bytes.empty() ? Status(Ok{}) : write(given(argument), at, bytes);
}

Status DeviceProgram::get(size_t argument, size_t at, std::span<char> bytes) {
  return bytes.empty() ? Status(Ok{}) : read(given(argument), at, bytes);
}

Result<DeviceCall> DeviceProgram::call() {
  DeviceCall out;
  if (std::find(broken_.begin(), broken_.end(), true) != broken_.end()) {
    out.code = ir::kValueOutOfRange;
    return out;
  }
  const auto ns = time(1);
  if (!ns) return ns.error();
  out.ns = *ns;
  for (BufferId id : taken_) {
    const auto side = changed_canary(id);
    if (!side) return side.error();
    if (!side->empty() && out.outside.empty()) out.outside = *side + nest_.buffers[id].name;
  }
  return out;
}

Status DeviceProgram::run(NodeId id) {
  if (id == kNoNode) return Ok{};
  if (const auto at = device_.kernel_at.find(id); at != device_.kernel_at.end()) return launch(at->second);
  const Node& node = nest_.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children)
      if (Status done = run(child); !done) return done;
  if (const auto* choice = std::get_if<If>(&node))
    return run(evaluate(choice->condition, values_) ? choice->then : choice->otherwise);
  if (const auto* alloc = std::get_if<Alloc>(&node)) return run(alloc->body);
  const auto* loop = std::get_if<Loop>(&node);
  if (!loop) return Ok{};
  const int64_t lo = ir::value_of(loop->lo, true, values_), hi = ir::value_of(loop->hi, false, values_);
  for (int64_t value = lo; value < hi; value += loop->step) {
    values_[loop->var] = value;
    if (Status done = run(loop->body); !done) return done;
  }
  return Ok{};
}

bool is_canary(std::span<const unsigned char> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == kCanary; });
}

}  // namespace polyweft::targets
