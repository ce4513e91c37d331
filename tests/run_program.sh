#!/usr/bin/env bash
# The commands that ./run prints work from the folder in which it was started: `run` passes its own
# name on as it was typed. cmake and the program are stand-ins.
#
#   tests/run_program.sh PATH_OF_RUN WORK_FOLDER
set -euo pipefail
run=$1 work=$2
rm -rf "$work"
mkdir -p "$work/house/build/cpu" "$work/bin" "$work/elsewhere"
cp "$run" "$work/house/run"
touch "$work/house/build/.packages"
printf '#!/bin/sh\nexit 0\n' >"$work/bin/cmake"
printf '#!/bin/sh\necho "$WEFT_PROGRAM"\n' >"$work/house/build/cpu/weft"
chmod +x "$work/bin/cmake" "$work/house/build/cpu/weft"
export PATH="$work/bin:$PATH" WEFT_BACKEND=cpu
expect() {
  [ "$1" = "$2" ] || { echo "expected '$2', found '$1'"; exit 1; }
}
cd "$work/house"
expect "$(./run)" ./run
expect "$(bash run)" ./run
cd "$work/elsewhere"
expect "$(../house/run)" ../house/run
expect "$("$work/house/run")" "$work/house/run"
