// .npy files, versions 1 and 2, little-endian, C order: how tensors come in and go out. bf16 travels as its 16 bits
// (<u2).
#pragma once

#include <span>
#include <string>

#include "polyweft/program.h"

namespace polyweft::ir {

/// A dense array as .npy says it: what numpy dtypes and our types share, and u16 for bf16.
struct NpyArray {
  std::string descr;  ///< "<f4", "<i8", "|b1" ..
  std::vector<int64_t> extents;
  std::vector<unsigned char> bytes;
};

inline constexpr int64_t kMostNpyBytes = int64_t{1} << 40;

/// Parses a whole .npy file. PW0170 with what is wrong for anything that is not exactly that: magic, version, header
/// text, descr, order, extents whose product overflows or exceeds `byte_limit`, missing or trailing bytes.
Result<NpyArray> parse_npy(std::span<const unsigned char> file, int64_t byte_limit = kMostNpyBytes);
/// The bytes of a .npy file (version 1; data aligned to 64 bytes).
std::vector<unsigned char> npy_bytes(const TensorData& tensor);

/// Reads a file as a tensor of this type (bf16 wants <u2, bool wants |b1). PW0170, PW0171 for a file that cannot be
/// read. Takes memory for the elements of an array that is there in whole, and for nothing else.
Result<TensorData> read_npy(const std::string& path, ElementType type, int64_t byte_limit = kMostNpyBytes);
/// Of the array that read_npy would give, by the header alone.
Result<std::vector<int64_t>> npy_extents(const std::string& path, ElementType type);
/// Writes a file; PW0172 when that fails.
Status write_npy(const std::string& path, const TensorData& tensor);

/// The numpy dtype of a type: "<f4", "<u2" for bf16, "|b1".
const char* npy_descr(ElementType type);

}  // namespace polyweft::ir
