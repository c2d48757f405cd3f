#include "schedules/mutations/draws.h"

#include <algorithm>

#include "schedules/queries.h"

namespace polyweft::schedules {

std::string owner_of(const Step& step) {
  return std::visit(
      [](const auto& s) -> std::string {
        if constexpr (requires { s.producer; })
          return s.producer;
        else if constexpr (requires { s.statement; })
          return s.statement;
        else if constexpr (requires { s.band; })
          return s.band;
        else
          return "";
      },
      step);
}

const Stage* stage_of(const Change& c) {
  const auto id = stage_named(c.at, c.statement);
  if (!id) return nullptr;
  const Stage& stage = c.at.stages[*id];
  return stage.placement.kind == Placement::Kind::inlined || stage.needs_band ? nullptr : &stage;
}

std::vector<std::string> loops_of(const Stage& stage) {
  std::vector<std::string> out;
  for (const TemplateLoop& loop : stage.loops)
    if (loop.mark.kind != MarkKind::vector) out.push_back(loop.name);
  return out;
}

std::string place_in(const Stage& stage, Rng& rng) {
  std::vector<std::string> places = loops_of(stage);
  places.push_back("root");
  return one_of(places, rng);
}

int64_t near_size(int64_t value, int64_t unit, Rng& rng) {
  const auto in_units = [&](int64_t v) { return std::max<int64_t>(unit, v / unit * unit); };
  const std::vector<int64_t> near{std::max<int64_t>(1, value / 2), value * 2,    in_units(value * 3 / 4),
                                  in_units(value * 3 / 2),         value + unit, std::max<int64_t>(1, value - unit)};
  return one_of(near, rng);
}

int64_t tile_size(int64_t extent, int64_t lanes, Rng& rng) {
  constexpr uint64_t kMostPower = 7, kMostParts = 8, kMostSmall = 8;
  switch (rng.below(3)) {
    case 0:
      return lanes << rng.below(kMostPower);
    case 1:
      return 1 + static_cast<int64_t>(rng.below(kMostSmall));
    default: {
      const auto parts = 1 + static_cast<int64_t>(rng.below(kMostParts));
      return std::max<int64_t>(1, (extent + parts - 1) / parts);
    }
  }
}

std::vector<TensorId> tensors_read(const NestTemplate& t, const Stage& stage) {
  std::vector<TensorId> out;
  visit(equation_of(t, stage).rhs, [&](const ExprNode& e) {
    if (e.op == Op::read && std::find(out.begin(), out.end(), e.access.id) == out.end()) out.push_back(e.access.id);
  });
  return out;
}

std::vector<LayoutDigit> some_layout(uint32_t rank, int64_t lanes, Rng& rng) {
  constexpr uint64_t kMostVectors = 4;
  std::vector<LayoutDigit> digits;
  for (uint32_t d = 0; d < rank; ++d) digits.push_back({LayoutDigit::Part::whole, "d" + std::to_string(d), {}});
  if (rank == 0) return digits;
  switch (rng.below(3)) {
    case 0:
      return {};
    case 1:
      std::swap(digits[rng.below(rank)], digits.back());
      return digits;
    default: {
      const auto panel = rng.below(rank);
      const Size width{lanes * (1 + static_cast<int64_t>(rng.below(kMostVectors))), ""};
      LayoutDigit upper = digits[panel], lower = digits[panel];
      upper.part = LayoutDigit::Part::quotient, lower.part = LayoutDigit::Part::remainder;
      upper.factor = lower.factor = width;
      digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(panel));
      digits.insert(digits.begin(), upper);
      digits.push_back(lower);
      return digits;
    }
  }
}

}  // namespace polyweft::schedules
