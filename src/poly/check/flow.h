// Private to the checker: who wrote what a read finds.
#pragma once

#include "poly/check/bodies.h"
#include "poly/check/last_writers.h"
#include "poly/check/once_written.h"
#include "poly/check/time_order.h"

namespace polyweft::poly::checker {

class Flow {
 public:
  /// by_arithmetic: what intervals settle is not asked of isl.
  Flow(Context& context, const Program& program, const LoopNest& nest, const Statements& statements, bool by_arithmetic)
      : context_(context),
        program_(program),
        nest_(nest),
        statements_(statements),
        by_arithmetic_(by_arithmetic),
        copy_writers_(statements.all.size()),
        once_(context, program, nest, statements) {
    index_writes();
  }
  /// What each statement's good iterations are; the others write cells that nobody may want.
  void set_good(std::vector<Set> good) {
    good_ = std::move(good);
    wholly_good_.assign(good_.size(), std::nullopt);
  }
  const Set& good(size_t statement) const { return good_[statement]; }

  /// Last writers, none missing, none of them worthless, copies followed back to what they copied; an element that came
  /// from an input by copies leaves no entry. Throws Refuted.
  Writers origins(const Read& read);
  /// Throws Refuted where a cell that a computation reads on `when` was never written, or is the copy of such a cell:
  /// worthless values may be computed with, nothing may not (the interpreter refuses it too). A copy itself may move
  /// nothing: a footprint is a box, and what is read of it is not.
  void require_written(size_t statement, const Access& access, const Set& when);
  /// Iterations of `when` on which the cell was last written by a copy that filled it with +0 (or copied such a cell).
  Set filled_with_zero(size_t statement, const Access& access, const Set& when, int copies = 4);
  /// "C[3, 4]": the element and what the statement does there, for messages.
  std::string describe(size_t statement, const std::vector<int64_t>& point) const;
  std::string describe_sample(size_t statement, const Set& some) const;
  bool is_input(BufferId buffer) const;

  /// Of what the statement reads on `when`; `missing` are the iterations that find nothing, where `misses`.
  Writers last_writers(size_t statement, const Access& access, const Set& when, bool* misses, Set* missing,
                       bool* is_same_cell = nullptr);

 private:
  void index_writes();
  [[noreturn]] void refuse_unwritten(size_t statement, const Set& missing, BufferId buffer) const;
  struct CopyFacts {
    Writers writers;
    Set worthless;  ///< iterations that copy nothing of worth
    bool is_same_cell = false;
  };
  const CopyFacts& copy_facts(size_t statement);
  /// Iterations of `when` that find nothing, after at most so many copies.
  Set never_written(size_t statement, const Access& access, const Set& when, int copies);
  bool is_wholly_good(size_t statement);
  UnionMap schedule(const std::vector<size_t>& involved);
  const UnionMap& written_cells(BufferId buffer);
  void require_same_cell(const Read& read, const Writers& writers);

  Context& context_;
  const Program& program_;
  const LoopNest& nest_;
  const Statements& statements_;
  bool by_arithmetic_;
  std::map<BufferId, std::vector<std::pair<size_t, const Access*>>> writes_;
  std::vector<Set> good_;
  std::vector<std::optional<bool>> wholly_good_;
  std::vector<std::optional<CopyFacts>> copy_writers_;
  std::map<BufferId, UnionMap> written_;
  std::map<std::pair<size_t, std::vector<size_t>>, std::optional<Map>>
      times_;  ///< of a statement, by the coordinates kept
  WindowFacts windows_;
  OnceWritten once_;
  std::optional<TimeOrder> by_time_ = std::nullopt;  ///< made when something is asked that needs it
};

/// A point of a set that is not empty.
std::vector<int64_t> sample(const Set& s);
/// A pair of a relation that is not empty.
std::pair<std::vector<int64_t>, std::vector<int64_t>> sample(const Map& m);

}  // namespace polyweft::poly::checker
