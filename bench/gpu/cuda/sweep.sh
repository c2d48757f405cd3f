#!/usr/bin/env bash
# sweep.sh ARCHIVE FOLDER [OPTION ..]: unpacks what scripts/portable.sh has made, notes what machine this is, and runs
# sweep.py with the options; then measures the files of candidates that lie in the folder `work` beside the archive
# (docs/batches.md). In the folder: machine.txt, rows.jsonl, table.txt, said.txt, databases.tar.gz, results.tar.gz.
set -u
archive=$(realpath "$1") folder=$(realpath -m "$2")
shift 2
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
tar xf "$archive" -C "$work" || python3 -m tarfile -e "$archive" "$work" || exit 3
polyweft=$(ls -d "$work"/*/polyweft | head -n 1)
{
  uname -srm
  nproc
  ldd --version | head -n 1
  cat /proc/driver/nvidia/version
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,persistence_mode,compute_mode --format=csv
  time "$polyweft" targets cuda
} >"$folder/machine.txt" 2>&1
python3 -B bench/gpu/cuda/sweep.py --polyweft "$polyweft" --out "$folder" --databases "$work/databases" "$@" >"$folder/said.txt" 2>&1
code=$?
tar czf "$folder/databases.tar.gz" -C "$work" databases 2>/dev/null
mkdir -p "$work/results"
for file in "$(dirname "$archive")"/work/*.work; do
  [ -e "$file" ] || continue
  cp "$file" "$work/results/"
  echo "$file" >>"$folder/batches.txt"
  (time timeout 60 "$(dirname "$polyweft")/polyweft-runner" --batch "$work/results/$(basename "$file")") >>"$folder/batches.txt" 2>&1
done
tar czf "$folder/results.tar.gz" -C "$work" results 2>/dev/null
exit $code
