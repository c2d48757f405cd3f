#include "ir/values/npy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "ir/values/scalar.h"

namespace polyweft {
namespace {

std::vector<unsigned char> file_of(const std::string& header, size_t data, char major = 1) {
  std::string text = std::string("\x93NUMPY", 6) + major + '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  if (major == 2) text += std::string(2, '\0');
  text += header + std::string(data, 'x');
  return {text.begin(), text.end()};
}

TensorData counting(ElementType type, std::vector<int64_t> extents) {
  TensorData out = make_tensor(type, std::move(extents));
  for (int64_t k = 0; k < out.elements(); ++k)
    out.set(k, is_float(type) ? ir::float_literal(type, k - 2) : ir::integer_literal(type, k));
  return out;
}

TEST(Npy, every_type_and_rank_round_trips) {
  std::string path = (std::filesystem::temp_directory_path() / "polyweft_npy_test.npy").string();
  for (int t = 0; t < 10; ++t) {
    for (const std::vector<int64_t>& extents : {std::vector<int64_t>{}, {5}, {2, 3}, {0, 4}, {1, 2, 3, 2}}) {
      TensorData tensor = counting(static_cast<ElementType>(t), extents);
      ASSERT_TRUE(ir::write_npy(path, tensor));
      auto back = ir::read_npy(path, tensor.type);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->extents, tensor.extents);
      EXPECT_EQ(back->bytes, tensor.bytes);
    }
  }
  std::filesystem::remove(path);
}

TEST(Npy, the_file_is_what_numpy_writes) {
  std::vector<unsigned char> bytes = ir::npy_bytes(counting(ElementType::f32, {3}));
  std::string text(bytes.begin(), bytes.end());
  EXPECT_EQ(bytes.size(), 128u + 12);
  EXPECT_EQ(text.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } ");
}

TEST(Npy, version_2_and_other_spellings_are_read) {
  auto array = ir::parse_npy(file_of("{\"shape\": (2,1), 'fortran_order':False,'descr':'|i1'}\n", 2, 2));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->extents, (std::vector<int64_t>{2, 1}));
}

TEST(Npy, malformed_files_are_refused) {
  const std::pair<std::string, size_t> bad[] = {
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", 4},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 4},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 5},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1), }", 4},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296,), }", 4},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 4},
      {"{'descr': '<f4', 'fortran_order': False, }", 4},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 4},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } y", 4},
      {"", 4},
      {"{", 0}};
  for (const auto& [header, data] : bad) {
    auto array = ir::parse_npy(file_of(header, data));
    ASSERT_FALSE(array) << header;
    EXPECT_EQ(array.error().code, "PW0170");
  }
  EXPECT_FALSE(ir::parse_npy({}));
  EXPECT_FALSE(ir::parse_npy(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 16), 15));
}

TEST(Npy, mutated_files_never_crash) {
  std::mt19937 random(3);
  std::vector<unsigned char> good = ir::npy_bytes(counting(ElementType::i16, {2, 3}));
  int accepted = 0;
  for (int k = 0; k < 20000; ++k) {
    std::vector<unsigned char> bad = good;
    for (int m = 0; m < 1 + k % 3; ++m) bad[random() % 80] = static_cast<unsigned char>(random());
    if (k % 5 == 0) bad.resize(random() % bad.size());
    accepted += ir::parse_npy(bad).ok();
  }
  EXPECT_LT(accepted, 10000);
}

TEST(Npy, a_wrong_type_is_named) {
  std::string path = (std::filesystem::temp_directory_path() / "polyweft_npy_type.npy").string();
  ASSERT_TRUE(ir::write_npy(path, counting(ElementType::f64, {1})));
  auto tensor = ir::read_npy(path, ElementType::f32);
  ASSERT_FALSE(tensor);
  EXPECT_NE(tensor.error().message.find("holds '<f8', a tensor of f32 is '<f4'"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(ir::read_npy(path, ElementType::f32).error().code, "PW0171");
}

}  // namespace
}  // namespace polyweft
