#include "targets/gpu/emulator/runtime/grid.h"

#include <cstring>

#include "targets/gpu/emulator/runtime/block.h"
#include "targets/gpu/emulator/runtime/products.h"
#include "targets/gpu/emulator/runtime/wave_products.h"

namespace polyweft::emulator {
namespace {

constexpr int kNoMemory = -11;  // halide_error_code_t

/// No thread waits: a plain loop.
void run_straight(const Launch& launch, uint64_t number, unsigned char* shared) {
  Thread thread;
  set_index(thread.index, launch.blocks, number);
  set_extents(thread, launch);
  thread.shared = shared;
  std::memset(shared, kUnwritten, static_cast<size_t>(launch.shared_bytes));
  const uint64_t threads = count(launch.threads);
  const Numbers order(launch.order, threads, number);
  for (uint64_t k = 0; k < threads; ++k) {
    set_index(thread.index + 3, launch.threads, order.at(k));
    thread.lane = static_cast<int64_t>(order.at(k) % warp_lanes(launch));
    launch.kernel(launch.arguments, &thread);
  }
}

RunningThread& running(Thread* thread) {
  return *static_cast<RunningThread*>(thread);
}
void meet(Thread* thread, WarpOperation operation, int64_t about, void* operands) {
  running(thread).block->meet(running(thread), operation, about, operands);
}

// ---- instructions of a warp; a lane that is not there gives zeros ----

void nothing_of_warp(int64_t, void* const*) {}

struct ProductOperands {
  const uint32_t* in;
  uint32_t* out;
};
void product_of_warp(int64_t about, void* const* lanes) {
  ProductShape shape;
  std::memcpy(&shape, &about, sizeof shape);
  Fragment a = {}, b = {}, c = {}, d;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto* of = static_cast<const ProductOperands*>(lanes[lane]);
    if (!of) continue;
    std::memcpy(a[lane], of->in, sizeof a[lane]);
    std::memcpy(b[lane], of->in + kMostRegisters, sizeof b[lane]);
    std::memcpy(c[lane], of->in + 2 * kMostRegisters, sizeof c[lane]);
  }
  multiply(shape, a, b, c, d);
  for (int lane = 0; lane < kLanes; ++lane)
    if (const auto* of = static_cast<const ProductOperands*>(lanes[lane]))
      std::memcpy(of->out, d[lane], sizeof d[lane]);
}

void wave_product(int64_t about, void* const* lanes) {
  WaveProduct of;
  std::memcpy(&of, &about, sizeof of);
  multiply(of, lanes);
}

struct MatrixOperands {
  unsigned char* row;
  const uint32_t* in;
  uint32_t* out;
};
unsigned char* element_of(void* const* lanes, int matrix, int lane, int half, bool transposed) {
  const MatrixPlace place = matrix_place(lane, half, transposed);
  return static_cast<const MatrixOperands*>(lanes[lane_of_row(matrix, place.row)])->row + 2 * place.column;
}
template <class Move>
void for_halves(int64_t about, void* const* lanes, const Move& move) {
  for (int matrix = 0; matrix < (about & 7); ++matrix)
    for (int lane = 0; lane < kLanes; ++lane)
      for (int half = 0; half < 2; ++half)
        move(*static_cast<const MatrixOperands*>(lanes[lane]), matrix, half,
             element_of(lanes, matrix, lane, half, (about & 8) != 0));
}
void load_matrix_of_warp(int64_t about, void* const* lanes) {
  for_halves(about, lanes, [](const MatrixOperands& of, int matrix, int half, const unsigned char* from) {
    std::memcpy(reinterpret_cast<unsigned char*>(of.out + matrix) + 2 * half, from, 2);
  });
}
void store_matrix_of_warp(int64_t about, void* const* lanes) {
  for_halves(about, lanes, [](const MatrixOperands& of, int matrix, int half, unsigned char* to) {
    std::memcpy(to, reinterpret_cast<const unsigned char*>(of.in + matrix) + 2 * half, 2);
  });
}

/// The PTX ISA manual, "shfl.sync": c holds a clamp (bits 0 to 4) and a segment mask (bits 8 to 12).
void shuffle_of_warp(int64_t about, void* const* lanes) {
  uint32_t values[kLanes] = {};
  for (int lane = 0; lane < kLanes; ++lane)
    if (lanes[lane]) values[lane] = static_cast<const ProductOperands*>(lanes[lane])->in[0];
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto* of = static_cast<const ProductOperands*>(lanes[lane]);
    if (!of) continue;
    const int b = static_cast<int>(of->in[1] & 31), clamp = static_cast<int>(of->in[2] & 31),
              segment = static_cast<int>(of->in[2] >> 8 & 31);
    const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int from = about == 1 ? lane - b : about == 2 ? lane + b : about == 3 ? lane ^ b : first | (b & ~segment);
    const bool is_inside = about == 1 ? from >= last : from <= last;
    if (!is_inside) from = lane;
    of->out[0] = values[from & 31];
    of->out[1] = is_inside;
  }
}

}  // namespace

extern "C" {

int polyweft_emulator_run(const Launch* launch) {
  const uint64_t blocks = count(launch->blocks), threads = count(launch->threads);
  if (blocks == 0 || threads == 0) return 0;
  const Numbers order(launch->order, blocks, blocks);
  const size_t bytes = launch->waits ? Block::bytes(*launch) : static_cast<size_t>(launch->shared_bytes) + 1;
  auto* const memory = static_cast<unsigned char*>(halide_malloc(nullptr, bytes));
  if (!memory) return kNoMemory;
  int code = 0;
  if (launch->waits) {
    Block block(*launch, memory);
    for (uint64_t k = 0; k < blocks && code == 0; ++k) code = block.run(order.at(k));
  } else {
    for (uint64_t k = 0; k < blocks; ++k) run_straight(*launch, order.at(k), memory);
  }
  halide_free(nullptr, memory);
  return code;
}

void polyweft_emulator_barrier(Thread* thread) {
  running(thread).block->wait(running(thread));
}

void polyweft_emulator_warp_barrier(Thread* thread) {
  meet(thread, nothing_of_warp, 0, nullptr);
}
void polyweft_emulator_product(Thread* thread, int64_t about, const uint32_t* in, uint32_t* out) {
  ProductOperands operands{in, out};
  meet(thread, product_of_warp, about, &operands);
}
void polyweft_emulator_wave_product(Thread* thread, int64_t about, const uint32_t* in, uint32_t* out) {
  WaveOperands operands{in, out};
  meet(thread, wave_product, about, &operands);
}
void polyweft_emulator_shuffle(Thread* thread, int64_t about, const uint32_t* in, uint32_t* out) {
  ProductOperands operands{in, out};
  meet(thread, shuffle_of_warp, about, &operands);
}
void polyweft_emulator_load_matrix(Thread* thread, int64_t about, const void* row, uint32_t* out) {
  MatrixOperands operands{static_cast<unsigned char*>(const_cast<void*>(row)), nullptr, out};
  meet(thread, load_matrix_of_warp, about, &operands);
}
void polyweft_emulator_store_matrix(Thread* thread, int64_t about, void* row, const uint32_t* in) {
  MatrixOperands operands{static_cast<unsigned char*>(row), in, nullptr};
  meet(thread, store_matrix_of_warp, about, &operands);
}

void polyweft_emulator_copy(Thread* thread, void* to, const void* from, int32_t bytes, int32_t source_bytes) {
  RunningThread& of = running(thread);
  const Copy copy{to, from, bytes, source_bytes, of.groups};
  if (of.block->copies_at_once(of)) return of.block->make(of, copy);
  if (of.copy_count == of.copy_room) {
    of.copy_room = of.copy_room == 0 ? 16 : 2 * of.copy_room;
    auto* more = static_cast<Copy*>(halide_malloc(nullptr, static_cast<size_t>(of.copy_room) * sizeof(Copy)));
    if (!more) __builtin_trap();
    if (of.copy_count) std::memcpy(more, of.copies, static_cast<size_t>(of.copy_count) * sizeof(Copy));
    halide_free(nullptr, of.copies);
    of.copies = more;
  }
  of.copies[of.copy_count++] = copy;
}
void polyweft_emulator_begin_products(Thread* thread) {
  running(thread).may_start_products = true;
}
void polyweft_emulator_start_product(Thread* thread, int64_t about, uint64_t a, uint64_t b, const uint32_t* in,
                                     uint32_t* out) {
  running(thread).block->start(running(thread), about, a, b, in, out);
}
void polyweft_emulator_commit_products(Thread* thread) {
  ++running(thread).product_groups;
}
void polyweft_emulator_wait_products(Thread* thread, int64_t groups) {
  running(thread).block->wait_products(running(thread), groups);
}
void polyweft_emulator_settle(Thread* thread, int64_t count, const uint32_t* in, uint32_t* out) {
  running(thread).block->settle(running(thread), count, in, out);
}
void polyweft_emulator_publish(Thread* thread) {
  ++running(thread).published;
}

void polyweft_emulator_commit_copies(Thread* thread) {
  ++running(thread).groups;
}
void polyweft_emulator_wait_copies(Thread* thread, int32_t groups) {
  RunningThread& of = running(thread);
  const int64_t end = groups < 0 ? of.groups + 1 : of.groups - groups;
  int64_t kept = 0;
  for (int64_t k = 0; k < of.copy_count; ++k)
    if (of.copies[k].group < end)
      of.block->make(of, of.copies[k]);
    else
      of.copies[kept++] = of.copies[k];
  of.copy_count = kept;
}

}  // extern "C"

}  // namespace polyweft::emulator
