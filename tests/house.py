#!/usr/bin/env python3
"""The order of the house: sizes of files and folders, and what must be written once.

    python3 tests/house.py [ROOT]

Prints each breach in a line and exits with 1 when there is one.
"""
import collections
import graphlib
import pathlib
import re
import subprocess
import sys

MOST_LINES = 400   # of a source
MOST_TEST_LINES = 500
MOST_FILES = 25    # of a folder
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
PRODUCT = ["engine", "host_cuda", "lab", "kernels", "layers", "distributed", "models", "data", "measure", "examples", "python"]
# Folders of inputs and of results, which nobody reads from end to end.
COLLECTIONS = re.compile(r"^(bench/results|tests/fuzz/[^/]+|tests/lab/[^/]+)$")
# The scheduler of host-cuda asks the checks, which ask the scheduler: only its headers go one way.
HEADERS_GO_ONE_WAY = "host_cuda"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# A host that serves packages. Whoever installs them says from where.
PACKAGE_SERVER = re.compile(r"://[\w.-]*(debian|ubuntu|pypi|pythonhosted|conda|npmjs|crates)[\w-]*\.\w")
# A comment that begins like this has no subject.
FRAGMENT = re.compile(r"^( *//|#) *(Of|Those|That|Which) [a-z]")
# Rounding up, whatever it is called: (n + w - 1) / w, and (n + 31) / 32.
ROUNDS_UP = re.compile(r"\+ (?:([\w.]+) - 1\) / \1\b|(\d+)\) / (\d+)\b)")
# A narrowing of one's own beside narrow() of engine/launch.h.
NARROWS = re.compile(r"\[\]\([^)]*\) \{ return static_cast<int>\((\w+)\); \}")
README_LINES = {"README.md": 130, "kernels/**/README.md": 120}


def tracked(root: pathlib.Path) -> list[pathlib.Path]:
    """The files of the project: what git tracks, or everything but builds where there is no git."""
    try:
        names = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True,
                               text=True).stdout.split()
        return [root / name for name in names if (root / name).exists()]
    except (OSError, subprocess.CalledProcessError):
        return [path for path in root.rglob("*") if path.is_file() and
                not any(part.startswith(("build", ".")) for part in path.relative_to(root).parts)]


def lines_of(path: pathlib.Path) -> int:
    return path.read_text().count("\n")


def rounds_up(line: str) -> bool:
    return any(name or (int(piece) > 2 and int(rest) == int(piece) - 1)
               for name, rest, piece in ROUNDS_UP.findall(line))


def circle(root: pathlib.Path, sources: list[pathlib.Path]) -> list[str]:
    """Folders that include each other in a circle. A folder and one inside it are parts of one thing."""
    reached: dict[str, set[str]] = collections.defaultdict(set)
    for path in sources:
        name, folder = path.relative_to(root), str(path.relative_to(root).parent)
        if name.parts[0] == HEADERS_GO_ONE_WAY and path.suffix == ".cpp":
            continue
        for included in INCLUDE.findall(path.read_text()):
            other = included.rpartition("/")[0]
            if other and not f"{folder}/".startswith(f"{other}/") and not f"{other}/".startswith(f"{folder}/"):
                reached[folder].add(other)
    try:
        graphlib.TopologicalSorter(reached).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def breaches(root: pathlib.Path) -> list[str]:
    files = tracked(root)
    found = []

    def inside(path: pathlib.Path, folders: list[str]) -> bool:
        return path.relative_to(root).parts[0] in folders

    sources = [path for path in files if path.suffix in SOURCES]
    if len(sources) < 100:
        found.append(f"only {len(sources)} sources found")
    for path in sources:
        most = MOST_LINES if inside(path, PRODUCT) else MOST_TEST_LINES
        if lines_of(path) > most:
            found.append(f"{path.relative_to(root)}: {lines_of(path)} lines, more than {most}")
    for folder, count in sorted(collections.Counter(path.parent for path in files).items()):
        if count > MOST_FILES and not COLLECTIONS.match(str(folder.relative_to(root))):
            found.append(f"{folder.relative_to(root)}: {count} files, more than {MOST_FILES}")
    if folders := circle(root, sources):
        found.append(f"folders include each other: {' <- '.join(folders)}")
    for pattern, most in README_LINES.items():
        for path in root.glob(pattern):
            if lines_of(path) > most:
                found.append(f"{path.relative_to(root)}: {lines_of(path)} lines, more than {most}")
    for path in files:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if PACKAGE_SERVER.search(line):
                found.append(f"{path.relative_to(root)}:{number}: names a server of packages")
            if FRAGMENT.search(line):
                found.append(f"{path.relative_to(root)}:{number}: a comment without a subject")
    # One definition of what everybody needs, and no rounding up beside it.
    for path in sources:
        if not inside(path, PRODUCT) or path.name == "extent.h" or "lab" in path.parent.parts[-2:]:
            continue  # students' programs say it in CUDA's usual words
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if rounds_up(line):
                found.append(f"{path.relative_to(root)}:{number}: rounds up without divide_up() or round_up()")
            if NARROWS.search(line):
                found.append(f"{path.relative_to(root)}:{number}: narrows without narrow()")
    definitions = [path for path in sources
                   if re.search(r"^(?!.*return).*\bdivide_up\([^)]*\) *\{", path.read_text(), re.M)]
    if len(definitions) != 1:
        found.append("divide_up is defined in " +
                     (", ".join(str(path.relative_to(root)) for path in definitions) or "no file"))
    return found


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__ + "/../..").resolve()
    found = breaches(root)
    for line in found:
        print(line)
    print(f"house: {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
