#!/usr/bin/env bash
# Runs what build.sh wrote: the kernels of variants.txt as PTX (compiled by the driver), some as ptxas' machine code too.
#     run.sh FOLDER [SIZE]
cd "$1" || exit 2
export CUDA_CACHE_DISABLE=1
grep -v '^#' variants.txt | while read -r name source _ threads _ rows columns shared box_a box_b blocks cluster; do
  [ "$threads" != 0 ] || threads=384
  for file in $name.ptx $name.cubin; do
    case $file in *_*.cubin) [ "$name" = bf16_mma ] || continue ;; esac
    timeout 40 ./launch $file $source "${2:-4096}" $rows $columns $threads $shared $box_a $box_b $blocks $cluster || echo "$file failed with $?"
  done
done
