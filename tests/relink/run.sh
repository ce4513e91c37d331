#!/usr/bin/env bash
# A program can be started at every moment while it is linked anew.
#   run.sh FOLDER COMPILER
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$1"
cmake -S "$source" -B "$1" -DCMAKE_CXX_COMPILER="$2" >/dev/null
cmake --build "$1" >/dev/null
(
  trap 'touch "$1/done"' EXIT
  for _ in 1 2 3 4 5; do
    rm -f "$1"/CMakeFiles/relinked.dir/main.cpp.*  # compiled and linked again
    cmake --build "$1" >/dev/null
  done
) &
runs=0 failed=0
while [ ! -e "$1/done" ]; do
  "$1/relinked" || failed=$((failed + 1))
  runs=$((runs + 1))
done
wait $!
echo "$runs runs, $failed of them failed"
[ "$runs" -ge 20 ] && [ "$failed" -eq 0 ]
