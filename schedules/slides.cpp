// Which way a window moves is read off the subscripts: the rate of a subscript along the loop is the sum of coefficient
// * rate over its indices; the host's own index has rate 1, an index of another stage in the nest the rate of the
// dimension that it computes (compute_at) or of the index that it is tied to (fuse).
#include "schedules/slides.h"

#include <algorithm>
#include <map>

#include "ir/values/clamped.h"

namespace polyweft::schedules {
namespace {

struct SlidePlace {
  uint32_t host = 0, depth = 0, index = 0;
};

class Movement {
 public:
  Movement(const NestTemplate& t, const SlidePlace& place, const std::string& subject)
      : t_(t), place_(place), subject_(subject) {}

  /// Of each dimension of what the attached stage makes.
  Result<std::vector<int64_t>> of_tensor(uint32_t attached) {
    if (auto found = known_.find(attached); found != known_.end()) return found->second;
    auto rates = read_off(attached);
    if (rates) known_.emplace(attached, *rates);
    return rates;
  }

 private:
  Result<std::vector<int64_t>> read_off(uint32_t attached) {
    const TensorId tensor = equation_of(t_, t_.stages[attached]).targets[0];
    std::optional<std::vector<int64_t>> out;
    std::string first;
    for (uint32_t k = 0; k < t_.stages.size(); ++k) {
      const Stage& reader = t_.stages[k];
      if (k == attached || reader.placement.kind == Placement::Kind::inlined || !is_inside(k)) continue;
      const auto accesses = reads_of(t_, reader, tensor);
      if (accesses.empty()) continue;
      auto indices = of_indices(k);
      if (!indices) return indices.error();
      for (const Access& access : accesses) {
        auto rates = of_access(access, *indices, reader);
        if (!rates) return rates.error();
        if (!out) first = reader.name;
        if (out && *out != *rates)
          return fail("PW0315",
                      subject_ + ": reads by " + first + " and by " + reader.name + " move over " +
                          t_.program.tensors[tensor].name + " at different speeds",
                      {rates_text(first, *out), rates_text(reader.name, *rates), "leave out 'slide'"});
        out = std::move(*rates);
      }
    }
    if (!out) return fail("PW0315", subject_ + ": nothing inside the loop reads it");
    return std::move(*out);
  }

  bool is_inside(uint32_t k) const { return k == place_.host || runs_inside(t_, k, place_.host, place_.depth); }

  Result<std::vector<int64_t>> of_indices(uint32_t k) {
    const Stage& stage = t_.stages[k];
    std::vector<int64_t> out(stage.lo.size(), 0);
    if (k == place_.host) {
      out[place_.index] = 1;
    } else if (stage.placement.kind == Placement::Kind::fused) {
      for (auto [own, other] : stage.placement.ties)
        if (other == place_.index) out[own] = 1;
    } else {
      auto rates = of_tensor(k);
      if (!rates) return rates.error();
      const auto& slots = equation_of(t_, stage).slots;
      for (size_t d = 0; d < slots.size(); ++d)
        if (slots[d].var != kNoVar) out[slots[d].var - t_.program.index_var(0)] = (*rates)[d];
    }
    return out;
  }

  std::optional<int64_t> rate_of(const Affine& e, const std::vector<int64_t>& indices) const {
    int64_t out = 0;
    for (const Term& term : e.terms) {
      if (!term.quasi) {
        if (term.var >= t_.program.index_var(0)) out += term.coeff * indices[term.var - t_.program.index_var(0)];
        continue;
      }
      for (const Affine* part : {&term.quasi->e, &term.quasi->lo, &term.quasi->hi})
        if (rate_of(*part, indices) != 0) return std::nullopt;
    }
    return out;
  }

  Result<std::vector<int64_t>> of_access(const Access& access, const std::vector<int64_t>& indices,
                                         const Stage& reader) const {
    std::vector<int64_t> out;
    const auto all = [](uint32_t) { return true; };
    for (const Subscript& s : access.index) {
      const bool is_clamped = ir::clamp_reach(s.affine, reader, t_.program.index_var(0), all).has_value();
      const auto rate = rate_of(is_clamped ? s.affine.terms[0].quasi->e : s.affine, indices);
      if (s.data || !rate)
        return fail("PW0315",
                    subject_ + ": " + reader.name + " reads it by a subscript that does not move evenly with the loop",
                    {"leave out 'slide'"});
      out.push_back(*rate);
    }
    return out;
  }

  static std::string rates_text(const std::string& name, const std::vector<int64_t>& rates) {
    std::string out = name + " by";
    for (size_t d = 0; d < rates.size(); ++d) out += (d ? ", " : " ") + std::to_string(rates[d]);
    return out + " along its dimensions, an iteration";
  }

  const NestTemplate& t_;
  SlidePlace place_;
  std::string subject_;
  std::map<uint32_t, std::vector<int64_t>> known_;
};

std::string element_text(const NestTemplate& t, const Access& access, const std::vector<int64_t>& point) {
  std::vector<int64_t> values(t.program.parameters.size(), 0);
  values.insert(values.end(), point.begin(), point.end());
  std::string out = t.program.tensors[access.id].name + "[";
  for (size_t d = 0; d < access.index.size(); ++d)
    out += (d ? ", " : "") +
           (access.index[d].data ? std::string("data") : std::to_string(evaluate(access.index[d].affine, values)));
  return out + "]";
}

/// Two neighbours along the loop and what they read of the tensor, where the host reads it itself.
void note_neighbours(const NestTemplate& t, const Stage& host, uint32_t index, TensorId tensor, Error& error) {
  const auto accesses = reads_of(t, host, tensor);
  const auto pair = neighbours_along(t, host, index);
  if (!pair) return;
  if (accesses.empty()) {
    error.notes.push_back(instance_text(t, host, pair->first) + " comes before " +
                          instance_text(t, host, pair->second));
    return;
  }
  for (const auto* point : {&pair->first, &pair->second})
    error.notes.push_back(instance_text(t, host, *point) + " reads " + element_text(t, accesses[0], *point));
}

/// Can loop `depth - 1` carry a window at all?
Status carries(const NestTemplate& t, const Stage& host, uint32_t depth, TensorId tensor, const std::string& subject) {
  if (depth == 0) return fail("PW0304", subject + ": a window slides along a loop", {"name a loop instead of root"});
  const TemplateLoop& loop = host.loops[depth - 1];
  const std::string name = "loop " + loop.name;
  if (loop.mark.kind == MarkKind::parallel || loop.mark.kind == MarkKind::axis) {
    Error error = fail("PW0306", subject + ": iterations of " + name +
                                     " would run at once, and each needs what the one before has computed");
    note_neighbours(t, host, loop.index, tensor, error);
    error.notes.push_back("make a loop outside parallel: each of its iterations has a window of its own");
    return error;
  }
  if (is_register_loop(loop))
    return fail("PW0304", subject + ": " + name + " is unrolled or vectorized", {"slide along a serial loop"});
  if (!loop.cuts.empty())
    return fail("PW0304", subject + ": " + name + " is split in parts", {"a window slides along one loop"});
  if (loop.index >= host.data_indices)
    return fail("PW0304", subject + ": " + name + " folds a reduction", {"slide along a loop over a data index"});
  for (const Affine& condition : host.inside)
    if (condition.coefficient(t.program.index_var(loop.index)) != 0)
      return fail("PW0315", subject + ": where " + name + " starts and ends depends on conditions of " + host.name,
                  {"leave out 'slide'"});
  return Ok{};
}

/// The dimension along which the rates say that a window moves up.
Result<Slide> slide_by(const NestTemplate& t, const SlidePlace& place, TensorId tensor,
                       const std::vector<int64_t>& rates, const Sliding& sliding, const std::string& subject) {
  const auto moves = [](int64_t rate) { return rate != 0; };
  const auto moving = std::count_if(rates.begin(), rates.end(), moves);
  const auto at = std::find_if(rates.begin(), rates.end(), moves);
  if (moving == 1 && *at > 0)
    return Slide{place.index, static_cast<uint32_t>(at - rates.begin()), sliding.is_whole, sliding.multiple};
  const std::string name = t.program.tensors[tensor].name;
  const std::string what =
      moving == 0   ? "every iteration reads the same elements of " + name
      : moving == 1 ? "what is read of " + name + " moves down as the loop runs"
                    : "what is read of " + name + " moves along " + std::to_string(moving) + " dimensions at once";
  Error error = fail("PW0315", subject + ": " + what);
  note_neighbours(t, t.stages[place.host], place.index, tensor, error);
  error.notes.push_back(moving == 0 ? "place it outside the loop" : "leave out 'slide'");
  return error;
}

/// One iteration: nothing moves.
bool is_still(const Stage& host, uint32_t index) {
  return host.hi[index] - host.lo[index] <= 1;
}

}  // namespace

Result<Slide> slide_of(const NestTemplate& t, uint32_t attached, uint32_t host, uint32_t depth, const Sliding& sliding,
                       const std::string& subject) {
  const Stage& h = t.stages[host];
  const TensorId tensor = equation_of(t, t.stages[attached]).targets[0];
  if (auto status = carries(t, h, depth, tensor, subject); !status) return status.error();
  if (t.program.tensors[tensor].rank == 0)
    return fail("PW0315", subject + ": a single value has no rows that could slide", {"leave out 'slide'"});
  if (t.stages[attached].placement.scope == Scope::reg)
    return fail("PW0304", subject + ": registers hold no window", {"use stack or heap"});
  const SlidePlace place{host, depth, h.loops[depth - 1].index};
  if (is_still(h, place.index)) return Slide{place.index, 0, sliding.is_whole, sliding.multiple};
  auto rates = Movement(t, place, subject).of_tensor(attached);
  if (!rates) return rates.error();
  return slide_by(t, place, tensor, *rates, sliding, subject);
}

namespace {

/// Does the loop still carry the window?
Status loop_carries(const NestTemplate& t, uint32_t attached, const std::string& subject) {
  const Placement& p = t.stages[attached].placement;
  const Stage& host = t.stages[p.host];
  if (auto status = carries(t, host, p.depth, equation_of(t, t.stages[attached]).targets[0], subject); !status)
    return status.error();
  if (host.loops[p.depth - 1].index == p.slide->index) return Ok{};
  return fail("PW0304", subject + ": the loop around it would become another one", {"permute first, then place it"});
}

}  // namespace

Status windows_slide(const NestTemplate& t, bool has_new_readers) {
  std::optional<std::pair<uint32_t, uint32_t>> at;  // stages placed at one loop share what is known of it
  std::optional<Movement> movement;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const Placement& p = t.stages[k].placement;
    if (p.kind != Placement::Kind::compute_at || !p.slide) continue;
    const std::string subject = "sliding window of " + t.stages[k].name;
    if (auto status = loop_carries(t, k, subject); !status) return status.error();
    const SlidePlace place{p.host, p.depth, p.slide->index};
    if (!has_new_readers || is_still(t.stages[p.host], place.index)) continue;
    if (at != std::pair{p.host, p.depth}) movement.emplace(t, place, subject);
    at = std::pair{p.host, p.depth};
    auto rates = movement->of_tensor(k);
    if (!rates) return rates.error();
    auto slide = slide_by(t, place, equation_of(t, t.stages[k]).targets[0], *rates,
                          Sliding{p.slide->is_whole, p.slide->multiple}, subject);
    if (!slide) return slide.error();
    if (!(*slide == *p.slide)) return fail("PW0315", subject + ": it would move along another dimension");
  }
  return Ok{};
}

}  // namespace polyweft::schedules
