#!/usr/bin/env bash
# setup.sh: installs, as root on Debian 12, what build, tests and benchmarks need and what is not there yet; in build/venv
# what tests run kernels for devices on (tests/requirements.txt). Without the latter such tests are skipped.
# Exit 0: everything is there. Exit 3: something is missing that this script cannot install; the message says what to do.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build git pkg-config ccache ca-certificates
  clang-22 libclang-rt-22-dev llvm-22-dev liblld-22-dev zlib1g-dev libzstd-dev
  libisl-dev libsqlite3-dev libsqlitecpp-dev libcli11-dev libfmt-dev libsodium-dev libseccomp-dev
  nlohmann-json3-dev libtomlplusplus-dev libhalide14-0-dev
  libgtest-dev librapidcheck-dev libmpfr-dev qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross python3 python3-venv python3-numpy python3-jsonschema
  opencl-c-headers ocl-icd-libopencl1 spirv-tools
)

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }
# Through a variable: with pipefail, `apt-cache policy | grep -q` fails when grep is done before apt-cache.
has_candidate() {
  local policy
  policy=$(apt-cache policy "$1")
  [[ $policy == *"Candidate: "* && $policy != *"Candidate: (none)"* ]]
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done

install_packages() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "setup.sh: these packages are missing, and only root can install them: ${missing[*]}" >&2
    exit 3
  fi
  export DEBIAN_FRONTEND=noninteractive
  echo "setup.sh: installing ${#missing[@]} missing packages" >&2
  apt-get update -qq
  if ! has_candidate llvm-22-dev; then
    echo "setup.sh: apt knows no llvm-22-dev. It is in Debian 12's security archive; enable it with the line" >&2
    echo "  deb http://security.debian.org/debian-security bookworm-security main" >&2
    echo "in /etc/apt/sources.list and run this again." >&2
    exit 3
  fi
  log=$(mktemp)
  if ! apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup.sh: apt-get could not install: ${missing[*]}" >&2
    exit 3
  fi
  rm -f "$log"
}

# Intel's OpenCL for CPUs, as a device of this machine's own, whose file of the driver's path names a folder of its
# makers; NVIDIA's assembler; Wasmtime.
install_devices() {
  local venv=build/venv log
  cmp -s tests/requirements.txt $venv/requirements.txt && return
  log=$(mktemp)
  if python3 -m venv $venv >"$log" 2>&1 && $venv/bin/pip install --no-deps --require-hashes -r tests/requirements.txt >>"$log" 2>&1; then
    mkdir -p $venv/icd
    echo "$PWD/$venv/lib/libintelocl.so" >$venv/icd/intel.icd
    (cd $venv/bin && ln -sf ../lib/python3*/site-packages/nvidia/cu13/bin/ptxas ptxas)
    cp tests/requirements.txt $venv/
  else
    tail -n 3 "$log" >&2
    echo "setup.sh: pip could not install tests/requirements.txt: tests with an OpenCL device, ptxas or Wasmtime are skipped" >&2
  fi
  rm -f "$log"
}

[ ${#missing[@]} -eq 0 ] || install_packages
[ "$(uname -m)" = x86_64 ] && install_devices
exit 0
