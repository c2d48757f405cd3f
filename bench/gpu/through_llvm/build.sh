#!/usr/bin/env bash
# C -> LLVM IR (clang-22) -> PTX (llc-22) -> machine code (ptxas, where it is) for the kernels of variants.txt.
#     build.sh FOLDER
set -eu
cd "$(dirname "$0")"
into=$1
mkdir -p "$into"
python3 wgmma_call.py >"$into/wgmma_call.inc"
{
  grep -v '^#' variants.txt
  echo "softmax_4096 rows -DTHREADS=256,-DVECTORS=4 256 1"
  echo "softmax_32768 rows -DTHREADS=1024,-DVECTORS=8 1024 1"
  echo "transpose rows - 256 1"
} | while read -r name source flags threads blocks _; do
  bounds="\"nvvm.reqntid\"=\"$threads\" \"nvvm.minctasm\"=\"$blocks\""
  [ "$threads" != 0 ] || bounds=
  [ "$flags" != - ] || flags=
  clang-22 --target=nvptx64-nvidia-cuda -march=sm_90a -Xclang -target-feature -Xclang +ptx85 -nocudalib -O3 -ffast-math \
    ${flags//,/ } -I"$into" -S -emit-llvm -o - "$source.c" | sed "/^define.*ptx_kernel/s/ #0 / $bounds #0 /" >"$into/$name.ll"
  llc-22 -march=nvptx64 -mcpu=sm_90a -mattr=+ptx85 -O3 "$into/$name.ll" -o "$into/$name.ptx"
  if command -v ptxas >/dev/null; then ptxas -arch=sm_90a -O3 -v "$into/$name.ptx" -o "$into/$name.cubin" 2>&1 | grep -E "registers|spill|C75" | tr '\n' ' '; fi
  echo "$name"
done
cc -O2 -Wall -Wextra -std=gnu11 ${CUDA_INCLUDE:+-I"$CUDA_INCLUDE"} launch.c -o "$into/launch" -ldl -lm
cp variants.txt "$into"
