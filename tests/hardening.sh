#!/usr/bin/env bash
# The program is hardened as SECURITY.md says: readelf finds the marks of it.
#
#   tests/hardening.sh build/cpu/weft
set -euo pipefail
program=$1
failed=0
expect() {  # WHAT PATTERN TEXT
  if ! grep -qE "$2" <<<"$3"; then
    echo "$program: no $1" >&2
    failed=1
  fi
}
header=$(readelf --wide --file-header --program-headers "$program")
dynamic=$(readelf --wide --dynamic "$program")
symbols=$(readelf --wide --dyn-syms "$program")
expect "position-independent program" 'Type: +DYN' "$header"
expect "interpreter, so it is no program" 'INTERP' "$header"
expect "table that is read-only after the start" 'GNU_RELRO' "$header"
expect "stack mark" 'GNU_STACK' "$header"
expect "binding of all functions at the start" 'BIND_NOW|FLAGS.* NOW' "$dynamic"
expect "stack canary" '__stack_chk_fail' "$symbols"
expect "checked function of the C library" '__[a-z_]+_chk(@|$)' "$(grep -v __stack_chk <<<"$symbols")"
if grep -E 'GNU_STACK' <<<"$header" | grep -q 'RWE'; then
  echo "$program: the stack is executable" >&2
  failed=1
fi
exit $failed
