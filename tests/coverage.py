#!/usr/bin/env python3
"""Which lines and branches of the readers, of checkpointing and of the command line the tests reach.

    tests/coverage.py [--only data,models,cli] [--build build/cpu] [--jobs 2]

It takes the programs of tests and what they stand on from a build by `cmake --preset cpu -G Ninja`,
compiles only what is measured with clang's instrumentation at -O1, links the programs anew under
build/coverage, runs them, and writes tests/COVERAGE.md. What stays uncovered has its reason in
tests/coverage_reasons.json. Exit code 1: fewer lines or branches than wanted.
Needs clang and llvm 14 or later with compiler-rt (Debian: clang-14 llvm-14 libclang-rt-14-dev).
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES, BRANCHES = 95.0, 90.0  # per cent
READERS = {
    "data": ["data/*.cpp", "data/*.h"],
    "models": [f"models/{name}.cpp" for name in
               ("model", "files/json_check", "files/model_record", "files/safetensors",
                "files/state_dict", "networks/network_text", "networks/networks",
                "training/runs/checkpoint", "training/runs/run_checks",
                "training/runs/run_directory", "training/runs/run_state", "training/settings")] +
              ["models/files/json_fields.h", "models/nbody/bodies_csv.cpp", "models/onnx/*.cpp"],
    "cli": ["examples/weft/*.cpp", "examples/weft/input/*.cpp"],
}
# Objects of these folders of the build are instrumented, in place of these libraries.
OBJECTS = {"data": "CMakeFiles/weft_data.dir/", "models": "CMakeFiles/weft_models.dir/",
           "onnx": "CMakeFiles/weft_onnx.dir/", "cli": "examples/CMakeFiles/weft.dir/"}
PROGRAMS = {"data": ["data_tests"], "models": ["data_tests", "models_tests"],
            "cli": ["data_tests", "models_tests", "cli_tests"]}
PARTS = {"data": ["data"], "models": ["data", "models", "onnx"],
         "cli": ["data", "models", "onnx", "cli"]}


def tool(name):
    for found in (f"{name}-14", name, f"{name}-16", f"{name}-15"):
        if shutil.which(found):
            return found
    sys.exit(f"coverage.py: {name} is not here (Debian: clang-14 llvm-14 libclang-rt-14-dev)")


def run(command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"coverage.py: {shlex.join(map(str, command))[:300]}\n"
                 + (done.stdout + done.stderr)[-3000:])
    return done.stdout


def instrumented(words, out):
    """The clang command for a gcc command, and the object that it makes."""
    while "c++" not in Path(words[0]).name and "g++" not in Path(words[0]).name:
        words = words[1:]  # a launcher
    kept, skip = [], False
    for word in words[1:]:
        if skip or word in ("-MD", "-o", "-MT", "-MF"):
            skip = word in ("-o", "-MT", "-MF")
            continue
        if re.match(r"-W|-O|-f(stack|macro)|-[UD]_FORTIFY", word):
            continue
        # Without clang's own OpenMP library: pragmas are left out, the functions are GCC's.
        kept.append("-fopenmp=libgomp" if word == "-fopenmp" else word)
        if word == "-fopenmp":
            kept.append("-D_OPENMP=201511")
    target = words[words.index("-o") + 1]
    made = out / "objects" / target
    made.parent.mkdir(parents=True, exist_ok=True)
    return [tool("clang++"), *kept, "-O1", "-w", "-fprofile-instr-generate", "-fcoverage-mapping",
            "-o", str(made)], made


def compile_parts(commands, parts, build, out, jobs):
    objects = {part: [] for part in parts}
    work = []
    for line in commands:
        words = shlex.split(line)
        if "-c" not in words or "-o" not in words:
            continue
        target = words[words.index("-o") + 1]
        for part in parts:
            if target.startswith(OBJECTS[part]):
                command, made = instrumented(words, out)
                objects[part].append(str(made))
                # The build knows all headers: what it compiled anew is compiled anew here too.
                if not made.exists() or made.stat().st_mtime < Path(build, target).stat().st_mtime:
                    work.append(command)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda command: run(command, cwd=build), work):
            pass
    print(f"{len(work)} objects compiled", file=sys.stderr)
    return objects


def link(commands, name, objects, build, out):
    ending = re.compile(rf"-o \S*\b{name}\.new\b")
    line = next(line for line in commands if ending.search(line))
    line = line.split("&&")[1]
    kept = []
    for word in shlex.split(line)[1:]:
        part = Path(word).name.removeprefix("libweft_").removesuffix(".a")
        if word.endswith(".a") and part in objects:
            kept += objects[part]
        elif name == "weft" and word.startswith(OBJECTS["cli"]):
            kept.append(str(out / "objects" / word))
        elif word.endswith(f"{name}.new"):
            kept.append(str(out / name))
        else:
            kept.append(word)
    kept = list(dict.fromkeys(word for word in kept))  # an object once
    run([tool("clang++"), *kept, "-fprofile-instr-generate"], cwd=build)
    return out / name


def measured(path, groups):
    """The group of a file, or None. A pattern's * does not cross a folder except in data/."""
    for group in groups:
        for pattern in READERS[group]:
            if fnmatch.fnmatch(path, pattern) and (
                    group == "data" or path.count("/") == pattern.count("/")):
                return group
    return None


def table(report, groups):
    rows = []
    for file in report["data"][0]["files"]:
        path = os.path.relpath(file["filename"], ROOT)
        if measured(path, groups):
            summary = file["summary"]
            rows.append((path, summary["lines"], summary["branches"]))
    return sorted(rows)


def percent(parts):
    covered = sum(part["covered"] for part in parts)
    count = sum(part["count"] for part in parts)
    return 100.0 * covered / count if count else 100.0


def page(rows, reasons, groups):
    text = ["# What the tests reach", "",
            "`tests/coverage.py` makes this page. It counts lines and branches of the readers, of checkpointing",
            f"and of the command line. At least {LINES:.0f} % of the lines and {BRANCHES:.0f} % of the branches are wanted.",
            f"Measured here: {', '.join(groups)}.", "",
            "| file | lines | of | % | branches | of | % |", "|---|--:|--:|--:|--:|--:|--:|"]
    for path, lines, branches in rows:
        text.append(f"| {path} | {lines['covered']} | {lines['count']} | {percent([lines]):.1f} | "
                    f"{branches['covered']} | {branches['count']} | {percent([branches]):.1f} |")
    lines, branches = percent([r[1] for r in rows]), percent([r[2] for r in rows])
    text.append(f"| all | {sum(r[1]['covered'] for r in rows)} | {sum(r[1]['count'] for r in rows)} | {lines:.1f} | "
                f"{sum(r[2]['covered'] for r in rows)} | {sum(r[2]['count'] for r in rows)} | {branches:.1f} |")
    text += ["", "## What is not reached, and why", ""]
    text += [f"- `{path}`: {reason}" for path, reason in sorted(reasons.items())]
    open_files = [row[0] for row in rows if row[0] not in reasons and
                  (percent([row[1]]) < LINES or percent([row[2]]) < BRANCHES)]
    if open_files:
        text += ["", "No reason is written down yet for: " + ", ".join(f"`{p}`" for p in open_files) + "."]
    return "\n".join(text) + "\n", lines, branches


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="data,models,cli")
    parser.add_argument("--build", default=str(ROOT / "build/cpu"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    groups = arguments.only.split(",")
    widest = max(groups, key=lambda group: len(PROGRAMS[group]))
    build, out = Path(arguments.build).resolve(), ROOT / "build/coverage"
    shutil.rmtree(out / "profiles", ignore_errors=True)
    (out / "profiles").mkdir(parents=True)
    names = PROGRAMS[widest] + (["weft"] if widest == "cli" else [])
    run(["cmake", "--build", str(build), "--target", *names, "--parallel", str(arguments.jobs)])
    commands = run(["ninja", "-C", str(build), "-t", "commands", *names]).splitlines()
    objects = compile_parts(commands, PARTS[widest], build, out, arguments.jobs)
    programs = [link(commands, name, objects, build, out) for name in names if name != "cli_tests"]
    for name in ("libweft_mpi.so", "weft-host-cuda", "lab"):  # what the program looks for beside itself
        (out / name).unlink(missing_ok=True)
        if (build / name).exists():
            (out / name).symlink_to(build / name)
    environment = dict(os.environ, LLVM_PROFILE_FILE=str(out / "profiles/%4m.profraw"),
                       WEFT_TESTED_PROGRAM=str(out / "weft"))
    failed = []
    for name in PROGRAMS[widest]:
        program = build / "tests" / name if name == "cli_tests" else out / name
        done = subprocess.run([str(program), "--gtest_brief=1"], env=environment, cwd=out,
                              text=True, capture_output=True)
        if done.returncode != 0:
            failed.append(name)
            print(done.stdout[-2000:], file=sys.stderr)
    raw = [str(path) for path in (out / "profiles").glob("*.profraw")]
    run([tool("llvm-profdata"), "merge", "-sparse", "-o", str(out / "all.profdata"), *raw])
    linked = [word for program in programs[1:] for word in ("-object", str(program))]
    report = run([tool("llvm-cov"), "export", "-summary-only", "-instr-profile",
                  str(out / "all.profdata"), str(programs[0]), *linked])
    rows = table(json.loads(report), groups)
    reasons = json.loads((ROOT / "tests/coverage_reasons.json").read_text())
    text, lines, branches = page(rows, reasons, groups)
    (ROOT / "tests/COVERAGE.md").write_text(text)
    print(f"{lines:.1f} % of the lines, {branches:.1f} % of the branches, of {len(rows)} files")
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed or lines < LINES or branches < BRANCHES else 0


if __name__ == "__main__":
    sys.exit(main())
