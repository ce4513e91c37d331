#!/usr/bin/env python3
"""Runs programs of other people's suites through `weft lab run`, and says what was found.

    python3 tests/outside/run.py WEFT FOLDER LIST.csv [--results FILE.csv [--resume]] [--jobs N] [--only WORD]

FOLDER has the programs, which are no part of this repository. LIST.csv says what each of them holds:

    program,holds,arguments     a path below FOLDER; race, bounds, both or clean; arguments of the program
    program,A,B,...             what it holds on each of some inputs; {input} in --arguments is A, B, ...
    a comment line "# zeroed"   the programs read memory that they never set, as if it were zero

`found` is an error, or a note that names two lines, of the kind that the program holds; `missed` is none;
`false` is one in a clean program; `other` is an error of another kind; `failed` means that the program
does not compile, or does not end in a minute. The exit code is 1 when a program was missed, false or failed.
With --resume, what is in FILE.csv already is not run again.

    python3 tests/outside/run.py WEFT FOLDER PROGRAMS.csv [--results FILE.csv [--resume [--again CLASS,...]]] [--before FILE.csv]
        [--page README.md] [--seconds N] [--nvcc NVCC] [--logs FOLDER]

runs a list of programs with the columns repository, program, and flags and arguments. FOLDER has each repository as
OWNER+NAME. Each program runs in a copy of its repository, without a network, for N seconds on two cores at most (programs.py says how that is counted). The results have a
class for each program, which a hash stands for. --before compares with results of another time, and --page puts the
table into a page. The exit code is 1 when a program ends worse than before.
"""
import argparse
import collections
import concurrent.futures
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import programs

ZEROED = "#define cudaMalloc(data, bytes) (cudaMalloc(data, bytes), cudaMemset(*(data), 0, bytes))\n"
KINDS = {"race": r"error: host-cuda: race: |note: host-cuda: (unordered|lock): ",
         "bounds": r"error: host-cuda: (out of bounds|host pointer|null pointer): "}
ANY = r"error: host-cuda: |note: host-cuda: (unordered|lock): "


def outcome(weft: str, includes: list[str], path: pathlib.Path, holds: str, arguments: list[str],
            zeroed: bool) -> tuple[str, str]:
    """found, missed, ...; and the line that says so."""
    with tempfile.TemporaryDirectory() as place:
        program = path
        if zeroed:
            program = pathlib.Path(place) / path.name
            program.write_text(ZEROED + f'#line 1 "{path.name}"\n' + path.read_text())
        try:
            done = subprocess.run([weft, "lab", "run", "-I", str(path.parent), *includes, str(program), *arguments],
                                  capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return "failed", "does not end in a minute"
    said = [line for line in done.stderr.splitlines() if re.search(ANY, line)]
    if done.returncode not in (0, 1) and not said:
        return "failed", (done.stderr.splitlines() or ["(nothing)"])[-1]
    if holds == "clean":
        return ("false", said[0]) if said else ("clean", "")
    right = [line for line in said if any(re.search(KINDS[kind], line) for kind in holds.split())]
    if right:
        return "found", right[0]
    return ("other", said[0]) if said else ("missed", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--include", action="append", default=[], help="a folder of headers of the programs")
    parser.add_argument("--arguments", default="", help="where the list has a column for each input")
    parser.add_argument("--every", type=int, default=1, help="only each Nth program")
    parser.add_argument("--only", default="", help="programs whose path has this word")
    parser.add_argument("--seconds", type=float, default=60, help="on two cores, for each program of a list of repositories")
    parser.add_argument("--before", type=pathlib.Path, help="results to compare with")
    parser.add_argument("--again", default="", help="with --resume: classes of outcomes that are run again")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--nvcc", help="says whether what does not compile does with nvcc")
    parser.add_argument("--logs", type=pathlib.Path, help="what each program of a list of repositories says; keep it to yourself")
    given = parser.parse_args()
    lines = given.list.read_text().splitlines()
    zeroed = "# zeroed" in lines
    listed = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    if listed and "repository" in listed[0]:
        return programs.run_list(given, [row for row in listed if given.only in f"{row['repository']}/{row['program']}"][::given.every])
    rows = []
    for row in listed[::given.every]:
        if given.only not in row["program"]:
            continue
        inputs = [name for name in row if name not in ("program", "holds", "arguments")]
        if "holds" in row:
            rows.append({"program": row["program"], "holds": row["holds"], "arguments": row.get("arguments") or "", "input": ""})
        rows += [{"program": row["program"], "holds": row[name], "input": name,
                  "arguments": given.arguments.replace("{input}", name)} for name in inputs]
    if not rows:
        sys.exit(f"{given.list}: no programs")
    includes = [word for folder in given.include for word in ("-I", folder)]

    known = {}
    if given.resume and given.results and given.results.exists():
        with given.results.open(newline="") as file:
            known = {(row["program"], row["input"], row["holds"]): (row["outcome"], row["kind"]) for row in csv.DictReader(file)}

    def run(row: dict) -> tuple[str, str]:
        path = given.folder / row["program"]
        before = known.get((row["program"], row["input"], row["holds"]))
        if before:
            return before
        if not path.is_file():
            return "failed", "no such file"
        result, line = outcome(given.weft, includes, path, row["holds"], row["arguments"].split(), zeroed)
        if result not in ("found", "clean"):
            print(f"{row['program']} {row['input']}: holds {row['holds']}: {result}: {line}", flush=True)
        kind = re.search(r"(error|note): host-cuda: ([a-z ]+)", line)
        return result, f"{kind[1]}: {kind[2]}" if kind else ""

    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool, open(given.results or os.devnull, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["program", "input", "holds", "outcome", "kind"])
        for row, (result, kind) in zip(rows, pool.map(run, rows)):
            counts[row["input"], row["holds"], result] += 1
            writer.writerow([row["program"], row["input"], row["holds"], result, kind])
            file.flush()
    for (name, holds, result), count in sorted(counts.items()):
        print(f"{name + ': ' if name else ''}{holds}: {count} {result}")
    return 0 if all(result in ("found", "clean") for _, _, result in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
