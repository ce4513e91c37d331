#!/usr/bin/env python3
"""Fails every system call of every program in turn, and looks at what is left.

    python3 tests/faults/calls.py [--weft build/cpu/weft] [-j 2] [--only PROGRAM] [--short]

For each program, call and error the n-th call fails, for every n until the program runs through. Each time:
- the program ends by itself, and with the right exit code;
- one line on stderr says what went wrong, with the system's reason;
- where it ends with 0, its results are those of a run without a fault;
- no file is half-written, no temporary stays, and no other file of the world has changed;
- the same command without a fault then works, or the run that was begun goes on, with the same results bit for bit.

Results go to tests/faults/results/calls.jsonl, program by program, so that several runs add up. tests/faults/table.py
makes the table of them.
"""
import concurrent.futures
import errno
import os
import pathlib
import shutil
import sys

import programs

DATA, DEVICE = 3, 4
# What a call may fail with. EINTR and a short count must be survived.
ERRORS = {
    "open": ["ENOSPC", "EIO", "EINTR", "EACCES", "ENOMEM"],
    "read": ["EIO", "EINTR", "ENOMEM", "short"],
    "write": ["ENOSPC", "EIO", "EINTR", "short"],
    "fsync": ["ENOSPC", "EIO", "EINTR"],
    "rename": ["ENOSPC", "EIO", "EACCES", "ENOMEM"],
    "mkdir": ["ENOSPC", "EIO", "EACCES", "ENOMEM"],
    "mmap": ["ENOMEM", "EACCES"],
    "close": ["ENOSPC", "EIO", "EINTR"],
    "alloc": ["ENOMEM"],
    "small alloc": ["ENOMEM"],       # from 16 KiB on: the programs here are small
    "full disk": ["ENOSPC"],         # from the n-th call on, every one that needs room fails
    "dead disk": ["EIO"],            # from the n-th call on, every one fails
}
SETS = {"full disk": "write,fsync,mkdir,rename", "dead disk": "open,read,write,fsync,mkdir,rename,close",
        "small alloc": "alloc"}
COUNT_ONLY = -1   # as the number of the call that fails: each is written down, and none fails
LARGE = 1 << 20   # bytes of an "alloc"


def fault(library: str, world: pathlib.Path, call: str, error: str, n: int, fired: pathlib.Path) -> dict[str, str]:
    number = "short" if error == "short" else str(getattr(errno, error))
    extra = {"LD_PRELOAD": library, "WEFT_FAULTS_ROOT": str(world), "WEFT_FAULTS_CALL": SETS.get(call, call),
             "WEFT_FAULTS_N": str(n), "WEFT_FAULTS_ERROR": number, "WEFT_FAULTS_FIRED": str(fired)}
    if call.endswith("disk"):
        extra["WEFT_FAULTS_STICKY"] = "1"
    if call == "small alloc":
        extra["WEFT_FAULTS_BYTES"] = "16384"
    return extra


def said_clearly(ended: programs.Ended, call: str, error: str) -> str:
    """What is wrong with the line on stderr, or nothing."""
    lines = [line for line in ended.stderr.splitlines() if line]
    errors = [line for line in lines if line.startswith("weft: error: ")]
    if len(errors) != 1 or lines[-1] != errors[0]:
        return f"expected one line of error at the end, found {lines}"
    if any(not line.startswith("weft: ") for line in lines):
        return f"expected lines of weft's, found {lines}"
    if "unexpected" in errors[0]:
        return f"not a clear line: {errors[0]}"
    if call.endswith("alloc"):
        return "" if "memory" in errors[0] else f"expected a word of memory: {errors[0]}"
    return "" if os.strerror(getattr(errno, error)) in ended.stderr else f"the reason is missing: {errors[0]}"


class Case:
    def __init__(self, place: programs.Workplace, program: programs.Program) -> None:
        self.place, self.program = place, program
        self.slot = f"{program.name.replace(' ', '-')}-{os.getpid()}"
        world = place.copy(self.slot)
        self.before = programs.tree(world, programs.all_names(world))
        ended = programs.run(place.weft, program.words, world, program.stdin)
        if "this program was built without" in ended.stderr:
            raise LookupError(ended.stderr)
        if ended.code != 0:
            raise SystemExit(f"{program.name} fails without a fault: {ended.stderr}")
        self.names = programs.all_names(world)
        self.after = programs.tree(world, self.names)
        # A picture that cannot be read is left out of the table, and the program says so.
        self.rows = set((world / program.results[0]).read_text().splitlines()) if program.rows else set()
        self.stdout = programs.json_lines(ended.stdout)
        cache = {name for name in self.after if name.split("/")[0] in ("cache", "home")}
        self.right = {name: mark for name, mark in self.after.items() if name not in cache}

    def differences(self, world: pathlib.Path) -> list[str]:
        found = programs.tree(world, programs.all_names(world))
        return [name for name in sorted(set(found) | set(self.right))
                if found.get(name) != self.right.get(name) and name.split("/")[0] not in ("cache", "home")
                and not name.startswith(".weft-")]

    def damage(self, world: pathlib.Path, reason: str, may_clean: bool) -> str:
        """What a failed program has left that it should not have, or nothing."""
        try:
            found = programs.tree(world, programs.all_names(world))
        except (ValueError, KeyError) as broken:
            return f"a file is damaged: {broken}"
        for name, mark in found.items():
            if pathlib.Path(name).name.startswith(".weft-") and may_clean:
                return f"a temporary stays: {name}"
            if name.split("/")[0] in ("cache", "home") or mark == "" or name.startswith(".weft-"):
                continue
            if any(name.startswith(result) for result in self.program.results if "/" in result):
                continue  # a run directory: what it holds is judged by going on with it
            if mark in (self.before.get(name), self.after.get(name)):
                continue
            rows = (world / name).read_text().splitlines() if self.program.rows else []
            if not rows or any(row not in self.rows and reason not in row for row in rows):
                return f"half-written: {name}"
        lost = [name for name in self.before if name not in found]
        return f"lost: {lost}" if lost else ""

    def again(self, world: pathlib.Path) -> str:
        """The same command without a fault; or the run goes on. What is wrong, or nothing."""
        program = self.program
        ended = programs.run(self.place.weft, program.words, world, program.stdin)
        if ended.code == 2 and "already holds a run" in ended.stderr and program.go_on:
            ended = programs.run(self.place.weft, program.go_on, world)
        elif ended.code == 3 and "it exists already" in ended.stderr and not self.differences(world):
            return ""
        if ended.code != 0:
            return f"the next start fails with {ended.code}: {ended.stderr.strip()}"
        different = self.differences(world)
        return f"the next start gives other results: {different}" if different else ""

    def judge(self, call: str, error: str, n: int) -> tuple[bool, str, str]:
        """Has it fired; "survived" or "refused" or "wrong"; and what is wrong."""
        world, fired = self.place.copy(self.slot), self.place.folder / f"{self.slot}.fired"
        fired.unlink(missing_ok=True)
        ended = programs.run(self.place.weft, self.program.words, world, self.program.stdin,
                             fault(self.place.library, world, call, error, n, fired))
        has_fired = fired.exists()
        what = fired.read_text().splitlines()[0].replace(str(world), "") if has_fired else ""
        if ended.code == 0:
            different = self.differences(world)
            if different:
                return has_fired, "wrong", f"{what}: exit code 0 with other results: {different}"
            if programs.json_lines(ended.stdout) != self.stdout:
                return has_fired, "wrong", f"{what}: exit code 0 with another output"
            return has_fired, "survived", ""
        if not has_fired:
            return False, "wrong", f"fails without a fault: {ended.stderr}"
        expected = (DEVICE,) if call.endswith("alloc") else (DATA, DEVICE) if call == "mmap" else (DATA,)
        # The C library needs 32 KiB to list a folder, and says so as the system does.
        is_a_folder_without_memory = ended.code == DATA and "Cannot allocate memory" in ended.stderr
        problem = ""
        if error in ("EINTR", "short"):
            problem = f"must be survived: {ended.stderr.strip()}"
        elif ended.code not in expected and not is_a_folder_without_memory:
            problem = f"exit code {ended.code} instead of {expected[0]}: {ended.stderr.strip()}"
        problem = problem or said_clearly(ended, call, error)
        if not problem:
            reason = os.strerror(getattr(errno, error))
            problem = self.damage(world, reason, call != "dead disk") or self.again(world)
        return True, "wrong" if problem else "refused", f"{what}: {problem}" if problem else ""


def calls_of(case: Case) -> dict[str, int]:
    """How many calls of each kind a run without a fault makes."""
    world, counted = case.place.copy(case.slot), case.place.folder / f"{case.slot}.counted"
    every = fault(case.place.library, world, "small alloc", "ENOMEM", COUNT_ONLY, counted)
    every["WEFT_FAULTS_CALL"] = ",".join(call for call in ERRORS if call not in SETS)
    programs.run(case.place.weft, case.program.words, world, case.program.stdin, every)
    made = [line.split() for line in counted.read_text().splitlines()] if counted.exists() else []  # number, call, what
    counted.unlink(missing_ok=True)
    large = [words for words in made if words[1] != "alloc" or int(words[2]) >= LARGE]
    return {call: sum(words[1] in SETS.get(call, call).split(",") for words in (made if call == "small alloc" else large))
            for call in ERRORS}


def sample(most: int, wanted: int) -> list[int]:
    """At most `wanted` numbers from 1 to most + 1: the first, the last and some between."""
    if most + 1 <= wanted:
        return list(range(1, most + 2))
    return sorted({1 + round(i * (most - 1) / (wanted - 2)) for i in range(wanted - 1)} | {most + 1})


def rows_of(options, program_name: str, place: programs.Workplace) -> list[dict]:
    program = next(p for p in programs.PROGRAMS if p.name == program_name)
    try:
        case = Case(place, program)
    except LookupError as missing:
        print(f"{program.name} is left out: {str(missing).strip()}", file=sys.stderr)
        return []
    rows = []
    numbers_of_calls = calls_of(case) if options.short else {}
    for call, errors in ERRORS.items():
        if options.call and call not in options.call:
            continue
        most = numbers_of_calls.get(call)
        for index, error in enumerate(errors):
            row = {"program": program.name, "call": call, "error": error, "runs": 0, "survived": 0, "refused": 0,
                   "left_out": 0, "wrong": []}
            if most == 0 and index > 0:
                continue
            # The short form takes one error of each call, another one for each program.
            if most is not None and index != sum(map(ord, program.name)) % len(errors):
                row["left_out"] = most
                rows.append(row)
                continue
            numbers = sample(most, 3) if most is not None else None
            n = 1
            while True:
                if numbers is not None:
                    if not numbers:
                        break
                    n = numbers.pop(0)
                has_fired, outcome, problem = case.judge(call, error, n)
                if problem:
                    row["wrong"].append(f"n = {n}: {problem}")
                if has_fired:
                    row["runs"] += 1
                    if not problem:
                        row[outcome] += 1
                elif numbers is None:
                    break
                n += 1
            if most is not None:
                row["left_out"] = max(0, most - row["runs"])
            rows.append(row)
    shutil.rmtree(place.folder / case.slot, ignore_errors=True)
    return rows


def main() -> None:
    parser = programs.arguments(__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="a program; more than once for several")
    parser.add_argument("--call", action="append", help="a kind of call; more than once for several")
    options = parser.parse_args()
    place = programs.Workplace(options)
    names = [p.name for p in programs.PROGRAMS if not options.only or p.name in options.only]
    rows: list[dict] = []
    left_out: list[str] = []  # programs that this build lacks
    try:
        with concurrent.futures.ProcessPoolExecutor(options.j) as pool:
            for name, part in zip(names, pool.map(rows_of, [options] * len(names), names, [place] * len(names))):
                if not part:
                    left_out.append(name)
                    continue
                rows += part
                if not options.short and not options.call:
                    programs.record("calls.jsonl", part[0]["program"], part)
                mine = [row for row in part if row["runs"]]
                print(f"{part[0]['program']}: {sum(r['runs'] for r in mine)} faults, "
                      f"{sum(r['survived'] for r in mine)} survived, {sum(r['refused'] for r in mine)} refused, "
                      f"{sum(len(r['wrong']) for r in mine)} wrong", flush=True)
    finally:
        place.close()
    for name in names:
        if name not in left_out and sum(row["runs"] for row in rows if row["program"] == name) == 0:
            raise SystemExit(f"{name}: no call failed, so nothing was tested: is {place.library} loaded?")
    print(f"all: {sum(r['runs'] for r in rows)} faults, {sum(r['left_out'] for r in rows)} left out")
    programs.finish([f"{r['program']}, {r['call']}, {r['error']}, {text}" for r in rows for text in r["wrong"]],
                    options.most)


if __name__ == "__main__":
    main()
