#!/usr/bin/env bash
# Tells which functions a FILE takes from a newer C or C++ library than the tag manylinux_2_34 allows. Exits with 1 where there is
# one, and with 77 where this machine's C library is another one than Debian 12's, whose functions have other versions.
#
#   packaging/symbols.sh FILE...      packaging/symbols.sh build/cpu/weft
set -euo pipefail
[[ $(getconf GNU_LIBC_VERSION) == "glibc 2.36" ]] || { echo "skipped: the C library is another one than Debian 12's"; exit 77; }
code=0
for file in "$@"; do
  symbols=$(objdump -T "$file")
  newer=$(awk -v file="$file" '
    BEGIN { most["GLIBC"] = 2 * 1e6 + 34 * 1e3; most["GLIBCXX"] = 3 * 1e6 + 4 * 1e3 + 29; most["CXXABI"] = 1 * 1e6 + 3 * 1e3 + 13 }
    match($0, /\((GLIBC|GLIBCXX|CXXABI)_[0-9.]+\) /) {
      split(substr($0, RSTART + 1, RLENGTH - 3), part, "_")
      split(part[2], number, ".")
      if (number[1] * 1e6 + number[2] * 1e3 + number[3] > most[part[1]]) print file " wants " $NF " of " part[1] " " part[2]
    }' <<<"$symbols")
  [ -z "$newer" ] || { echo "$newer"; code=1; }
done
exit $code
