// Code objects for AMD's GPUs: LLVM and lld make them of all programs, and what their notes say of each kernel, as
// llvm-readelf reads it, is what the launch plan says. No such GPU was at hand: what kernels compute is compared where
// the emulator runs them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "amdgpu/readelf.h"
#include "backend/bits.h"
#include "backend/python_cases.h"
#include "opencl/axis_nests.h"
#include "poly/base_nest.h"
#include "polyweft/tuner.h"
#include "targets/gpu/amdgpu/code_object.h"
#include "targets/gpu/kernels.h"
#include "targets/registry.h"

namespace polyweft::amdgpu_test {
namespace {

struct MachineOfTest {
  const char* name;
  int lanes, registers;  ///< of vectors, that a thread can have
};
constexpr MachineOfTest kMachines[] = {
    {"gfx90a", 64, 512}, {"gfx942", 64, 512}, {"gfx1100", 32, 256}, {"gfx1201", 32, 256}};
constexpr int kScalarRegisters = 108;
/// For a register that LLVM may have to put aside, where a thread has arrays in memory.
constexpr int64_t kEmergencyBytes = 64;

/// All programs for all machines, PolyBench and recurrences included, in minutes; else every second example, each for
/// one machine.
bool is_long() {
  return std::getenv("POLYWEFT_AMDGPU_ALL") != nullptr;
}

std::string text_of(const std::vector<unsigned char>& bytes) {
  return {bytes.begin(), bytes.end()};
}

/// Loops around one store become loops over blocks.
LoopNest one_kernel_an_operator(LoopNest nest) {
  for (Node& node : nest.nodes) {
    auto* loop = std::get_if<Loop>(&node);
    const auto* compute = loop ? std::get_if<Compute>(&nest.nodes[loop->body]) : nullptr;
    if (compute && compute->how == Write::store) loop->mark = {MarkKind::axis, 0, "block_x"};
  }
  return nest;
}

class Amdgpu : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(backend_, nullptr); }
  void TearDown() override {
    if (modules_)
      std::printf(
          "%d code objects, %d kernels, at most %d vector and %d scalar registers, %d kernels with arrays of a "
          "thread in memory, at most %d bytes\n",
          modules_, kernels_, vectors_, scalars_, with_arrays_, arrays_);
  }

  Result<std::string> product(const LoopNest& nest, const std::string& target, Emit what) const {
    auto made = backend_->emit(nest, find_target(target).value(), what, {"kernel"});
    if (!made) return made.error();
    return text_of(*made);
  }

  void expect_noted(const LoopNest& nest, const MachineOfTest& machine) {
    SCOPED_TRACE(machine.name);
    const Target target = find_target(machine.name).value();
    const auto made = backend_->build(nest, target, {"kernel"});
    ASSERT_TRUE(made) << made.error().message << print(nest);
    EXPECT_EQ(made->kind, "amdgpu-code-object");
    const Notes notes = notes_of(made->bytes);
    ASSERT_EQ(notes.problem, "");
    EXPECT_EQ(notes.target, std::string("amdgcn-amd-amdhsa--") + machine.name);
    ASSERT_EQ(notes.kernels.size(), made->plan.launches.size());
    const auto device = targets::device_nest(nest);
    ASSERT_TRUE(device);
    for (size_t k = 0; k < made->plan.launches.size(); ++k) {
      const targets::Launch& launch = made->plan.launches[k];
      SCOPED_TRACE(launch.symbol);
      ASSERT_TRUE(notes.kernels.contains(launch.symbol));
      expect_plan(notes.kernels.at(launch.symbol), launch, machine);
      expect_arguments(notes.kernels.at(launch.symbol), *device, k);
    }
    ++modules_;
  }
  /// For one of the machines, in turns; for all of them where time does not count.
  void expect_noted(const LoopNest& nest) {
    for (const MachineOfTest& machine : kMachines)
      if (is_long() || &machine == &kMachines[turn_ % std::size(kMachines)]) expect_noted(nest, machine);
    ++turn_;
  }

  void expect_first_choices_noted(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".weft") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (size_t f = 0; f < files.size(); f += is_long() ? 1 : 2) {
      const std::filesystem::path& file = files[f];
      SCOPED_TRACE(file.filename().string());
      const auto program = load_program(file.string());
      ASSERT_TRUE(program) << program.error().message;
      for (const MachineOfTest& machine : kMachines)
        if (is_long() || &machine == &kMachines[turn_ % std::size(kMachines)]) {
          Tuner tuner(find_target(machine.name).value(), TunerOptions{});
          const auto text = tuner.show(*program, {}, ShowStage::loops);
          ASSERT_TRUE(text) << text.error().message;
          const auto nest = parse_loop_nest(*text);
          ASSERT_TRUE(nest) << nest.error().message;
          expect_noted(*nest, machine);
        }
      ++turn_;
    }
  }

  const targets::Backend* backend_ = targets::backend_of("amdgcn");
  int modules_ = 0;

 private:
  void expect_plan(const NotedKernel& kernel, const targets::Launch& launch, const MachineOfTest& machine) {
    const auto number = [&](const char* key) {
      const auto at = kernel.numbers.find(key);
      return at == kernel.numbers.end() ? -1 : at->second;
    };
    EXPECT_EQ(number(".group_segment_fixed_size"), launch.shared_bytes);
    EXPECT_EQ(number(".vgpr_spill_count"), 0);
    EXPECT_EQ(number(".sgpr_spill_count"), 0);
    EXPECT_EQ(number(".wavefront_size"), machine.lanes);
    EXPECT_EQ(number(".max_flat_workgroup_size"), launch.threads[0] * launch.threads[1] * launch.threads[2]);
    EXPECT_EQ(kernel.threads, std::vector<int>(launch.threads.begin(), launch.threads.end()));
    EXPECT_LE(number(".vgpr_count"), machine.registers);
    EXPECT_LE(number(".sgpr_count"), kScalarRegisters);
    EXPECT_EQ(number(".uses_dynamic_stack"), 0);
    ++kernels_;
    vectors_ = std::max(vectors_, number(".vgpr_count")), scalars_ = std::max(scalars_, number(".sgpr_count"));
    with_arrays_ += number(".private_segment_fixed_size") > 0;
    arrays_ = std::max(arrays_, number(".private_segment_fixed_size"));
  }
  /// Addresses, then values of loops of the host, eight bytes each; what a thread has in memory are arrays of the nest.
  static void expect_arguments(const NotedKernel& kernel, const targets::DeviceNest& device, size_t number) {
    const size_t addresses = kernel_arguments(device).size(), values = device.kernels[number].outer.size();
    ASSERT_EQ(kernel.arguments.size(), addresses + values);
    EXPECT_EQ(kernel.numbers.at(".kernarg_segment_size"), static_cast<int>(8 * (addresses + values)));
    for (size_t a = 0; a < kernel.arguments.size(); ++a) {
      EXPECT_EQ(kernel.arguments[a].offset, static_cast<int>(8 * a));
      EXPECT_EQ(kernel.arguments[a].bytes, 8);
      EXPECT_EQ(kernel.arguments[a].kind, a < addresses ? "global_buffer" : "by_value");
    }
    int64_t own = kEmergencyBytes;
    for (const targets::DeviceBuffer& buffer : device.buffers)
      if (buffer.place == targets::DevicePlace::own) own += buffer.bytes;
    EXPECT_LE(kernel.numbers.at(".private_segment_fixed_size"), own);
  }

  int kernels_ = 0, vectors_ = 0, scalars_ = 0, with_arrays_ = 0, arrays_ = 0;
  size_t turn_ = 0;
};

// ---- notes ----

TEST_F(Amdgpu, first_choices_of_all_examples_are_as_planned) {
  expect_first_choices_noted(PW_SOURCE_DIR "/examples");
  EXPECT_GE(modules_, 8);
}

TEST_F(Amdgpu, first_choices_of_polybench_and_recurrences_are_as_planned) {
  if (!is_long()) GTEST_SKIP() << "POLYWEFT_AMDGPU_ALL is not set";
  expect_first_choices_noted(PW_SOURCE_DIR "/examples/polybench");
  expect_first_choices_noted(PW_SOURCE_DIR "/examples/recurrences");
  EXPECT_GE(modules_, 4 * 44);
}

TEST_F(Amdgpu, programs_are_as_planned) {
  for (const auto& c : backend_test::program_cases()) {
    SCOPED_TRACE(c.name);
    const auto nest = poly::base_nest(backend_test::program_of_text(c.text), NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    expect_noted(*nest);
  }
}

TEST_F(Amdgpu, operators_of_all_types_are_as_planned) {
  for (const std::string type : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
    SCOPED_TRACE(type);
    const auto nest =
        poly::base_nest(backend_test::program_of_text(backend_test::operators_of(type)), NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    expect_noted(one_kernel_an_operator(*nest));
  }
}

TEST_F(Amdgpu, constructs_of_nests_are_as_planned) {
  for (const auto& c : backend_test::nest_cases()) {
    SCOPED_TRACE(c.name);
    for (const char* type : {"f64", "f32"})
      expect_noted(backend_test::nest_of_text(std::regex_replace(c.text, std::regex("f64"), type)));
  }
}

TEST_F(Amdgpu, loops_over_blocks_and_threads_are_as_planned) {
  for (const auto& c : opencl_test::axis_nests()) {
    SCOPED_TRACE(c.name);
    expect_noted(backend_test::nest_of_text(c.text));
  }
}

/// Products of the types that matrix units take, with what stands around them in programs.
constexpr const char* kProducts[] = {
    "program bf16s(M = 1024, N = 768, K = 512)\nin A: bf16[M, K]\nin B: bf16[K, N]\nout C[i: M, j: N] = sum[k: K] "
    "f32(A[i, k]) * f32(B[k, j])\n",
    "program halves(M = 1000, N = 1040, K = 768)\nin A: f16[M, K]\nin B: f16[N, K]\nout C[i: M, j: N] = sum[k: K] "
    "f32(A[i, k]) * f32(B[j, k])\n",
    "program bytes(M = 1024, N = 1024, K = 1024)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] "
    "i32(A[i, k]) * i32(B[k, j])\n",
    "program layer(M = 768, N = 1024, K = 1024)\nin A: bf16[M, K]\nin B: bf16[K, N]\nin b: f32[N]\nlet C[i: M, j: N] = "
    "sum[k: K] f32(A[i, k]) * f32(B[k, j])\nout Y[i: M, j: N] = max(C[i, j] + b[j], 0)\n",
};

TEST_F(Amdgpu, products_use_the_matrix_unit) {
  size_t turn = 0;
  for (const char* text : kProducts) {
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << program.error().message;
    SCOPED_TRACE(program->name);
    for (const MachineOfTest& machine : kMachines) {
      if (!is_long() && turn++ % (std::size(kMachines) + 1) != 0) continue;
      SCOPED_TRACE(machine.name);
      Tuner tuner(find_target(machine.name).value(), TunerOptions{});
      const auto loops = tuner.show(*program, {}, ShowStage::loops);
      ASSERT_TRUE(loops) << loops.error().message;
      // gfx90a takes small halves for zero, which no class allows.
      const bool is_taken = std::string(machine.name) != "gfx90a" || program->name != "halves";
      EXPECT_EQ(std::regex_search(*loops, std::regex("tensor \"(mfma|wmma)_")), is_taken) << *loops;
      const auto nest = parse_loop_nest(*loops);
      ASSERT_TRUE(nest) << nest.error().message;
      expect_noted(*nest, machine);
      if (!is_taken) continue;
      const auto assembly = product(*nest, machine.name, Emit::assembly);
      ASSERT_TRUE(assembly) << assembly.error().message;
      EXPECT_TRUE(std::regex_search(*assembly, std::regex("v_(mfma|wmma)_"))) << *assembly;
    }
  }
}

TEST_F(Amdgpu, products_of_waves_keep_the_rules_of_the_class) {
  const auto uses_unit = [](const char* text, NumericsClass cls) {
    Tuner tuner(find_target("gfx942").value(), TunerOptions{});
    TaskOptions options;
    options.cls = cls;
    return tuner.show(parse_program(text).value(), options, ShowStage::loops).value().find("tensor \"mfma_") !=
           std::string::npos;
  };
  EXPECT_FALSE(uses_unit(kProducts[0], NumericsClass::contract));
  EXPECT_TRUE(uses_unit(kProducts[2], NumericsClass::strict));
}

// ---- what checks refuse ----

Status checked(const targets::Artifact& made, const targets::DeviceNest& device) {
  return checked_code_object(made.bytes, device, "kernel", find_target("gfx942").value().machine);
}

TEST_F(Amdgpu, a_code_object_that_differs_from_its_launches_is_refused) {
  const LoopNest nest = backend_test::nest_of_text(opencl_test::axis_nest("a triangle of launches"));
  const auto made = backend_->build(nest, find_target("gfx942").value(), {"kernel"});
  ASSERT_TRUE(made) << made.error().message;
  const auto device = targets::device_nest(nest);
  ASSERT_TRUE(device);
  EXPECT_TRUE(checked(*made, *device));
  const auto expect_refused = [&](const std::string& what, const auto& change) {
    targets::DeviceNest other = *device;
    change(other.kernels[1]);
    const Status found = checked(*made, other);
    ASSERT_FALSE(found) << what;
    EXPECT_EQ(found.error().code, "PW0512");
    EXPECT_EQ(found.error().message, "LLVM's back end made no code object: of kernel kernel_k1: " + what);
  };
  expect_refused("shared bytes 0 instead of 512", [](auto& kernel) { kernel.shared_bytes = 512; });
  expect_refused("threads 4 instead of 8", [](auto& kernel) { kernel.threads[0] = 8; });
  expect_refused("other threads along x", [](auto& kernel) { std::swap(kernel.threads[0], kernel.threads[1]); });
  expect_refused("arguments 3 instead of 2", [](auto& kernel) { kernel.outer.clear(); });
  targets::DeviceNest other = *device;
  const BufferId argument = kernel_arguments(other).front();
  other.buffers[argument].place = targets::DevicePlace::own;
  other.kernels[1].outer.push_back(other.kernels[1].outer.front());
  other.kernels[0].outer = other.kernels[1].outer, other.kernels[0].outer.resize(1);
  const Status kinds = checked(*made, other);
  ASSERT_FALSE(kinds);
  EXPECT_EQ(kinds.error().message,
            "LLVM's back end made no code object: of kernel kernel_k0: argument 1 is global_buffer of 8 bytes at 8");
  const auto renamed = checked_code_object(made->bytes, *device, "other", find_target("gfx942").value().machine);
  ASSERT_FALSE(renamed);
  EXPECT_EQ(renamed.error().message, "LLVM's back end made no code object: of kernel other_k0: is not there");
}

TEST_F(Amdgpu, bytes_that_are_no_code_object_are_refused) {
  const auto nothing = targets::kernels_of_code_object({1, 2, 3});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, "PW0512");
  const LoopNest nest = backend_test::nest_of_text(opencl_test::axis_nest("rows of threads"));
  const auto object = backend_->emit(nest, find_target("gfx90a").value(), Emit::object, {"kernel"});
  ASSERT_TRUE(object) << object.error().message;
  const auto unlinked = targets::kernels_of_code_object(*object);
  ASSERT_FALSE(unlinked) << "an object has no segments";
  EXPECT_EQ(unlinked.error().message, "LLVM's back end made no code object: it has no metadata");
}

TEST_F(Amdgpu, symbols_of_elsewhere_are_refused_by_name) {
  const auto assembled = [](const std::string& word) {
    int code = -1;
    const std::string made = output_of("printf '.text\nhere: s_endpgm\n.long " + word + "\n' | " + PW_LLVM_MC +
                                           " -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj -o -",
                                       code);
    return targets::Bytes(made.begin(), made.end());
  };
  EXPECT_TRUE(targets::calls_nothing_outside(assembled("here")));
  const Status found = targets::calls_nothing_outside(assembled("fmodf"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "PW0512");
  EXPECT_EQ(found.error().message, "a kernel would call fmodf, which a device of AMD's has not");
}

TEST_F(Amdgpu, launches_that_no_machine_takes_are_refused) {
  std::string text = opencl_test::axis_nest("rows of threads");
  text = std::regex_replace(text, std::regex("\\b4\\b(?! tensor|, \\$)"), "4000");
  text = std::regex_replace(text, std::regex("align 4000"), "align 4");
  const auto made = product(backend_test::nest_of_text(text), "gfx1100", Emit::artifact);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0525");
  EXPECT_EQ(made.error().message, "a block of 32000 threads: the machine runs at most 1024");
}

TEST_F(Amdgpu, shared_memory_that_no_machine_has_is_refused) {
  const auto nest_with = [](int64_t cells) {
    const std::string n = std::to_string(cells);
    return backend_test::nest_of_text(
        "nest 1 much class reassoc\nparam N = 8\nloops j, t\nbuffer X: f32[8] argument "
        "align 4 tensor 0 element [$0]\nbuffer Y: f32[8] argument align 4 output tensor "
        "1 element [$0]\nbuffer S: f32[" +
        n +
        "] shared align 64 tensor 0 element [$0]\narguments X, Y\nbody {\n  alloc S {\n"
        "    for j in 0 .. 8 axis \"thread_x\" {\n      compute 0(j) store: S[j] <- "
        "X[j]\n    }\n    for t in 0 .. 8 axis \"thread_x\" {\n      compute 0(t) store: "
        "Y[t] <- S[-t + 7]\n    }\n  }\n}\n");
  };
  EXPECT_TRUE(product(nest_with(16 << 10), "gfx942", Emit::artifact));
  const auto made = product(nest_with((16 << 10) + 1), "gfx942", Emit::artifact);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0525");
  EXPECT_EQ(made.error().message, "a block takes 65792 bytes of shared memory: the machine has 65536");
}

TEST_F(Amdgpu, sizes_as_arguments_are_refused) {
  LoopNest nest = backend_test::nest_of_text(opencl_test::axis_nest("rows of threads"));
  nest.symbolic = true;
  const auto made = product(nest, "gfx942", Emit::artifact);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0523");
  EXPECT_EQ(made.error().message, "kernels for devices have no sizes as arguments");
}

/// Stacks are limited: a wave of 64 has at most 131,056 bytes a lane.
TEST_F(Amdgpu, arrays_of_a_thread_that_are_large_in_sum_are_workspaces) {
  std::string loops, buffers, allocs, statements, ends;
  for (int b = 0; b < 5; ++b) {
    const std::string name = "S" + std::to_string(b);
    buffers += "buffer " + name + ": f64[1900] heap align 64 tensor 0 element [$0]\n";
    allocs += "alloc " + name + " {\n", ends += "}\n";
    const std::string put = "i" + std::to_string(b), get = "j" + std::to_string(b);
    loops += (b ? ", " : "") + put + ", " + get;
    statements += "for " + put + " in 0 .. 1900 {\ncompute 0(" + put + ") store: " + name + "[" + put + "] <- X[" +
                  put + "]\n}\nfor " + get + " in 0 .. 1900 {\ncompute 0(" + get + ") store: Y[" + get + "] <- " +
                  name + "[-" + get + " + 1899]\n}\n";
  }
  const LoopNest nest = backend_test::nest_of_text(
      "nest 1 large class reassoc\nparam N = 8\nloops " + loops +
      "\nbuffer X: f64[1900] argument align 8 tensor 0 element "
      "[$0]\nbuffer Y: f64[1900] argument align 8 output tensor 1 element [$0]\n" +
      buffers + "arguments X, Y\nbody {\n" + allocs + "seq {\n" + statements + "}\n" + ends + "}\n");
  const auto device = targets::device_nest(nest);
  ASSERT_TRUE(device) << device.error().message;
  int own = 0, workspaces = 0;
  for (const targets::DeviceBuffer& buffer : device->buffers) {
    own += buffer.place == targets::DevicePlace::own;
    workspaces += buffer.place == targets::DevicePlace::workspace;
  }
  EXPECT_EQ(own, 4);
  EXPECT_EQ(workspaces, 1);
  expect_noted(nest, kMachines[0]);
}

TEST_F(Amdgpu, grids_that_no_packet_says_are_refused) {
  const LoopNest nest = backend_test::nest_of_text(
      "nest 1 wide class reassoc\nparam N = 8\nloops j\nbuffer X: f32[1] argument align 4 tensor 0 element "
      "[$0]\nbuffer "
      "Y: f32[1] argument align 4 output tensor 1 element "
      "[$0]\narguments X, Y\nbody {\n  for j in 0 .. 4294967296 axis \"block_y\" {\n    if -j >= 0 {\n      compute "
      "0(j) "
      "store: Y[0] <- X[0]\n    }\n  }\n}\n");
  const auto made = product(nest, "gfx942", Emit::artifact);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0525");
  EXPECT_EQ(made.error().message,
            "4294967296 blocks along y of 1 threads each: a grid has at most 4294967295 threads along an axis");
}

// ---- code ----

TEST_F(Amdgpu, kernels_say_their_machine_and_keep_denormals) {
  const LoopNest nest = backend_test::nest_of_text(opencl_test::axis_nest("product through shared tiles"));
  for (const MachineOfTest& machine : kMachines) {
    SCOPED_TRACE(machine.name);
    const auto text = product(nest, machine.name, Emit::assembly);
    ASSERT_TRUE(text) << text.error().message;
    for (const std::string line :
         {std::string(".amdgcn_target \"amdgcn-amd-amdhsa--") + machine.name, std::string(".amdhsa_kernel kernel_k0"),
          std::string(".amdhsa_float_denorm_mode_32 3"), std::string(".amdhsa_float_denorm_mode_16_64 3"),
          std::string(".amdhsa_float_round_mode_32 0")})
      EXPECT_NE(text->find(line), std::string::npos) << line << "\n" << *text;
  }
}

TEST_F(Amdgpu, blocks_of_one_wave_have_no_barrier_and_others_have) {
  const auto nest_of = [](int threads) {
    const std::string n = std::to_string(threads), last = std::to_string(threads - 1);
    return backend_test::nest_of_text(
        "nest 1 meet class reassoc\nparam N = 8\nloops j\nbuffer X: f32[" + n +
        "] argument align 4 tensor 0 element [$0]\nbuffer Y: f32[" + n +
        "] argument align 4 output tensor 1 element [$0]\nbuffer S: f32[" + n +
        "] shared align 64 tensor 0 element [$0]\narguments X, Y\nbody {\n  alloc S {\n    for j in 0 .. " + n +
        " axis \"thread_x\" {\n      compute 0(j) store: S[j] <- X[j]\n      sync block 0\n      compute 0(j) store: "
        "Y[j] "
        "<- S[-j + " +
        last + "]\n    }\n  }\n}\n");
  };
  for (const MachineOfTest& machine : kMachines)
    for (const int threads : {machine.lanes, 2 * machine.lanes}) {
      SCOPED_TRACE(machine.name + (" " + std::to_string(threads)));
      const auto text = product(nest_of(threads), machine.name, Emit::assembly);
      ASSERT_TRUE(text) << text.error().message;
      EXPECT_EQ(text->find("s_barrier") != std::string::npos, threads > machine.lanes) << *text;
    }
}

TEST_F(Amdgpu, products_and_sums_are_not_fused) {
  const auto nest = poly::base_nest(
      backend_test::program_of_text("program p(N = 8)\nin A: f32[N]\nin B: f32[N]\nout C[i: N] = A[i] * B[i] + B[i]\n"),
      NumericsClass::strict);
  ASSERT_TRUE(nest) << nest.error().message;
  for (const MachineOfTest& machine : kMachines) {
    SCOPED_TRACE(machine.name);
    const auto text = product(*nest, machine.name, Emit::assembly);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_TRUE(std::regex_search(*text, std::regex("[vs]_(pk_)?mul_f32"))) << *text;
    EXPECT_TRUE(std::regex_search(*text, std::regex("[vs]_(pk_)?add_f32"))) << *text;
    EXPECT_FALSE(std::regex_search(*text, std::regex("_fma|_mad_f|_fmac|_mac_f"))) << *text;
  }
}

TEST_F(Amdgpu, divisions_and_roots_are_those_with_one_rounding) {
  const auto nest = poly::base_nest(
      backend_test::program_of_text("program p(N = 8)\nin A: f32[N]\nin B: f32[N]\nin D: f64[N]\nout C[i: N] = A[i] / "
                                    "B[i]\nout E[i: N] = sqrt(A[i])\nout F[i: N] = sqrt(D[i])\n"),
      NumericsClass::strict);
  ASSERT_TRUE(nest) << nest.error().message;
  for (const MachineOfTest& machine : kMachines) {
    SCOPED_TRACE(machine.name);
    const auto text = product(*nest, machine.name, Emit::assembly);
    ASSERT_TRUE(text) << text.error().message;
    for (const char* step : {"v_div_scale_f32", "v_div_fixup_f32", "v_sqrt_f32", "v_fma_f32", "v_rsq_f64", "v_fma_f64"})
      EXPECT_TRUE(std::regex_search(*text, std::regex(step + std::string("|v_s_sqrt_f32")))) << step << *text;
  }
}

TEST_F(Amdgpu, cells_that_other_threads_write_are_read_again) {
  const LoopNest nest = backend_test::nest_of_text(R"(nest 1 again class reassoc
param N = 8
loops j
buffer X: f32[8] argument align 4 tensor 0 element [$0]
buffer Y: f32[8] argument align 4 output tensor 1 element [$0]
buffer Z: f32[8] argument align 4 output tensor 2 element [$0]
arguments X, Y, Z
body {
  for j in 0 .. 8 axis "thread_x" {
    compute 0(j) store: Y[j] <- X[j]
    sync block 0
    compute 1(j) store: Z[j] <- Y[0]
    sync block 1
    if j >= 0 {
      compute 0(-j + 7) store: Y[-j + 7] <- (X[j] * X[j])
    }
    sync block 2
    compute 1(j) store: Z[j] <- (Z[j] + Y[0])
  }
}
)");
  const auto text = product(nest, "gfx942", Emit::llvm);
  ASSERT_TRUE(text) << text.error().message;
  int reads = 0;
  const std::regex read(R"(load float, ptr addrspace\(1\) %Y)");
  for (auto it = std::sregex_iterator(text->begin(), text->end(), read); it != std::sregex_iterator(); ++it) ++reads;
  EXPECT_EQ(reads, 2) << *text;
}

TEST_F(Amdgpu, a_header_states_the_launches_of_a_call) {
  const LoopNest nest = backend_test::nest_of_text(opencl_test::axis_nest("a triangle of launches"));
  const auto header = product(nest, "gfx1201", Emit::header);
  ASSERT_TRUE(header) << header.error().message;
  for (const char* line : {"a code object for gfx1201", "{\"kernel_k0\", {3, 1, 1}, {4, 1, 1}, 0, 0",
                           "{\"kernel_k1\", {3, 1, 1}, {4, 1, 1}, 0, 1"})
    EXPECT_NE(header->find(line), std::string::npos) << line << *header;
}

TEST_F(Amdgpu, machines_are_named_and_described) {
  const auto two = parse_target("architecture = \"amdgcn\"\nfeatures = [\"gfx90a\", \"gfx942\"]\n", "two.toml");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, "PW0511");
  EXPECT_EQ(two.error().message,
            "two.toml: code for this architecture needs one feature, of gfx90a, gfx942, gfx1100, gfx1201");
  for (const MachineOfTest& machine : kMachines) {
    const Target target = find_target(machine.name).value();
    EXPECT_EQ(target.machine.grid.lockstep_threads.value, machine.lanes);
    EXPECT_EQ(target.machine.grid.lockstep_threads.origin, FigureOrigin::assumed);
    const auto described = parse_target(describe(target), "again.toml");
    ASSERT_TRUE(described) << described.error().message;
    EXPECT_EQ(fingerprint(*described), fingerprint(target));
  }
}

TEST_F(Amdgpu, it_says_why_kernels_do_not_run_here) {
  const auto runs = backend_->runs_here(find_target("gfx942").value());
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().code, "PW0517");
  EXPECT_EQ(runs.error().message,
            "kernels for target gfx942 do not run on this machine: nothing here launches kernels on AMD's GPUs, code "
            "objects are for programs of their own");
  EXPECT_EQ(runs.error().notes, std::vector<std::string>{"--target emulated:gfx942 runs the same kernels on this CPU"});
}

}  // namespace
}  // namespace polyweft::amdgpu_test
