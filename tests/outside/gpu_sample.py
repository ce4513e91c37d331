#!/usr/bin/env python3
"""Compares exit codes and output of course programs in the lab with those of a GPU.

    python3 tests/outside/gpu_sample.py make WEFT FOLDER LIST.csv SAMPLE [--programs N] [--nvcc NVCC] [--arch sm_90a] [--include FOLDER]
    bash SAMPLE/run.sh                on a computer with a GPU; it writes results.tar.gz into $OUT, or beside itself
    python3 tests/outside/gpu_sample.py compare SAMPLE RESULTS.tar.gz --results gpu_sample_results.csv

`make` takes the first N programs, in the order of their hashes, of those in programs_results.csv that run to the end.
It leaves out programs that nvcc does not compile, that need more than 20 s of two cores in the lab or do not run to the end
in an empty folder, and those that print something else in a second run, such as random numbers.
SAMPLE then has a program for the GPU of each, a script that runs them, and what they print in the lab.

`compare` takes stdout and the exit code. This is not compared:

    an address                            0x and at least six hexadecimal digits
    the name of the device                as the two programs print it
    properties of the device              sm_80 and the like; numbers, yes and no of lines with a word of DEVICE
    times and speeds                      numbers before a unit of UNIT, shares (%) in such lines, and numbers behind a word of TIME
    the order of lines of kernels         where only it differs, this is said
    the last digits of fractions          where no number is off by more than 1e-4 of it, this is said

The exit code is 1 where a program differs.
"""
import argparse
import collections
import csv
import io
import json
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

import programs

NUMBER = r"(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan)\b)"
UNIT = r"(?:[munµ]?s|[mM]s|(?:milli|micro|nano)?sec(?:ond)?s?|[KMGT]i?B/s\w*|[KMGT]?FLOPS?(?:/s)?|times faster|x faster)"
TIME = r"\btime\b|elapsed|timing|duration|speed|bandwidth|throughput|flops|performance|faster|slower|overhead|efficien|cycles"
DEVICE = (r"compute capability|multiprocessor|(?:global|constant|shared) memory|memory (?:bus|clock)|peak memory|clock rate|L2 cache"
          r"|(?:max|maximum) (?:threads|grid|block|dimension|texture)|warp size|registers per|driver version|runtime version|using device"
          r"|connections")
SECONDS = 20
SCRIPT = """#!/usr/bin/env bash
# Runs the programs of this folder, four at a time and each for 10 s at most, in empty folders.
set -u
here=$(cd "$(dirname "$0")" && pwd); work=$(mktemp -d); export here work
export LD_LIBRARY_PATH=$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
one() {
  mkdir "$work/$1" && cd "$work/$1" || exit
  # shellcheck disable=SC2086
  timeout -k 1 10 "$here/bin/$1" $(cat "$here/arguments/$1") > "$work/$1.out" 2> "$work/$1.err" < /dev/null
  echo $? > "$work/$1.code"
  cd "$work" && rm -r "./$1"
}
export -f one
begun=$SECONDS
ls "$here/bin" | xargs -P 4 -I {} bash -c 'one {}'
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1 > "$work/gpu"
tar czf "${OUT:-$here}/results.tar.gz" -C "$work" . && rm -r "$work"
echo "$(ls "$here/bin" | wc -l) programs in $((SECONDS - begun)) s"
"""


def in_lab(weft: str, words: list[str]) -> tuple[int | str, str, str]:
    """The exit code, or slow or memory; stdout; stderr."""
    with tempfile.TemporaryDirectory() as place:
        return programs.limited([weft, "lab", "run", *words], pathlib.Path(place), SECONDS)


def compile_for_gpu(given, words: list[str], to: pathlib.Path) -> str:
    """What nvcc says where it does not compile the program."""
    words = words[:words.index("--")]
    sources = [word for word in words if word.endswith(programs.SOURCES)]
    text = "".join(pathlib.Path(one).read_text(errors="replace") for one in sources)
    flags = ["-Xcompiler", "-fopenmp"] if re.search(r"#\s*pragma\s+omp|omp\.h", text) else []
    flags += ["-rdc=true"] if len(sources) > 1 else []
    flags += [word for folder in given.include for word in ("-I", folder)]
    done = subprocess.run([given.nvcc, f"-arch={given.arch}", "-O2", "-w", "-cudart", "shared", *words, *flags, "-o", str(to)],
                          capture_output=True, text=True)
    if done.returncode == 0:
        subprocess.run(["strip", str(to)], check=True)
        return ""
    return next((line for line in (done.stderr + done.stdout).splitlines() if "error" in line), "does not compile")


def make(given) -> int:
    rows = {programs.identity(row): row for row in csv.DictReader(given.list.open(newline=""))}
    results = programs.read_results(pathlib.Path(__file__).with_name("programs_results.csv"))
    for name in ("bin", "arguments", "lab"):
        (given.sample / name).mkdir(parents=True)
    taken = 0
    left_out = collections.Counter()
    for name in sorted(name for name, row in results.items() if row["class"] == "ran" and name in rows):
        if taken == given.programs:
            break
        row = rows[name]
        words = programs.words_of(row, given.folder.resolve() / row["repository"].replace("/", "+"))
        why = compile_for_gpu(given, words, given.sample / "bin" / name) and "nvcc"
        if not why:
            code, out, err = in_lab(given.weft, words)
            time.sleep(1)  # a seed of the time is another one
            if isinstance(code, str):
                why = code
            elif programs.classify(code, out, err)[0] != "ran":
                why = "does not run in an empty folder"
            elif verdict(out, code, *reversed(in_lab(given.weft, words)[:2]))[0] == "different":
                why = "prints something else again"
        print(f"{name} {row['repository']} {row['program']}: {why or 'taken'}", flush=True)
        if why:
            left_out[why] += 1
            (given.sample / "bin" / name).unlink(missing_ok=True)
            continue
        taken += 1
        (given.sample / "arguments" / name).write_text(" ".join(words[words.index("--") + 1:]))
        (given.sample / "lab" / name).write_text(json.dumps({"code": code, "out": out, "err": err}))
    runtime = pathlib.Path(given.nvcc).resolve().parent.parent / "lib64" / "libcudart.so.13"
    shutil.copy(runtime, given.sample / runtime.name)
    script = given.sample / "run.sh"
    script.write_text(SCRIPT)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    print(f"{taken} programs; left out: {dict(left_out)}")
    return 0 if taken == given.programs else 1


def comparable(text: str) -> list[str]:
    """The lines of an output, without what differs between two computers."""
    lines = []
    for line in text.replace("\r", "\n").splitlines():
        line = re.sub(r"0x[0-9a-fA-F]{6,}", "ADDRESS", line)
        line = re.sub(r"NVIDIA H\d+(?: [A-Z]\w*)*|host-cuda, kernels up to sm_80 on the CPU", "DEVICE", line)
        line = re.sub(r"\bsm_\d+a?\b", "PROPERTY", line)
        line = re.sub(rf"{NUMBER} ?{UNIT}(?![A-Za-z])", "TIME", line)
        if "TIME" in line:
            line = re.sub(rf"{NUMBER} ?%", "TIME", line)  # the share of a part
        found = re.search(TIME, line, re.I)
        if found:
            line = line[:found.end()] + re.sub(rf"(?<![A-Za-z_]){NUMBER} ?(?:x\b|%)?", "TIME", line[found.end():])
        elif re.search(DEVICE, line, re.I):
            line = re.sub(rf"(?<![A-Za-z_]){NUMBER}|\b(?:yes|no)\b", "PROPERTY", line, flags=re.I)
        lines.append(" ".join(line.split()))
    return [line for line in lines if line]


def close(left: list[str], right: list[str]) -> bool:
    """Are these the same lines but for the last digits of their numbers?"""
    if len(left) != len(right):
        return False
    for one, other in zip(left, right):
        if re.sub(NUMBER, "#", one) != re.sub(NUMBER, "#", other):
            return False
        for a, b in zip(map(float, re.findall(NUMBER, one)), map(float, re.findall(NUMBER, other))):
            if abs(a - b) > 1e-4 * max(abs(a), abs(b), 1e-2):
                return False
    return True


def verdict(out: str, code: int, gpu_out: str, gpu_code: int) -> tuple[str, str]:
    """A class of agreement, and the first lines that differ."""
    if code != gpu_code:
        return "different", f"exit code {code}, on the GPU {gpu_code}"
    if out == gpu_out:
        return "the same", ""
    here, there = comparable(out), comparable(gpu_out)
    if here == there:
        return "the same but for times and the device", ""
    if sorted(here) == sorted(there):
        return "the same but for the order of lines", ""
    if close(here, there) or close(sorted(here), sorted(there)):
        return "the same but for last digits", ""
    first = next((pair for pair in zip(here, there) if pair[0] != pair[1]), (f"{len(here)} lines", f"{len(there)} lines"))
    return "different", f"{first[0]} | {first[1]}"


def compare(given) -> int:
    with tarfile.open(given.gpu) as tar:
        files = {pathlib.Path(one.name).name: tar.extractfile(one).read() for one in tar if one.isfile()}
    rows = []
    for path in sorted((given.sample / "lab").iterdir()):
        lab = json.loads(path.read_text())
        if f"{path.name}.code" not in files:
            kind, why = "different", "no result of the GPU"
        else:
            out = io.TextIOWrapper(io.BytesIO(files[f"{path.name}.out"]), errors="replace", newline=None).read(1 << 20)
            kind, why = verdict(io.StringIO(lab["out"], newline=None).read(), lab["code"], out, int(files[f"{path.name}.code"]))
        rows.append({"program": path.name, "verdict": kind, "exit code": lab["code"]})
        if kind == "different":
            print(f"{path.name}: {why}")
    with given.results.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    counts = collections.Counter(row["verdict"] for row in rows)
    print(files.get("gpu", b"").decode().strip())
    for kind, count in counts.most_common():
        print(f"| {kind} | {count} |")
    return 1 if counts["different"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("make")
    made.add_argument("weft", type=lambda text: str(pathlib.Path(text).resolve()))
    made.add_argument("folder", type=pathlib.Path)
    made.add_argument("list", type=pathlib.Path)
    made.add_argument("sample", type=pathlib.Path)
    made.add_argument("--programs", type=int, default=40)
    made.add_argument("--nvcc", default=shutil.which("nvcc"))
    made.add_argument("--include", action="append", default=[], help="a folder of headers, such as Common of NVIDIA's samples")
    made.add_argument("--arch", default="sm_90a")
    made.set_defaults(do=make)
    compared = commands.add_parser("compare")
    compared.add_argument("sample", type=pathlib.Path)
    compared.add_argument("gpu", type=pathlib.Path, help="results.tar.gz of the GPU")
    compared.add_argument("--results", type=pathlib.Path, required=True)
    compared.set_defaults(do=compare)
    given = parser.parse_args()
    return given.do(given)


if __name__ == "__main__":
    sys.exit(main())
