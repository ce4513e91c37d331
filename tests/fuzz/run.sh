#!/usr/bin/env bash
# Fuzzes a reader of files with libFuzzer, AddressSanitizer and UBSan.
#
#   tests/fuzz/run.sh [RUNS] [picture|data_set|network|onnx]
#
# The default is 10 million runs of the picture readers, about an hour of one core. network and onnx
# take the libraries that they need from build/cpu, and instrument what reads the files.
# Needs clang 16 or later with compiler-rt (Debian: clang-16 libclang-rt-16-dev). CXX chooses
# another compiler. What it finds is left in build/fuzz/TARGET.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
runs=${1:-10000000}
target=${2:-picture}
cxx=${CXX:-clang++-16}
stb=${STB_INCLUDE_DIR:-/usr/include/stb}
out=build/fuzz/$target
libraries=(-lz)
defines=()
options=(-max_len=4096)
static=(-static-libgcc -static-libstdc++)
pictures=(data/image.cpp data/gzip.cpp data/stb.cpp data/picture/*.cpp)
weft=(build/cpu/libweft_{models,layers,kernels,data,engine}.a)
case $target in
  picture)
    sources=("${pictures[@]}")
    corpus=(tests/fuzz/corpus tests/data/hostile)
    options+=(-dict=tests/fuzz/pictures.dict)
    ;;
  data_set)
    sources=("${pictures[@]}" data/{cifar,dataset,fit,plane,file_io,folder,host_memory,idx,own_data}.cpp
             data/{mnist_files,sha256,statistics}.cpp data/folder/*.cpp engine/names.cpp)
    corpus=(tests/fuzz/datasets)
    options=(-max_len=32768)
    ;;
  network)
    sources=(models/networks.cpp models/network_text.cpp)
    corpus=(tests/fuzz/networks models/networks)
    libraries=("${weft[@]}" -lfmt -lgomp -lz)
    ;;
  onnx)
    sources=(models/networks.cpp models/network_text.cpp)
    for source in models/onnx/*.cpp; do
      [ "$source" = models/onnx/absent.cpp ] || sources+=("$source")
    done
    corpus=(tests/fuzz/onnx tests/interop/pytorch_files)
    options=(-max_len=16384)
    defines=(-DONNX_ML)
    static=()  # protobuf is a shared library
    libraries=("${weft[@]}" -lonnx_proto -lprotobuf -lfmt -lgomp -lz)
    ;;
  *)
    echo "run.sh: expected picture, data_set, network or onnx, found $target" >&2
    exit 2
    ;;
esac
if printf '#include <webp/decode.h>\n' | "$cxx" -fsyntax-only -x c++ - 2>/dev/null; then
  defines+=(-DWEFT_WITH_WEBP)
  libraries+=(-lwebp)
fi
mkdir -p "$out/objects" "$out/corpus" "$out/findings"

flags=(-std=c++20 -O2 -g -fno-omit-frame-pointer -I. -Ibuild/cpu/networks -isystem "$stb" -DNDEBUG
       "${defines[@]}" -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
objects=()
for source in "tests/fuzz/fuzz_$target.cpp" "${sources[@]}"; do
  object=$out/objects/${source//\//-}.o
  wrap=()
  [ "$source" = data/stb.cpp ] && wrap=(-fwrapv)  # as cmake/targets.cmake has it
  "$cxx" "${flags[@]}" "${wrap[@]}" -c "$source" -o "$object"
  objects+=("$object")
done
"$cxx" -fsanitize=fuzzer,address,undefined "${static[@]}" "${objects[@]}" "${libraries[@]}" -o "$out/fuzz"

# Two costs that find nothing in this code: pointers to locals are never kept, and the stack of an
# allocation is rarely needed.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=0:malloc_context_size=4}
exec "$out/fuzz" -runs="$runs" "${options[@]}" -timeout=60 -rss_limit_mb=1024 \
  -artifact_prefix="$out/findings/" -print_final_stats=1 "$out/corpus" "${corpus[@]}"
