#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares two runs of `weft bench --json FILE`, row by row.

    bench/compare.py BEFORE.jsonl AFTER.jsonl [--slower PERCENT] [--yardsticks]

A row is a family, a problem and a variant. Prints per family how many rows both runs have and the median of the times
after over the times before, then every row that takes longer by more than PERCENT (default: 3) and whose samples do
not overlap: p10 after lies above p90 before. Exits with 1 when there is such a row, when a row failed its check, when
a variant is gone from a problem that both runs have, and when the runs have no row in common. Yardsticks are compared
only when asked.
"""
import argparse
import json
import pathlib
import statistics
import sys


def rows_of(path, yardsticks):
    """{(family, problem, variant): measurement}, and the machine that it was measured on."""
    rows, machine = {}, {}
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


def ratio(before, after):
    return after["seconds"] / before["seconds"]


def is_slower(before, after, percent):
    return ratio(before, after) > 1 + percent / 100 and after["seconds_p10"] > before["seconds_p90"]


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
            lines.append(f"{title}: {key[0]}: {key[1]}: {key[2]}{times}")
    lines.append(f"{len(both)} rows compared: {len(slower)} slower by more than {percent:g} %, {len(failed)} failed, "
                 f"{len(gone)} gone, {len(after) - len(both) - len(failed)} new")
    return "\n".join(lines), bool(both) and not slower and not failed and not gone


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--slower", type=float, default=3, metavar="PERCENT")
    parser.add_argument("--yardsticks", action="store_true")
    wanted = parser.parse_args()
    before, machine = rows_of(wanted.before, wanted.yardsticks)
    after, other = rows_of(wanted.after, wanted.yardsticks)
    if machine.get("name") != other.get("name"):
        print(f"compare.py: two machines: {machine.get('name')} and {other.get('name')}", file=sys.stderr)
    text, holds = compare(before, after, wanted.slower)
    print(text)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
