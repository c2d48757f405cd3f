#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures and builds in build/PRESET. Prints the log only when something goes wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1; shift
mkdir -p build
log=build/$preset.log
fresh=()
if [ ! -f "build/$preset/CMakeCache.txt" ]; then  # sources together: a clean build takes 0.4 of the processor's time
  fresh=(-DPW_COMPILER_CACHE=OFF)
fi
if ! { cmake --preset "$preset" "${fresh[@]}" && cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"}; } >"$log" 2>&1; then
  grep -E -A8 'error|FAILED|CMake Error' "$log" | head -60 >&2 || true
  echo "build.sh: building preset $preset failed; the whole log is $log" >&2
  exit 1
fi
