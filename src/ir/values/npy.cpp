#include "ir/values/npy.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "support/files.h"

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

/// What a header says, and where the elements begin.
struct Header {
  NpyArray array;
  size_t bytes = 0;
  int64_t needed = 0;  ///< bytes of elements
};

/// `begin`: the file's first bytes, its whole header among them.
Result<Header> npy_header(std::string_view begin, int64_t byte_limit) {
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(begin[at])); };
  if (begin.size() < 10 || begin.substr(0, kMagic.size()) != kMagic) return malformed_npy("no .npy file");
  const size_t major = byte(6), minor = byte(7), start = major == 1 ? 10 : 12;
  if ((major != 1 && major != 2) || minor != 0)
    return malformed_npy("version " + std::to_string(major) + "." + std::to_string(minor) + " is not 1.0 or 2.0");
  if (begin.size() < start) return malformed_npy("the file ends inside its header");
  size_t length = byte(8) | byte(9) << 8;
  if (major == 2) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kHeaderLimit || begin.size() - start < length) return malformed_npy("the file ends inside its header");
  Result<NpyArray> array = HeaderReader(begin.substr(start, length)).read();
  if (!array) return array.error();
  if (width_of(array->descr) == 0) return malformed_npy("the element type '" + array->descr + "' is not supported");
  const int64_t needed = bytes_needed(*array, byte_limit);
  if (needed < 0) return malformed_npy("the array needs more than " + std::to_string(byte_limit) + " bytes");
  return Header{std::move(*array), start + length, needed};
}

Status has_its_elements(const Header& header, uint64_t file_bytes) {
  const uint64_t present = file_bytes - std::min<uint64_t>(file_bytes, header.bytes);
  if (present == static_cast<uint64_t>(header.needed)) return Ok{};
  return malformed_npy("the array needs " + std::to_string(header.needed) + " bytes, the file has " +
                       std::to_string(present));
}

Status is_of_type(const NpyArray& array, ElementType type) {
  if (array.descr == npy_descr(type)) return Ok{};
  return fail("PW0170", "holds '" + array.descr + "', a tensor of " + name_of(type) + " is '" + npy_descr(type) + "'");
}

/// A file whose header is read.
struct OpenArray {
  RegularFile file;
  std::string begin;  ///< the header, and elements as far as they were read with it
  Header header;
};

// Nothing but the header is read of a file that does not keep what it says.
Result<OpenArray> open_array(const std::string& path, ElementType type, int64_t byte_limit) {
  const auto refused = [&](const Error& error) { return fail("PW0170", path + ": " + error.message, error.notes); };
  auto file = RegularFile::open(path, "PW0171");
  if (!file) return file.error();
  auto begin = file->next(kHeaderLimit + 12);
  if (!begin) return begin.error();
  auto header = npy_header(*begin, byte_limit);
  if (!header) return refused(header.error());
  if (Status whole = has_its_elements(*header, file->bytes()); !whole) return refused(whole.error());
  if (Status right = is_of_type(header->array, type); !right) return refused(right.error());
  return OpenArray{std::move(*file), std::move(*begin), std::move(*header)};
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
  auto header = npy_header({reinterpret_cast<const char*>(file.data()), file.size()}, byte_limit);
  if (!header) return header.error();
  if (Status whole = has_its_elements(*header, file.size()); !whole) return whole.error();
  const auto data = file.subspan(header->bytes);
  header->array.bytes.assign(data.begin(), data.end());
  return std::move(header->array);
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

Result<std::vector<int64_t>> npy_extents(const std::string& path, ElementType type) {
  auto open = open_array(path, type, kMostNpyBytes);
  if (!open) return open.error();
  return std::move(open->header.array.extents);
}

Result<TensorData> read_npy(const std::string& path, ElementType type, int64_t byte_limit) {
  auto open = open_array(path, type, byte_limit);
  if (!open) return open.error();
  const auto needed = static_cast<size_t>(open->header.needed);
  const std::string_view first = std::string_view(open->begin).substr(open->header.bytes);
  TensorData out;
  out.type = type;
  out.extents = std::move(open->header.array.extents);
  out.bytes.assign(first.begin(), first.end());
  if (first.size() < needed) {
    const auto others = open->file.next(needed - first.size());
    if (!others) return others.error();
    out.bytes.insert(out.bytes.end(), others->begin(), others->end());
  }
  if (out.bytes.size() != needed) return fail("PW0171", path + ": was changed while it was read");
  return out;
}

Status write_npy(const std::string& path, const TensorData& tensor) {
  const std::vector<unsigned char> bytes = npy_bytes(tensor);
  if (write_whole_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return Ok{};
  return fail("PW0172", path + ": cannot be written");
}

}  // namespace polyweft::ir
