#!/usr/bin/env bash
# Builds Weft for the CPU on other distributions and runs its tests of the readers, the engine and the
# program there, each in a root directory that debootstrap makes. By hand, as root, with debootstrap and,
# for Ubuntu, ubuntu-archive-keyring: 15 minutes of two cores for each.
#
#   tests/distributions.sh bookworm trixie jammy noble
#
# WEFT_ROOTS: where the root directories lie (a new folder in /tmp); those that are there are used again.
# WEFT_MIRROR_DEBIAN, WEFT_MIRROR_UBUNTU: the mirrors of packages; by default those that debootstrap knows.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
roots=${WEFT_ROOTS:-$(mktemp -d)}
packages=g++,cmake,ninja-build,zlib1g-dev,libfmt-dev,libcli11-dev,nlohmann-json3-dev,libstb-dev,libwebp-dev
packages+=,libdeflate-dev,libarchive-dev,libgtest-dev,libboost-context-dev,python3,python3-pip

build_and_test() {
  cd /weft
  unset CMAKE_CXX_COMPILER_LAUNCHER  # of the host
  # Ubuntu 22.04 has g++ 12 beside its g++ 11, and CMake 3.22.
  [ "$(g++ -dumpversion)" -ge 12 ] || export CXX=g++-12
  printf '%s\n' 3.25 "$(cmake --version | sed -n 's/cmake version //p')" | sort -VC || pip3 install --quiet cmake
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_CUDA=OFF -DWEFT_MPI=OFF \
    -DWEFT_ONNX=OFF
  cmake --build build --parallel "${WEFT_JOBS:-$(nproc)}" --target weft data_tests engine_tests cli_tests
  for program in data engine cli; do build/tests/${program}_tests --gtest_brief=1; done
  build/weft doctor --versions
}

failed=0
for suite in "$@"; do
  root=$roots/$suite
  case $suite in
    jammy | noble)
      mirror=${WEFT_MIRROR_UBUNTU:-} script=jammy
      options=(--components=main,universe --include="$packages,g++-12")
      [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] ||
        { options+=(--no-check-gpg) && echo "$suite: packages without a check of their signature"; }
      ;;
    *) mirror=${WEFT_MIRROR_DEBIAN:-} options=(--include="$packages") script=bookworm ;;
  esac
  if [ ! -e "$root/usr/bin/cmake" ]; then
    debootstrap --variant=minbase "${options[@]}" "$suite" "$root" "$mirror" \
      "/usr/share/debootstrap/scripts/$script" >"$roots/$suite.log" 2>&1 || { tail -n 20 "$roots/$suite.log"; exit 2; }
  fi
  : >"$roots/$suite.log"
  mkdir -p "$root/weft"  # what was built there stays
  find "$root/weft" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git -C "$source" ls-files -z | (cd "$source" && tar --null --files-from=- -c) | tar -x -C "$root/weft"
  mkdir -p "$root/etc/ssl/certs"
  cp -L /etc/resolv.conf "$root/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  for kind in proc devpts; do  # terminals of tests, and what /proc says of the machine
    [ $kind = proc ] && at=$root/proc || at=$root/dev/pts
    mountpoint -q "$at" || mount -t $kind $kind "$at"
  done
  if chroot "$root" bash -c "set -e; $(declare -f build_and_test); build_and_test" >>"$roots/$suite.log" 2>&1; then
    echo "$suite:"
    grep -a -E '^\[  (PASSED|SKIPPED)' "$roots/$suite.log"
    sed -n '/^library/,$p' "$roots/$suite.log"
  else
    echo "$suite: FAILED, see $roots/$suite.log" && failed=1
  fi
  umount "$root/dev/pts" "$root/proc"
done
exit $failed
