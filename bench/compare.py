#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares two runs of `weft bench --json FILE`, row by row, or an old and a new program that take turns.

    bench/compare.py BEFORE.jsonl AFTER.jsonl [--slower PERCENT] [--yardsticks]
    bench/compare.py --old build/old/weft --new build/cuda/weft gemm conv [--turns 6] [--device cuda]
    bench/compare.py --spread RUN.jsonl RUN.jsonl... [--out bench/results/spread-gemm-h200.json]

A row is a family, a problem and a variant. Prints per family how many rows both runs have and the median of the times
after over the times before, then every row that takes longer by more than PERCENT (default: 3) and whose intervals do
not overlap: what the turns of a row say of its median with 95 % (older files: the 10th and 90th percentile). Exits with 1
when there is such a row, when a row failed its check, when a variant is gone from a problem that both runs have, and when
the runs have no row in common. Yardsticks are compared only when asked.

With --old and --new both programs measure the families in turns, forward and backward, and a row is slower when the
interval of its ratio, new over old of the same turn, lies above 1 and its median by more than PERCENT.

--spread says how far several runs of one program differ: of every row with a yardstick the largest ratio over the least, and
of files that `weft bench train --json FILE.json` wrote the longest epoch over the shortest. Exits with 1 when one differs by
more than PERCENT.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from machine import write_result

ENOUGH = 6  # repeats: the median lies outside of fewer with a probability above 5 %


def rows_of(path, yardsticks):
    """{(family, problem, variant): measurement}, and the machine that it was measured on."""
    rows, machine = {}, {}
    if path.suffix == ".json":  # of weft bench train: an epoch of each command stands for a ratio
        result = json.loads(path.read_text())
        return {("train", row["command"], "epoch"): {"ok": True, "yardstick": False, "seconds": row["epoch_seconds_median"],
                                                     "ratio": {"median": row["epoch_seconds_median"]}}
                for row in result["rows"]}, result["machine"]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            sys.exit(f"compare.py: error: {path}:{number}: {error}")
        if event.get("event") == "machine":
            machine = event
        elif event.get("event") == "measurement" and (yardsticks or not event["yardstick"]):
            rows[event["family"], event["problem"], event["variant"]] = event
    return rows, machine


def interval_of(repeats):
    """(low, high) of the median with 95 % or more, by the binomial distribution, as measure/turns.h has it; of fewer than
    six repeats from the least to the most."""
    values, n = sorted(repeats), len(repeats)
    out = 0
    while 2 * sum(math.comb(n, i) for i in range(out + 1)) <= 0.05 * 2 ** n:
        out += 1
    out = max(0, out - 1)
    return values[out], values[n - 1 - out]


def limits(row):
    """What is known of the median of a row."""
    if "seconds_low" in row:
        return row["seconds_low"], row["seconds_high"]
    return row["seconds_p10"], row["seconds_p90"]


def ratio(before, after):
    return after["seconds"] / before["seconds"]


def is_slower(before, after, percent):
    if "ratios" in after:  # of turns
        return ratio(before, after) > 1 + percent / 100 and interval_of(after["ratios"])[0] > 1
    return ratio(before, after) > 1 + percent / 100 and limits(after)[0] > limits(before)[1]


def compare(before, after, percent):
    """The text of a comparison, and whether `after` holds up."""
    both = [key for key in after if key in before and before[key]["ok"] and after[key]["ok"]]
    lines = [f"{'family':<16} {'rows':>5} {'median of after / before':>26}"]
    for family in dict.fromkeys(key[0] for key in both):
        ratios = [ratio(before[key], after[key]) for key in both if key[0] == family]
        lines.append(f"{family:<16} {len(ratios):>5} {statistics.median(ratios):>26.3f}")
    problems = {key[:2] for key in after}
    slower = [key for key in both if is_slower(before[key], after[key], percent)]
    failed = [key for key in after if not after[key]["ok"]]
    gone = [key for key in before if key[:2] in problems and key not in after]
    for title, keys in (("slower", slower), ("failed", failed), ("gone", gone)):
        for key in keys:
            times = f" {before[key]['seconds'] * 1e6:.2f} us, now {after[key]['seconds'] * 1e6:.2f} us" \
                if title == "slower" else ""
            if title == "slower" and "ratios" in after[key]:
                times += " ({:.3f}, {:.3f} to {:.3f})".format(ratio(before[key], after[key]), *interval_of(after[key]["ratios"]))
            lines.append(f"{title}: {key[0]}: {key[1]}: {key[2]}{times}")
    lines.append(f"{len(both)} rows compared: {len(slower)} slower by more than {percent:g} %, {len(failed)} failed, "
                 f"{len(gone)} gone, {len(after) - len(both) - len(failed)} new")
    return "\n".join(lines), bool(both) and not slower and not failed and not gone


def run_bench(program, families, more, path):
    """The rows of one turn of a program."""
    done = subprocess.run([program, "bench", *families, *more, "--json", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if not path.exists() or done.returncode not in (0, 1):  # 1: a row failed, which the file says
        sys.exit(f"compare.py: error: {program} bench {' '.join(families)}: exit code {done.returncode}: {done.stderr.strip()}")
    return rows_of(path, True)[0]


def merged(turns):
    """(before, after) of [(old rows, new rows)]: a row's time is its median; `ratios` has new over old of each turn."""
    old, new = {}, {}
    for side, rows in ((0, old), (1, new)):
        for key in dict.fromkeys(key for turn in turns for key in turn[side]):
            of_key = [turn[side][key] for turn in turns if key in turn[side]]
            ok = len(of_key) == len(turns) and all(row["ok"] for row in of_key)
            rows[key] = dict(of_key[-1], ok=ok) | ({"seconds": statistics.median(row["seconds"] for row in of_key)} if ok else {})
    for key in new:
        if key in old and old[key]["ok"] and new[key]["ok"]:
            ratios = [turn[1][key]["seconds"] / turn[0][key]["seconds"] for turn in turns]
            # What drifts from turn to turn meets both, so that their ratio says more than that of two medians.
            new[key] |= {"ratios": ratios, "seconds": old[key]["seconds"] * statistics.median(ratios)}
    return old, new


def alternate(old, new, families, more, count):
    with tempfile.TemporaryDirectory() as folder:
        turns = []
        for turn in range(count):
            rows = {}
            for side in ((0, 1) if turn % 2 == 0 else (1, 0)):
                path = pathlib.Path(folder) / f"{turn}-{side}.jsonl"
                rows[side] = run_bench((old, new)[side], families, more, path)
            turns.append((rows[0], rows[1]))
            print(f"turn {turn + 1} of {count} done", file=sys.stderr)
    return merged(turns)


def spread(runs, percent):
    """[(family, problem, variant, the ratio of each run)] of the rows that all runs have, the text of how far they differ, and
    whether all stay within."""
    rows = []
    for key in runs[0]:
        ratios = [run[key]["ratio"]["median"] for run in runs if key in run and run[key]["ok"] and "ratio" in run[key]]
        if len(ratios) == len(runs):
            rows.append((*key, ratios))
    far = [row for row in rows if apart(row) > percent]
    lines = [f"{'family':<16} {'ratios':>7} {'largest spread':>15}"]
    for family in dict.fromkeys(row[0] for row in rows):
        of_family = [apart(row) for row in rows if row[0] == family]
        lines.append(f"{family:<16} {len(of_family):>7} {max(of_family):>13.1f} %")
    lines += [f"apart: {row[0]}: {row[1]}: {row[2]}: {min(row[3]):.3f} to {max(row[3]):.3f}, {apart(row):.1f} %" for row in far]
    lines.append(f"{len(rows)} ratios of {len(runs)} runs: {len(far)} differ by more than {percent:g} %")
    return rows, "\n".join(lines), bool(rows) and not far


def apart(row):
    """By how many percent the largest ratio of a row is above the least."""
    return 100 * (max(row[3]) / min(row[3]) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="FILE|FAMILY", help="two files, or families with --old and --new")
    parser.add_argument("--slower", "--percent", dest="percent", type=float, default=3, metavar="PERCENT")
    parser.add_argument("--yardsticks", action="store_true")
    parser.add_argument("--old", help="program to compare with")
    parser.add_argument("--new", help="program that is compared")
    parser.add_argument("--turns", type=int, default=ENOUGH, help="of each program (default: %(default)s, the least that gives an "
                        "interval of 95 %%)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", default="0.2", help="of each measurement, as for weft bench")
    parser.add_argument("--spread", action="store_true", help="how far several runs of one program differ")
    parser.add_argument("--out", type=pathlib.Path, help="with --spread: write the ratios as JSON")
    wanted = parser.parse_args()
    if wanted.turns < ENOUGH:
        parser.error(f"--turns: expected {ENOUGH} or more, which an interval of 95 % takes, found {wanted.turns}")
    if bool(wanted.old) != bool(wanted.new):
        parser.error("--old and --new go together")
    if wanted.spread:
        if len(wanted.words) < 2:
            parser.error("--spread: expected two files or more")
        runs = [rows_of(pathlib.Path(word), False) for word in wanted.words]
        rows, text, holds = spread([run for run, _ in runs], wanted.percent)
        if wanted.out:
            write_result(wanted.out, {"machine": runs[0][1], "runs": len(runs), "rows": rows})
    elif wanted.old:
        old, new = alternate(wanted.old, wanted.new, wanted.words, ["--device", wanted.device, "--seconds", wanted.seconds],
                             wanted.turns)
        kept = {key: row for key, row in new.items() if wanted.yardsticks or not row["yardstick"]}
        text, holds = compare({key: row for key, row in old.items() if wanted.yardsticks or not row["yardstick"]}, kept,
                              wanted.percent)
    else:
        if len(wanted.words) != 2:
            parser.error("expected BEFORE.jsonl AFTER.jsonl, or --old and --new")
        before, machine = rows_of(pathlib.Path(wanted.words[0]), wanted.yardsticks)
        after, other = rows_of(pathlib.Path(wanted.words[1]), wanted.yardsticks)
        if machine.get("name") != other.get("name"):
            print(f"compare.py: two machines: {machine.get('name')} and {other.get('name')}", file=sys.stderr)
        text, holds = compare(before, after, wanted.percent)
    print(text)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
