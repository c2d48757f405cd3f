// The emulator's instructions of warps and its copies, run by its runtime in this program, beside what a GPU did.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "emulator/recording.h"
#include "targets/gpu/emulator/runtime/grid.h"

namespace polyweft::emulator_test {
namespace {

using emulator::Thread;

/// What each of 32 threads does, on this memory as its shared memory.
void on_warp(std::vector<uint32_t>& shared, emulator::Order order,
             const std::function<void(Thread*, size_t lane)>& what) {
  struct Arguments {
    std::vector<uint32_t>& shared;
    const std::function<void(Thread*, size_t)>& what;
  } arguments{shared, what};
  emulator::Launch launch{};
  launch.kernel = [](const void* of, Thread* thread) {
    const auto& given = *static_cast<const Arguments*>(of);
    const auto lane = static_cast<size_t>(thread->lane);
    if (lane == 0) std::memcpy(thread->shared, given.shared.data(), 4 * given.shared.size());
    polyweft_emulator_barrier(thread);
    given.what(thread, lane);
    polyweft_emulator_barrier(thread);
    if (lane == 0) std::memcpy(given.shared.data(), thread->shared, 4 * given.shared.size());
  };
  launch.arguments = &arguments;
  for (int d = 0; d < 3; ++d) launch.blocks[d] = launch.threads[d] = 1;
  launch.threads[0] = 32;
  launch.shared_bytes = static_cast<int64_t>(4 * shared.size());
  launch.stack_bytes = 64 << 10;
  launch.order = order;
  launch.waits = 1;
  ASSERT_EQ(polyweft_emulator_run(&launch), 0);
}

constexpr emulator::Order kThreadOrders[] = {emulator::Order::forward, emulator::Order::reverse,
                                             emulator::Order::random};

std::vector<uint32_t> words_of(const RecordedArray& array, size_t from, size_t count) {
  return {array.words.begin() + static_cast<std::ptrdiff_t>(from),
          array.words.begin() + static_cast<std::ptrdiff_t>(from + count)};
}
std::vector<Record> records(const char* file, const std::string& prefix) {
  std::vector<Record> out;
  for (Record& record : recorded(file))
    if (record.name.starts_with(prefix)) out.push_back(std::move(record));
  return out;
}
/// ".x4", and 8 more where it is transposed.
int64_t matrices_of(const std::string& name) {
  return name[name.find(".x") + 2] - '0' + (name.find(".trans") != std::string::npos ? 8 : 0);
}

TEST(RecordedWarp, matrix_loads) {
  int seen = 0;
  for (const Record& record : records("warp.rec", "ldmatrix"))
    for (size_t which = 0; which < 2; ++which)
      for (const emulator::Order order : kThreadOrders) {
        SCOPED_TRACE(record.name);
        auto shared = words_of(record.arrays.at("before"), 0, 256);
        std::vector<uint32_t> out = words_of(record.arrays.at("in"), which * 128, 128);
        on_warp(shared, order, [&](Thread* thread, size_t lane) {
          polyweft_emulator_load_matrix(thread, matrices_of(record.name),
                                        thread->shared + record.arrays.at("offset").words[which * 32 + lane],
                                        out.data() + 4 * lane);
        });
        EXPECT_EQ(out, words_of(record.arrays.at("out"), which * 128, 128));
        ++seen;
      }
  EXPECT_EQ(seen, 36);
}

TEST(RecordedWarp, matrix_stores) {
  int seen = 0;
  for (const Record& record : records("warp.rec", "stmatrix"))
    for (size_t which = 0; which < 2; ++which) {
      SCOPED_TRACE(record.name);
      auto shared = words_of(record.arrays.at("before"), 0, 256);
      const auto in = words_of(record.arrays.at("in"), which * 128, 128);
      on_warp(shared, emulator::Order::random, [&](Thread* thread, size_t lane) {
        polyweft_emulator_store_matrix(thread, matrices_of(record.name),
                                       thread->shared + record.arrays.at("offset").words[which * 32 + lane],
                                       in.data() + 4 * lane);
      });
      EXPECT_EQ(shared, words_of(record.arrays.at("after"), which * 256, 256));
      ++seen;
    }
  EXPECT_EQ(seen, 12);
}

TEST(RecordedWarp, shuffles) {
  int64_t mode = 0;
  for (const char* name : {"idx", "up", "down", "bfly"}) {
    SCOPED_TRACE(name);
    const auto found = records("warp.rec", std::string("shfl.sync.") + name + ".b32");
    ASSERT_EQ(found.size(), 1u);
    for (size_t which = 0; which < 13; ++which) {
      std::vector<uint32_t> shared(1), in = words_of(found[0].arrays.at("in"), which * 96, 96), out(64);
      on_warp(shared, emulator::Order::random, [&](Thread* thread, size_t lane) {
        polyweft_emulator_shuffle(thread, mode, in.data() + 3 * lane, out.data() + 2 * lane);
      });
      EXPECT_EQ(out, words_of(found[0].arrays.at("out"), which * 64, 64));
    }
    ++mode;
  }
}

TEST(RecordedWarp, copies) {
  int seen = 0;
  for (const Record& record : records("async.rec", "cp.async.c"))
    for (const emulator::Order order : kThreadOrders) {
      SCOPED_TRACE(record.name);
      const int32_t bytes = std::stoi(record.name.substr(record.name.find("global.") + 7));
      const bool ignores = record.name.find("ignore_src") != std::string::npos;
      const auto source = words_of(record.arrays.at("source"), 0, 192);
      auto shared = words_of(record.arrays.at("before"), 0, 192);
      on_warp(shared, order, [&](Thread* thread, size_t lane) {
        auto size = static_cast<int32_t>(record.arrays.at("size").words[lane]);
        if (ignores && size) size = bytes;
        polyweft_emulator_copy(thread, thread->shared + record.arrays.at("to").words[lane],
                               reinterpret_cast<const char*>(source.data()) + record.arrays.at("from").words[lane],
                               bytes, size);
        polyweft_emulator_commit_copies(thread);
        polyweft_emulator_wait_copies(thread, 0);
      });
      EXPECT_EQ(shared, words_of(record.arrays.at("after"), 0, 192));
      ++seen;
    }
  EXPECT_EQ(seen, 15);
}

TEST(RecordedWarp, a_copy_that_nobody_waits_for_is_not_there) {
  std::vector<uint32_t> shared(4, 7), source(4, 9);
  for (const int32_t groups : {1, 0}) {
    on_warp(shared, emulator::Order::forward, [&](Thread* thread, size_t lane) {
      if (lane != 0) return;
      polyweft_emulator_copy(thread, thread->shared, source.data(), 16, 16);
      polyweft_emulator_commit_copies(thread);
      polyweft_emulator_wait_copies(thread, groups);
    });
    EXPECT_EQ(shared, std::vector<uint32_t>(4, groups == 0 ? 9 : 7));
  }
}

}  // namespace
}  // namespace polyweft::emulator_test
