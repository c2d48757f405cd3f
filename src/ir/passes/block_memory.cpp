#include "ir/passes/block_memory.h"

#include <algorithm>
#include <numeric>

#include "ir/nests/instruction.h"
#include "ir/nests/row_walk.h"
#include "ir/nests/walk_nest.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

constexpr VarId kMarked = kCellVar + 0x4000;  ///< new dimensions, until all are counted

}  // namespace

void refuse_threads(const std::string& what) {
  throw NoThreads{fail("PW0311", "lanes as threads: " + what)};
}

BlockMemory::BlockMemory(const LoopNest& nest) : in_(nest) {
  note_ranges(nest.root);
}

/// The dimension along which lanes read neighbouring cells.
std::optional<size_t> BlockMemory::dimension_read(BufferId id) const {
  std::optional<size_t> out;
  for (const Use& use : uses_.at(id)) {
    if (use.is_write || use.lane == kNoVar) continue;
    for (size_t d = 0; d < use.index.size(); ++d) {
      if (use.index[d].data || use.index[d].affine.coefficient(use.lane) != 1) continue;
      if (out && *out != d) return std::nullopt;
      out = d;
    }
  }
  return out;
}

std::vector<BufferId> BlockMemory::set_buffers(LoopNest& out, const VariableValues& values, const Affine& thread) {
  std::vector<BufferId> around;
  for (auto& [id, cells] : hoisted_) {
    hoist(out.buffers[id], id, cells, values);
    around.push_back(id);
  }
  for (BufferId id : private_) shrink(out.buffers[id], id, values, thread);
  return around;
}

Extremes BlockMemory::range_of(const Affine& e) const {
  Extremes out{e.constant, e.constant};
  const auto add = [&](int64_t coeff, Extremes part) {
    out.least += coeff * (coeff > 0 ? part.least : part.most);
    out.most += coeff * (coeff > 0 ? part.most : part.least);
  };
  for (const Term& term : e.terms) {
    if (!term.quasi) {
      add(term.coeff, term.var < in_.params.size() ? Extremes{in_.params[term.var].value, in_.params[term.var].value}
                                                   : ranges_.at(term.var));
      continue;
    }
    const Extremes inner = range_of(term.quasi->e);
    if (term.quasi->kind == Quasi::Kind::floor_div)
      add(term.coeff, {floor_quotient(inner.least, term.quasi->den), floor_quotient(inner.most, term.quasi->den)});
    else
      add(term.coeff, {range_of(term.quasi->lo).least, range_of(term.quasi->hi).most});
  }
  return out;
}

int64_t BlockMemory::divisor_of(const Affine& e) const {
  int64_t out = e.constant;
  for (const Term& term : e.terms) {
    const auto known = divisors_.find(term.var);
    out = std::gcd(out, term.coeff * (term.quasi || known == divisors_.end() ? 1 : known->second));
  }
  return out;
}

void BlockMemory::note_ranges(NodeId id) {
  if (id == kNoNode) return;
  const Node& node = in_.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) note_ranges(child);
  if (const auto* choice = std::get_if<If>(&node)) note_ranges(choice->then), note_ranges(choice->otherwise);
  if (const auto* alloc = std::get_if<Alloc>(&node)) note_ranges(alloc->body);
  const auto* loop = std::get_if<Loop>(&node);
  if (!loop) return;
  Extremes range{INT64_MIN, INT64_MAX};
  for (const Affine& e : loop->lo.of) range.least = std::max(range.least, range_of(e).least);
  for (const Affine& e : loop->hi.of) range.most = std::min(range.most, range_of(e).most - 1);
  if (loop->lo.of.size() == 1 && loop->lo.of[0].is_constant())
    range.most = range.least + floor_quotient(range.most - range.least, loop->step) * loop->step;
  ranges_[loop->var] = {range.least, std::max(range.least, range.most)};
  int64_t& divisor = divisors_[loop->var] = loop->step;
  for (const Affine& e : loop->lo.of) divisor = std::gcd(divisor, divisor_of(e));
  note_ranges(loop->body);
}

void BlockMemory::gather(NodeId id, const Loop* lanes) {
  if (id == kNoNode) return;
  const Node& node = in_.nodes[id];
  const auto use = [&](const Access& access, bool is_write) {
    Use out{access.index, {}, kNoVar, is_write};
    if (lanes) out.first = *first_lane(*lanes), out.lane = lanes->var;
    uses_[access.id].push_back(std::move(out));
  };
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) gather(child, lanes);
  if (const auto* choice = std::get_if<If>(&node)) gather(choice->then, lanes), gather(choice->otherwise, lanes);
  if (const auto* alloc = std::get_if<Alloc>(&node)) allocated_.insert(alloc->buffer), gather(alloc->body, lanes);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    inner_loops_.push_back(loop->var);
    if (is_warp_product(*loop)) {
      visit_accesses(in_, id, [&](const Access& access, bool is_write) {
        if (!is_write) multiplied_.insert(access.id);
      });
      note_factors(*loop);
    }
    gather(loop->body, loop->mark.kind == MarkKind::vector ? loop : lanes);
  }
  const auto* compute = std::get_if<Compute>(&node);
  if (!compute && !std::holds_alternative<Copy>(node)) return;
  visit_accesses(in_, id, [&](const Access& access, bool is_write) {
    use(access, is_write);
    if (compute && compute->how == Write::accumulate && !is_write) is_folded_.insert(access.id);
  });
}

/// Of an instruction that reads its factors from shared memory: their dimensions there, and what it takes of each.
void BlockMemory::note_factors(const Loop& loop) {
  if (!warp_product(loop)->reads_shared()) return;
  const auto match = match_tensor_loop(in_, loop);
  if (!match) return;
  for (size_t k = 1; k < match->instruction->operands.size(); ++k) {
    const auto& access = match->binding.access[k - 1];
    if (!access) continue;
    auto& taken = factors_[access->id];
    taken.resize(access->index.size(), 0);
    for (uint32_t axis : match->instruction->operands[k].loops)
      for (size_t d = 0; d < access->index.size(); ++d)
        if (access->index[d].affine.coefficient(match->loops[axis]->var) == 1)
          taken[d] = std::max(taken[d], match->instruction->axes[axis].extent);
  }
}

/// Rows of 128 bytes by xor: of the dimension that is contiguous in the tensor so much a row, the other one of the
/// factor inside the rest of the first.
bool BlockMemory::lay_out_by_xor(Buffer& b, const std::vector<int64_t>& taken, size_t more,
                                 const std::vector<int64_t>& windows) const {
  const size_t rank = taken.size(), last = rank - 1;
  size_t other = rank;
  for (size_t d = 0; d < last; ++d)
    if (taken[d] > 0) other = d;
  if (rank < 2 || taken[last] == 0 || other == rank) return false;
  const int64_t row = kXorLineBytes / size_bytes(b.type);
  const auto rounded = [](int64_t extent, int64_t unit) { return (extent + unit - 1) / unit * unit; };
  Layout layout;
  for (uint32_t d = 0; d < windows.size(); ++d)
    if (d != more + other && d != more + last) layout.pieces.push_back({d, windows[d]});
  const auto at = [&](size_t d) { return static_cast<uint32_t>(more + d); };
  layout.pieces.push_back({at(last), rounded(windows[at(last)], std::max(row, taken[last])) / row});
  layout.pieces.push_back({at(other), rounded(windows[at(other)], taken[other])});
  layout.pieces.push_back({at(last), row});
  layout.by_xor = true;
  b.layout = std::move(layout);
  b.align_bytes = kXorBytes;
  return true;
}

/// Without terms that are multiples of the threads' number.
Affine BlockMemory::residue(const Affine& e) const {
  Affine out = Affine::of(floor_remainder(e.constant, width_));
  for (const Term& term : e.terms)
    if (term.coeff % width_ != 0) out.terms.push_back(term);
  return out;
}

/// The dimension whose subscripts are the thread and multiples of the number of threads, plus always the same.
std::optional<size_t> BlockMemory::dimension_of_threads(const std::vector<Use>& uses, Affine* rest) const {
  if (uses.empty() || uses[0].lane == kNoVar) return std::nullopt;
  for (size_t d = 0; d < uses[0].index.size(); ++d) {
    std::optional<Affine> known;
    const bool is_own = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      if (use.lane == kNoVar || use.index[d].data || use.index[d].affine.coefficient(use.lane) != 1) return false;
      for (size_t other = 0; other < use.index.size(); ++other)
        if (other != d && (use.index[other].data || mentions(use.index[other].affine, use.lane))) return false;
      const Affine before = use.index[d].affine - Affine::variable(use.lane);
      if (mentions(before, use.lane)) return false;
      const Affine own = residue(before + *use.first);
      if (!known) known = own;
      return own == *known;
    });
    if (!is_own) continue;
    if (rest) *rest = *known;
    return d;
  }
  return std::nullopt;
}

void BlockMemory::analyse(NodeId id, int64_t width, const std::vector<ThreadLoop>& threads,
                          std::vector<VarId> loops_around) {
  width_ = width, threads_ = threads, inner_loops_ = std::move(loops_around);
  uses_.clear(), allocated_.clear(), dims_.clear(), private_.clear(), crossing_.clear(), hoisted_.clear(),
      is_folded_.clear(), multiplied_.clear(), factors_.clear();
  gather(id, nullptr);
  for (const auto& [buffer, uses] : uses_) {
    Affine rest;
    const auto dim = dimension_of_threads(uses, &rest);
    const Scope scope = in_.buffers[buffer].scope;
    if (scope == Scope::tile) {  // the first thread's, in whose name a warp works
      private_.insert(buffer);
      continue;
    }
    if (allocated_.count(buffer) == 0) {
      const bool is_written = std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.is_write; });
      const bool is_read = std::any_of(uses.begin(), uses.end(), [](const Use& use) { return !use.is_write; });
      if (is_written && is_read && (!dim || !threads_.empty())) crossing_.insert(buffer);
      continue;
    }
    const bool by_lane = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return use.lane != kNoVar && std::any_of(use.index.begin(), use.index.end(), [&](const Subscript& s) {
               return s.data || mentions(s.affine, use.lane);
             });
    });
    const bool written_in_lane =
        std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.is_write && use.lane != kNoVar; });
    if (dim && rest == Affine::of(0) && in_.buffers[buffer].folds.empty()) {
      private_.insert(buffer);
      dims_[buffer] = *dim;
    } else if (!by_lane && !written_in_lane && (scope == Scope::reg || allocated_elements(in_.buffers[buffer]) == 1)) {
      private_.insert(buffer);
    } else {
      hoisted_[buffer] = {};
      crossing_.insert(buffer);
    }
  }
}

/// A thread's own cells of it.
void BlockMemory::shrink(Buffer& b, BufferId id, const VariableValues& values, const Affine& thread) const {
  const auto dim = dims_.find(id);
  if (dim == dims_.end()) {
    for (Affine& e : b.element) e = substitute(e, values);
    return;
  }
  const size_t d = dim->second;
  b.extents[d] = (b.extents[d] + width_ - 1) / width_;
  b.layout = row_major(b.extents);
  const VarId cell = static_cast<VarId>(kCellVar + d);
  for (Affine& e : b.element) e = substitute(substitute(e, values), {{cell, width_ * Affine::variable(cell) + thread}});
}

/// Cells named by where they lie in what the loops inside the block walk over.
void BlockMemory::hoist(Buffer& b, BufferId id, HoistedCells& hoisted, const VariableValues& values) const {
  const auto lane_dim = dimension_read(id);
  const size_t rank = b.extents.size();
  hoisted.shift.assign(rank, Affine::of(0));
  hoisted.is_told_apart.assign(threads_.size(), false);
  std::vector<int64_t> extents = b.extents, windows = b.extents;
  for (const Fold& fold : b.folds) windows[fold.dim] = fold.window;
  std::vector<int64_t> new_extents, new_windows;
  const std::set<VarId> inner(inner_loops_.begin(), inner_loops_.end());
  for (Affine& e : b.element) {
    Affine moving, fixed = Affine::of(e.constant);
    std::optional<Term> cell;
    for (const Term& term : e.terms) {
      std::vector<VarId> used;
      Affine alone;
      alone.terms = {term};
      collect_variables(alone, used);
      const bool moves = std::any_of(used.begin(), used.end(), [&](VarId v) { return inner.count(v) > 0; });
      if (!term.quasi && term.var >= kCellVar) {
        if (cell) refuse_threads("memory of a block in cells of several dimensions");
        cell = term;
      } else if (moves) {
        moving.terms.push_back(term);
      } else {
        fixed.terms.push_back(term);
      }
    }
    if (moving.terms.empty()) continue;
    const int64_t unit = cell ? cell->coeff : 1;
    Affine by_thread;
    for (const Term& term : moving.terms) {
      if (term.quasi || term.coeff % unit != 0) refuse_threads("memory of a block whose cells move by quotients");
      for (size_t t = 0; t < threads_.size(); ++t)
        if (term.var == threads_[t].var) by_thread.terms.push_back(term), hoisted.is_told_apart[t] = true;
    }
    const Extremes all = range_of(moving), threads = range_of(by_thread);
    Affine steps;
    for (Term term : moving.terms) term.coeff /= unit, steps.terms.push_back(term);
    steps.constant = -all.least / unit;
    const int64_t reach = (all.most - all.least) / unit, apart = (threads.most - threads.least) / unit;
    const bool is_walked = by_thread.terms.size() < moving.terms.size();
    if (cell) {
      const size_t d = cell->var - kCellVar;
      hoisted.shift[d] = steps;
      extents[d] += reach;
      windows[d] = is_walked ? windows[d] + apart : extents[d];
      e = Affine::variable(cell->var, unit) + fixed + Affine::of(all.least);
    } else {
      hoisted.leading.push_back(steps);
      new_extents.push_back(reach + 1), new_windows.push_back(is_walked ? apart + 1 : reach + 1);
      e = Affine::variable(static_cast<VarId>(kMarked + hoisted.leading.size() - 1)) + fixed + Affine::of(all.least);
    }
  }
  // The unit reads a factor's lines one after the other: no tile of them goes around a circular buffer's end.
  if (const auto taken = factors_.find(id); taken != factors_.end())
    for (size_t d = 0; d < rank; ++d)
      if (taken->second[d] > 0 && windows[d] < extents[d] && divisor_of(hoisted.shift[d]) % windows[d] != 0)
        windows[d] = extents[d];
  const size_t more = new_extents.size();
  std::map<VarId, Affine> renumbered;
  for (size_t d = 0; d < rank; ++d)
    renumbered[static_cast<VarId>(kCellVar + d)] = Affine::variable(static_cast<VarId>(kCellVar + more + d));
  for (size_t d = 0; d < more; ++d)
    renumbered[static_cast<VarId>(kMarked + d)] = Affine::variable(static_cast<VarId>(kCellVar + d));
  for (Affine& e : b.element) e = substitute(substitute(e, renumbered), values);
  new_extents.insert(new_extents.end(), extents.begin(), extents.end());
  new_windows.insert(new_windows.end(), windows.begin(), windows.end());
  b.extents = new_extents;
  b.folds.clear();
  for (size_t d = 0; d < b.extents.size(); ++d)
    if (new_windows[d] < b.extents[d]) b.folds.push_back({static_cast<uint32_t>(d), new_windows[d]});
  b.layout = row_major(new_windows);
  b.within.reset();
  if (b.scope != Scope::heap) b.scope = Scope::shared;
  if (const auto taken = factors_.find(id); taken != factors_.end() && b.scope == Scope::shared)
    if (lay_out_by_xor(b, taken->second, more, new_windows)) return;
  // Sums read each cell several times: what threads along x read lies contiguous. Where copies, whose threads along x
  // write the last dimension, run along another than reads, rows are one longer, so that threads do not meet in a bank.
  if (lane_dim && *lane_dim + 1 < rank) {
    const auto at = b.layout.pieces.begin() + static_cast<std::ptrdiff_t>(more + *lane_dim);
    if (is_folded_.count(id) > 0) std::rotate(at, at + 1, b.layout.pieces.end());
    b.layout.pad.assign(b.layout.pieces.size(), 0);
    b.layout.pad.back() = 1;
  }
  // Lanes of a warp read 16 bytes of eight rows at once.
  constexpr int64_t kRowBytes = 16;
  if (const int64_t bytes = size_bytes(b.type); multiplied_.count(id) > 0 && b.layout.pieces.size() > 1 &&
                                                b.layout.pieces.back().factor * bytes % kRowBytes == 0) {
    b.layout.pad.assign(b.layout.pieces.size(), 0);
    b.layout.pad.back() = kRowBytes / bytes;
  }
}

/// Subscripts are in the new variables already.
Access BlockMemory::moved(Access access, const VariableValues& values, const Affine& thread) const {
  if (const auto dim = dims_.find(access.id); dim != dims_.end()) {
    Affine rest = access.index[dim->second].affine - thread;
    for (Term& term : rest.terms) {
      if (term.coeff % width_ != 0) refuse_threads("a register would belong to several threads");
      term.coeff /= width_;
    }
    rest.constant = floor_quotient(rest.constant, width_);
    access.index[dim->second].affine = std::move(rest);
  }
  const auto hoisted = hoisted_.find(access.id);
  if (hoisted == hoisted_.end()) return access;
  std::vector<Subscript> index;
  for (const Affine& e : hoisted->second.leading) {
    Subscript s;
    s.affine = substitute(e, values);
    index.push_back(std::move(s));
  }
  for (size_t d = 0; d < access.index.size(); ++d) {
    Subscript s = access.index[d];
    s.affine = s.affine + substitute(hoisted->second.shift[d], values);
    index.push_back(std::move(s));
  }
  access.index = std::move(index);
  return access;
}

}  // namespace polyweft::ir
