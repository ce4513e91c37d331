#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every command of the README and checks that its code stands in a compiled example.

Lines of ```sh blocks are run in order, in one shell, from the root of the tree; `git clone`, `cd
weft` and `./run test` are left out (the caller is inside the clone and has run the tests). A ```cpp
block must occur, line by line, in one file under examples/, kernels/, layers/ or tests/. With
--snippets only that is checked.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = re.compile(r"^(git clone\b|cd weft$|\./run test$|#)")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def squeezed(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def contains(lines, wanted):
    return any(lines[i:i + len(wanted)] == wanted for i in range(len(lines) - len(wanted) + 1))


def main():
    text = (ROOT / "README.md").read_text()
    sources = [squeezed(path.read_text()) for folder in ("examples", "kernels", "layers", "tests")
               for pattern in ("*.cpp", "*.h", "*.cu") for path in (ROOT / folder).rglob(pattern)]
    snippets = blocks(text, "cpp")
    missing = [snippet for snippet in snippets
               if not any(contains(source, squeezed(snippet)) for source in sources)]
    for snippet in missing:
        print(f"this README snippet stands in no source file:\n{snippet}", file=sys.stderr)

    if sys.argv[1:] == ["--snippets"]:
        sys.exit(1 if missing or not snippets else 0)

    commands = [line for block in blocks(text, "sh") for line in block.splitlines()
                if line.strip() and not SKIPPED.match(line)]
    if not commands or not snippets:
        sys.exit("README.md has no ```sh or no ```cpp block: nothing was checked")
    done = subprocess.run(["bash", "-euxo", "pipefail", "-c", "\n".join(commands)], cwd=ROOT,
                          stdin=subprocess.DEVNULL)
    print(f"{len(commands)} README commands run, {len(snippets)} snippets looked up")
    sys.exit(1 if missing or done.returncode != 0 else 0)


if __name__ == "__main__":
    main()
