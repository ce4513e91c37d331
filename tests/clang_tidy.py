#!/usr/bin/env python3
"""Compiles every source with clang's front end, without warnings, and runs the checks of .clang-tidy.

  python3 tests/clang_tidy.py BUILD [--jobs N] [--alone] [WORD...]

BUILD is a folder that CMake configured with clang++ and -DCMAKE_EXPORT_COMPILE_COMMANDS=ON. Sources
with the same flags, and without a name in common, are read as one file: most of the time goes to
the headers of libraries, which are then read once. A group with a finding is halved until it is
one file, and only that counts. Tests are compiled only. --alone reads all sources one by one, with the static analyser too,
which takes some twenty minutes of a core. WORDs keep the sources whose path has one of them.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

PRIVATE = r"k[A-Z]\w*|\w+_kernel|main|example|automatic|sized|shaped|oracle|Json"  # the names that as_one() changes
ROOT = pathlib.Path(__file__).resolve().parent.parent


def sources_of(build):
    """{(flags, opened namespaces...): [source]}: each source once, also those of unity files."""
    groups, seen = collections.defaultdict(list), set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        words = words[[pathlib.Path(word).name.startswith("clang") for word in words].index(True):]
        at = words.index("-o")
        flags = tuple(words[1:at] + words[at + 2:-2])  # without -c SOURCE
        path = pathlib.Path(entry["file"])
        if path.parent.name == "Unity":
            parts = re.findall(r'^#include "(.*)"', path.read_text(), re.M)
        else:
            parts = [str(path)]
        for part in parts:
            if part not in seen and pathlib.Path(part).exists():
                seen.add(part)
                scopes = re.findall(r"^using namespace .*;", pathlib.Path(part).read_text(), re.M)
                groups[flags, *scopes].append(part)
    return groups


def own_names(source):
    """The names that a source declares at the outer level. A name too many costs a moment only."""
    names, text = set(), pathlib.Path(source).read_text()
    for line in re.findall(r"^(?:__global__ void |    )?\w.*", text, re.M):
        if line.startswith(("template", "namespace", "using namespace", "static_assert", "    ")):
            continue
        line, stripped = "", line
        while line != stripped:  # template arguments, from the innermost out
            line, stripped = stripped, re.sub(r"<[^<>]*>|alignas\(.*?\)", "", stripped)
        found = re.match(r"(?:struct|class|enum class|enum|union)\s+(\w+)|using (\w+) =", line)
        found = found or re.search(r"([\w:~]+)\s*[({=;\[]", line)
        name = found and (found[1] or found[2])
        if name and not re.search(r"::|^WEFT_|^TEST|^__", name):
            names.add(name)
    for line in re.findall(r"^const.*", text, re.M):
        names |= set(re.findall(r"\b(k[A-Z]\w*)(?=(?:\[\w*\])? =)", line))
    names |= set(re.findall(r"(\w+_kernel)\(", text))
    names |= set(re.findall(r"^TEST\w*\((\w+, \w+)", text, re.M))
    return names


def as_one(files):
    """A source that includes these. Headers come first; then a source's constants and kernels may
    get its number, since other sources have constants and kernels of these names."""
    heads = dict.fromkeys(head for file in files for head in re.findall(
        r'^#include (?:<.*>|".*[.](?:h|cuh|hpp)")', pathlib.Path(file).read_text(), re.M))
    lines = list(heads)
    for number, file in enumerate(files):
        own = sorted(name for name in own_names(file) if re.fullmatch(PRIVATE, name))
        lines += [f"#define {name} {name}_{number}" for name in own]
        lines += [f'#include "{file}"']
        lines += [f"#undef {name}" for name in own]
    return "\n".join(lines) + "\n"


def batches(groups, alone):
    """[(flags, [source])]; each source goes to the first batch without a name of its own."""
    made = []
    for (flags, *_), sources in groups.items():
        open_batches = []
        for source in sources:
            names = {name for name in own_names(source) if not re.fullmatch(PRIVATE, name)}
            for files, taken in open_batches:
                if not alone and len(files) < 24 and not names & taken:
                    files.append(source)
                    taken |= names
                    break
            else:
                open_batches.append(([source], set(names)))
        made += [(flags, files) for files, _ in open_batches]
    return made


def check(flags, files, place, number, analyser):
    """What clang-tidy says of these files as one, or None if it has nothing to say."""
    source = files[0]
    extra = []
    if len(files) > 1:
        source = place / f"batch_{number}.cpp"
        source.write_text(as_one(files))
        extra = ["-Wno-shadow"]  # a local name may be the name of another file
    if any("/tests/" in file for file in files):  # they do on purpose what the checks are against
        command = ["clang++", "-fsyntax-only", "-x", "c++", *flags]
    else:
        checks = [] if analyser else ["--checks=-clang-analyzer-*"]
        command = ["clang-tidy", "--quiet", *checks, str(source), "--", "-x", "c++",
                   *(flag for flag in flags if flag != "-Werror")]
    command += ["-Wno-unused-command-line-argument", *extra]
    if command[0] == "clang++":
        command.append(str(source))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    groups = {key: [one for one in files if not given.words or any(w in one for w in given.words)]
              for key, files in sources_of(given.build).items()}
    work = batches(groups, given.alone)
    files = sum(len(batch) for _, batch in work)
    if not files:
        sys.exit("clang_tidy: no sources")
    place = given.build / "clang_tidy"
    place.mkdir(exist_ok=True)
    numbers = itertools.count()

    def findings(flags, batch):
        said = check(flags, batch, place, next(numbers), given.alone)
        if said is None or len(batch) == 1:
            return [said] if said else []
        half = len(batch) // 2
        return findings(flags, batch[:half]) + findings(flags, batch[half:])

    count = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for said in pool.map(lambda one: findings(*one), work):
            count += len(said)
            print("".join(said), end="", flush=True)
    print(f"clang_tidy: {files} sources in {len(work)} batches, read in {next(numbers)} runs: "
          f"{count} with findings")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
