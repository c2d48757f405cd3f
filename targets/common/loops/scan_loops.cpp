#include "targets/common/loops/scan_loops.h"

#include "support/abilities.h"

namespace polyweft::targets {

void ScanLoops::serial_or_scan(const Loop& loop) {
  if (!is_on("code.scans") || !scan_loop(loop)) serial_loops_.serial_loop(loop);
}

/// Whole vectors, then what is left one by one. False: nothing was emitted.
bool ScanLoops::scan_loop(const Loop& loop) {
  const auto scan =
      lanes_.width > 1 ? std::nullopt : ir::scan_along(variables_.context(), loop, scalar_.can().vector_bits);
  if (!scan) return false;
  const Affine lo = fold(loop.lo.of[0]), end = lo + Affine::of(scan->vectors * scan->lanes),
               first = Affine::variable(kFirstOfScan);
  Loop vectors = loop, lanes = loop, rest = loop;
  vectors.var = kFirstOfScan;
  vectors.hi.of = {end};
  vectors.step = scan->lanes;
  lanes.lo.of = {first};
  lanes.hi.of = {first + Affine::of(scan->lanes)};
  lanes.mark.kind = MarkKind::vector;
  lanes.mark.width = scan->lanes;
  LoopBody body{[&](llvm::Value*) { vector_loops_.over_lanes(lanes, [&] { further_.emit(loop.body); }); },
                scan->vectors, true};
  for (const Access& stored : scan->chains) {
    const Access before = ir::with(stored, loop.var, first - Affine::of(1));
    body.running.push_back(
        {ir::with(stored, loop.var, first + Affine::variable(kLane)), before, static_cast<unsigned>(scan->lanes)});
  }
  serial_loops_.serial_loop(vectors, body);
  rest.lo.of = {end};
  const auto left = variables_.constant_length(rest);
  if (left && *left > 0) serial_loops_.serial_loop(rest);
  return true;
}

}  // namespace polyweft::targets
