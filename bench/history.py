#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a page that draws every measured row over the commits that were measured.

    bench/history.py [--out build/history.html]

Reads each version of bench/results/kernels*.jsonl that git has. A run is a GPU and the commit that was built there.
A row is a family, a problem and what it is computed in; its line is our fastest rung of each run, beside the fastest
yardstick of the same run. A row is called slower as compare.py does: by more than 3 % than in the run before on the
same GPU, and with samples that do not overlap.
"""
import argparse
import collections
import html
import json
import math
import pathlib
import subprocess
import sys

import compare
import kernel_tables

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLOURS = ["#3b6ea5", "#c77d1e", "#3f8f5b", "#8250df"]  # of GPUs
WIDTH, HEIGHT, MARGIN = 300, 64, 8
SLOWER = 3  # percent


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"history.py: error: git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def files_ever():
    """(time of its commit, text) of every version of a file of kernels' results, the oldest first."""
    seen = set()
    for line in git("log", "--reverse", "--format=%H %ct", "--", "bench/results").splitlines():
        commit, when = line.split()
        for entry in git("ls-tree", "-r", commit, "bench/results/").splitlines():
            blob, path = entry.split()[2], entry.split("\t")[1]
            name = pathlib.PurePosixPath(path).name
            if name.startswith("kernels") and name.endswith(".jsonl") and blob not in seen:
                seen.add(blob)
                yield int(when), git("cat-file", "blob", blob)


class Run:
    """What was measured of one commit on one GPU."""

    def __init__(self, gpu, commit, when):
        self.gpu, self.commit, self.when = gpu, commit, when
        self.own, self.yardstick = {}, {}  # {(family, problem, arithmetic): fastest measurement}

    def take(self, row):
        key = row["family"], row["problem"], kernel_tables.accuracy_of(row)
        rows = self.yardstick if row["yardstick"] else self.own
        if row["ok"] and (key not in rows or row["seconds"] < rows[key]["seconds"]):
            rows[key] = row


def runs_of(files):
    """Every run of (time, text), by the time when its results were committed first."""
    runs = {}
    for when, text in files:
        run = None
        for line in text.splitlines():
            event = json.loads(line)
            if event["event"] == "machine":
                key = event["name"], event["commit"]
                run = runs.setdefault(key, Run(*key, when))
            elif event["event"] == "measurement" and run is not None:
                run.take(event)
    return sorted(runs.values(), key=lambda run: run.when)


def before(runs, run, key):
    """The measurement of a row in the last run before this one on the same GPU, or None."""
    earlier = [other for other in runs[:runs.index(run)] if other.gpu == run.gpu and key in other.own]
    return earlier[-1].own[key] if earlier else None


def slower_rows(runs, run):
    pairs = [(key, before(runs, run, key)) for key in run.own]
    return [key for key, old in pairs if old is not None and compare.is_slower(old, run.own[key], SLOWER)]


def line(points, colour, dashed):
    """A line through (x, y, what it is), whose points say what they are."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 if dashed else 2.8}" fill="{colour}">'
                   f"<title>{html.escape(words)}</title></circle>" for x, y, words in points)
    dash = ' stroke-dasharray="3 3"' if dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>{dots}'


def chart(runs, gpus, key):
    """The times of a row, on a logarithmic scale from its shortest to its longest."""
    times = [rows[key]["seconds"] for run in runs for rows in (run.own, run.yardstick) if key in rows]
    low, high = math.log(min(times)), math.log(max(times))
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">']
    for gpu, colour in gpus.items():
        for kind in ("yardstick", "own"):
            points = []
            for i, run in enumerate(runs):
                row = getattr(run, kind).get(key)
                if run.gpu != gpu or row is None:
                    continue
                x = MARGIN + (WIDTH - 2 * MARGIN) * i / max(1, len(runs) - 1)
                share = (math.log(row["seconds"]) - low) / (high - low) if high > low else 0.5
                words = f"{row['variant']}: {kernel_tables.time_of(row['seconds'])}, {run.commit}, {gpu}"
                points.append((x, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share, words))
            if points:
                parts.append(line(points, colour, kind == "yardstick"))
    return "".join(parts) + "</svg>"


def row_of(runs, gpus, key):
    newest = next(run for run in reversed(runs) if key in run.own)
    row, peer, old = newest.own[key], newest.yardstick.get(key), before(runs, newest, key)
    cells = [key[2], chart(runs, gpus, key), html.escape(row["variant"]),
             kernel_tables.time_of(row["seconds"]),
             f"{peer['seconds'] / row['seconds']:.2f} ({html.escape(peer['variant'])})" if peer else "",
             f"{100 * (compare.ratio(old, row) - 1):+.1f} %" if old else ""]
    slower = old is not None and compare.is_slower(old, row, SLOWER)
    return (f"<tr{' class=slower' if slower else ''}><td class=words>{html.escape(key[1])}"
            + "".join(f"<td>{cell}" for cell in cells) + "</tr>")


def page(runs):
    gpus = {gpu: COLOURS[i % len(COLOURS)] for i, gpu in enumerate(dict.fromkeys(run.gpu for run in runs))}
    families = collections.defaultdict(list)
    for key in dict.fromkeys(key for run in reversed(runs) for key in run.own):
        families[key[0]].append(key)
    legend = " ".join(f'<b style="color:{colour}">{html.escape(gpu)}</b>' for gpu, colour in gpus.items())
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>Weft's kernels over commits</title><style>",
             "body{font:14px system-ui,sans-serif;margin:2em auto;max-width:1150px;color:#1f2328}",
             "table{border-collapse:collapse}td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #d8dee4}",
             "td{white-space:nowrap}td.words{white-space:normal}",
             ".slower td:last-child{color:#b3261e;font-weight:bold}</style>",
             f"<h1>Weft's kernels over commits</h1><p>{legend}. A full line is our fastest rung, a dashed one the fastest ",
             "yardstick of the same run; lower is faster, each picture has its own logarithmic scale. Point at a dot for ",
             "its rung, time and commit.</p><table><tr><th>run<th>GPU<th>rows<th>slower than the run before</tr>"]
    for run in runs:
        slower = "; ".join(f"{family}, {problem}, {accuracy}" for family, problem, accuracy in slower_rows(runs, run))
        parts.append(f"<tr><td>{html.escape(run.commit)}<td>{html.escape(run.gpu)}<td>{len(run.own)}"
                     f"<td class=words>{html.escape(slower) or 'none'}</tr>")
    parts.append("</table>")
    for family, keys in families.items():
        parts.append(f"<h2>{html.escape(family)}</h2><table><tr><th>problem<th>accuracy<th>{len(runs)} runs<th>fastest rung"
                     "<th>time<th>yardstick's time by ours<th>since the run before</tr>")
        parts += [row_of(runs, gpus, key) for key in keys]
        parts.append("</table>")
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/history.html")
    wanted = parser.parse_args()
    runs = runs_of(files_ever())
    if not runs:
        sys.exit("history.py: error: git has no results of kernels; a shallow clone has its newest commits alone")
    wanted.out.parent.mkdir(parents=True, exist_ok=True)
    wanted.out.write_text(page(runs))
    print(f"{wanted.out}: {len(runs)} runs, {len({key for run in runs for key in run.own})} rows")


if __name__ == "__main__":
    main()
