// TensorData: typed access to the bytes of a dense tensor. f16 and bf16 travel as their 16 bits.
#include <cstring>

#include "ir/values/scalar.h"
#include "polyweft/program.h"

namespace polyweft {
namespace {

template <class T>
T load(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(unsigned char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

double load_float(ElementType type, const unsigned char* from) {
  if (type == ElementType::f64) return load<double>(from);
  if (type == ElementType::f32) return load<float>(from);
  uint16_t bits = load<uint16_t>(from);
  return type == ElementType::f16 ? ir::f16_value(bits) : ir::bf16_value(bits);
}

void store_float(ElementType type, unsigned char* to, double value) {
  if (type == ElementType::f64) return store<double>(to, value);
  if (type == ElementType::f32) return store<float>(to, static_cast<float>(value));
  store<uint16_t>(to, type == ElementType::f16 ? ir::f16_bits(value) : ir::bf16_bits(value));
}

int64_t load_integer(ElementType type, const unsigned char* from) {
  switch (type) {
    case ElementType::i64:
      return load<int64_t>(from);
    case ElementType::i32:
      return load<int32_t>(from);
    case ElementType::i16:
      return load<int16_t>(from);
    case ElementType::i8:
      return load<int8_t>(from);
    case ElementType::boolean:
      return *from != 0;
    default:
      return *from;
  }
}

}  // namespace

int64_t TensorData::elements() const {
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  return count;
}

Literal TensorData::at(int64_t flat) const {
  int64_t width = size_bytes(type);
  PW_CHECK(flat >= 0 && (flat + 1) * width <= static_cast<int64_t>(bytes.size()));
  const unsigned char* from = bytes.data() + flat * width;
  Literal value;
  value.type = type;
  if (is_float(type))
    value.f = load_float(type, from);
  else
    value.i = load_integer(type, from);
  return value;
}

void TensorData::set(int64_t flat, const Literal& value) {
  int64_t width = size_bytes(type);
  PW_CHECK(value.type == type && flat >= 0 && (flat + 1) * width <= static_cast<int64_t>(bytes.size()));
  unsigned char* to = bytes.data() + flat * width;
  if (is_float(type))
    store_float(type, to, value.f);
  else
    std::memcpy(to, &value.i, static_cast<size_t>(width));
}

TensorData make_tensor(ElementType type, std::vector<int64_t> extents) {
  TensorData out;
  out.type = type;
  out.extents = std::move(extents);
  out.bytes.resize(static_cast<size_t>(out.elements() * size_bytes(type)));
  return out;
}

}  // namespace polyweft
