// How one statement runs in a grid of its own: what the rules for machines with blocks of threads share.
#pragma once

#include <string>
#include <vector>

#include "schedules/sketches/rule.h"
#include "schedules/sketches/table.h"

namespace polyweft::schedules {

/// A template that grows statement by statement; the names of its decisions are numbered.
class GridPlan {
 public:
  GridPlan(const NestTemplate& base, const Machine& machine, int names_taken = 0)
      : t_(base), machine_(machine), decisions_(names_taken) {}

  const NestTemplate& made() const { return t_; }
  const Machine& machine() const { return machine_; }
  /// All of them, or none. `constraints` are on decisions by name.
  bool take(const std::vector<Step>& steps, const std::vector<Decision>& decisions = {},
            const std::vector<Constraint>& constraints = {});
  /// "tx3".
  std::string fresh(const char* name) { return name + std::to_string(++decisions_); }
  const Stage& stage(uint32_t id) const { return t_.stages[id]; }

 private:
  NestTemplate t_;
  const Machine& machine_;
  int decisions_;
};

/// The loops of a statement that has a nest of its own, by what they are for.
struct GridLoops {
  std::string x;                  ///< the data loop whose neighbours are neighbours in the result's memory
  std::vector<std::string> data;  ///< the others, outermost first
  std::vector<std::string> reduced;
  bool is_plain = true;  ///< loops alone: nothing is placed there yet
};
GridLoops grid_loops(const NestTemplate& t, uint32_t stage);
int64_t extent_of_loop(const Stage& stage, const std::string& loop);
uint32_t index_of_loop(const Stage& stage, const std::string& name);
/// The greatest of these that is at most `most`, else the first.
int64_t at_most(const std::vector<int64_t>& sizes, int64_t most);
/// The innermost of these loops as loops over blocks along x, y and z.
std::vector<Step> over_blocks(const std::string& statement, const std::vector<std::string>& loops);
/// Elements of a tensor that a thread of the plan's machine moves at once.
uint32_t vectors_of(const GridPlan& plan, const std::string& tensor);
std::vector<std::string> joined(std::vector<std::string> some, const std::vector<std::string>& others);

/// One element a thread.
void plan_elements(GridPlan& plan, uint32_t stage);
/// Tiles of sums in registers of threads; false where no two data loops share operands. `staged`: operands that outer
/// statements or the caller made lie in shared memory, a step of the reduced loop at a time.
bool plan_tiles(GridPlan& plan, uint32_t stage, bool staged);
/// Where products of warps find their factors: in memory, or lanes load them from what a block has copied into shared
/// memory, or an instruction of several warps reads them there.
enum class Factors : uint8_t { in_place, staged, read_by_unit };
/// Tiles of sums that warps hold, by the machine's instructions for products of warps; false where none is the sum's.
/// `columns`: that the instruction takes; 0: any.
bool plan_products(GridPlan& plan, uint32_t stage, Factors factors, int64_t columns = 0);
/// Columns of the machine's instructions that read factors in shared memory, each once, most first.
std::vector<int64_t> columns_read_by_unit(const Machine& machine);
/// Elements of which each reads a sum that a warp holds, and that alone reads these sums, in their nest.
bool plan_epilogue(GridPlan& plan, uint32_t stage);
/// Sums of terms that are contiguous in memory, one sum by the neighbouring threads of a block.
bool plan_rows(GridPlan& plan, uint32_t stage);
/// Sums whose neighbours read neighbours: several of them a thread, parts of their terms by rows of threads.
bool plan_columns(GridPlan& plan, uint32_t stage);
/// Elements whose operand is contiguous along another index, through a tile in shared memory.
bool plan_transposed(GridPlan& plan, uint32_t stage);
/// The first of these that fits, without products of warps, else elements; true: tiles.
bool plan_statement(GridPlan& plan, uint32_t stage, bool staged);

}  // namespace polyweft::schedules
