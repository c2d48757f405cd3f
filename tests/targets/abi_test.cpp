// The kernel ABI as a caller sees it: checks of arguments, bounds queries, packs, what objects and libraries leave
// undefined.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>

#include "targets/kernels.h"
#include "targets/plain_run.h"

namespace polyweft::targets_test {
namespace {

const char* const kCopy = R"(nest 1 twice class strict
loops i, j, a, b
buffer X: f32[3, 5] argument align 4
buffer W: f32[8] argument align 64 packed
buffer Y: f32[3, 5] argument align 4 output
buffer src: f32[5] argument align 4
arguments X, W, Y
pack src to W {
  for a in 0 .. 8 {
    copy W[a] <- src[a] valid -a + 4 >= 0 else 0:f32
  }
}
body {
  for i in 0 .. 3 parallel {
    for j in 0 .. 5 {
      compute 0(i, j) store: Y[i, j] <- (X[i, j] * W[j])
    }
  }
}
)";

struct Twice {
  LoopNest nest = parsed(kCopy);
  Loaded loaded = load(nest, *find_target("host"));
  TensorData x = make_tensor(ElementType::f32, {3, 5}), w = make_tensor(ElementType::u8, {32}),
             y = make_tensor(ElementType::f32, {3, 5});
  Argument ax{x}, aw{w}, ay{y};
  Kernel3 kernel = reinterpret_cast<Kernel3>(loaded.code->address("twice"));
  Twice() { aw.align(); }
  int run() { return kernel(ax.get(), aw.get(), ay.get()); }
};

TEST(Abi, packs_fill_the_packed_buffer) {
  Twice t;
  TensorData source = make_tensor(ElementType::f32, {5});
  fill(source, 7);
  Argument from(source);
  auto* pack = reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*)>(t.loaded.code->address("twice_pack_src"));
  auto* bytes = reinterpret_cast<int64_t (*)()>(t.loaded.code->address("twice_pack_src_bytes"));
  ASSERT_NE(pack, nullptr);
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(bytes(), 32);
  ASSERT_EQ(pack(from.get(), t.aw.get()), 0);
  t.aw.take_back();
  const auto expected = PlainRun(t.nest).packed(t.nest.packs[0], source);
  TensorData cells = make_tensor(ElementType::f32, {8});
  cells.bytes = t.w.bytes;
  for (int64_t k = 0; k < 8; ++k)
    EXPECT_TRUE(cells.at(k) == expected[static_cast<size_t>(k)] || std::isnan(expected[static_cast<size_t>(k)].f)) << k;
}

TEST(Abi, wrong_arguments_are_refused_with_halides_codes) {
  struct Case {
    const char* what;
    void (*change)(Twice&);
    int code;
  };
  const Case cases[] = {
      {"type code", [](Twice& t) { t.ax.get()->type.code = halide_type_int; }, halide_error_code_bad_type},
      {"type bits", [](Twice& t) { t.ay.get()->type.bits = 64; }, halide_error_code_bad_type},
      {"rank", [](Twice& t) { t.ax.get()->dimensions = 1; }, halide_error_code_bad_dimensions},
      {"extent", [](Twice& t) { t.ax.dimensions()[0].extent = 6; }, halide_error_code_constraint_violated},
      {"stride", [](Twice& t) { t.ay.dimensions()[1].stride = 8; }, halide_error_code_constraint_violated},
      {"min", [](Twice& t) { t.ax.dimensions()[1].min = 1; }, halide_error_code_constraint_violated},
  };
  for (const Case& c : cases) {
    Twice t;
    ASSERT_EQ(t.run(), 0) << c.what;
    c.change(t);
    EXPECT_EQ(t.run(), c.code) << c.what;
  }
  Twice t;
  EXPECT_EQ(t.kernel(t.ax.get(), nullptr, t.ay.get()), halide_error_code_buffer_argument_is_null);
}

TEST(Abi, kernels_for_the_lab_refuse_whatever_is_wrong) {
  Twice t;
  ASSERT_EQ(t.run(), 0);
  const TensorData expected = t.y;
  const auto object = targets::compile_object(t.nest, *find_target("host"), "", targets::Caller::lab);
  ASSERT_TRUE(object);
  EXPECT_LT(object->object.size(), t.loaded.object.object.size());
  const auto code = targets::load_code(*object);
  ASSERT_TRUE(code);
  const auto kernel = reinterpret_cast<Kernel3>((*code)->address(t.nest.name));
  std::fill(t.y.bytes.begin(), t.y.bytes.end(), static_cast<unsigned char>(0));
  EXPECT_EQ(kernel(t.ax.get(), t.aw.get(), t.ay.get()), 0);
  EXPECT_EQ(difference(t.y, expected), "");
  EXPECT_EQ(kernel(t.ax.get(), nullptr, t.ay.get()), halide_error_code_constraint_violated);
  t.ax.get()->dimensions = 1;
  EXPECT_EQ(kernel(t.ax.get(), t.aw.get(), t.ay.get()), halide_error_code_constraint_violated);
}

// What was raced is what is served: checks of another length before a body move no loop of it to another place in the
// lines that are fetched.
TEST(Abi, code_lies_alike_whoever_calls_it) {
  Twice t;
  for (const targets::Caller caller : {targets::Caller::anyone, targets::Caller::lab, targets::Caller::plain_c}) {
    const auto object = targets::compile_object(t.nest, *find_target("host"), "", caller);
    ASSERT_TRUE(object);
    const auto code = targets::load_code(*object);
    ASSERT_TRUE(code);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*code)->address(t.nest.name)) % 64, 0u);
    const auto text = targets::assembly_text(t.nest, *find_target("x86-64-v3"), "", caller);
    ASSERT_TRUE(text);
    const auto function = text->find("\n" + t.nest.name + ":");
    ASSERT_NE(function, std::string::npos);
    EXPECT_NE(text->rfind(".p2align\t6", function), std::string::npos);
    EXPECT_NE(text->find(".p2align\t5", function), std::string::npos) << *text;
  }
}

// The differences of all arguments are gathered into few branches: each must count by itself.
TEST(Abi, every_field_of_every_dimension_counts_and_flags_do_not) {
  Argument Twice::*const arguments[] = {&Twice::ax, &Twice::aw, &Twice::ay};
  int32_t halide_dimension_t::*const fields[] = {&halide_dimension_t::min, &halide_dimension_t::extent,
                                                 &halide_dimension_t::stride};
  Twice t;
  int refused = 0;
  for (auto argument : arguments)
    for (halide_dimension_t& dimension : (t.*argument).dimensions()) {
      for (auto field : fields)
        for (int32_t bit = 0; bit < 32; ++bit, ++refused) {
          const int32_t right = dimension.*field;
          dimension.*field = static_cast<int32_t>(static_cast<uint32_t>(right) ^ uint32_t{1} << bit);
          EXPECT_EQ(t.run(), halide_error_code_constraint_violated) << "bit " << bit;
          dimension.*field = right;
        }
      dimension.flags = ~0u;
      EXPECT_EQ(t.run(), 0);
    }
  EXPECT_EQ(refused, 5 * 3 * 32);
}

const char* const kRanks = R"(nest 1 ranks class strict
loops a
buffer X: f32[3, 1, 2] argument align 4
buffer D: f32[2, 1, 2, 1, 3] argument align 4
buffer Y: f32[1] argument align 4 output
arguments X, D, Y
body {
  for a in 0 .. 1 {
    compute 0(a) store: Y[a] <- (X[2, a, 1] * D[1, a, 1, a, 2])
  }
}
)";

TEST(Abi, strides_of_single_elements_may_be_anything) {
  for (const char* name : {"x86-64", "x86-64-v3", "host"}) {
    const LoopNest nest = parsed(kRanks);
    Loaded loaded = load(nest, *find_target(name));
    TensorData x = make_tensor(ElementType::f32, {3, 1, 2}), d = make_tensor(ElementType::f32, {2, 1, 2, 1, 3}),
               y = make_tensor(ElementType::f32, {1});
    Argument ax{x}, ad{d}, ay{y};
    auto* kernel = reinterpret_cast<Kernel3>(loaded.code->address("ranks"));
    for (Argument* argument : {&ax, &ad, &ay})
      for (halide_dimension_t& dimension : argument->dimensions()) {
        const halide_dimension_t right = dimension;
        dimension.stride = 1234567;
        EXPECT_EQ(kernel(ax.get(), ad.get(), ay.get()), right.extent == 1 ? 0 : halide_error_code_constraint_violated)
            << name;
        dimension = right;
        dimension.extent = 9;
        EXPECT_EQ(kernel(ax.get(), ad.get(), ay.get()), halide_error_code_constraint_violated) << name;
        dimension = right;
        dimension.flags = ~0u;
        EXPECT_EQ(kernel(ax.get(), ad.get(), ay.get()), 0) << name;
      }
  }
}

TEST(Abi, a_null_host_of_any_argument_is_a_query) {
  for (auto argument : {&Twice::ax, &Twice::aw, &Twice::ay}) {
    Twice t;
    ((t.*argument).get())->host = nullptr;
    for (halide_dimension_t& dimension : (t.*argument).dimensions()) dimension.extent = 77;
    EXPECT_EQ(t.run(), 0);
    for (const halide_dimension_t& dimension : (t.*argument).dimensions()) EXPECT_NE(dimension.extent, 77);
  }
}

TEST(Abi, a_null_host_asks_for_the_shapes) {
  Twice t;
  t.ax.get()->host = nullptr;
  t.ax.dimensions() = {{9, 9, 9, 0}, {9, 9, 9, 0}};
  t.ax.get()->dim = t.ax.dimensions().data();
  ASSERT_EQ(t.run(), 0);
  EXPECT_EQ(t.ax.dimensions()[0], (halide_dimension_t{0, 5, 1, 0}));
  EXPECT_EQ(t.ax.dimensions()[1], (halide_dimension_t{0, 3, 5, 0}));
}

const char* const kEmpty = R"(nest 1 empty class strict
loops a
buffer X: f32[3, 0] argument align 4
buffer Y: f32[0, 4] argument align 4 output
buffer Z: f32[3] argument align 4 output
arguments X, Y, Z
body {
  for a in 0 .. 3 {
    compute 0(a) init sum: Z[a]
  }
}
)";

struct Empty {
  explicit Empty(targets::Caller caller)
      : object(targets::compile_object(nest, *find_target("host"), "", caller)), code(targets::load_code(*object)) {
    std::fill(z.bytes.begin(), z.bytes.end(), static_cast<unsigned char>(1));
  }
  LoopNest nest = parsed(kEmpty);
  Result<targets::CompiledObject> object;
  Result<std::unique_ptr<targets::LoadedCode>> code;
  TensorData x = make_tensor(ElementType::f32, {3, 0}), y = make_tensor(ElementType::f32, {0, 4}),
             z = make_tensor(ElementType::f32, {3});
  Argument ax{x}, ay{y}, az{z};
  int run() { return reinterpret_cast<Kernel3>((*code)->address("empty"))(ax.get(), ay.get(), az.get()); }
  bool is_z_zero() const { return z.at(0).f == 0 && z.at(2).f == 0; }
};

const halide_dimension_t kJunk{-7, -7, -7, 0};

TEST(Abi, what_has_no_elements_needs_no_address_and_no_strides) {
  for (targets::Caller caller : {targets::Caller::anyone, targets::Caller::lab}) {
    Empty t(caller);
    for (int32_t stride : {0, 1, 5, -3}) {
      for (Argument* argument : {&t.ax, &t.ay})
        for (halide_dimension_t& dimension : argument->dimensions()) dimension.stride = stride;
      EXPECT_EQ(t.run(), 0) << stride;
      EXPECT_TRUE(t.is_z_zero());
    }
    t.ay.dimensions()[0].extent = 5;
    t.ay.get()->host = t.z.bytes.data();
    EXPECT_EQ(t.run(), halide_error_code_constraint_violated);
  }
}

TEST(Abi, a_call_tells_the_shape_of_what_has_neither_elements_nor_address) {
  Empty t(targets::Caller::anyone);
  for (Argument* argument : {&t.ax, &t.ay})
    argument->get()->host = nullptr, argument->dimensions()[0] = argument->dimensions()[1] = kJunk;
  EXPECT_EQ(t.run(), 0);
  EXPECT_TRUE(t.is_z_zero()) << "it is no query: everything else is computed";
  EXPECT_EQ(t.ax.dimensions()[0], (halide_dimension_t{0, 0, 1, 0}));
  EXPECT_EQ(t.ax.dimensions()[1], (halide_dimension_t{0, 3, 0, 0}));
  EXPECT_EQ(t.ay.dimensions()[0], (halide_dimension_t{0, 4, 1, 0}));
  EXPECT_EQ(t.ay.dimensions()[1], (halide_dimension_t{0, 0, 4, 0}));
}

TEST(Abi, a_query_tells_the_shapes_of_what_has_no_elements_too) {
  Empty t(targets::Caller::anyone);
  for (Argument* argument : {&t.ay, &t.az}) {
    argument->get()->host = nullptr;
    for (halide_dimension_t& dimension : argument->dimensions()) dimension = kJunk;
  }
  EXPECT_EQ(t.run(), 0);
  EXPECT_FALSE(t.is_z_zero());
  EXPECT_EQ(t.ay.dimensions()[0], (halide_dimension_t{0, 4, 1, 0}));
  EXPECT_EQ(t.ay.dimensions()[1], (halide_dimension_t{0, 0, 4, 0}));
  EXPECT_EQ(t.az.dimensions()[0], (halide_dimension_t{0, 3, 1, 0}));
}

std::set<std::string> undefined_symbols(const std::vector<unsigned char>& object) {
  const int fd = memfd_create("object", 0);
  EXPECT_EQ(write(fd, object.data(), object.size()), static_cast<ssize_t>(object.size()));
  FILE* nm = popen(("nm -u /proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd)).c_str(), "r");
  std::set<std::string> out;
  std::array<char, 300> line{};
  while (std::fgets(line.data(), line.size(), nm)) {
    std::string text(line.data());
    text.erase(text.find_last_not_of(" \n") + 1);
    out.insert(text.substr(text.find_last_of(' ') + 1));
  }
  pclose(nm);
  close(fd);
  return out;
}

const std::set<std::string>& allowed_symbols() {
  static const std::set<std::string> names = {"memcpy",        "memset",      "memmove",     "halide_do_par_for",
                                              "halide_malloc", "halide_free", "halide_error"};
  return names;
}

// Every operator that a chip without FMA or half floats would hand to the C library.
const char* const kOperators = R"(nest 1 ops class contract
loops i, j, v
buffer X: f32[16] argument align 4
buffer D: f64[16] argument align 8
buffer H: f16[16] argument align 2
buffer Y: f64[16] argument align 8 output
arguments X, D, H, Y
body {
  for i in 0 .. 16 {
    compute 0(i) store: Y[i] <- fma(D[i], convert:f64(fma(X[i], floor(X[i]), ceil(X[i]))), round(D[i]))
    compute 0(i) accumulate sum: Y[i] <- convert:f64((H[i] + convert:f16(D[i])))
    compute 0(i) accumulate sum: Y[i] <- pow(abs(D[i]), exp(sin(D[i])))
    compute 0(i) accumulate sum: Y[i] <- convert:f64(convert:i64(X[i]))
  }
  for v in 0 .. 16 vector 16 {
    compute 0(v) accumulate sum: Y[v] <- fma(D[v], convert:f64(tanh(X[v])), convert:f64(fma(X[v], X[v], convert:f32(H[v]))))
  }
}
)";

TEST(Abi, objects_leave_only_the_runtime_and_memory_functions_undefined) {
  for (const char* text : {kCopy, kOperators})
    for (const char* name : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "host"}) {
      auto object = targets::compile_object(parsed(text), *find_target(name));
      ASSERT_TRUE(object.ok()) << object.error().message;
      for (const auto& symbol : undefined_symbols(object->object))
        EXPECT_TRUE(allowed_symbols().contains(symbol)) << symbol << " on " << name;
    }
}

TEST(Abi, operators_give_the_same_bits_on_every_target) {
  expect_same_bits(parsed(kOperators), 20);
}

TEST(Abi, shared_objects_load_and_export_the_kernel_alone) {
  Twice t;
  auto bytes = targets::shared_object(t.loaded.object, targets::exported_symbols(t.nest), targets::Runtime::inside);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const int fd = memfd_create("kernel.so", 0);
  ASSERT_EQ(write(fd, bytes->data(), bytes->size()), static_cast<ssize_t>(bytes->size()));
  void* library = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, "halide_malloc"), nullptr);
  auto* kernel = reinterpret_cast<Kernel3>(dlsym(library, "twice"));
  ASSERT_NE(kernel, nullptr);
  fill(t.x, 3);
  TensorData w = make_tensor(ElementType::f32, {8});
  fill(w, 4);
  t.w.bytes = w.bytes;
  t.aw.align();
  ASSERT_EQ(kernel(t.ax.get(), t.aw.get(), t.ay.get()), 0);
  for (int64_t k = 0; k < 15; ++k) {
    const double expected = ir::round_to(ElementType::f32, t.x.at(k).f * w.at(k % 5).f);
    EXPECT_TRUE(t.y.at(k).f == expected || std::isnan(expected)) << k;
  }
  close(fd);
}

TEST(Abi, a_loaded_kernel_without_spills_says_so) {
  Twice t;
  EXPECT_EQ(t.loaded.object.spills, 0);
  EXPECT_GT(t.loaded.object.codegen_ms, 0);
}

}  // namespace
}  // namespace polyweft::targets_test
