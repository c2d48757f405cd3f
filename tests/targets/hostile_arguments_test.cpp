// Arguments that are wrong in every way that a caller can get wrong, one at a time and without a crash: no dimensions,
// addresses that are not aligned, ranks.
#include <HalideRuntime.h>
#include <gtest/gtest.h>

#include <functional>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

// A packed argument, a promise, ranks from 0 to 3, all widths of elements, and a tensor without elements.
const char* const kNests[] = {
    R"(nest 1 packed class strict
loops i, a
buffer X: f64[8] argument align 8
buffer W: f32[8] argument align 64 packed
buffer Y: f64[8] argument align 8 output
buffer src: f32[5] argument align 4
arguments X, W, Y
pack src to W {
  for a in 0 .. 8 {
    copy W[a] <- src[a] valid -a + 4 >= 0 else 0:f32
  }
}
body {
  for i in 0 .. 8 vector 8 {
    compute 0(i) store: Y[i] <- (X[i] * convert:f64(W[i]))
  }
}
)",
    R"(nest 1 promised class strict
loops i
buffer I: i16[6] argument align 2 values 0 .. 9
buffer S: f32[] argument align 4
buffer Y: f32[6] argument align 4 output
arguments I, S, Y
body {
  for i in 0 .. 6 {
    compute 0(i) store: Y[i] <- (convert:f32(I[i]) * S[])
  }
}
)",
    R"(nest 1 ranks class strict
loops a, b, c
buffer B: u8[2, 3, 4] argument align 1
buffer E: i64[0] argument align 8
buffer Y: i64[2, 3, 4] argument align 8 output
arguments B, E, Y
body {
  for a in 0 .. 2 {
    for b in 0 .. 3 {
      for c in 0 .. 4 {
        compute 0(a, b, c) store: Y[a, b, c] <- convert:i64(B[a, b, c])
      }
    }
  }
}
)"};

/// A tensor whose elements lie `offset` bytes behind an address that is a multiple of 64.
class Moved {
 public:
  explicit Moved(const TensorData& data) : data_(data), argument_(data_), memory_(data.bytes.size() + 192) {}
  halide_buffer_t* at(size_t offset) {
    auto address = (reinterpret_cast<uintptr_t>(memory_.data()) + 63) / 64 * 64;
    argument_.get()->host = reinterpret_cast<uint8_t*>(address + offset);
    argument_.get()->dim = argument_.dimensions().data();
    argument_.get()->dimensions = static_cast<int32_t>(argument_.dimensions().size());
    return argument_.get();
  }
  bool has_elements() const { return !data_.bytes.empty(); }

 private:
  TensorData data_;
  Argument argument_;
  std::vector<unsigned char> memory_;
};

struct Function {
  std::string symbol;
  std::vector<BufferId> arguments;
};
/// The kernel, its pack functions, and those without scans.
std::vector<Function> functions_of(const LoopNest& nest) {
  std::vector<Function> out = {{nest.name, nest.arguments}};
  for (const Pack& pack : nest.packs)
    out.push_back({nest.name + "_pack_" + nest.buffers[pack.source].name, {pack.source, pack.packed}});
  for (const std::string& symbol : targets::exported_symbols(nest))
    if (symbol == nest.name + "_unchecked") out.push_back({symbol, nest.arguments});
  return out;
}

class Call {
 public:
  Call(const LoopNest& nest, const Function& function, void* entry) : entry_(entry) {
    for (BufferId id : function.arguments) {
      const Buffer& buffer = nest.buffers[id];
      moved_.push_back(std::make_unique<Moved>(argument_data(buffer)));
      alignments_.push_back(buffer.is_packed ? 64 : static_cast<size_t>(size_bytes(buffer.type)));
      buffers_.push_back(moved_.back()->at(0));
    }
  }
  size_t count() const { return buffers_.size(); }
  size_t alignment(size_t a) const { return moved_[a]->has_elements() ? alignments_[a] : 1; }
  bool has_elements(size_t a) const { return moved_[a]->has_elements(); }
  /// What the function returns where `change` was made to one argument.
  int with(size_t a, size_t offset, const std::function<void(halide_buffer_t&)>& change) {
    change(*moved_[a]->at(offset));
    const int code =
        count() == 2 ? reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*)>(entry_)(buffers_[0], buffers_[1])
                     : reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*, halide_buffer_t*)>(entry_)(
                           buffers_[0], buffers_[1], buffers_[2]);
    moved_[a]->at(0);
    return code;
  }

 private:
  void* entry_;
  std::vector<std::unique_ptr<Moved>> moved_;
  std::vector<size_t> alignments_;
  std::vector<halide_buffer_t*> buffers_;
};

/// Every change of every argument of a function; `explains`: each has its code, else one code has them all. How many
/// were refused.
int refusals(Call& call, const std::string& what, bool explains) {
  int refused = 0;
  const auto expect = [&](int code, int wanted, const std::string& change) {
    EXPECT_EQ(code, wanted == 0 || explains ? wanted : halide_error_code_constraint_violated) << what << ": " << change;
    refused += wanted != 0;
  };
  for (size_t a = 0; a < call.count(); ++a) {
    const std::string argument = "argument " + std::to_string(a) + " ";
    for (size_t offset = 0; offset <= 64; ++offset)
      expect(call.with(a, offset, [](halide_buffer_t&) {}),
             offset % call.alignment(a) == 0 ? 0 : halide_error_code_unaligned_host_ptr,
             argument + "moved by " + std::to_string(offset));
    const auto no_dimensions = [](halide_buffer_t& b) { b.dim = nullptr; };
    const auto asks_nowhere = [](halide_buffer_t& b) { b.dim = nullptr, b.host = nullptr; };
    int32_t rank = 0;
    call.with(a, 0, [&](halide_buffer_t& b) { rank = b.dimensions; });
    expect(call.with(a, 0, no_dimensions), rank > 0 ? halide_error_code_bad_dimensions : 0,
           argument + "without dimensions");
    if (explains || !call.has_elements(a) || rank > 0)
      expect(call.with(a, 0, asks_nowhere), rank > 0 ? halide_error_code_bad_dimensions : 0,
             argument + "without dimensions and address");
    for (int32_t other : {-1, 0, 1, 2, 4, 1 << 30, INT32_MIN})
      if (other != rank)
        expect(call.with(a, 0, [&](halide_buffer_t& b) { b.dimensions = other; }), halide_error_code_bad_dimensions,
               argument + "of another rank");
  }
  return refused;
}

TEST(HostileArguments, are_refused_by_every_function_on_every_target) {
  for (const Target& target : runnable_targets())
    for (const char* text : kNests)
      for (const targets::Caller caller : {targets::Caller::anyone, targets::Caller::lab}) {
        const LoopNest nest = parsed(text);
        auto object = targets::compile_object(nest, target, "", caller);
        ASSERT_TRUE(object.ok()) << object.error().message;
        auto code = targets::load_code(*object);
        ASSERT_TRUE(code.ok()) << code.error().message;
        for (const Function& function : functions_of(nest)) {
          void* entry = (*code)->address(function.symbol);
          ASSERT_NE(entry, nullptr) << function.symbol;
          Call call(nest, function, entry);
          EXPECT_GE(refusals(call, function.symbol + " on " + target.name, caller == targets::Caller::anyone), 25);
        }
      }
}

}  // namespace
}  // namespace polyweft::targets_test
