#!/usr/bin/env bash
# Builds all recorders and writes their files into a folder; what fails loses its own file only.
#     record.sh FOLDER [STUDY_FOLDER]      needs nvcc, make, and a GPU of compute capability 9.0
set -u
cd "$(dirname "$0")"
into=$1 study=${2:-}
mkdir -p "$into" ${study:+"$study"}
make -k -j16 >"$into/build.log" 2>&1 || { echo "some recorders were not built"; tail -20 "$into/build.log"; }
run() {
  local started=$SECONDS
  timeout 60 "$@" || echo "failed with $?: $*"
  echo "$((SECONDS - started)) s: $1"
}
for kind in float fp8 integer f64; do run build/mma $kind "$into/mma_$kind.rec" 6; done
run build/warp "$into/warp.rec"
run build/scalar "$into/scalar.rec"
run build/async "$into/async.rec"
run build/tma "$into/tma.rec"
run build/wgmma "$into/wgmma.rec" ${study:+"$study/wgmma_study.rec" 12}
run build/sweep "$into/sweep.rec"
if [ -n "$study" ]; then
  for kind in float fp8 f64; do run build/mma $kind "$study/mma_${kind}_study.rec" 60; done
fi
ls -l "$into"
