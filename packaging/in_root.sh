#!/usr/bin/env bash
# Runs in a clean root, without a compiler and without a network: what somebody does who has just installed Weft.
# packaging/try.sh calls it. Arguments: a name for the results, and the command.
set -euo pipefail
name=$1 weft=$2
! command -v g++ gcc cc c++ >/dev/null || { echo "$name: there is a compiler"; exit 2; }
cd "$(mktemp -d)"
say() { printf '%s | %s | %s s\n' "$name" "$1" "$2"; }
took() {  # WHAT COMMAND...
  local what=$1 from=$EPOCHREALTIME
  shift
  "$@" >out.txt 2>err.txt || { echo "$name: $what failed:"; cat out.txt err.txt; exit 1; }
  say "$what" "$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $from }")"
}
took "trains 2 epochs on drawn digits" "$weft" train --epochs 2 --out run
took "predicts a picture" "$weft" predict run run/samples/1-5.png
grep -q 5 out.txt || { echo "$name: 1-5.png is no 5:"; cat out.txt; exit 1; }
took "runs a checked rung on host-cuda" "$weft" kernel run scan/brent_kung --device host-cuda
took "tells of the rung" "$weft" kernel show scan/brent_kung
took "watches the rung" "$weft" kernel watch scan/brent_kung --out page.html
grep -q '__syncthreads' page.html || { echo "$name: the page of the rung is without its source"; exit 1; }
took "writes an ONNX file" "$weft" export run --out run.onnx
code=0
"$weft" lab run no_such.cu >out.txt 2>err.txt || code=$?
grep -q 'needs a C++ compiler\|no_such.cu' err.txt && [ $code -ge 2 ] || { echo "$name: the lab says nothing of use:"; cat out.txt err.txt; exit 1; }
"$weft" serve run --port 8123 >serve.txt 2>&1 &
fetch() {
  exec 3<>/dev/tcp/127.0.0.1/8123 || return 1
  printf 'GET / HTTP/1.0\r\nHost: localhost:8123\r\n\r\n' >&3
  timeout 2 cat <&3
}
page=
from=$EPOCHREALTIME
for _ in $(seq 100); do
  page=$(fetch 2>/dev/null) && break
  sleep 0.1
done
kill %1
case $page in
  *"200 OK"*"<canvas"*) say "serves the page" "$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $from }")" ;;
  *) echo "$name: no page:" && cat serve.txt && exit 1 ;;
esac
