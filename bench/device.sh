#!/usr/bin/env bash
# Builds, tests and measures Weft on a machine with a GPU, in one call.
#
#   bench/device.sh [STAGE...]   build test sanitize interop bench errors train train_cpu commands record
#                                (default: these, in turn); spread, mend
#   bench/device.sh build bench errors train record commands      all figures of one commit
#
# bench keeps every family as soon as it is done, and goes on with the missing ones when it is called again
# after BENCH_LIMIT seconds (default: 540) were used up. spread runs gemm, conv, scan and training five times, and
# says how far their ratios and epochs differ. mend tries candidates for the recipe fast.
#
# OUT=FOLDER          where results and logs go (default: bench/results)
# WEFT_COMMIT         the commit measured, where there is no history to ask
# STB_INCLUDE_DIR     folder of stb_image.h where it is not installed
# Exits non-zero when a stage failed; short tables come last.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
OUT=${OUT:-bench/results}
mkdir -p "$OUT"
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(build test sanitize interop bench errors train train_cpu commands record)
declare -A verdict

stage_build() {
  WEFT_BACKEND=cuda ./run --version && cmake --build build/cuda --parallel "$(nproc)"
}

stage_test() { WEFT_BACKEND=cuda ./run test; }

# The CUDA tests of each folder, at small sizes, each tool in shards that run side by side. Refused
# allocations are part of a test, not errors.
stage_sanitize() {
  local tool folder shard shards=6 failed=0 job jobs=()
  for tool in memcheck racecheck synccheck; do
    for folder in engine kernels layers; do
      for ((shard = 0; shard < shards; shard++)); do
        GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard WEFT_SMALL_TESTS=1 OMP_NUM_THREADS=1 \
          timeout "${SANITIZE_LIMIT:-500}" compute-sanitizer --tool "$tool" --report-api-errors no \
          --error-exitcode 9 "build/cuda/tests/${folder}_tests" --gtest_brief=1 \
          --gtest_filter='*cuda*:ScanOperator*' >"$OUT/sanitize-$tool-$folder-$shard.log" 2>&1 &
        jobs+=("$!:$tool-$folder-$shard")
      done
    done
    for job in "${jobs[@]}"; do
      wait "${job%%:*}" || { failed=1; echo "-- ${job#*:} failed"; tail -n 20 "$OUT/sanitize-${job#*:}.log"; }
    done
    echo "$tool: $(grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$OUT"/sanitize-"$tool"-*.log | sort | uniq -c)"
    jobs=()
  done
  return $failed
}

stage_interop() { python3 tests/interop/torch_interop.py --weft build/cuda/weft; }

# Every family beside its yardsticks; bench/results/kernels-h200.jsonl is such a file.
stage_bench() {
  local family all until=$((SECONDS + ${BENCH_LIMIT:-540})) failed=0 part=$OUT/kernels-part.jsonl
  export WEFT_COMMIT=${WEFT_COMMIT:-$(git rev-parse --short HEAD)}
  # Inputs of 1 GiB are made for each check. Their memory is kept from one to the next, as it takes
  # longer to get from the system than to fill.
  export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=17179869184:glibc.malloc.trim_threshold=68719476736
  all=$(build/cuda/weft kernel list --json | sed 's/.*"family":"\([a-z_]*\)".*/\1/' | uniq)
  for family in $all gemm:layers; do
    grep -qsx "$family" "$OUT/kernels-done" && continue
    [ $SECONDS -lt $until ] || { echo "out of time before $family: call bench again"; return 1; }
    timeout $((until - SECONDS)) build/cuda/weft bench "$family" --device cuda --seconds 0.05 --json "$part"
    case $? in 0) ;; 1) failed=1 ;; *) return 1 ;; esac  # 1: a row failed, which the file says
    cat "$part" >>"$OUT/kernels-cuda.jsonl" && echo "$family" >>"$OUT/kernels-done"
  done
  [ $failed = 0 ] || return 1
  local objects=build/cuda/CMakeFiles/weft_kernels.dir
  [ -d $objects ] || { echo "not built here: the machine code behind these rows was not read"; return; }
  python3 tests/machine_code.py $objects --results "$OUT/kernels-cuda.jsonl" || [ $? -eq 77 ]  # 77: no disassembler here
}

stage_errors() {
  WEFT_COMMIT=${WEFT_COMMIT:-$(git rev-parse --short HEAD)} build/cuda/weft bench errors --device cuda \
    --json "$OUT/errors-cuda.jsonl"
}

stage_record() {
  local failed=0
  python3 bench/record.py --weft build/cuda/weft --device cuda --goal 99.00 --anchor \
    --out "$OUT/record-99.00-cuda.json" || failed=1
  python3 bench/record.py --weft build/cuda/weft --device cuda --goal 99.65 \
    --out "$OUT/record-99.65-cuda.json" || failed=1
  return $failed
}

stage_spread() {
  local run
  for run in 1 2 3 4 5; do
    build/cuda/weft bench gemm conv scan --device cuda --seconds 0.05 --json "$OUT/spread-$run.jsonl" || return
  done
  for run in 1 2 3 4 5; do
    build/cuda/weft bench train --models fast,mlp --seeds 10 --no-yardsticks --device cuda --json "$OUT/spread-train-$run.json" ||
      return
  done
  python3 bench/compare.py --spread "$OUT"/spread-train-?.json --out "$OUT/spread-train-cuda.json"
  python3 bench/compare.py --spread "$OUT"/spread-?.jsonl --out "$OUT/spread-kernels-cuda.json"
}

stage_mend() { python3 bench/mend_fast.py --weft build/cuda/weft --device cuda --json "$OUT/mend-fast.json"; }

stage_train() { build/cuda/weft bench train --device cuda --json "$OUT/train-cuda.json"; }

stage_train_cpu() {
  build/cuda/weft bench train --device cpu --threads 2 --json "$OUT/train-cpu.json"
}

stage_commands() {
  python3 bench/commands.py --weft build/cuda/weft --device cuda --out "$OUT/commands-cuda.json"
}

for stage in "${stages[@]}"; do
  start=$SECONDS
  if "stage_$stage" >"$OUT/$stage.log" 2>&1; then verdict[$stage]=ok; else verdict[$stage]=FAILED; fi
  verdict[$stage]+=" $((SECONDS - start)) s"
  case $stage-${verdict[$stage]} in build-FAILED*) break ;; esac  # the rest would measure nothing
done

status=0
for stage in "${stages[@]}"; do
  verdict[$stage]=${verdict[$stage]:-not run}
  case ${verdict[$stage]} in FAILED*) status=1; echo "== end of $stage.log"; tail -n 40 "$OUT/$stage.log" ;; esac
done
for stage in "${stages[@]}"; do printf '%-10s %s\n' "$stage" "${verdict[$stage]}"; done
case " ${stages[*]} " in *' bench '*)
  sed -n '/^  family  *took/,$p' "$OUT/bench.log"  # the time of each family
  if [ -s "$OUT/kernels-cuda.jsonl" ]; then
    python3 bench/update_readme.py --weft build/cuda/weft --summary "$OUT/kernels-cuda.jsonl"
  fi ;;
esac
exit $status
