#!/usr/bin/env python3
"""Writes RESULTS.md from results.jsonl and equivalents.json, which lie beside this file.

    python3 tests/mutants/report.py [--add FILE.jsonl]... [--check]

--add takes over the lines of run.py's results. --check writes nothing and fails where RESULTS.md is not
what the data say.
"""

import argparse
import json
import pathlib
import sys

import families
import operators
import run

HERE = pathlib.Path(__file__).resolve().parent
KEPT = ("id", "file", "line", "operator", "before", "after", "nth", "outcome", "by", "seconds")
KINDS = ["killed by test", "killed by check", "killed by crash", "killed by timeout"]


def load():
    """The last result of each mutant that the sources of today still have."""
    results = {}
    for line in (HERE / "results.jsonl").read_text().splitlines():
        result = json.loads(line)
        results[result["id"]] = result
    possible = set()
    for path in sorted({result["file"] for result in results.values()}):
        source = run.ROOT / path
        if source.exists():
            possible |= {site.key for site, _ in operators.sites(path, source.read_text())}
    return [result for result in results.values() if result["id"] in possible]


def add(paths):
    data = HERE / "results.jsonl"
    results = {}
    for path in ([data] if data.exists() else []) + paths:
        for line in path.read_text().splitlines():
            result = json.loads(line)
            results[result["id"]] = {key: result[key] for key in KEPT}
    lines = [json.dumps(result) for _, result in sorted(results.items(), key=lambda item: (item[1]["file"], item[0]))]
    data.write_text("\n".join(lines) + "\n")


def reason_of(result, equivalents):
    """Why a survivor is equivalent, or nothing."""
    for entry in equivalents:
        if all(entry[key] == result[key] for key in ("file", "operator", "before", "after")):
            if entry.get("nth", result["nth"]) == result["nth"]:
                return entry["reason"]
    return None


def table(title, groups):
    head = f"| {title} | mutants | by a test | by a check of host-cuda | by a crash | by time | survived | killed |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    total = [0] * 5
    for name, counts in [*sorted(groups.items()), ("all", total)]:
        if name == "all":
            name = "**all**"
        else:
            total[:] = [a + b for a, b in zip(total, counts)]
        count = sum(counts)
        share = f"{100 * sum(counts[:4]) / count:.1f} %" if count else ""
        lines.append(f"| {name} | {count} | " + " | ".join(str(n) for n in counts) + f" | {share} |")
    return lines


def text():
    equivalents = json.loads((HERE / "equivalents.json").read_text())
    results = load()
    lines = ["# Mutants: results", "",
             "`report.py` wrote this page from `results.jsonl`. [README.md](README.md) says how mutants are made.",
             "Equivalent mutants, mutants that do not compile and those of which the compiler makes the code of the",
             "original do not count.", ""]
    for title, folders in [("Kernels on host-cuda", ["kernels"]), ("Code of the CPU: data, layers, models", run.LAYERS)]:
        ours = [r for r in results if families.kind_of(r["file"]) in folders]
        by_family, by_operator, survivors, equal = {}, {}, [], []
        left_out = {"compile error": 0, "link error": 0, "same code": 0}
        seconds = []
        for result in ours:
            if result["outcome"] in left_out:
                left_out[result["outcome"]] += 1
                continue
            if result["outcome"] == "survived":
                reason = reason_of(result, equivalents)
                if reason:
                    equal.append((result, reason))
                    continue
                survivors.append(result)
            seconds.append(result["seconds"])
            column = KINDS.index(result["outcome"]) if result["outcome"] in KINDS else 4
            for groups, name in ((by_family, families.family_of(result["file"])), (by_operator, result["operator"])):
                groups.setdefault(name, [0] * 5)[column] += 1
        seconds.sort()
        lines += [f"## {title}", ""]
        if not seconds:
            lines += ["None was run.", ""]
            continue
        lines += [f"A mutant took {sum(seconds) / len(seconds):.1f} s on average and {seconds[len(seconds) // 2]:.1f} s",
                  f"in the median, of one core. Left out: {left_out['compile error'] + left_out['link error']} that do not",
                  f"compile, {left_out['same code']} that make the same code, {len(equal)} equivalent ones.", ""]
        lines += table("family" if folders == ["kernels"] else "folder", by_family) + [""]
        lines += table("operator", by_operator) + [""]
        lines += ["Survivors that no test kills yet:", ""] if survivors else ["No other mutant survived.", ""]
        for r in sorted(survivors, key=lambda r: (r["file"], r["line"])):
            lines.append(f"- `{r['file']}`, {r['operator']}: `{r['before']}` became `{r['after']}`")
        lines += [""] if survivors else []
        if equal:
            lines += ["Equivalent mutants, with the reason:", ""]
            for r, reason in sorted(equal, key=lambda pair: (pair[0]["file"], pair[0]["line"])):
                lines.append(f"- `{r['file']}`, {r['operator']}: `{r['before']}` became `{r['after']}`. {reason}")
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", type=pathlib.Path, action="append", default=[], metavar="FILE.jsonl")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.add:
        add(options.add)
    page = HERE / "RESULTS.md"
    if options.check:
        if page.read_text() != text():
            print("tests/mutants/RESULTS.md is not what the data say: run tests/mutants/report.py", file=sys.stderr)
            return 1
        return 0
    page.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
