#!/usr/bin/env bash
# Builds and runs all measurements of a GPU and writes their tables into a folder.
#     measure.sh FOLDER      needs nvcc, make, python3 with PyTorch, and a GPU of compute capability 9.0
set -u
cd "$(dirname "$0")"
into=$1
mkdir -p "$into"
make -k -j16 >"$into/build.log" 2>&1 || { echo "some measurements were not built"; tail -20 "$into/build.log"; }
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit --format=csv >"$into/card.txt"
sample() {
  nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_event_reasons.active --format=csv,noheader -lms 500 >"$into/clocks_$1.txt" &
  sampler=$!
}
for name in device core tensor memory; do
  started=$SECONDS
  sample $name
  timeout 100 build/$name >"$into/$name.txt" 2>"$into/$name.err" || echo "failed with $?: $name"
  kill $sampler
  echo "$((SECONDS - started)) s: $name"
done
sample baselines
timeout "${BASELINE_SECONDS:-150}" python3 baselines.py >"$into/baselines.txt" 2>"$into/baselines.err" || echo "failed with $?: baselines"
kill $sampler
echo "$SECONDS s in all"
