// Kernels that use a tensor unit, matrix loads and asynchronous copies, as LLVM's back end for PTX takes them: right in
// whatever order threads run and copies are made, and wrong where a wait is missing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "polyweft/target.h"
#include "targets/gpu/emulator/emulator_code.h"
#include "targets/gpu/emulator/runtime/grid.h"

namespace polyweft::emulator_test {
namespace {

// A block's two warps have 16 x 16 elements of C = A B^T, A and B in bf16 with rows of k elements. Two stages of 16
// along k: while one is multiplied, the next one is copied, 16 bytes a thread.
constexpr const char* kTile = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@stages = internal addrspace(3) global [2048 x i8] undef, align 128
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3))
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)

define ptx_kernel void @tile(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i64 %k) {
entry:
  %tid32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %tid = zext i32 %tid32 to i64
  %block32 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %block = zext i32 %block32 to i64
  %lane32 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %lane = zext i32 %lane32 to i64
  %warp = lshr i64 %tid, 5
  %steps = lshr i64 %k, 4
  %row_bytes = shl i64 %k, 1
  %block_bytes = shl i64 %row_bytes, 4
  %a_offset = mul i64 %block, %block_bytes
  %a_block = getelementptr i8, ptr addrspace(1) %a, i64 %a_offset
  %is_b = icmp uge i64 %tid, 32
  %matrix = select i1 %is_b, ptr addrspace(1) %b, ptr addrspace(1) %a_block
  %in_matrix = and i64 %tid, 31
  %row = lshr i64 %in_matrix, 1
  %half = and i64 %in_matrix, 1
  %row_at = mul i64 %row, %row_bytes
  %half_at = shl i64 %half, 4
  %from_at = add i64 %row_at, %half_at
  %from = getelementptr i8, ptr addrspace(1) %matrix, i64 %from_at
  %to_at = shl i64 %tid, 4
  %to = getelementptr i8, ptr addrspace(3) @stages, i64 %to_at
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)
  call void @llvm.nvvm.cp.async.commit.group()
  %lane16 = and i64 %lane, 15
  %lane_high = lshr i64 %lane, 4
  %a_row = shl i64 %lane16, 5
  %a_half = shl i64 %lane_high, 4
  %a_at = add i64 %a_row, %a_half
  %lane8 = and i64 %lane, 7
  %warp8 = shl i64 %warp, 3
  %b_line = add i64 %warp8, %lane8
  %b_row = shl i64 %b_line, 5
  %b_bit = lshr i64 %lane, 3
  %b_side = and i64 %b_bit, 1
  %b_half = shl i64 %b_side, 4
  %b_part = add i64 %b_row, %b_half
  %b_at = add i64 %b_part, 512
  br label %loop
loop:
  %s = phi i64 [ 0, %entry ], [ %next, %multiplied ]
  %c0 = phi float [ 0.0, %entry ], [ %d0, %multiplied ]
  %c1 = phi float [ 0.0, %entry ], [ %d1, %multiplied ]
  %c2 = phi float [ 0.0, %entry ], [ %d2, %multiplied ]
  %c3 = phi float [ 0.0, %entry ], [ %d3, %multiplied ]
  %next = add i64 %s, 1
  %has_next = icmp ult i64 %next, %steps
  br i1 %has_next, label %ahead, label %copied
ahead:
  %next_stage = and i64 %next, 1
  %next_at = shl i64 %next_stage, 10
  %next_to = getelementptr i8, ptr addrspace(3) %to, i64 %next_at
  %next_k = shl i64 %next, 5
  %next_from = getelementptr i8, ptr addrspace(1) %from, i64 %next_k
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %next_to, ptr addrspace(1) %next_from)
  br label %copied
copied:
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %stage = and i64 %s, 1
  %stage_at = shl i64 %stage, 10
  %stage_p = getelementptr i8, ptr addrspace(3) @stages, i64 %stage_at
  %a_p = getelementptr i8, ptr addrspace(3) %stage_p, i64 %a_at
  %b_p = getelementptr i8, ptr addrspace(3) %stage_p, i64 %b_at
  %fa = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %a_p)
  %fb = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %b_p)
  %a0 = extractvalue { i32, i32, i32, i32 } %fa, 0
  %a1 = extractvalue { i32, i32, i32, i32 } %fa, 1
  %a2 = extractvalue { i32, i32, i32, i32 } %fa, 2
  %a3 = extractvalue { i32, i32, i32, i32 } %fa, 3
  %b0 = extractvalue { i32, i32 } %fb, 0
  %b1 = extractvalue { i32, i32 } %fb, 1
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3)
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %multiplied
multiplied:
  br i1 %has_next, label %loop, label %store
store:
  %group = lshr i64 %lane, 2
  %position = and i64 %lane, 3
  %block_c = shl i64 %block, 8
  %row_c = shl i64 %group, 4
  %column = shl i64 %position, 1
  %at0 = add i64 %block_c, %row_c
  %at1 = add i64 %at0, %warp8
  %at2 = add i64 %at1, %column
  %p0 = getelementptr float, ptr addrspace(1) %c, i64 %at2
  %p1 = getelementptr float, ptr addrspace(1) %p0, i64 1
  %p2 = getelementptr float, ptr addrspace(1) %p0, i64 128
  %p3 = getelementptr float, ptr addrspace(1) %p0, i64 129
  store float %d0, ptr addrspace(1) %p0
  store float %d1, ptr addrspace(1) %p1
  store float %d2, ptr addrspace(1) %p2
  store float %d3, ptr addrspace(1) %p3
  ret void
}
)";

constexpr int kDepth = 80, kBlocks = 3, kSide = 16;
constexpr emulator::Order kAllOrders[] = {emulator::Order::forward, emulator::Order::reverse, emulator::Order::random};

uint16_t bf16_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}
int small(int64_t number) {
  return static_cast<int>(number * 2654435761 % 13) - 6;
}

struct Matrices {
  std::vector<uint16_t> a, b;
  std::vector<float> wanted;
  Matrices() : wanted(kBlocks * kSide * kSide) {
    for (int i = 0; i < kBlocks * kSide * kDepth; ++i) a.push_back(bf16_of(static_cast<float>(small(i))));
    for (int i = 0; i < kSide * kDepth; ++i) b.push_back(bf16_of(static_cast<float>(small(i + 77))));
    for (int row = 0; row < kBlocks * kSide; ++row)
      for (int column = 0; column < kSide; ++column)
        for (int k = 0; k < kDepth; ++k)
          wanted[static_cast<size_t>(row * kSide + column)] +=
              static_cast<float>(small(row * kDepth + k) * small(column * kDepth + k + 77));
  }
};

targets::EmulatedModule module_of(const char* text, targets::EmulatorFault fault = {}) {
  auto made = targets::emulated_module(text, {"tile"}, find_target("emulated:sm_80").value(), fault);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return std::move(made).value();
}

/// C, or none where the launch gives a code.
std::optional<std::vector<float>> launched(const targets::EmulatedModule& module, const Matrices& of,
                                           emulator::Order order) {
  const auto code = targets::load_code(module.object);
  EXPECT_TRUE(code) << (code ? "" : code.error().message);
  const auto& kernel = module.kernels.front();
  using Run = int (*)(const emulator::Launch*);
  const auto run = reinterpret_cast<Run>((*code)->address("polyweft_emulator_run"));
  std::vector<float> c(of.wanted.size(), -1);
  const uint64_t arguments[] = {reinterpret_cast<uint64_t>(of.a.data()), reinterpret_cast<uint64_t>(of.b.data()),
                                reinterpret_cast<uint64_t>(c.data()), kDepth};
  emulator::Launch launch{};
  launch.kernel = reinterpret_cast<decltype(launch.kernel)>((*code)->address(kernel.launched));
  EXPECT_TRUE(run && launch.kernel);
  launch.arguments = arguments;
  launch.blocks[0] = kBlocks, launch.blocks[1] = launch.blocks[2] = 1;
  launch.threads[0] = 64, launch.threads[1] = launch.threads[2] = 1;
  launch.shared_bytes = kernel.shared_bytes;
  launch.stack_bytes = kernel.stack_bytes;
  launch.order = order;
  launch.waits = kernel.waits;
  return run(&launch) == 0 ? std::optional(c) : std::nullopt;
}

TEST(TensorUnit, products_of_copied_tiles_are_right_in_all_orders) {
  const Matrices of;
  const auto module = module_of(kTile);
  EXPECT_EQ(module.kernels.front().shared_bytes, 2048);
  for (const emulator::Order order : kAllOrders) {
    const auto c = launched(module, of, order);
    ASSERT_TRUE(c) << static_cast<int>(order);
    EXPECT_EQ(*c, of.wanted) << static_cast<int>(order);
  }
}

TEST(TensorUnit, a_wait_that_is_missing_shows_in_some_order) {
  const Matrices of;
  const int calls = module_of(kTile).waiting_calls;
  EXPECT_EQ(calls, 3);
  int made = 0;
  for (int call = 0; call < calls; ++call) {
    const auto module = module_of(kTile, {call});
    int found = 0;
    for (const emulator::Order order : kAllOrders) found += launched(module, of, order) != of.wanted;
    EXPECT_GT(found, 0) << "call " << call;
    made += found > 0;
  }
  std::printf("%d waits dropped, %d found\n", calls, made);
}

TEST(TensorUnit, exchanged_registers_show) {
  const Matrices of;
  const std::string text = kTile, operands = "i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1";
  for (const char* exchanged :
       {"i32 %a1, i32 %a0, i32 %a2, i32 %a3, i32 %b0, i32 %b1", "i32 %a0, i32 %a2, i32 %a1, i32 %a3, i32 %b0, i32 %b1",
        "i32 %a0, i32 %a1, i32 %a3, i32 %a2, i32 %b0, i32 %b1",
        "i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b1, i32 %b0"}) {
    std::string mutant = text;
    mutant.replace(mutant.find(operands), operands.size(), exchanged);
    EXPECT_NE(launched(module_of(mutant.c_str()), of, emulator::Order::forward), of.wanted) << exchanged;
  }
}

TEST(TensorUnit, lanes_that_take_other_ways_are_told) {
  std::string mutant = kTile;  // the second warp's last lane leaves before the products
  const std::string from = "  br label %loop\nloop:",
                    ends =
                        "  %leaves = icmp eq i64 %tid, 63\n  br i1 %leaves, label %end, "
                        "label %loop\nend:\n  ret void\nloop:";
  mutant.replace(mutant.find(from), from.size(), ends);
  EXPECT_FALSE(launched(module_of(mutant.c_str()), Matrices(), emulator::Order::forward));
}

TEST(TensorUnit, what_is_not_emulated_is_refused_by_name) {
  std::string other = kTile;
  other.replace(other.find("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"), 56,
                "call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 0, i32 64)");
  other += "declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)\n";
  const auto made = targets::emulated_module(other, {"tile"}, find_target("emulated:sm_80").value());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0523");
  EXPECT_EQ(made.error().message, "the emulator has no llvm.nvvm.barrier.cta.arrive.aligned.count");
}

}  // namespace
}  // namespace polyweft::emulator_test
