// Lines, pages and sets of accesses, against enumeration of every address.
#include "cost_models/reach.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace polyweft::cost {
namespace {

struct Walked {
  std::set<int64_t> granules, sets;
};

Buffer matrix(int64_t rows, int64_t columns, Layout layout = {}) {
  Buffer b;
  b.extents = {rows, columns};
  b.layout = layout.pieces.empty() ? row_major(b.extents) : layout;
  return b;
}

// Two loops: rows by `row_step`, columns by 1.
Leaf two_loops(int64_t rows, int64_t row_step, int64_t columns) {
  Leaf leaf;
  leaf.loops = {{0, static_cast<double>(rows), row_step}, {1, static_cast<double>(columns), 1}};
  AccessUse use;
  use.coeff = {{row_step, 0}, {0, 1}};
  leaf.accesses = {use};
  return leaf;
}

Walked walk(const Buffer& b, int64_t rows, int64_t row_step, int64_t columns, const Store& store) {
  Walked out;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t granule =
          physical_offset(b, {r * row_step, c}) * size_bytes(b.type) / static_cast<int64_t>(store.granule_bytes);
      out.granules.insert(granule);
      if (store.sets > 0) out.sets.insert(granule % static_cast<int64_t>(store.sets));
    }
  return out;
}

TEST(Reach, lines_and_sets_of_row_major_boxes_are_those_that_addresses_meet) {
  const Store l1{64, 768, 64};
  for (int64_t columns_of_matrix : {64, 96, 128, 1024, 1040, 1056, 2048})
    for (int64_t rows : {1, 3, 14, 64})
      for (int64_t columns : {16, 32, 64}) {
        const Buffer b = matrix(128, columns_of_matrix);
        const Leaf leaf = two_loops(rows, 1, columns);
        const Reach reach = Windows(b, leaf.accesses[0], leaf).reach(0, l1);
        const Walked truth = walk(b, rows, 1, columns, l1);
        EXPECT_EQ(reach.granules, static_cast<double>(truth.granules.size()))
            << columns_of_matrix << " " << rows << " " << columns;
        const double sets = static_cast<double>(truth.sets.size());
        EXPECT_GE(reach.set_share * 64, 0.5 * sets) << columns_of_matrix << " " << rows << " " << columns;
        EXPECT_LE(reach.set_share * 64, 2 * sets) << columns_of_matrix << " " << rows << " " << columns;
      }
}

TEST(Reach, panels_of_a_packed_layout_are_adjacent) {
  const Buffer packed = matrix(64, 96, Layout{{{1, 3}, {0, 64}, {1, 32}}, {}});
  const Leaf leaf = two_loops(64, 1, 32);
  const Windows windows(packed, leaf.accesses[0], leaf);
  EXPECT_EQ(windows.stride(0), 32 * 4);
  EXPECT_EQ(windows.stride(1), 4);
  const Reach reach = windows.reach(0, {64, 768, 64});
  EXPECT_EQ(reach.granules, 64 * 2);
  EXPECT_EQ(reach.run_bytes, 64 * 32 * 4);
  EXPECT_EQ(reach.set_share, 1);
}

TEST(Reach, pages_of_rows_a_page_apart_are_as_many_as_rows) {
  const Buffer b = matrix(128, 1024);
  const Leaf leaf = two_loops(100, 1, 32);
  EXPECT_EQ(Windows(b, leaf.accesses[0], leaf).reach(0, {4096, 64, 0}).granules, 100);
}

// Rows of a window that moves by less than its height are the same rows: taps (3) inside rows (12) inside strips of 12.
TEST(Reach, windows_that_overlap_share_their_rows) {
  const Buffer b = matrix(128, 96);
  for (const auto& [strip, strips, rows] :
       {std::array<int64_t, 3>{12, 2, 12}, {1, 1, 12}, {14, 2, 12}, {20, 2, 12}, {2, 5, 3}}) {
    Leaf leaf;
    leaf.loops = {{0, static_cast<double>(strips), strip}, {1, static_cast<double>(rows), 1}, {2, 3, 1}, {3, 32, 1}};
    AccessUse use;
    use.coeff = {{strip, 0}, {1, 0}, {1, 0}, {0, 1}};
    leaf.accesses = {use};
    std::set<int64_t> lines;
    for (int64_t s = 0; s < strips; ++s)
      for (int64_t r = 0; r < rows + 2; ++r)
        for (int64_t c = 0; c < 32; ++c) lines.insert(physical_offset(b, {s * strip + r, c}) * size_bytes(b.type) / 64);
    EXPECT_EQ(Windows(b, use, leaf).reach(0, {64, 768, 64}).granules, static_cast<double>(lines.size()))
        << strip << " " << strips;
  }
}

// Tiles of time: each step takes rows two further down and columns a little to the left; planes in one place. The hull
// is what is counted.
TEST(Reach, windows_skewed_in_time_share_their_rows) {
  Buffer b = matrix(500, 400);
  b.extents.insert(b.extents.begin(), 100);
  b.folds = {{0, 1}};
  b.layout = row_major(folded_extents(b));
  for (const auto& [steps, down, left, rows, columns] :
       {std::array<int64_t, 5>{20, 2, 8, 30, 128}, {10, 1, 16, 8, 96}, {30, 2, 4, 64, 64}, {12, 0, 16, 20, 64}}) {
    Leaf leaf;
    leaf.loops = {
        {0, static_cast<double>(steps), 1}, {1, static_cast<double>(rows), 1}, {2, static_cast<double>(columns), 1}};
    AccessUse use;
    use.coeff = {{1, down, -left}, {0, 1, 0}, {0, 0, 1}};
    leaf.accesses = {use};
    std::set<int64_t> lines;
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          lines.insert((400 * (t * down + r) + c + left * (steps - t)) * size_bytes(b.type) / 64);
    const double counted = Windows(b, use, leaf).reach(0, {64, 1e6, 0}).granules;
    EXPECT_GE(counted, 0.9 * static_cast<double>(lines.size())) << steps << " " << down;
    EXPECT_LE(counted, 2.5 * static_cast<double>(lines.size())) << steps << " " << down;
  }
}

}  // namespace
}  // namespace polyweft::cost
