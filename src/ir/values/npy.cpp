#include "ir/values/npy.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

namespace polyweft::ir {
namespace {

constexpr std::array<const char*, 10> kDescr = {"<f8", "<f4", "<f2", "<u2", "<i8", "<i4", "<i2", "|i1", "|u1", "|b1"};
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kHeaderLimit = 65536;
constexpr size_t kMostDimensions = 32;

Error malformed_npy(std::string what) {
  return fail("PW0170", "npy: " + std::move(what), {"write it with numpy.save, C order, little-endian"});
}

/// Reads the header, a Python dictionary literal with exactly the keys descr, fortran_order and shape.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<NpyArray> read() {
    expect('{');
    while (!failed_ && !accept('}')) {
      read_entry();
      if (!accept(',') && peek() != '}') failed_ = true;
    }
    skip_space();
    if (failed_ || at_ != text_.size())
      return malformed_npy("the header is not a dictionary of descr, fortran_order, shape");
    if (seen_ != 7) return malformed_npy("the header lacks descr, fortran_order or shape");
    if (fortran_) return malformed_npy("the array is in Fortran order");
    return std::move(out_);
  }

 private:
  void read_entry() {
    std::string key = quoted();
    expect(':');
    if (key == "descr")
      set(1), out_.descr = quoted();
    else if (key == "fortran_order")
      set(2), fortran_ = boolean();
    else if (key == "shape")
      set(4), shape();
    else
      failed_ = true;
  }

  void set(int flag) {
    failed_ |= (seen_ & flag) != 0;
    seen_ |= flag;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) { failed_ |= !accept(wanted); }

  std::string quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"') return failed_ = true, "";
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return failed_ = true, "";
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  bool boolean() {
    skip_space();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    failed_ = true;
    return false;
  }

  void shape() {
    expect('(');
    while (!failed_ && !accept(')')) {
      out_.extents.push_back(number());
      if (!accept(',') && (peek() != ')' || out_.extents.size() < 2)) failed_ = true;
      failed_ |= out_.extents.size() > kMostDimensions;
    }
  }

  int64_t number() {
    skip_space();
    size_t start = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - start < 18)
      value = value * 10 + (text_[at_++] - '0');
    failed_ |= at_ == start || (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9');
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
  int seen_ = 0;
  bool fortran_ = false, failed_ = false;
  NpyArray out_;
};

int64_t width_of(const std::string& descr) {
  for (size_t k = 0; k < kDescr.size(); ++k)
    if (descr == kDescr[k]) return size_bytes(static_cast<ElementType>(k));
  return 0;
}

/// The bytes that the extents need, or -1 above the limit.
int64_t bytes_needed(const NpyArray& array, int64_t limit) {
  __int128 total = width_of(array.descr);
  for (int64_t extent : array.extents)
    if (extent == 0) return 0;
  for (int64_t extent : array.extents) {
    total *= extent;
    if (total > limit) return -1;
  }
  return static_cast<int64_t>(total);
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Result<std::vector<unsigned char>> file_bytes(const std::string& path, int64_t limit) {
  std::error_code error;
  uintmax_t size = std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
  File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (error || !file) return fail("PW0171", path + ": cannot be read");
  if (size > static_cast<uintmax_t>(limit) + kHeaderLimit)
    return malformed_npy(path + " has " + std::to_string(size) + " bytes, the limit is " + std::to_string(limit));
  std::vector<unsigned char> out(static_cast<size_t>(size));
  if (std::fread(out.data(), 1, out.size(), file.get()) != out.size()) return fail("PW0171", path + ": cannot be read");
  return out;
}

std::string header_text(const TensorData& tensor) {
  std::string shape;
  for (int64_t extent : tensor.extents) shape += std::to_string(extent) + ", ";
  if (tensor.extents.size() > 1) shape.resize(shape.size() - 2);
  if (tensor.extents.size() == 1) shape.pop_back();
  return "{'descr': '" + std::string(npy_descr(tensor.type)) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
}

}  // namespace

const char* npy_descr(ElementType type) {
  return kDescr[static_cast<size_t>(type)];
}

Result<NpyArray> parse_npy(std::span<const unsigned char> file, int64_t byte_limit) {
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < 10 || text.substr(0, kMagic.size()) != kMagic) return malformed_npy("no .npy file");
  int major = file[6], minor = file[7];
  if ((major != 1 && major != 2) || minor != 0)
    return malformed_npy("version " + std::to_string(major) + "." + std::to_string(minor) + " is not 1.0 or 2.0");
  size_t start = major == 1 ? 10 : 12;
  if (text.size() < start) return malformed_npy("the file ends inside its header");
  size_t length = file[8] | file[9] << 8;
  if (major == 2) length |= static_cast<size_t>(file[10]) << 16 | static_cast<size_t>(file[11]) << 24;
  if (length > kHeaderLimit || text.size() - start < length) return malformed_npy("the file ends inside its header");
  Result<NpyArray> array = HeaderReader(text.substr(start, length)).read();
  if (!array) return array;
  if (width_of(array->descr) == 0) return malformed_npy("the element type '" + array->descr + "' is not supported");
  int64_t needed = bytes_needed(*array, byte_limit);
  if (needed < 0) return malformed_npy("the array needs more than " + std::to_string(byte_limit) + " bytes");
  size_t present = text.size() - start - length;
  if (present != static_cast<size_t>(needed))
    return malformed_npy("the array needs " + std::to_string(needed) + " bytes, the file has " +
                         std::to_string(present));
  auto data = file.subspan(start + length);
  array->bytes.assign(data.begin(), data.end());
  return array;
}

std::vector<unsigned char> npy_bytes(const TensorData& tensor) {
  std::string header = header_text(tensor);
  size_t unpadded = 10 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\1';
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  std::vector<unsigned char> bytes(out.begin(), out.end());
  bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  return bytes;
}

Result<TensorData> read_npy(const std::string& path, ElementType type, int64_t byte_limit) {
  Result<std::vector<unsigned char>> file = file_bytes(path, byte_limit);
  if (!file) return file.error();
  Result<NpyArray> array = parse_npy(*file, byte_limit);
  if (!array) return fail("PW0170", path + ": " + array.error().message, array.error().notes);
  if (array->descr != npy_descr(type))
    return fail("PW0170", path + ": holds '" + array->descr + "', a tensor of " + name_of(type) + " is '" +
                              npy_descr(type) + "'");
  TensorData out;
  out.type = type;
  out.extents = std::move(array->extents);
  out.bytes = std::move(array->bytes);
  return out;
}

Status write_npy(const std::string& path, const TensorData& tensor) {
  std::vector<unsigned char> bytes = npy_bytes(tensor);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  bool closed = file && std::fclose(file) == 0;
  if (!written || !closed) return fail("PW0172", path + ": cannot be written");
  return Ok{};
}

}  // namespace polyweft::ir
