#!/usr/bin/env bash
# Writes the licences of all that a package brings along, from Debian's packages: of the libraries that PROGRAM is linked
# with, but for those of glibc, and of those that are parts of it.
#
#   packaging/licences.sh PROGRAM
set -euo pipefail
inside=(libarchive-dev libnettle8 liblzma-dev libzstd-dev libboost1.74-dev libgcc-12-dev libcli11-dev nlohmann-json3-dev libstb-dev)
packages() {
  ldd "$1" | sed -n 's|.* => \(/[^ ]*\) .*|\1|p' | grep -v '/lib\(c\|m\)\.so' | while read -r file; do
    real=$(realpath "$file")
    { dpkg -S "$real" || dpkg -S "${real#/usr}"; } 2>/dev/null | cut -d: -f1
  done
  printf '%s\n' "${inside[@]}"
}
packages "$1" | sort -u | while read -r package; do
  text=/usr/share/doc/$package/copyright
  [ -r "$text" ] || { echo "$package has no $text" >&2; exit 1; }
  line=$(printf '=%.0s' {1..78})
  printf '%s\n== %s %s\n%s\n\n' "$line" "$package" "$(dpkg-query -W -f '${Version}\n' "$package" | head -n 1)" "$line"
  cat "$text"
  echo
done
