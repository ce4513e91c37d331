#!/usr/bin/env bash
# What is built is hardened as SECURITY.md says: readelf finds the marks of it. The first file is the program; of the
# others, programs and modules, those that were not built are passed over.
#
#   tests/hardening.sh build/cpu/weft [FILE...]
set -euo pipefail
program=$1
failed=0
expect() {  # WHAT PATTERN TEXT
  if ! grep -qE "$2" <<<"$3"; then
    echo "$file: no $1" >&2
    failed=1
  fi
}
for file in "$@"; do
  [ "$file" = "$program" ] || [ -e "$file" ] || continue
  header=$(readelf --wide --file-header --program-headers "$file")
  dynamic=$(readelf --wide --dynamic "$file")
  symbols=$(readelf --wide --dyn-syms "$file")
  expect "code that runs at any address" 'Type: +DYN' "$header"
  expect "table that is read-only after the start" 'GNU_RELRO' "$header"
  expect "stack mark" 'GNU_STACK' "$header"
  expect "binding of all functions at the start" 'BIND_NOW|FLAGS.* NOW' "$dynamic"
  if grep -E 'GNU_STACK' <<<"$header" | grep -q 'RWE'; then
    echo "$file: the stack is executable" >&2
    failed=1
  fi
  # An empty entry is the current folder, and a relative one begins there.
  paths=$(sed -nE 's/.*\((RUNPATH|RPATH)\).*\[(.*)\]/\2/p' <<<"$dynamic")
  while IFS= read -r entry; do
    case $entry in
      /*) ;;
      *) echo "$file: libraries are looked for in '$entry' of the current folder: RUNPATH is '$paths'" >&2 && failed=1 ;;
    esac
  done < <([ -z "$paths" ] || tr ':' '\n' <<<"$paths")
  expect "stack canary" '__stack_chk_fail' "$symbols"
  if [ "$file" = "$program" ]; then  # a module may call none that has a checked form
    expect "interpreter, so it is no program" 'INTERP' "$header"
    expect "checked function of the C library" '__[a-z_]+_chk(@|$)' "$(grep -v __stack_chk <<<"$symbols")"
  fi
done
exit $failed
