#!/usr/bin/env bash
# setup.sh: installs, as root on Debian 12, what build, tests and benchmarks need and what is not there yet.
set -euo pipefail

packages=(
  g++ cmake ninja-build git pkg-config ccache ca-certificates
  clang-22 libclang-rt-22-dev llvm-22-dev liblld-22-dev lld-22
  libisl-dev libsqlite3-dev libsqlitecpp-dev libcli11-dev libfmt-dev libsodium-dev libseccomp-dev
  nlohmann-json3-dev libtomlplusplus-dev libhalide14-0-dev
  libgtest-dev librapidcheck-dev libmpfr-dev python3 python3-numpy
)

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "setup.sh: these packages are missing, and only root can install them: ${missing[*]}" >&2
  exit 3
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
if ! apt-cache policy llvm-22-dev | grep -q 'Candidate: 1:22'; then
  echo "setup.sh: apt knows no llvm-22-dev. It is in Debian 12's security archive; enable it with the line" >&2
  echo "  deb http://security.debian.org/debian-security bookworm-security main" >&2
  echo "in /etc/apt/sources.list and run this again." >&2
  exit 3
fi
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
