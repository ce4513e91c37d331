#!/usr/bin/env bash
# Fuzzes the picture readers with libFuzzer, AddressSanitizer and UBSan.
#
#   tests/fuzz/run.sh [RUNS]      (default: 10 million, about an hour of one core)
#
# Needs clang 16 or later with compiler-rt (Debian: clang-16 libclang-rt-16-dev). CXX chooses
# another compiler. What it finds is left in build/fuzz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
runs=${1:-10000000}
cxx=${CXX:-clang++-16}
stb=${STB_INCLUDE_DIR:-/usr/include/stb}
out=build/fuzz
libraries=(-lz)
webp=()
if printf '#include <webp/decode.h>\n' | "$cxx" -fsyntax-only -x c++ - 2>/dev/null; then
  webp=(-DWEFT_WITH_WEBP)
  libraries+=(-lwebp)
fi
mkdir -p "$out/objects" "$out/corpus" "$out/findings"

flags=(-std=c++20 -O2 -g -fno-omit-frame-pointer -I. -isystem "$stb" -DNDEBUG "${webp[@]}"
       -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
objects=()
for source in tests/fuzz/fuzz_picture.cpp data/image.cpp data/gzip.cpp data/stb.cpp data/picture/*.cpp; do
  object=$out/objects/$(basename "$source" .cpp).o
  wrap=()
  [ "$source" = data/stb.cpp ] && wrap=(-fwrapv)  # as cmake/targets.cmake has it
  "$cxx" "${flags[@]}" "${wrap[@]}" -c "$source" -o "$object"
  objects+=("$object")
done
"$cxx" -fsanitize=fuzzer,address,undefined -static-libgcc -static-libstdc++ "${objects[@]}" "${libraries[@]}" -o "$out/fuzz_picture"

# Two costs that find nothing in this code: pointers to locals are never kept, and the stack of an
# allocation is rarely needed.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=0:malloc_context_size=4}
exec "$out/fuzz_picture" -runs="$runs" -max_len=4096 -timeout=60 -rss_limit_mb=1024 \
  -dict=tests/fuzz/pictures.dict -artifact_prefix="$out/findings/" -print_final_stats=1 \
  "$out/corpus" tests/fuzz/corpus tests/data/hostile
