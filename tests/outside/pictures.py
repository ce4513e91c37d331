#!/usr/bin/env python3
"""Reads collected pictures of digits with `weft predict`, and says how many of them are read right.

    python3 tests/outside/pictures.py WEFT MODEL LIST.csv FOLDER [--results FILE.csv] [--before FILE.csv] [--page README.md]

FOLDER has the pictures, which are no part of this repository. LIST.csv has the columns

    repository, picture     the picture is FOLDER/repository/picture; or instead of both: file, it is FOLDER/file
    mode                    single: one digit; page: several, read with --all; none: no digit
    right value             rows of a page split by /. `12 x 0`: so many of a digit, in any order. `op:65`: other marks
                            stand on the page too, and the digits must be among the marks in this order
    kind                    what the results are counted by; `kind of fault` will do

A single digit is right when its value is, unsure or not. `certain and wrong` is a wrong value that is not called unsure, or a
page with a wrong text of which no mark is unsure and of which nothing was left out. The results have the outcome of each
picture, for which a hash stands. --before compares with results of another time: the exit code is 1 when a picture was
right then and is not now. --page puts the table into a page.
"""
import argparse
import collections
import csv
import hashlib
import json
import pathlib
import re
import subprocess
import sys

COLUMNS = ["picture", "mode", "kind", "digits", "right", "extra", "outcome"]


def value_of(row: dict, name: str) -> str:
    """The column of this name, or whose name begins with it."""
    return next((row[key] for key in row if key == name or key.startswith(name + " ")), "")


def read_list(path: pathlib.Path, folder: pathlib.Path) -> list[dict]:
    pictures = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            name = row.get("file") or f"{row['repository']}/{row['picture']}"
            pictures.append({"name": name, "path": folder / name, "mode": row["mode"], "value": value_of(row, "right value"),
                             "kind": row.get("kind") or value_of(row, "kind of fault")})
    return pictures


def readings(weft: str, model: str, pictures: list[dict], every_mark: bool) -> dict[str, dict]:
    """What predict says of each picture, by its path. One that is not read is absent."""
    said = {}
    for first in range(0, len(pictures), 100):
        paths = [str(picture["path"]) for picture in pictures[first:first + 100]]
        done = subprocess.run([weft, "predict", model, *paths, "--json", *(["--all"] if every_mark else [])], capture_output=True,
                              text=True)
        if done.returncode not in (0, 3):
            raise SystemExit(f"weft predict ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        for line in done.stdout.splitlines():
            event = json.loads(line)
            if event.get("event", "").startswith("predict"):
                said[event["image"]] = event
    return said


def matched(wanted: str, found: str) -> int:
    """How many digits of `wanted` are in `found` in this order."""
    row = [0] * (len(found) + 1)
    for digit in wanted:
        before = row[:]
        for j, other in enumerate(found):
            row[j + 1] = before[j] + 1 if digit == other else max(before[j + 1], row[j])
    return row[-1]


def score_page(value: str, event: dict | None) -> dict:
    """digits, right, extra and outcome of a page."""
    text = event["text"] if event else ""
    found = text.replace("\n", "")
    count = re.fullmatch(r"(\d+) x (\d)", value)
    if count:
        digits = int(count[1])
        right = min(digits, found.count(count[2]))
        is_right = right == digits == len(found)
    else:
        wanted = value.removeprefix("op:").replace("/", "")
        digits, right = len(wanted), matched(wanted, found)
        is_right = right == digits if value.startswith("op:") else text.replace("\n", "/") == value
    extra = 0 if value.startswith("op:") else max(0, len(found) - digits)
    is_certain = event is not None and not any(mark["unsure"] for mark in event["marks"]) and event["left_out"] == 0
    outcome = "right" if is_right else "not read" if event is None else "certain and wrong" if is_certain else "wrong"
    return {"digits": digits, "right": right, "extra": extra, "outcome": outcome}


def score(picture: dict, event: dict | None) -> dict:
    if picture["mode"] == "page":
        return score_page(picture["value"], event)
    if picture["mode"] == "none":
        is_certain = event is not None and not event["unsure"]
        return {"digits": 0, "right": 0, "extra": int(is_certain), "outcome": "certain and wrong" if is_certain else "right"}
    is_right = event is not None and str(event["label"]) == picture["value"]
    outcome = ("not read" if event is None else "right" if is_right and not event["unsure"] else "right, unsure" if is_right else
               "wrong" if event["unsure"] else "certain and wrong")
    return {"digits": 1, "right": int(is_right), "extra": 0, "outcome": outcome}


def table_of(rows: list[dict]) -> str:
    lines = ["| pictures | right | right, unsure | certain and wrong | digits read | extra marks |", "|---|---|---|---|---|---|"]
    for mode, name in (("single", "single digits"), ("page", "pages"), ("none", "without a digit")):
        chosen = [row for row in rows if row["mode"] == mode]
        if not chosen:
            continue
        outcomes = collections.Counter(row["outcome"] for row in chosen)
        right = outcomes["right"] + outcomes["right, unsure"]
        sums = {name: sum(int(row[name]) for row in chosen) for name in ("digits", "right", "extra")}
        lines.append(f"| {name} | {right} of {len(chosen)} | {outcomes['right, unsure']} | {outcomes['certain and wrong']} | "
                     f"{sums['right']} of {sums['digits']} | {sums['extra']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("model")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="a line for each picture that is not right")
    options = parser.parse_args()

    pictures = read_list(options.list, options.folder)
    present = [picture for picture in pictures if picture["path"].is_file()]
    if len(present) < len(pictures):
        print(f"{len(pictures) - len(present)} of {len(pictures)} pictures are not there")
    if not present:
        print("no picture of the list is there: nothing was scored", file=sys.stderr)
        return 2
    said = {every: readings(options.weft, options.model, [p for p in present if (p["mode"] == "page") == every], every)
            for every in (False, True)}
    rows, names = [], {}
    for picture in present:
        event = said[picture["mode"] == "page"].get(str(picture["path"]))
        name = hashlib.sha256(picture["name"].encode()).hexdigest()[:12]
        names[name] = picture["name"]
        rows.append({"picture": name, "mode": picture["mode"], "kind": picture["kind"], **score(picture, event)})
        if options.verbose and not rows[-1]["outcome"].startswith("right"):
            found = "" if event is None else event.get("text", event.get("class", "")).replace("\n", "/")
            print(f"{picture['name']}: {picture['value']}, read {found!r}: {rows[-1]['outcome']}")
    table = table_of(rows)
    print(table, end="")
    if options.results:
        with options.results.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: row["picture"]))
    if options.page:
        text = options.page.read_text()
        options.page.write_text(re.sub(r"(<!-- pictures -->\n).*?(<!-- end of pictures -->)", lambda m: m[1] + table + m[2], text,
                                       flags=re.DOTALL))
    worse = 0
    if options.before:
        with options.before.open(newline="") as file:
            before = {row["picture"]: row["outcome"] for row in csv.DictReader(file)}
        for row in rows:
            was = before.get(row["picture"], "")
            if was.startswith("right") and not row["outcome"].startswith("right"):
                worse += 1
                print(f"was right: {names[row['picture']]}, now {row['outcome']}")
        better = sum(row["outcome"].startswith("right") and not before.get(row["picture"], "right").startswith("right") for row in rows)
        print(f"{better} pictures better, {worse} worse")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
