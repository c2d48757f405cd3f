#include "backend/bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "ir/oracles/interpreter.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "poly/base_nest.h"
#include "polyweft/tuner.h"

namespace polyweft::backend_test {

LoopNest nest_of_text(const std::string& text) {
  auto nest = parse_loop_nest(text);
  EXPECT_TRUE(nest) << (nest ? "" : nest.error().message);
  if (!nest) return {};
  const Status status = verify(*nest);
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return *nest;
}

Program program_of_text(const std::string& text) {
  auto program = parse_program(text);
  EXPECT_TRUE(program) << (program ? "" : program.error().message) << "\n" << text;
  return program ? normalize(polyweft::bind(*program, make_binding(*program, {}).value())) : Program();
}

LoopNest base_nest_of(const std::string& text) {
  auto nest = poly::base_nest(program_of_text(text), NumericsClass::strict);
  EXPECT_TRUE(nest) << (nest ? "" : nest.error().message);
  return nest ? *nest : LoopNest();
}

namespace {

/// Every third element becomes a value at which operators are special.
void put_special_values(TensorData& data, uint64_t seed) {
  std::mt19937_64 random(seed);
  const double reals[] = {0.0,   -0.0,   1,      -1.5,   2.5,    INFINITY, -INFINITY, NAN,
                          255.5, -128.5, 0x1p31, 0x1p63, 3.4e38, 1e-42,    1.7e308,   5e-324};
  const int64_t integers[] = {0,
                              1,
                              -1,
                              ir::least_of(data.type),
                              ir::greatest_of(data.type),
                              7,
                              -7,
                              (int64_t{1} << 60) + (int64_t{1} << 36) + 1};
  for (int64_t k = 0; k < data.elements(); ++k) {
    if (random() % 3 != 0) continue;
    const uint64_t choice = random();
    data.set(k, is_float(data.type) ? ir::float_literal(data.type, reals[choice % std::size(reals)])
                                    : ir::integer_literal(data.type, integers[choice % std::size(integers)]));
  }
}

}  // namespace

std::vector<TensorData> inputs_of(const Program& bound, uint64_t seed) {
  std::vector<TensorData> out = ir::seeded_inputs(bound, seed, ir::DataKind::random);
  const auto ids = bound.inputs();
  for (size_t k = 0; k < out.size(); ++k)
    if (!bound.tensors[ids[k]].values_lo) put_special_values(out[k], 100 * seed + k);
  return out;
}

namespace {

Literal any_value(ElementType type, std::mt19937_64& random) {
  if (!is_float(type)) return ir::integer_literal(type, static_cast<int64_t>(random()));
  const double near_middle[] = {1 + 0x1p-12, 1 + 0x1p-26, 1 + 0x1p-27, 0x1p-60, -0x1p-60};
  if (random() % 2) return ir::float_literal(type, near_middle[random() % std::size(near_middle)]);
  return ir::float_literal(
      type, std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(random() % 40) - 83));
}

}  // namespace

std::vector<TensorData> inputs_of(const LoopNest& nest, uint64_t seed) {
  std::vector<TensorData> out;
  std::mt19937_64 random(seed);
  for (BufferId id : nest.arguments) {
    const Buffer* b = &nest.buffers[id];
    for (const Pack& pack : nest.packs)
      if (pack.packed == id) b = &nest.buffers[pack.source];
    if (b->is_output) continue;
    out.push_back(make_tensor(b->type, b->extents));
    for (int64_t k = 0; k < out.back().elements(); ++k) out.back().set(k, any_value(b->type, random));
    put_special_values(out.back(), seed + out.size());
  }
  return out;
}

std::string first_difference(const TensorData& got, const TensorData& wanted) {
  for (int64_t k = 0; k < wanted.elements(); ++k) {
    const Literal x = got.at(k), y = wanted.at(k);
    if (x == y || (is_float(x.type) && std::isnan(x.f) && std::isnan(y.f))) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %lld is %a / %lld, not %a / %lld", static_cast<long long>(k), x.f,
                  static_cast<long long>(x.i), y.f, static_cast<long long>(y.i));
    return text;
  }
  return "";
}

Result<int> call(targets::LoadedKernel& kernel, std::vector<TensorData> inputs, std::vector<TensorData>& outputs) {
  std::vector<TensorData*> arguments;
  for (TensorData& data : inputs) arguments.push_back(&data);
  for (TensorData& data : outputs) arguments.push_back(&data);
  return kernel.call(arguments);
}

std::string difference_from_interpreter(const LoopNest& nest, targets::LoadedKernel& kernel,
                                        const std::vector<TensorData>& inputs) {
  const auto wanted = ir::interpret(nest, inputs);
  if (!wanted) return wanted.error().message;
  std::vector<TensorData> got;
  for (const TensorData& data : wanted->tensors) got.push_back(make_tensor(data.type, data.extents));
  const auto code = call(kernel, inputs, got);
  if (!code) return code.error().message + (code.error().notes.empty() ? "" : "\n" + code.error().notes[0]);
  if (*code != 0) return "returns " + std::to_string(*code);
  for (size_t k = 0; k < got.size(); ++k)
    if (const std::string difference = first_difference(got[k], wanted->tensors[k]); !difference.empty())
      return "output " + std::to_string(k) + ": " + difference;
  return "";
}

}  // namespace polyweft::backend_test
