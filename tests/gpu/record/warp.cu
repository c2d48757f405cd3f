// Records what a warp does together: matrix loads and stores through shared memory, transposes, shuffles, votes.
//     warp FILE
#include <functional>

#include "record.h"

using record::File;
using record::Random;

namespace {

constexpr int kCases = 2;
constexpr int kSharedWords = 256;

/// Shared memory is `image`; each lane gives a byte offset and up to four registers.
template <class Op>
__global__ void through_shared(const uint32_t* image, const uint32_t* offsets, const uint32_t* in, uint32_t* out,
                               uint32_t* after) {
  __shared__ alignas(128) uint32_t shared[kSharedWords];
  const uint32_t lane = threadIdx.x, thread = blockIdx.x * 32 + lane;
  for (uint32_t i = lane; i < kSharedWords; i += 32) shared[i] = image[i];
  __syncwarp();
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(shared)) + offsets[thread];
  uint32_t r[4] = {in[4 * thread], in[4 * thread + 1], in[4 * thread + 2], in[4 * thread + 3]};
  Op::run(address, r);
  __syncwarp();
  for (int i = 0; i < 4; ++i) out[4 * thread + i] = r[i];
  for (uint32_t i = lane; i < kSharedWords; i += 32) after[blockIdx.x * kSharedWords + i] = shared[i];
}

#define THROUGH_SHARED(Name, text, statement)                                \
  struct Name {                                                              \
    static constexpr const char* name = text;                                \
    static __device__ void run(uint32_t address, uint32_t* r) { statement; } \
  };
#define LOAD1(Name, text) \
  THROUGH_SHARED(Name, text, asm volatile(text " {%0}, [%1];" : "+r"(r[0]) : "r"(address) : "memory"))
#define LOAD2(Name, text) \
  THROUGH_SHARED(Name, text, asm volatile(text " {%0,%1}, [%2];" : "+r"(r[0]), "+r"(r[1]) : "r"(address) : "memory"))
#define LOAD4(Name, text)                                                      \
  THROUGH_SHARED(Name, text,                                                   \
                 asm volatile(text " {%0,%1,%2,%3}, [%4];"                     \
                              : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) \
                              : "r"(address)                                   \
                              : "memory"))
#define STORE1(Name, text) \
  THROUGH_SHARED(Name, text, asm volatile(text " [%0], {%1};" ::"r"(address), "r"(r[0]) : "memory"))
#define STORE2(Name, text) \
  THROUGH_SHARED(Name, text, asm volatile(text " [%0], {%1,%2};" ::"r"(address), "r"(r[0]), "r"(r[1]) : "memory"))
#define STORE4(Name, text)                                                                                            \
  THROUGH_SHARED(Name, text,                                                                                          \
                 asm volatile(text " [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) \
                              : "memory"))

LOAD1(Load1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")
LOAD2(Load2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16")
LOAD4(Load4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
LOAD1(LoadT1, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16")
LOAD2(LoadT2, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
LOAD4(LoadT4, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
STORE1(Store1, "stmatrix.sync.aligned.m8n8.x1.shared.b16")
STORE2(Store2, "stmatrix.sync.aligned.m8n8.x2.shared.b16")
STORE4(Store4, "stmatrix.sync.aligned.m8n8.x4.shared.b16")
STORE1(StoreT1, "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16")
STORE2(StoreT2, "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
STORE4(StoreT4, "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16")

/// A permutation of the 128 rows of 16 bytes: lane l gives row order[l].
std::vector<uint32_t> row_offsets(uint32_t seed) {
  std::vector<uint32_t> offsets;
  for (int which = 0; which < kCases; ++which) {
    Random random(seed + which);
    std::vector<uint32_t> rows(kSharedWords / 4);
    for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    for (uint32_t i = 0; i < 32; ++i) {
      std::swap(rows[i], rows[i + random.below(static_cast<uint32_t>(rows.size()) - i)]);
      offsets.push_back(16 * rows[i]);
    }
  }
  return offsets;
}

std::vector<uint32_t> random_words(uint32_t seed, size_t count) {
  Random random(seed);
  std::vector<uint32_t> out(count);
  for (uint32_t& word : out) word = random.bits();
  return out;
}

template <class Op>
void record_shared(File& file) {
  const auto image = random_words(11, kSharedWords), in = random_words(12, kCases * 128);
  const auto offsets = row_offsets(13);
  record::Buffer<uint32_t> di(image), dof(offsets), din(in), out(in.size()), after(kCases * kSharedWords);
  through_shared<Op><<<kCases, 32>>>(di.data(), dof.data(), din.data(), out.data(), after.data());
  record::finish(Op::name);
  const bool stores = std::string(Op::name)[0] == 's';
  std::vector<record::Field> fields = {
      {"before", {kSharedWords}, image}, {"offset", {kCases, 32}, offsets}, {"in", {kCases, 32, 4}, in}};
  if (stores) fields.push_back({"after", {kCases, kSharedWords}, after.values()});
  if (!stores) fields.push_back({"out", {kCases, 32, 4}, out.values()});
  file.add(Op::name, fields);
}

#define LANES(Name, text, I, O, statement)                                    \
  struct Name {                                                               \
    static constexpr const char* name = text;                                 \
    static constexpr int inputs = I, outputs = O;                             \
    static __device__ void run(const uint32_t* a, uint32_t* d) { statement; } \
  };
LANES(Transpose, "movmatrix.sync.aligned.m8n8.trans.b16", 1, 1,
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                   : "=r"(d[0])
                   : "r"(a[0])))
#define SHUFFLE(Name, mode)                                                                               \
  LANES(Name, "shfl.sync." mode ".b32", 3, 2,                                                             \
        asm volatile("{.reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, -1; selp.u32 %1, 1, 0, p;}" \
                     : "=r"(d[0]), "=r"(d[1])                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2])))
SHUFFLE(ShuffleUp, "up")
SHUFFLE(ShuffleDown, "down")
SHUFFLE(ShuffleBfly, "bfly")
SHUFFLE(ShuffleIdx, "idx")
// Input 1 is the mask: lanes outside it stay away and give 0.
#define MASKED(Name, text, O, statement) \
  LANES(                                 \
      Name, text, 2, O, if (a[1] >> threadIdx.x & 1) { statement; })
#define REDUX(Name, op) \
  MASKED(Name, "redux.sync." op, 1, asm volatile("redux.sync." op " %0, %1, %2;" : "=r"(d[0]) : "r"(a[0]), "r"(a[1])))
REDUX(AddU, "add.u32")
REDUX(AddS, "add.s32")
REDUX(MinU, "min.u32")
REDUX(MinS, "min.s32")
REDUX(MaxU, "max.u32")
REDUX(MaxS, "max.s32")
REDUX(And, "and.b32")
REDUX(Or, "or.b32")
REDUX(Xor, "xor.b32")
#define VOTE(Name, op)                                                                                                 \
  MASKED(Name, "vote.sync." op ".pred", 1,                                                                             \
         asm volatile("{.reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync." op ".pred q, p, %2; selp.u32 %0, 1, 0, q;}" \
                      : "=r"(d[0])                                                                                     \
                      : "r"(a[0]), "r"(a[1])))
VOTE(All, "all")
VOTE(Any, "any")
VOTE(Uniform, "uni")
MASKED(Ballot, "vote.sync.ballot.b32", 1,
       asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2;}"
                    : "=r"(d[0])
                    : "r"(a[0]), "r"(a[1])))
MASKED(MatchAny, "match.any.sync.b32", 1,
       asm volatile("match.any.sync.b32 %0, %1, %2;"
                    : "=r"(d[0])
                    : "r"(a[0]), "r"(a[1])))
MASKED(MatchAll, "match.all.sync.b32", 2,
       asm volatile("{.reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.u32 %1, 1, 0, p;}"
                    : "=r"(d[0]), "=r"(d[1])
                    : "r"(a[0]), "r"(a[1])))
MASKED(Elect, "elect.sync", 2,
       asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p;}"
                    : "=r"(d[0]), "=r"(d[1])
                    : "r"(a[1])))
LANES(Permute, "prmt.b32", 3, 1,
      asm volatile("prmt.b32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(PermuteF4e, "prmt.b32.f4e", 3, 1,
      asm volatile("prmt.b32.f4e %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(PermuteRc16, "prmt.b32.rc16", 3, 1,
      asm volatile("prmt.b32.rc16 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Dp4aSS, "dp4a.s32.s32", 3, 1,
      asm volatile("dp4a.s32.s32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Dp4aUS, "dp4a.u32.s32", 3, 1,
      asm volatile("dp4a.u32.s32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Dp4aUU, "dp4a.u32.u32", 3, 1,
      asm volatile("dp4a.u32.u32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Dp2aLo, "dp2a.lo.s32.s32", 3, 1,
      asm volatile("dp2a.lo.s32.s32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Dp2aHi, "dp2a.hi.s32.s32", 3, 1,
      asm volatile("dp2a.hi.s32.s32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Lop3, "lop3.b32.0xCA", 3, 1,
      asm volatile("lop3.b32 %0, %1, %2, %3, 0xCA;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(ShfWrap, "shf.l.wrap.b32", 3, 1,
      asm volatile("shf.l.wrap.b32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(ShfClamp, "shf.r.clamp.b32", 3, 1,
      asm volatile("shf.r.clamp.b32 %0, %1, %2, %3;"
                   : "=r"(d[0])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Bfe, "bfe.s32", 3, 1, asm volatile("bfe.s32 %0, %1, %2, %3;" : "=r"(d[0]) : "r"(a[0]), "r"(a[1]), "r"(a[2])))
LANES(Bfind, "bfind.u32", 1, 1, asm volatile("bfind.u32 %0, %1;" : "=r"(d[0]) : "r"(a[0])))

using Fill = std::function<uint32_t(Random&, int which, int lane, int input)>;

template <class Op>
void record_lanes(File& file, int cases, const Fill& fill) {
  std::vector<uint32_t> in;
  Random random(21);
  for (int which = 0; which < cases; ++which)
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < Op::inputs; ++i) in.push_back(fill(random, which, lane, i));
  const auto out = record::run_per_lane<Op, Op::inputs, Op::outputs>(in);
  file.add(Op::name, {{"in", {cases, 32, Op::inputs}, in}, {"out", {cases, 32, Op::outputs}, out}});
}

uint32_t any_word(Random& random, int, int, int) {
  return random.bits();
}

/// Lane offsets within and beyond the warp; clamps for widths 32, 16, 8, 4 in both forms, and arbitrary ones.
uint32_t shuffle_input(Random& random, int which, int, int input) {
  static constexpr uint32_t kClamps[] = {0x1F,   0x00,   0x100F, 0x1000, 0x1807, 0x1800,
                                         0x1C03, 0x1C00, 0x181F, 0x101F, 0x0707, 0x1F1F};
  if (input == 0) return random.bits();
  if (input == 2) return kClamps[which % 12];
  return which < 12 ? random.below(32) : random.below(256);
}

uint32_t mask_of(int which) {
  static constexpr uint32_t kMasks[] = {0xFFFFFFFFu, 0x0000FFFFu, 0xAAAAAAAAu, 0x80000001u, 0x00F0F0F0u, 0x00000010u};
  return kMasks[which % 6];
}

uint32_t masked_word(Random& random, int which, int, int input) {
  return input ? mask_of(which) : random.bits();
}

/// Few values, so that votes and matches agree at times; cases 6 to 11 give all lanes the same.
uint32_t masked_choice(Random& random, int which, int, int input) {
  if (input) return mask_of(which);
  return which < 6 ? random.below(3) : which < 12 ? 2 : which < 18 ? 0 : uint32_t(random.below(16) != 0);
}

uint32_t funnel_input(Random& random, int, int, int input) {
  return input == 2 ? random.below(40) : random.bits();
}

uint32_t field_input(Random& random, int, int, int input) {
  return input ? random.below(40) : random.bits();
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  File file(words[1]);
  record_shared<Load1>(file), record_shared<Load2>(file), record_shared<Load4>(file);
  record_shared<LoadT1>(file), record_shared<LoadT2>(file), record_shared<LoadT4>(file);
  record_shared<Store1>(file), record_shared<Store2>(file), record_shared<Store4>(file);
  record_shared<StoreT1>(file), record_shared<StoreT2>(file), record_shared<StoreT4>(file);
  record_lanes<Transpose>(file, kCases, any_word);
  record_lanes<ShuffleUp>(file, 13, shuffle_input), record_lanes<ShuffleDown>(file, 13, shuffle_input);
  record_lanes<ShuffleBfly>(file, 13, shuffle_input), record_lanes<ShuffleIdx>(file, 13, shuffle_input);
  record_lanes<AddU>(file, 6, masked_word), record_lanes<AddS>(file, 6, masked_word);
  record_lanes<MinU>(file, 6, masked_word), record_lanes<MinS>(file, 6, masked_word);
  record_lanes<MaxU>(file, 6, masked_word), record_lanes<MaxS>(file, 6, masked_word);
  record_lanes<And>(file, 6, masked_word), record_lanes<Or>(file, 6, masked_word),
      record_lanes<Xor>(file, 6, masked_word);
  record_lanes<All>(file, 14, masked_choice), record_lanes<Any>(file, 14, masked_choice);
  record_lanes<Uniform>(file, 20, masked_choice), record_lanes<Ballot>(file, 14, masked_choice);
  record_lanes<MatchAny>(file, 12, masked_choice), record_lanes<MatchAll>(file, 12, masked_choice);
  record_lanes<Elect>(file, 6, masked_word);
  record_lanes<Permute>(file, 4, any_word), record_lanes<PermuteF4e>(file, 2, any_word),
      record_lanes<PermuteRc16>(file, 2, any_word);
  record_lanes<Dp4aSS>(file, 2, any_word), record_lanes<Dp4aUS>(file, 2, any_word),
      record_lanes<Dp4aUU>(file, 2, any_word);
  record_lanes<Dp2aLo>(file, 2, any_word), record_lanes<Dp2aHi>(file, 2, any_word),
      record_lanes<Lop3>(file, 2, any_word);
  record_lanes<ShfWrap>(file, 2, funnel_input), record_lanes<ShfClamp>(file, 2, funnel_input);
  record_lanes<Bfe>(file, 4, field_input), record_lanes<Bfind>(file, 2, any_word);
  return 0;
}
