#include "targets/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "targets/plain_run.h"

namespace polyweft::targets_test {
namespace {

halide_type_t halide_type(ElementType type) {
  if (type == ElementType::bf16) return {halide_type_bfloat, 16, 1};
  if (type == ElementType::boolean) return {halide_type_uint, 1, 1};
  if (type == ElementType::u8) return {halide_type_uint, 8, 1};
  return {is_float(type) ? halide_type_float : halide_type_int, static_cast<uint8_t>(8 * size_bytes(type)), 1};
}

Literal any_value(ElementType type, std::mt19937_64& random) {
  if (!is_float(type)) {
    const int64_t choices[] = {
        0, 1, -1, ir::least_of(type), ir::greatest_of(type), static_cast<int64_t>(random() % 64)};
    return ir::integer_literal(type, random() % 3 == 0 ? choices[random() % 6] : static_cast<int64_t>(random()));
  }
  static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e-40, 6e-8, 65504.0, 3e38, 0.5};
  if (random() % 6 == 0) return ir::float_literal(type, special[random() % std::size(special)]);
  const double mantissa = static_cast<double>(static_cast<int64_t>(random() % 2'000'001) - 1'000'000) / 1e6;
  return ir::float_literal(type, std::ldexp(mantissa, static_cast<int>(random() % 12) - 4));
}

}  // namespace

LoopNest parsed(const std::string& text) {
  auto nest = parse_loop_nest(text);
  EXPECT_TRUE(nest.ok()) << (nest.ok() ? "" : nest.error().message);
  if (!nest) return {};
  const Status status = verify(*nest);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return *nest;
}

TensorData argument_data(const Buffer& buffer) {
  return buffer.is_packed ? make_tensor(ElementType::u8, {allocated_elements(buffer) * size_bytes(buffer.type)})
                          : make_tensor(buffer.type, buffer.extents);
}

void fill(TensorData& data, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int64_t k = 0; k < data.elements(); ++k) data.set(k, any_value(data.type, random));
}

Argument::Argument(TensorData& data) : data_(&data), dims_(data.extents.size()) {
  int32_t stride = 1;
  for (size_t d = 0; d < dims_.size(); ++d) {
    dims_[d] = {0, static_cast<int32_t>(data.extents[dims_.size() - 1 - d]), stride, 0};
    stride *= dims_[d].extent;
  }
  buffer_.host = data.bytes.data();
  buffer_.type = halide_type(data.type);
  buffer_.dimensions = static_cast<int32_t>(dims_.size());
  buffer_.dim = dims_.data();
}

void Argument::align() {
  constexpr uintptr_t kAlignment = 64;
  aligned_.assign(data_->bytes.size() + kAlignment, 0);
  const auto begin = (reinterpret_cast<uintptr_t>(aligned_.data()) + kAlignment - 1) / kAlignment * kAlignment;
  buffer_.host = std::copy(data_->bytes.begin(), data_->bytes.end(), reinterpret_cast<unsigned char*>(begin)) -
                 data_->bytes.size();
}

void Argument::take_back() {
  if (!aligned_.empty()) std::copy_n(buffer_.host, data_->bytes.size(), data_->bytes.begin());
}

Loaded load(const LoopNest& nest, const Target& target) {
  Loaded out;
  auto object = targets::compile_object(nest, target);
  EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().message);
  if (!object) return out;
  out.object = *object;
  auto code = targets::load_code(out.object);
  EXPECT_TRUE(code.ok()) << (code.ok() ? "" : code.error().message);
  if (code) out.code = std::move(*code);
  return out;
}

namespace {

int call_with(void* kernel, const std::vector<std::unique_ptr<Argument>>& buffers) {
  const auto at = [&](size_t k) { return buffers[k]->get(); };
  using B = halide_buffer_t*;
  switch (buffers.size()) {
    case 1:
      return reinterpret_cast<int (*)(B)>(kernel)(at(0));
    case 2:
      return reinterpret_cast<int (*)(B, B)>(kernel)(at(0), at(1));
    case 3:
      return reinterpret_cast<int (*)(B, B, B)>(kernel)(at(0), at(1), at(2));
    case 4:
      return reinterpret_cast<int (*)(B, B, B, B)>(kernel)(at(0), at(1), at(2), at(3));
    default:
      ADD_FAILURE() << "call() takes 1 to 4 arguments";
      return -1;
  }
}

}  // namespace

int call(void* kernel, std::vector<TensorData>& arguments) {
  std::vector<std::unique_ptr<Argument>> buffers;
  for (auto& data : arguments) {
    buffers.push_back(std::make_unique<Argument>(data));
    if (data.type == ElementType::u8 && data.extents.size() == 1) buffers.back()->align();  // it may be a packed one
  }
  const int code = call_with(kernel, buffers);
  for (auto& buffer : buffers) buffer->take_back();
  return code;
}

std::string difference(const TensorData& a, const TensorData& b) {
  for (int64_t k = 0; k < a.elements(); ++k) {
    const Literal x = a.at(k), y = b.at(k);
    const bool both_nan = is_float(a.type) && std::isnan(x.f) && std::isnan(y.f);
    if (both_nan || x == y) continue;
    char text[120];
    std::snprintf(text, sizeof text, "element %lld: %.17g / %lld against %.17g / %lld", static_cast<long long>(k), x.f,
                  static_cast<long long>(x.i), y.f, static_cast<long long>(y.i));
    return text;
  }
  return "";
}

void fill_promised(TensorData& data, const Buffer& buffer, uint64_t seed) {
  fill(data, seed);
  if (!buffer.values) return;
  std::mt19937_64 random(seed);
  const auto span = static_cast<uint64_t>(buffer.values->hi - buffer.values->lo);
  for (int64_t k = 0; k < data.elements(); ++k)
    data.set(k, ir::integer_literal(data.type, buffer.values->lo + static_cast<int64_t>(random() % span)));
}

std::string compiled_difference(const LoopNest& nest, const Target& target, uint64_t seed) {
  auto object = targets::compile_object(nest, target);
  if (!object) return object.error().code == "PW0599" ? "compile: " + object.error().message : "";
  auto code = targets::load_code(*object);
  if (!code) return "load: " + code.error().message;
  std::vector<TensorData> expected;
  for (size_t a = 0; a < nest.arguments.size(); ++a) {
    const Buffer& buffer = nest.buffers[nest.arguments[a]];
    expected.push_back(argument_data(buffer));
    fill_promised(expected.back(), buffer, seed + a);
  }
  std::vector<TensorData> got = expected;
  PlainRun(nest).run(expected);
  if (const int status = call((*code)->address(nest.name), got); status != 0)
    return "the kernel returned " + std::to_string(status);
  for (size_t a = 0; a < got.size(); ++a)
    if (const std::string what = difference(got[a], expected[a]); !what.empty())
      return nest.buffers[nest.arguments[a]].name + " on " + target.name + ": " + what;
  return "";
}

std::vector<Target> runnable_targets() {
  std::vector<Target> out;
  for (const char* name : {"host", "x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"}) {
    auto target = find_target(name);
    EXPECT_TRUE(target.ok());
    if (target && target->is_host) out.push_back(*target);
  }
  return out;
}

void expect_same_bits(const LoopNest& nest, int rounds) {
  for (const Target& target : runnable_targets()) {
    const Loaded kernel = load(nest, target);
    if (!kernel.code) return;
    void* entry = kernel.code->address(nest.name);
    ASSERT_NE(entry, nullptr);
    for (int round = 0; round < rounds; ++round) {
      std::vector<TensorData> expected;
      for (size_t a = 0; a < nest.arguments.size(); ++a) {
        expected.push_back(argument_data(nest.buffers[nest.arguments[a]]));
        fill(expected.back(), 1000 * static_cast<uint64_t>(round) + a);
      }
      std::vector<TensorData> got = expected;
      PlainRun(nest).run(expected);
      ASSERT_EQ(call(entry, got), 0) << target.name;
      for (size_t a = 0; a < got.size(); ++a)
        ASSERT_EQ(difference(got[a], expected[a]), "") << nest.buffers[nest.arguments[a]].name << " on " << target.name
                                                       << " (compiled against interpreted), round " << round << "\n"
                                                       << print(nest);
    }
  }
}

}  // namespace polyweft::targets_test
