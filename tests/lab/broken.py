# SPDX-License-Identifier: MIT
"""Runs the programs of a folder through `weft lab run`, each of which has one mistake.

The first line of a program is `// expect: LINE: SENTENCE`, a line of the program and a regular
expression. One line on stderr has to name that line of the file and match the sentence, and the
exit code has to be 1.

    python3 broken.py WEFT FOLDER [NAME...]
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys


def complaint(weft, path):
    """What is not as expected; empty when all is."""
    expected = re.match(r"// expect: (\d+): (.+)", path.read_text().splitlines()[0])
    if expected is None:
        return "its first line is not `// expect: LINE: SENTENCE`"
    line, sentence = expected.groups()
    done = subprocess.run([weft, "lab", "run", path.name], cwd=path.parent, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = [one for one in done.stderr.splitlines() if re.search(sentence, one)]
    if not found:
        return f"no line matches '{sentence}' in:\n{done.stderr.strip() or '(nothing)'}"
    if not any(re.search(rf"\b{re.escape(path.name)}:{line}\b", one) for one in found):
        return f"line {line} is not named in:\n" + "\n".join(found)
    if done.returncode != 1:
        return f"the exit code is {done.returncode}, not 1"
    return ""


def main():
    weft, folder, *names = sys.argv[1:]
    weft = str(pathlib.Path(weft).resolve())
    paths = sorted(pathlib.Path(folder).glob("*.cu"))
    paths = [path for path in paths if not names or path.stem in names]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = list(pool.map(lambda path: complaint(weft, path), paths))
    for path, text in zip(paths, complaints):
        if text:
            print(f"{path.name}: {text}")
    found = complaints.count("")
    print(f"{found} of {len(paths)} mistakes are found, with file, line and sentence")
    return 0 if paths and found == len(paths) else 1


if __name__ == "__main__":
    sys.exit(main())
