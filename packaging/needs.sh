#!/usr/bin/env bash
# Tells which libraries a FILE is linked with that are neither below FOLDER nor of glibc, by ldd. Exits with 1 where there is one.
# A manylinux wheel, installed or not, may also take zlib, libstdc++ and libgcc_s from the system, as every one of that tag has them
# (PEP 600).
#
#   packaging/needs.sh FOLDER FILE...      packaging/needs.sh weft-0.1.0-linux-x86_64 weft-0.1.0-linux-x86_64/bin/weft*
set -euo pipefail
folder=$(realpath "$1")
shift
everywhere=' '
grep -qs '^Tag: .*manylinux' "$folder"/weft-*.dist-info/WHEEL && everywhere=' libz.so.1 libstdc++.so.6 libgcc_s.so.1 '
code=0
for file in "$@"; do
  libraries=$(ldd "$file")
  while read -r name _ path _; do
    case $name in
      statically) continue ;;  # "statically linked"
      linux-vdso.so.*|*/ld-linux*|libc.so.6|libm.so.6|libdl.so.2|librt.so.1|libpthread.so.0|libresolv.so.2|libutil.so.1) continue ;;
    esac
    [[ $everywhere == *" $name "* ]] && continue
    path=$([[ $path == /* ]] && realpath "$path" || echo "it is nowhere")
    [[ $path == "$folder"/* ]] && continue
    echo "$file needs $name, which is not in the package: $path"
    code=1
  done <<<"$libraries"
done
exit $code
