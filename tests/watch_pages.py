#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the page of `weft kernel watch` of every kernel that host-cuda runs, and reads what it holds.

    python3 tests/watch_pages.py build/cpu/weft [FAMILY...]

A page has at most 5 MB and takes at most 10 s of a core; its data are JSON that hangs together.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LARGEST, SLOWEST = 5_000_000, 10  # bytes, seconds
REFERENCE = re.compile(r"""(?:src|href)\s*=\s*["'](?!data:)|url\(\s*["']?(?!#|data:)|@import""")


def rungs(weft, families):
    lines = subprocess.run([weft, "kernel", "list", "--json"], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        rung = json.loads(line)
        if families and rung["family"] not in families:
            continue
        if rung["on_cuda"] and rung["compute_capability"] < 90:
            yield rung["name"]


def faults_of(page):
    """What is wrong with the text of a page."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    data = json.loads(match.group(1))
    rest = page[:match.start(1)] + page[match.end(1):]
    if REFERENCE.search(rest):
        yield f"the page refers to something outside: {REFERENCE.search(rest).group()}"
    for run in data["runs"]:
        requests = 0
        for launch in run["launches"]:
            for row in launch["events"]:
                what, block, _, warp, lanes, line, sentence, _ = row[:8]
                if not (launch["firstBlock"] <= block < launch["firstBlock"] + launch["blocks"]):
                    yield f"block {block} is none that the page shows"
                if warp >= launch["warps"] or line >= len(run["lines"]) or not run["sentences"][sentence].endswith("."):
                    yield f"an event does not hang together: {row}"
                if what != 0:
                    continue
                requests += 1
                kind, array, size, transactions, least, together, offsets, values = row[8:]
                count = bin(lanes).count("1")
                if not (0 < count and kind < 6 and array < len(run["arrays"]) and size > 0 and transactions > 0 and
                        least > 0 and 1 <= together <= 32 and len(offsets) in (2, count) and len(values) in (1, count)):
                    yield f"a request does not hang together: {row}"
        if requests == 0:
            yield "there is no request to memory"
        if not any(line.partition(":")[0] in data["sources"] for line in run["lines"]):
            yield "no line has its source"


def make(weft, name, folder):
    """The name, what is wrong, and the seconds of a core that the page took."""
    file = folder / (name.replace("/", "-") + ".html")
    process = subprocess.Popen([weft, "kernel", "watch", name, "--out", file], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    if process.returncode == 2 and "launches no kernel" in message:  # a transfer between memories
        return name, [] if name.endswith("_transfer") else [message.strip()], seconds, 0
    if process.returncode != 0:
        return name, [f"exit code {process.returncode}: {message.strip()}"], seconds, 0
    page = file.read_text(encoding="utf-8")
    file.unlink()
    faults = list(faults_of(page))[:3]
    size = len(page.encode())
    if size > LARGEST:
        faults.append(f"{size} bytes")
    if seconds > SLOWEST:
        faults.append(f"{seconds:.1f} s")
    return name, faults, seconds, size


def main():
    weft, families = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    wrong, all_seconds, largest, count = 0, [], 0, 0
    with tempfile.TemporaryDirectory(prefix="weft-watch-") as folder, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = list(rungs(weft, families))
        for name, faults, seconds, size in pool.map(lambda name: make(weft, name, pathlib.Path(folder)), names):
            count += 1
            all_seconds.append((seconds, name))
            largest = max(largest, size)
            wrong += bool(faults)
            for fault in faults:
                print(f"{name}: {fault}")
    if not names:
        sys.exit("watch_pages: no kernel to watch")
    slowest, name = max(all_seconds)
    print(f"{count} pages, {wrong} of them wrong; the largest has {largest} bytes, the slowest took {slowest:.1f} s "
          f"({name}), all of them {sum(seconds for seconds, _ in all_seconds):.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
