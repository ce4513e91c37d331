#!/usr/bin/env bash
# The tests of the CPU under AddressSanitizer and UBSan, without host-cuda: it checks each access of its kernels itself, and
# the lab's translator is fuzzed. `cmake --preset asan` builds it, too.
#
#   tests/asan.sh [CTEST'S FLAGS...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build
cmake --preset asan -G Ninja -DWEFT_PRECOMPILE="${WEFT_PRECOMPILE:-ON}" -DWEFT_HOST_CUDA=OFF >build/asan.log
cmake --build build/asan --parallel "$(nproc)" >>build/asan.log 2>&1 || { tail -n 40 build/asan.log; exit 1; }
# One OpenMP thread each, as ./run test has it: tests run side by side. Left out are trainings that show
# ASan little more than others, for what they reach or repeat, and 200 starts of the program.
left_out='AdamwReachesWhatSgdReaches|DataParallel.BatchNormOver'
left_out+='|StreamedImagesGiveTheSameBits|SameFlagsSameBits|AFlagWithoutItsValue|HaveTheGradientOfTheirLoss'
left_out+='|LossesOfLenet5AreThoseOfTheCpu|AdamwAndClippingAreThoseOfTheCpu|BenchLinksTimesSums'
tests() { OMP_NUM_THREADS=1 ctest --preset asan --parallel "$(nproc)" -E "$left_out" "$@"; }
tests --output-junit "$PWD/build/asan-tests.xml" "$@" >build/asan-test.log 2>&1 ||
  { tail -n 30 build/asan-test.log; tests --rerun-failed | tail -n 200; exit 1; }
tail -n 4 build/asan-test.log
python3 tests/skips.py build/asan-tests.xml
