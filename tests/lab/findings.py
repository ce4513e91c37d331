# SPDX-License-Identifier: MIT
"""Runs the programs of findings/ through `weft lab run --json FILE --sarif FILE`, and compares what they find.

A program says above its code what is expected of it:

    // flags: --stop never           of weft lab run; several lines are several runs, each with what follows it
    // finding: KIND LINE TIMES      all that is found, in this order; LINE is 0 where there is none
    // note: KIND LINE TIMES
    // prints: TEXT                  a line of stdout
    // says: TEXT                    a part of stderr, or not where TEXT begins with "not "
    // exit: CODE                    where it is not 1

    python3 findings.py WEFT FOLDER [NAME...]
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Run:
    def __init__(self, path: pathlib.Path, flags: str):
        self.path = path
        self.flags = flags.split()
        self.found: list[tuple[str, str, int, int]] = []
        self.printed: list[str] = []
        self.said: list[str] = []
        self.code = 1


def runs_of(path: pathlib.Path) -> list[Run]:
    runs: list[Run] = []
    for word, rest in re.findall(r"^// (flags|finding|note|prints|says|exit):(?: (.*))?$", path.read_text(), re.M):
        if word == "flags":
            runs.append(Run(path, rest))
        elif word in ("finding", "note"):
            kind, line, times = rest.split()
            runs[-1].found.append((word, kind, int(line), int(times)))
        elif word == "prints":
            runs[-1].printed.append(rest)
        elif word == "says":
            runs[-1].said.append(rest)
        else:
            runs[-1].code = int(rest)
    return runs


def complaint(weft: str, folder: pathlib.Path, number: int, run: Run) -> str:
    """What is not as expected; empty when all is."""
    json_file, sarif_file = folder / f"{number}.json", folder / f"{number}.sarif"
    done = subprocess.run([weft, "lab", "run", *run.flags, "--json", json_file, "--sarif", sarif_file, run.path.name],
                          cwd=run.path.parent, timeout=120, capture_output=True, text=True)
    said = f"\n{done.stdout}{done.stderr}".rstrip()
    if done.returncode != run.code:
        return f"the exit code is {done.returncode}, not {run.code}:{said}"
    if done.stdout.splitlines() != run.printed:
        return f"it should print {run.printed}:{said}"
    for text in run.said:
        if (text.removeprefix("not ") in done.stderr) == text.startswith("not "):
            return f"it should say '{text}':{said}"
    document = json.loads(json_file.read_text())
    found = [(one["level"], one["kind"], one["line"] or 0, one["times"]) for one in document["findings"]]
    if found != run.found:
        return f"it has found {found}:{said}"
    if document["exit_code"] != done.returncode or document["program"] != run.path.name:
        return f"its document says {document['program']}, {document['exit_code']}"
    for one in document["findings"]:
        level = "note" if one["level"] == "note" else "error"
        told = re.findall(rf"^weft: {level}: host-cuda: {re.escape(one['message'])}$", done.stderr, re.M)
        if len(told) != 1:
            return f"'{one['message']}' is told {len(told)} times:{said}"
        more = f"{one['times'] - 1} more: {one['kind'].replace('-', ' ')}"
        if level == "error" and one["times"] > 1 and more not in done.stderr:
            return f"'{more}' is not told:{said}"
    return sarif_complaint(json.loads(sarif_file.read_text()), document, run.path.name)


def sarif_complaint(sarif: dict, document: dict, name: str) -> str:
    """SARIF says the same, and has what the standard asks for."""
    [of] = sarif["runs"]
    rules = [rule["id"] for rule in of["tool"]["driver"]["rules"]]
    if sarif["version"] != "2.1.0" or len(rules) != len(set(rules)):
        return f"SARIF has version {sarif['version']} and rules {rules}"
    results = [(one["ruleId"], one["level"], one["message"]["text"], one["occurrenceCount"],
                [(at["physicalLocation"]["artifactLocation"]["uri"], at["physicalLocation"]["region"]["startLine"])
                 for at in one.get("locations", [])]) for one in of["results"]]
    expected = [(one["kind"], "note" if one["level"] == "note" else "error", one["message"], one["times"],
                 [(one["file"], one["line"])] if one["line"] else []) for one in document["findings"]]
    if results != expected or not {one[0] for one in results} <= set(rules):
        return f"SARIF has {results}, and JSON {expected}"
    return ""


def refusals(weft: str, folder: pathlib.Path) -> list[str]:
    """What cannot be is refused before the program runs."""
    program = HERE / "findings/several.cu"
    told = []
    for flags, code, piece in ((["--allow", "races"], 2, "there is no kind 'races'; the kinds are race, uninitialised-read"),
                               (["--stop", "later"], 2, "weft: error"),
                               (["--check", "-1"], 2, "expected all, or a number of seconds"),
                               (["--check", "some"], 2, "expected all, or a number of seconds"),
                               (["--json", "nowhere/x.json"], 3, "nowhere"), (["--sarif", "nowhere/x.sarif"], 3, "nowhere"),
                               (["--json", "x.json", "--device", "cuda"], 2, "--json and --sarif tell what host-cuda finds")):
        done = subprocess.run([weft, "lab", "run", *flags, program], cwd=folder, timeout=120, capture_output=True, text=True)
        if done.returncode != code or piece not in done.stderr or done.stdout:
            told.append(f"{flags}: exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return told


def main() -> int:
    weft, place, *names = sys.argv[1:]
    weft = str(pathlib.Path(weft).resolve())
    folder = pathlib.Path(place).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    paths = [path for path in sorted((HERE / "findings").glob("*.cu")) if not names or path.stem in names]
    runs = [run for path in paths for run in runs_of(path)]

    def complaints_of(path: pathlib.Path) -> list[str]:  # one after the other: they are of one compiled program
        return [complaint(weft, folder, number, run) for number, run in enumerate(runs) if run.path == path]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = [one for of_program in pool.map(complaints_of, paths) for one in of_program]
    for run, text in zip(runs, complaints):
        if text:
            print(f"{run.path.name} {' '.join(run.flags)}: {text}")
    refused = [] if names else refusals(weft, folder)
    print(*refused, sep="\n", end="")
    good = complaints.count("")
    print(f"{good} of {len(runs)} runs of {len(paths)} programs find what is expected")
    return 0 if runs and good == len(runs) and not refused and len({run.path for run in runs}) == len(paths) else 1


if __name__ == "__main__":
    sys.exit(main())
