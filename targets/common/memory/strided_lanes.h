// Lanes whose elements lie S apart, as where elements of a batch of small matrices are the lanes: [b, 3, 3] has S = 9.
// What lies between them is what other accesses of the statements want, so that pieces of rows are loaded whole and
// transposed in registers, where gathers ask memory for each lane of each access; stores wait for their neighbours and
// are transposed back.
//
//   row of lane 0:  a0 b0 c0 d0 ..        columns:  a0 a1 a2 ..   as many as a piece of 16 bytes has: one load and V/w
//   - 1 insertions a register, then log2(w) rounds of row of lane 1:  a1 b1 c1 d1 ..                  b0 b1 b2 ..
//   exchanges inside the pieces. Few columns (S <= 4, can().line_permutes): permutations of two vectors.
//
// A store waits until all columns of its rows are there, a load or another store may meet it, or control flow parts or
// joins.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "targets/common/memory/accesses.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class StridedLanes : MemoryPart {
 public:
  StridedLanes(const Addresses& addresses, Accesses& accesses, const Registers& registers)
      : MemoryPart(addresses), accesses_(accesses), registers_(registers) {}

  bool has_waiting() const { return !waiting_.empty(); }
  /// Null where the lanes are not so.
  llvm::Value* load_strided(const Access& access);
  /// The store waits for its neighbours; false: it cannot.
  bool store_later(const Access& access, llvm::Value* value);
  void write_waiting_of(BufferId id);
  void write_all_waiting();

 private:
  /// Rows of lanes, one element of a column each.
  struct Rows {
    Affine row;  ///< the first element of lane 0's
    int64_t stride = 0, column = 0;
  };
  /// Columns that are not in memory yet.
  struct Waiting {
    BufferId buffer = 0;
    Rows rows;
    std::map<int64_t, llvm::Value*> columns;  ///< as in memory
  };
  std::optional<Rows> strided_lanes(BufferId id, const Affine& offset) const;
  bool permutes_columns(ElementType type, int64_t stride) const;
  void columns_of_vectors(BufferId id, const Rows& rows, const std::function<void(int64_t, llvm::Value*)>& note);
  void columns_of_pieces(BufferId id, const Affine& low, const Rows& piece,
                         const std::function<void(int64_t, llvm::Value*)>& note);
  bool may_share(BufferId a, BufferId b) const;
  std::map<std::string, Waiting>::iterator write_waiting(std::map<std::string, Waiting>::iterator at);
  void store_vectors(const Waiting& group);
  void store_run(const Waiting& group, int64_t first, const std::vector<llvm::Value*>& columns);

  Accesses& accesses_;
  const Registers& registers_;
  std::map<std::string, Waiting> waiting_;
};

}  // namespace polyweft::targets
