#!/usr/bin/env bash
# Fuzzes what reads strangers' bytes with libFuzzer, AddressSanitizer and UBSan.
#
#   tests/fuzz/run.sh HOURS [TARGET...]   TARGETs (default: all), as many at once as there are cores
#   tests/fuzz/run.sh --smoke [TARGET...] two seconds each, which are not recorded, from a seed of the commit
#
# A target is a fuzz_TARGET.cpp of this folder; its corpus is the folder of that name. Corpora grow in
# build/fuzz/corpus, and what breaks a reader is left in build/fuzz/findings. results.py keeps what
# was run in tests/fuzz/results.jsonl and RESULTS.md. Needs clang 14 or later with compiler-rt (Debian:
# clang libclang-rt-14-dev libomp-dev); CXX chooses another compiler, JOBS another number of jobs.
# RUNS ends a target after so many inputs. Exits with 1 when something was found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
usage() { sed -n 's/^#   //p' "$0" >&2; exit 2; }
[ $# -ge 1 ] || usage
hours=$1
shift
jobs=${JOBS:-$(nproc)}
cxx=${CXX:-clang++}
build=build/fuzz
mkdir -p build

# libheif 1.15 is left out: it loses memory at some damaged files, which is its own mistake.
cmake -S . -B $build -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O2 -g1 -DNDEBUG' -DWEFT_CUDA=OFF -DWEFT_HOST_CUDA=OFF -DWEFT_BENCH=OFF \
  -DWEFT_MPI=OFF -DHEIF_LIBRARY=0 -DWEFT_SANITIZE=ON -DWEFT_FUZZ=ON >$build.log 2>&1 || { tail -n 20 $build.log >&2; exit 1; }
[ $# -gt 0 ] || set -- $(cd $build && ninja -t targets all | sed -n 's/^fuzz_\([a-z_]*\): phony$/\1/p')
cmake --build $build --target "${@/#/fuzz_}" --parallel "$(nproc)" >>$build.log 2>&1 ||
  { tail -n 40 $build.log >&2; exit 1; }

seconds=2 seed=$((0x$(git rev-parse --short=7 HEAD 2>/dev/null || echo 1) | 1))  # whoever tries a commit again finds the same
if [ "$hours" != --smoke ]; then
  seed=0  # libFuzzer draws one
  seconds=$(awk -v h="$hours" -v j="$jobs" -v n=$# 'BEGIN { s = int(h * 3600 * (j < n ? j : n) / n); print s }')
  [ "$seconds" -ge 1 ] || usage
fi

# What a reader may take at most: the documented limits are below 1 GiB for inputs of these lengths.
fuzz() {
  local target=$1 seconds=$2 build=$3 seed=$4 folders=() options=(-max_len=4096)
  case $target in
    picture) folders=(tests/data/hostile) ;;
    data_set) options=(-max_len=32768) ;;
    network) folders=(models/networks) ;;
    # Short ones say all that these formats can say, and many more of them are tried.
    bodies|idx|npy|numbers) options=(-max_len=512) ;;
    onnx) folders=(tests/interop/pytorch_files) ;;
    lab) folders=(tests/lab/programs examples/lab) ;;
    pickle) folders=(tests/data/pickle/files) ;;
    weights) folders=(tests/models/weights/files) ;;
  esac
  [ ! -e tests/fuzz/dictionaries/$target.dict ] || options+=("-dict=tests/fuzz/dictionaries/$target.dict")
  mkdir -p $build/corpus/$target $build/findings/$target $build/logs
  # Without libFuzzer's entropic schedule, whose table of features takes six tenths of the time of the
  # importer's fuzzer (4,000 inputs a second instead of 560), and without a look at the corpus each second.
  $build/tests/fuzz_$target "${options[@]}" -entropic=0 -reload=0 -runs="${RUNS:--1}" -seed="$seed" \
    -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 \
    -malloc_limit_mb=1024 -artifact_prefix="$build/findings/$target/" -print_final_stats=1 \
    $build/corpus/$target tests/fuzz/$target "${folders[@]}" >$build/logs/$target.log 2>&1 ||
    { echo "$target: found something, see $build/logs/$target.log"; tail -n 30 $build/logs/$target.log; exit 1; }
}
export -f fuzz
# Two costs that find nothing in this code: pointers to locals are never kept, and the stack of an
# allocation is rarely needed.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=0:malloc_context_size=4}
export OMP_NUM_THREADS=1
status=0
printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c "fuzz {} $seconds $build $seed" || status=1
if [ "$hours" = --smoke ]; then
  for target; do
    printf '%-14s %9s runs\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' $build/logs/$target.log)"
  done
else
  python3 tests/fuzz/results.py "$build" "$@"
fi
exit $status
