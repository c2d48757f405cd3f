// Tiles of time for a band whose first member is time.
//
//   parallelograms   band, skewed and shifted until all distances are >= 0 | t.1 | i.1 | t | each statement: j vectors,
//   rows i jammed diamonds         p = f t + i, q = f t - i, t, j skewed | p.1 + q.1 | p.1 | j.1 | t | each statement:
//   j vectors, rows i jammed
#pragma once

#include <optional>

#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {

constexpr size_t kMostInTiles =
    16;  ///< statements, pieces of borders included, of a band in time tiles: each meets each in the proof

/// The band with members whose distances are all >= 0 along the first and every other member; nothing where no small
/// skew does it.
std::optional<BandStep> permutable(const NestTemplate& t, uint32_t number, const BandStep& step, int64_t lanes);
/// Do steps of time read what the second cache still has, of tensors that keep all of their steps? Then blocks of time
/// bring nothing nearer.
bool has_near_past(const Sketcher& s, uint32_t number);
/// t.1, tiles of rows, t: each statement has whole rows of vectors, a few rows at a time. False where less than half of
/// the work gets lanes.
bool add_time_tiles(Sketcher& s, uint32_t band);

/// The band [t, i, j, ..] with members [p, q, t, j, ..], p along i forward in time and q along it backward: distances
/// are >= 0 along all of them. Nothing for bands of two members, or where no small slope does it.
std::optional<BandStep> diamonds(const NestTemplate& t, uint32_t number, const BandStep& step, int64_t lanes);
/// Tiles of p and q, which need no other tile of their wave, and rows as above.
bool add_diamonds(Sketcher& s, uint32_t band);

}  // namespace polyweft::schedules
