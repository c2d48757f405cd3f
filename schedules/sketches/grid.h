// Sketches for machines that run blocks of threads.
#pragma once

#include "schedules/sketches/sketches.h"

namespace polyweft::schedules {

/// The statements' free loops as blocks and threads, an element a thread; nothing for a program whose order isl has
/// made. Arithmetic only.
std::vector<NestTemplate> grid_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                        const Isl& isl);
/// The same with sums by the machine's instructions for products of warps, where it has one for a statement.
std::vector<NestTemplate> grid_product_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                const Isl& isl);
/// The same by tiles: with operands where they lie, and staged in shared memory where some are.
std::vector<NestTemplate> grid_tile_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                             const Isl& isl);

/// Statements over the rows of the last one in its kernel, a row by the threads of a block; nothing where none is.
std::vector<NestTemplate> grid_row_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                            const Isl& isl);
/// Of programs with recurrences, by the bands that isl proposes.
std::vector<NestTemplate> grid_band_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                             const Isl& isl);

}  // namespace polyweft::schedules
