#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every command of the pages, checks that their code stands in a compiled example, and that links lead somewhere.

Lines of ```sh blocks are run in order, page by page, in one shell, from the root of the tree. Left
out are `git clone`, `cd weft`, `./run test` (the caller is inside the clone and has run the tests),
`bash .ci/run`, which calls this file, and bench/device.sh, which needs a GPU. A ```cpp block must
occur, line by line, in one file under examples/, kernels/, layers/ or tests/. A link to a file must
name one, and with a #heading one of its headings. With --snippets nothing is run.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = re.compile(r"^(git clone\b|cd weft$|(\w+=\S+ )*\./run test\s*(#|$)|bash \.ci/run\b|bench/device\.sh\b|#)")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def squeezed(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def contains(lines, wanted):
    return any(lines[i:i + len(wanted)] == wanted for i in range(len(lines) - len(wanted) + 1))


def pages():
    """README.md first; folders of builds and runs are not pages."""
    found = [path for path in sorted(ROOT.rglob("*.md"))
             if not re.match(r"(build|runs|\.)", path.relative_to(ROOT).parts[0])]
    return sorted(found, key=lambda path: path != ROOT / "README.md")


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def dead_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)):
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if target.startswith(("http://", "https://")):
            continue
        if not file.exists():
            yield target
        elif heading and heading not in [anchor(line.lstrip("# ")) for line in file.read_text().splitlines()
                                         if line.startswith("#")]:
            yield target


def main():
    texts = {path: path.read_text() for path in pages()}
    sources = [squeezed(path.read_text()) for folder in ("examples", "kernels", "layers", "tests")
               for pattern in ("*.cpp", "*.h", "*.cu") for path in (ROOT / folder).rglob(pattern)]
    snippets = [(path, snippet) for path, text in texts.items() for snippet in blocks(text, "cpp")]
    wrong = [f"{path.relative_to(ROOT)}: this snippet stands in no source file:\n{snippet}" for path, snippet in snippets
             if not any(contains(source, squeezed(snippet)) for source in sources)]
    wrong += [f"{path.relative_to(ROOT)}: the link {link} leads nowhere" for path in texts for link in dead_links(path)]
    for line in wrong:
        print(line, file=sys.stderr)
    commands = [line for text in texts.values() for block in blocks(text, "sh") for line in block.splitlines()
                if line.strip() and not SKIPPED.match(line)]
    if not commands or not snippets:
        sys.exit("no page has a ```sh or a ```cpp block: nothing was checked")
    if sys.argv[1:] == ["--snippets"]:
        sys.exit(1 if wrong else 0)

    done = subprocess.run(["bash", "-euxo", "pipefail", "-c", "\n".join(commands)], cwd=ROOT,
                          stdin=subprocess.DEVNULL)
    print(f"{len(commands)} commands run, {len(snippets)} snippets looked up, {len(texts)} pages")
    sys.exit(1 if wrong or done.returncode != 0 else 0)


if __name__ == "__main__":
    main()
