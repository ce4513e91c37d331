#!/usr/bin/env bash
# Builds the program twice, in two folders of different depth, and compares the bytes. By hand: it is
# two builds from nothing, about ten minutes of two cores each.
#
#   tests/reproducible.sh [TARGET [FILE]]    weft and its file; weft_data and libweft_data.a are quick
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${1:-weft}
file=${2:-weft}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1  # which would give the second build the objects of the first
unset CMAKE_CXX_COMPILER_LAUNCHER CMAKE_C_COMPILER_LAUNCHER
digests=()
for folder in "$work/first" "$work/a/longer/path/to/the/second"; do
  mkdir -p "$folder"
  git -C "$source" ls-files -z | (cd "$source" && tar --null --files-from=- -c) | tar -x -C "$folder"
  log=$work/log
  { cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_CUDA=OFF \
      -DWEFT_TESTS=OFF -DWEFT_BENCH=OFF -DWEFT_HOST_CUDA=OFF &&
    cmake --build "$folder/build" --target "$target" --parallel "${WEFT_JOBS:-$(nproc)}"; } >"$log" 2>&1 ||
    { tail -n 30 "$log" >&2; exit 2; }
  digest=$(sha256sum <"$folder/build/$file")
  digests+=("${digest%% *}")
  echo "${digests[-1]}  $file in ${folder#"$work"/}"
  if grep -qa "$work" "$folder/build/$file"; then
    echo "$file names the folder in which it was built" >&2
    exit 1
  fi
done
if [ "${digests[0]}" != "${digests[1]}" ]; then
  echo "the two builds differ" >&2
  exit 1
fi
echo "the same bytes"
