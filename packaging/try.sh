#!/usr/bin/env bash
# Tries what packaging/build.sh has made as somebody does who has nothing: in clean root directories that debootstrap makes,
# without a compiler, and without a network once they are there. By hand, as root, with debootstrap.
#
#   packaging/try.sh FOLDER SUITE[=MIRROR]...      packaging/try.sh dist bookworm trixie
#
# FOLDER has the packages, of one processor; elsewhere those for aarch64 run under qemu-user-static. WEFT_ROOTS: where the roots
# lie (a new folder in /tmp); those that are there are used again.
# NumPy, which the wheel needs, comes from PyPI before. A script for debootstrap stands in for that of a suite which it does not know.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$(cd "$1" && pwd)
shift
roots=${WEFT_ROOTS:-$(mktemp -d)}
mkdir -p "$roots"
failed=0
architecture=$(dpkg-deb --field "$packages"/weft_*.deb Architecture)
machine=$(case $architecture in amd64) echo x86_64 ;; arm64) echo aarch64 ;; esac)
[ "$machine" = "$(uname -m)" ] || ulimit -v $((32 << 20))  # qemu keeps 16 bytes for each page that is reserved
for argument in "$@"; do
  suite=${argument%%=*} mirror=
  [ "$suite" = "$argument" ] || mirror=${argument#*=}
  root=$roots/$suite-$architecture script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/bookworm
  [ -e "$root/usr/bin/python3" ] ||
    debootstrap --arch="$architecture" --variant=minbase --include=python3,python3-venv "$suite" "$root" "$mirror" "$script" \
      >"$root.log" 2>&1 || { tail -n 20 "$root.log"; exit 2; }
  version=$(chroot "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  rm -rf "$root/weft"
  mkdir -p "$root/weft/wheels"
  cp "$here/in_root.sh" "$here/needs.sh" "$packages"/weft* "$root/weft/"
  tar -xf "$packages"/weft-*.tar.xz -C "$root/weft"  # here: such a root has no xz
  python3 -m pip download --quiet --only-binary :all: --no-deps --python-version "$version" --implementation cp \
    --platform "manylinux_2_28_$machine" --platform "manylinux2014_$machine" --dest "$root/weft/wheels" numpy
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
  # shellcheck disable=SC2016
  if unshare --net chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 bash -euc '
    ip link set lo up 2>/dev/null || python3 -c "
import fcntl, socket, struct
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack(\"16sH14x\", b\"lo\", 1))"
    cd /weft
    echo "$0: archive"
    archive=$(echo /weft/weft-*/bin/weft)
    bash needs.sh "${archive%/bin/weft}" "$archive"*
    bash in_root.sh archive "$archive"
    echo "$0: .deb"
    dpkg -i weft_*.deb >deb.log 2>&1 || { cat deb.log; exit 1; }
    bash needs.sh /usr/lib/weft /usr/bin/weft*
    bash in_root.sh deb weft
    dpkg -r weft >>deb.log
    echo "$0: wheel"
    rm -rf venv
    python3 -m venv venv
    from=$EPOCHREALTIME
    venv/bin/pip install --quiet --no-index --find-links . --find-links wheels weft
    awk "BEGIN { printf \"wheel | is installed | %.1f s\n\", $EPOCHREALTIME - $from }"
    inside=$(venv/bin/python -c "import pathlib, weft; print(pathlib.Path(weft.__file__).parent)")
    bash needs.sh "$inside/.." "$inside"/_*.so "$inside/bin/weft"
    bash in_root.sh wheel /weft/venv/bin/weft
    venv/bin/python -m weft doctor --versions | head -n 3
    venv/bin/python -c "
import weft, numpy
assert (weft.gemm(numpy.eye(3, dtype=numpy.float32), numpy.ones((3, 3), numpy.float32)) == 1).all()
weft.kernel(\"scan/brent_kung\").run()"
    echo "wheel | is used from Python |"
  ' "$suite"; then
    echo "$suite: all went well"
  else
    echo "$suite: FAILED" && failed=1
  fi
  umount "$root/dev" "$root/proc"
done
exit $failed
