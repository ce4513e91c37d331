#!/usr/bin/env python3
"""Makes mutants of kernels and of the CPU's code, and finds out which of them the tests kill.

    python3 tests/mutants/run.py --jobs 4 --seconds 600 --results mutants.jsonl

builds once, checks that the unmutated code passes, and then takes mutants in a fixed order until the
time is over. It appends a line of JSON for each. Mutants that the results already hold are not run
again. See tests/mutants/README.md.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import build as building
import families
import operators

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILE_SECONDS = 120
LAYERS = ["data", "layers", "models"]
# Settings of the two rounds of tests: the second is what ctest runs. The first is quick.
ROUNDS = [{"WEFT_HOST_CUDA_SCHEDULES": "1", "WEFT_SMALL_TESTS": "20000"},
          {"WEFT_HOST_CUDA_SCHEDULES": "4", "WEFT_SMALL_TESTS": "100000"}]
SHORT_GRIDS = {"WEFT_HOST_CUDA_SCHEDULES": "1", "WEFT_SMALL_TESTS": "20000", "WEFT_HOST_CUDA_MOST_BLOCKS": "2"}
NEVER = ":-*Large*:*MoreThan*:*AllocateNothing*"
SLOW_SECONDS = 0.5  # of one test: those that take longer come last
CHECKS = [  # what host-cuda says, in the order of its README
    "race", "uninitialised read", "too early", "out of bounds", "misaligned", "constant memory", "host pointer",
    "null pointer", "divergent barrier", "missing lane", "divergent mma.sync", "divergent ldmatrix", "wrong mask",
    "integer division", "deadlock", "leaves other results"]


def sources(root, selection):
    """The files that are mutated."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "kernels", *LAYERS], capture_output=True, text=True)
    paths = listed.stdout.split()
    if listed.returncode != 0 or not paths:  # a copy without git
        paths = sorted(str(p.relative_to(root)) for top in ["kernels", *LAYERS] for p in (root / top).rglob("*"))
    found = []
    for path in paths:
        if selection and families.family_of(path) not in selection:
            continue
        if path.startswith("kernels/"):
            if path.endswith((".cu", ".cuh")) and "/hopper/" not in path and (root / path).is_file():
                found.append(path)
        elif path.endswith(".cpp") and "/onnx/" not in path and (root / path).is_file():
            found.append(path)
    return found


def planned(root, build, selection, seed):
    """All sites in the order in which they are tried: operators take turns, families within them too."""
    groups = {}
    for path in sources(root, selection):
        if not build.objects(path):
            continue  # only a GPU runs it
        text = (root / path).read_text()
        kernel = "kernel" if path.startswith("kernels/") else "cpu"
        for site, after in operators.sites(path, text):
            groups.setdefault((kernel, site.operator), {}).setdefault(families.family_of(path), []).append((site, after))
    order = {"kernel": [], "cpu": []}
    queues = {}
    for (kernel, operator), by_family in sorted(groups.items()):
        dice = random.Random(f"{seed} {kernel} {operator}")
        for found in by_family.values():
            dice.shuffle(found)
        turn = []
        names = sorted(by_family)
        dice.shuffle(names)
        while any(by_family.values()):
            turn += [by_family[name].pop() for name in names if by_family[name]]
        queues.setdefault(kernel, []).append(turn)
    for kernel, turns in queues.items():
        while any(turns):
            order[kernel] += [turn.pop(0) for turn in turns if turn]
    # Two and a half of kernels for one of other code.
    mixed = []
    while order["kernel"] or order["cpu"]:
        mixed += order["kernel"][:5] + order["cpu"][:2]
        order["kernel"], order["cpu"] = order["kernel"][5:], order["cpu"][2:]
    return mixed


class Runner:
    def __init__(self, build, work, options):
        self.build, self.work, self.options = build, work, options
        self.lock = threading.Lock()
        self.baselines = {}  # (test program, filter, round) -> seconds
        self.plain = {}  # object -> the code that the unmutated source gives

    def environment(self, settings):
        return dict(os.environ, OMP_NUM_THREADS="1", **settings)

    def test(self, program, tests, settings, seconds, folder, *arguments):
        """Runs tests of a program: (status, output)."""
        env = self.environment(dict(settings, GTEST_FILTER=tests))
        return building.run([str(program), *arguments], seconds, folder, env)

    def filters_of(self, path, families_hit):
        """(test program, filter, settings) triples, the quick ones first."""
        kind = families.kind_of(path)
        program = building.TARGETS[kind]
        if kind == "kernels":
            found = set()
            for family in families_hit:
                found |= set(families.kernel_filter(ROOT, family))
            rounds = [(":".join(sorted(found)) + NEVER, settings) for settings in ROUNDS]
            for family in families_hit:
                tests = families.short_grid_filter(ROOT, family)
                if tests:
                    rounds.insert(1, (tests, SHORT_GRIDS))
                tests = families.large_filter(ROOT, family)
                if tests:
                    rounds.insert(-1, (tests, ROUNDS[0]))
            return [(program, *pair) for pair in rounds]
        found = [(program, ":".join(sorted(families.suites(near))) + NEVER, {})
                 for near in (ROOT / "tests" / kind).rglob(f"test_{pathlib.Path(path).stem}.cpp")]
        found.append((program, "*" + NEVER, {}))
        if kind in building.ON_HOST_CUDA:
            found.append((building.ON_HOST_CUDA[kind], "On/*" + NEVER, ROUNDS[0]))
        return found

    def null_mutant(self, name, target, folder):
        """A program made as those of mutants are, of an unchanged source."""
        (folder / "overlay").mkdir(parents=True, exist_ok=True)
        own, program = folder / os.path.basename(target), folder / "tests.bin"
        for status, output in (self.build.compile(target, folder / "overlay", own, COMPILE_SECONDS),
                               self.build.link(name, {target: own}, program, COMPILE_SECONDS)):
            if status != 0:
                raise RuntimeError(f"the unmutated code does not build: {output[-500:]}")
        return program

    def rounds(self, name, tests, settings, target):
        """Runs the null mutant of an object in this test program.

        Returns (filter, seconds) pairs: the quick tests, then the slow ones."""
        key = (name, tests, tuple(sorted(settings.items())))
        with self.lock:
            slot = self.baselines.setdefault(key, {"lock": threading.Lock()})
        with slot["lock"]:
            if "rounds" not in slot:
                slot["rounds"] = self.measure(name, tests, settings, target, self.work / f"null-{abs(hash(key))}")
        if not slot["rounds"]:
            raise RuntimeError(f"the unmutated code passes no test of {tests}")
        return slot["rounds"]

    def measure(self, name, tests, settings, target, folder):
        program = self.null_mutant(name, target, folder)
        _, output = self.test(program, tests, settings, 500, folder)
        shutil.rmtree(folder, ignore_errors=True)
        passed = {name: int(ms) / 1000 for name, ms in re.findall(r"\[       OK \] (\S+) \((\d+) ms\)", output)}
        ended = {name: word for word, name in
                 re.findall(r"\[ +(OK|SKIPPED|FAILED) +\] (\w[\w/]*\.[\w/]+)", output)}
        failed = sorted(name for name, word in ended.items() if word == "FAILED")
        unfinished = sorted(set(re.findall(r"\[ RUN      \] (\S+)", output)) - set(ended))
        for name in failed + unfinished:  # of the machine, such as no network
            print(f"left out, the unmutated code fails it: {name}", file=sys.stderr, flush=True)
        never = "".join(f":{name}" for name in failed + unfinished)
        slow = sorted(name for name, seconds in passed.items() if seconds > SLOW_SECONDS)
        rounds = []
        if len(passed) > len(slow):
            quick = sum(seconds for name, seconds in passed.items() if name not in slow)
            rounds.append((tests + never + "".join(f":{name}" for name in slow), quick))
        if slow:
            rounds.append((":".join(slow), sum(passed[name] for name in slow)))
        return rounds

    def code_of(self, path):
        """What an object does, without what names it."""
        dump = subprocess.run(["objdump", "-drw", "--no-show-raw-insn", str(path)], capture_output=True).stdout
        data = subprocess.run(["objdump", "-s", "-j", ".rodata", str(path)], capture_output=True).stdout
        return b"\n".join(dump.split(b"\n")[3:]) + b"\n".join(data.split(b"\n")[3:])

    def same_code(self, targets, own):
        for target in targets:
            with self.lock:
                slot = self.plain.setdefault(target, {"lock": threading.Lock()})
            with slot["lock"]:
                if "code" not in slot:
                    folder = self.work / f"plain-{abs(hash(target))}"
                    (folder / "none").mkdir(parents=True, exist_ok=True)
                    output = folder / os.path.basename(target)
                    self.build.compile(target, folder / "none", output, COMPILE_SECONDS)
                    slot["code"] = hash(self.code_of(output))
                    shutil.rmtree(folder)
            if hash(self.code_of(own[target])) != slot["code"]:
                return False
        return True

    def mutant(self, site, after):
        """Builds and tests one mutant; returns its result."""
        start = time.time()
        folder = self.work / site.key
        shutil.rmtree(folder, ignore_errors=True)
        try:
            outcome, by = self.outcome(site, after, folder)
        finally:
            if not self.options.keep:
                shutil.rmtree(folder, ignore_errors=True)
        return {"id": site.key, "file": site.file, "line": site.line, "operator": site.operator,
                "before": site.before, "after": site.after, "nth": site.nth, "family": families.family_of(site.file),
                "outcome": outcome, "by": by, "seconds": round(time.time() - start, 1)}

    def killed(self, program, tests, settings, seconds, folder):
        """(outcome, by what) if these tests kill a mutant, else None."""
        status, output = self.test(program, tests, settings, seconds, folder, "--gtest_fail_fast")
        if status == 0:
            return None
        running = re.findall(r"\[ RUN      \] (\S+)", output.split("[  FAILED  ]")[0])
        test = running[-1] if running else "before the first test"
        if status is None:
            return ("killed by timeout", test)
        for check in CHECKS:
            if re.search(rf"host-cuda: (?:kernel [^\n]*)?{re.escape(check)}", output):
                return ("killed by check", f"{check}: {test}")
        if status == 1 and "[  FAILED  ]" in output:
            return ("killed by test", test)
        return ("killed by crash", f"{test}: exit status {status}")

    def outcome(self, site, after, folder):
        kind = families.kind_of(site.file)
        overlay = folder / "overlay"
        copy = overlay / site.file
        copy.parent.mkdir(parents=True)
        copy.write_text(operators.mutated((ROOT / site.file).read_text(), site.line, after))
        targets = self.build.objects(site.file)
        own_family = families.family_of(site.file)
        if kind == "kernels":  # first those of the family; a header of kernels/device has none of its own
            hits = {}
            for target in targets:
                hits.setdefault(families.family_of("kernels/" + target.split("/kernels/")[-1]), []).append(target)
            if own_family in hits:
                groups = [([own_family], hits.pop(own_family))]
            else:
                groups = [([name], hits[name]) for name in sorted(hits, key=lambda n: len(hits[n]))]
        else:
            groups = [([own_family], targets)]
        same = True
        for names, members in groups:
            own = {}
            for number, target in enumerate(members):
                own[target] = folder / f"{number}" / os.path.basename(target)
                own[target].parent.mkdir(exist_ok=True)
                status, output = self.build.compile(target, overlay, own[target], COMPILE_SECONDS)
                if status != 0:
                    return ("compile error", (re.findall(r"error: [^\n]*", output) or ["time"])[0][:120])
            if self.same_code(members, own):
                continue
            same = False
            linked = None
            for name, tests, settings in self.filters_of(site.file, names):
                program = folder / "tests.bin"
                if name != linked:
                    status, output = self.build.link(name, own, program, COMPILE_SECONDS)
                    if status != 0:
                        return ("link error", output[-300:])
                    linked = name
                for part, seconds in self.rounds(name, tests, settings, members[0]):
                    killed = self.killed(program, part, settings, max(20, 5 * seconds), folder)
                    if killed:
                        return killed
        return ("same code", "") if same else ("survived", "")


def name_of(site):
    return (site.file, site.operator, site.before, site.after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time (%(default)s)")
    parser.add_argument("--seconds", type=float, default=600, help="start no mutant later than this (%(default)s)")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("mutants.jsonl"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--family", action="append", help="only this one: scan, device, data, ... (repeatable)")
    parser.add_argument("--kind", action="append", choices=["kernels", *LAYERS],
                        help="only sources of this folder (repeatable)")
    parser.add_argument("--operator", action="append", help="only this one (repeatable)")
    parser.add_argument("--only", action="append", help="only the mutant with this id (repeatable)")
    parser.add_argument("--shard", default="1/1", help="this part of how many, as 2/4")
    parser.add_argument("--again", action="append", default=[], help="run those of this outcome again, such as survived")
    parser.add_argument("--most", type=int, default=10 ** 9, help="at most so many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cmake", action="append", default=[], metavar="ARGUMENT", help="for cmake, such as -DX=Y")
    parser.add_argument("--sample", type=pathlib.Path, metavar="FILE.json",
                        help="make the mutants of this list, and fail where one is not killed as it says")
    parser.add_argument("--no-build", action="store_true", help="the build is there already")
    parser.add_argument("--keep", action="store_true", help="keep the directories of the mutants")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args()

    def stop(*_):
        building.stop_all()
        os._exit(130)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    begin = time.time()
    kinds = options.kind or sorted({f if f in LAYERS else "kernels" for f in options.family or ["kernels", *LAYERS]})
    build = building.Build(ROOT, options.build.resolve(), kinds)
    if options.no_build:
        build.read()
    else:
        build.prepare(options.cmake, options.jobs)
    print(f"built in {time.time() - begin:.0f} s", flush=True)

    done = {}
    if options.results.exists():
        for line in options.results.read_text().splitlines():
            result = json.loads(line)
            done[result["id"]] = result["outcome"]
    shard, shards = (int(n) for n in options.shard.split("/"))
    plan = [p for p in planned(ROOT, build, options.family, options.seed) if families.kind_of(p[0].file) in kinds]
    if options.operator:
        plan = [p for p in plan if p[0].operator in options.operator]
    plan = plan[shard - 1::shards]
    if options.only:
        plan = [p for p in plan if p[0].key in options.only]
    todo = [p for p in plan if options.only or p[0].key not in done or done[p[0].key] in options.again][:options.most]
    print(f"{len(plan)} possible mutants, {len(todo)} to do", flush=True)
    if options.sample:
        wanted = json.loads(options.sample.read_text())
        names = {(w["file"], w["operator"], w["before"], w["after"]): w["outcome"] for w in wanted}
        todo = [p for p in plan if name_of(p[0]) in names and p[0].nth == 0]
        missing = set(names) - {name_of(p[0]) for p in todo}
        for name in missing:
            print(f"{options.sample}: no such mutant any more, name another one: {name}", file=sys.stderr)
        if missing:
            return 3
    if options.list:
        for site, _ in todo:
            print(json.dumps({"id": site.key, "file": site.file, "line": site.line, "operator": site.operator,
                              "before": site.before, "after": site.after}))
        return 0

    work = options.build.resolve() / "work"
    work.mkdir(exist_ok=True)
    runner = Runner(build, work, options)
    write = threading.Lock()
    counts, wrong = {}, []

    def one(pair):
        if time.time() - begin > options.seconds:
            return
        try:
            result = runner.mutant(*pair)
        except RuntimeError as error:
            wrong.append(str(error))
            print(f"{pair[0].file}: {error}", file=sys.stderr, flush=True)
            return
        with write:
            counts[result["outcome"]] = counts.get(result["outcome"], 0) + 1
            if options.sample:
                if result["outcome"] != names[name_of(pair[0])]:
                    wrong.append(result)
                    print(f"not {names[name_of(pair[0])]}: {json.dumps(result)}", file=sys.stderr, flush=True)
                return
            with open(options.results, "a") as out:
                out.write(json.dumps(result) + "\n")
            if result["outcome"] == "survived" or options.only:
                print(json.dumps(result), flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, todo))
    print(f"after {time.time() - begin:.0f} s:", json.dumps(counts), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
