#!/usr/bin/env bash
# Cross-compiles Weft for aarch64 on another processor, and runs its tests there under qemu-user. By hand, as root, on Debian 12
# with what ./run installs, g++-aarch64-linux-gnu, qemu-user-static and debootstrap.
#
#   packaging/aarch64.sh ROOT [PROGRAM...]      packaging/aarch64.sh /var/tmp/arm64 engine_tests data_tests
#   packaging/aarch64.sh ROOT package OUT       the archive, the .deb and a wheel, by packaging/build.sh
#
# ROOT is a Debian 12 for arm64, which debootstrap makes where there is none. PROGRAMs are targets of tests/CMakeLists.txt, and
# `lab` and `weft`; all of those below when none is named. The build is in build/aarch64. results.md there tells of each program
# how many tests passed, failed and were skipped, which failed, and which took half a minute or longer.
# WEFT_JOBS: how many compilers and tests run at once. WEFT_CTEST: further words for ctest.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=$(realpath -m "$1")
shift
build=$here/build/aarch64
programs=("$@")
[ $# -gt 0 ] || programs=(engine_tests support_tests kernels_tests layers_tests data_tests models_tests host_cuda_tests
                          kernels_host_cuda_tests cli_tests lab weft)

format=/proc/sys/fs/binfmt_misc
mountpoint -q $format || mount -t binfmt_misc binfmt_misc $format
[ -e $format/qemu-aarch64 ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >$format/register
packages=(zlib1g-dev libfmt-dev libcli11-dev nlohmann-json3-dev libstb-dev libwebp-dev libtiff-dev libjpeg-dev libdeflate-dev
          libarchive-dev libgtest-dev libonnx-dev libprotobuf-dev libboost-context-dev libhdf5-dev libstdc++-12-dev
          libzstd-dev libbz2-dev liblzma-dev nettle-dev python3-dev python3-venv ca-certificates)  # these are for packages
[ -e "$root/usr/lib/aarch64-linux-gnu/libgtest.a" ] ||
  debootstrap --arch=arm64 --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" bookworm "$root" >"$root.log" 2>&1 ||
  { tail -n 20 "$root.log"; exit 2; }
find "$root/usr/lib" -type l -lname '/*' | while read -r link; do  # which a linker outside would look for outside
  ln -sfr "$root$(readlink "$link")" "$link"
done

if [ "${1:-}" = package ]; then
  out=$(realpath -m "$2")
  # In ROOT, Python and CMake run under qemu. The cross compiler runs as it is, with its libraries, from this system's own root.
  mkdir -p "$root/host"
  ln -sfn /host/usr/lib64 "$root/lib64"
  for folder in lib/x86_64-linux-gnu aarch64-linux-gnu; do ln -sfn "/host/usr/$folder" "$root/usr/$folder"; done
  # The mounts are in a namespace of their own, and end with it.
  # shellcheck disable=SC2016
  exec unshare --mount bash -euc '
    mount --bind / "$1/host"
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
    exec chroot "$1" /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin:/host/usr/bin CC=/host/usr/bin/aarch64-linux-gnu-gcc \
      CXX=/host/usr/bin/aarch64-linux-gnu-g++ WEFT_PACKAGE_BUILD="/host$2/build/package-aarch64" \
      "/host$2/packaging/build.sh" "/host$3" python3' package "$root" "$here" "$out"
fi

# What programs under qemu see of ROOT: its libraries, and no folder that tests write to.
mkdir -p "$build/prefix" "$build/tools"
ln -sfn "$root/usr/lib" "$build/prefix/lib"
for tool in addr2line nm objdump readelf; do ln -sf "$(command -v aarch64-linux-gnu-$tool)" "$build/tools/$tool"; done
mkdir -p /etc/qemu-binfmt
trap 'rm -f /etc/qemu-binfmt/aarch64' EXIT
ln -sfn "$build/prefix" /etc/qemu-binfmt/aarch64  # where Debian's qemu looks, whatever the environment of a program
export WEFT_SYSROOT=$root PATH=$build/tools:$PATH
cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$here/packaging/aarch64.cmake" \
  -DWEFT_CUDA=OFF -DWEFT_MPI=OFF -DWEFT_BENCH=OFF -DWEFT_PRECOMPILE="${WEFT_PRECOMPILE:-ON}" >"$build.log"
targets=(weft weft-host-cuda weft_lab)
for program in "${programs[@]}"; do [[ $program == *_tests ]] && targets+=("$program"); done
cmake --build "$build" --parallel "${WEFT_JOBS:-$(nproc)}" --target "${targets[@]}" >>"$build.log" 2>&1 ||
  { tail -n 40 "$build.log"; exit 2; }

# qemu keeps 16 bytes for each page that a program reserves, and host-cuda reserves 4 TB where it may.
ulimit -v $((32 << 20))
# shellcheck disable=SC2086
python3 "$here/packaging/tests_of.py" "$build" --jobs "${WEFT_JOBS:-$(nproc)}" "${programs[@]}" -- ${WEFT_CTEST:-}
