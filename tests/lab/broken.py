# SPDX-License-Identifier: MIT
"""Runs the programs of a folder through `weft lab run`, each of which has a mistake or none.

The first line of a program says what is expected of it:

    // expect: LINE: SENTENCE   one line on stderr names that line of the file and matches the regular
                                expression, and the exit code is 1
    // note: LINE: SENTENCE     the same, and the exit code is 0
    // clean                    nothing on stderr, and the exit code is 0

`// x86_64 ` in front of the first: other processors go on there with some number.

    python3 broken.py WEFT FOLDER [NAME...]
"""
import concurrent.futures
import pathlib
import platform
import re
import subprocess
import sys


def complaint(weft, path):
    """What is not as expected; empty when all is."""
    first = path.read_text().splitlines()[0].replace("// x86_64 ", "// ")
    expected = re.match(r"// (expect|note): (\d+): (.+)", first)
    if expected is None and first != "// clean":
        return "its first line is not `// expect: LINE: SENTENCE`, `// note: LINE: SENTENCE` or `// clean`"
    done = subprocess.run([weft, "lab", "run", path.name], cwd=path.parent, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    code = 1 if expected and expected[1] == "expect" else 0
    if done.returncode != code:
        return f"the exit code is {done.returncode}, not {code}:\n{done.stderr.strip()}"
    if expected is None:
        return f"it has said:\n{done.stderr.strip()}" if done.stderr else ""
    line, sentence = expected[2], expected[3]
    found = [one for one in done.stderr.splitlines() if re.search(sentence, one)]
    if not found:
        return f"no line matches '{sentence}' in:\n{done.stderr.strip() or '(nothing)'}"
    if not any(re.search(rf"\b{re.escape(path.name)}:{line}\b", one) for one in found):
        return f"line {line} is not named in:\n" + "\n".join(found)
    return ""


def main():
    weft, folder, *names = sys.argv[1:]
    weft = str(pathlib.Path(weft).resolve())
    paths = sorted(pathlib.Path(folder).glob("*.cu"))
    paths = [path for path in paths if not names or path.stem in names]
    if platform.machine() != "x86_64":
        paths = [path for path in paths if not path.read_text().startswith("// x86_64 ")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = list(pool.map(lambda path: complaint(weft, path), paths))
    for path, text in zip(paths, complaints):
        if text:
            print(f"{path.name}: {text}")
    found = complaints.count("")
    print(f"{found} of {len(paths)} programs are told as expected, with file, line and sentence")
    return 0 if paths and found == len(paths) else 1


if __name__ == "__main__":
    sys.exit(main())
