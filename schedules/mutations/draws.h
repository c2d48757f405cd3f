// What several mutations draw at random.
#pragma once

#include <string>
#include <vector>

#include "schedules/mutations/mutations.h"

namespace polyweft::schedules {

template <typename T>
const T& one_of(const std::vector<T>& things, Rng& rng) {
  return things[rng.below(things.size())];
}
/// The statement or band whose loops or place the step changes; empty where it has none.
std::string owner_of(const Step& step);
/// The stage `c.statement` before the change; null where it is not there yet, is inlined, or awaits a band.
const Stage* stage_of(const Change& c);
/// Names of the stage's loops outside of lanes; those of decisions by index and level.
std::vector<std::string> loops_of(const Stage& stage);
/// A loop of the stage or "root".
std::string place_in(const Stage& stage, Rng& rng);
/// A size near the value: half, twice, three quarters, one and a half, a unit more or less. At least 1.
int64_t near_size(int64_t value, int64_t unit, Rng& rng);
/// A tile's size for an index: lanes times a power of two, a small number, or an equal part of the extent.
int64_t tile_size(int64_t extent, int64_t lanes, Rng& rng);
/// Tensors that the stage reads, each once.
std::vector<TensorId> tensors_read(const NestTemplate& t, const Stage& stage);
/// Row-major, transposed, or in panels along one dimension that a loop over lanes or a tile would read.
std::vector<LayoutDigit> some_layout(uint32_t rank, int64_t lanes, Rng& rng);

}  // namespace polyweft::schedules
