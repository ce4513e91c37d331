#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rewrites what pages say of bench/results/: the tables between markers in README.md, bench/README.md, bench/RECORDS.md
and kernels/*/README.md, the pages bench/results/*.md, the picture bench/results/gemm-ladder.svg, and the table
measure/measured_rungs.inc of the program.

    bench/update_readme.py                  write
    bench/update_readme.py --check          exit 1 when a page is out of date
    bench/update_readme.py --summary FILE   print what `weft bench all --json FILE` measured, in short

The order of the rungs is that of the program's catalogue: --weft names the program, which is looked
for in build/ otherwise.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare  # noqa: E402
import error_chart  # noqa: E402
import gpu_state  # noqa: E402
import kernel_tables  # noqa: E402
import ladder_chart  # noqa: E402
import measured_rungs  # noqa: E402
import record  # noqa: E402
import scaling_tables  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What `weft bench all` measured, each file at one commit, the newest first.
KERNELS = [ROOT / "bench/results/kernels-h200.jsonl", ROOT / "bench/results/kernels-h100.jsonl"]
MARKERS = "<!-- {}: begin (bench/update_readme.py) -->", "<!-- {}: end -->"


def seconds(value):
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def yardstick_of(result, row):
    """The fastest PyTorch figure for the same network, batch and precision, in the same run."""
    found = [y for y in result["yardsticks"] if y["model"] == row["model"] and y["batch"] == row["batch"]
             and y.get("precision", "fp32") == row.get("precision", "fp32")]
    return min(found, key=lambda y: y["epoch_seconds"]) if found else None


def median_of(row, key):
    return seconds(statistics.median(row[key])) if row.get(key) else "not measured"


# These runs gave `weft train` a flag that its defaults do not have, and the pages of that time did not show it.
HIDDEN_FLAG, MEASURED_WITH_IT = "--calibration-split 0", ["ddf583b", "29384d6", "6f958b3"]


def command_of(row):
    """The command that was measured, as results have it since they have one."""
    if "command" in row:
        return row["command"]
    dataset = row.get("dataset", "mnist")
    words = [f"--recipe {row['recipe']}" if row.get("recipe") else
             f"--model {row['model']} --epochs {row['epochs']} --batch-size {row['batch']}"]
    words += [f"--dataset {dataset}"] if dataset != "mnist" else []
    words += [f"--precision {row['precision']}"] if row.get("precision", "fp32") != "fp32" and not row.get("recipe") else []
    words += ["--impl fuse=off"] if not row.get("fuse", True) else []
    words += [f"--limit-train {row['images']}"] if row.get("images") else []
    return " ".join(["weft train", *words])


def arguments_of(row):
    """Of the command; where it meant something else then, what: a network's peak rate, a recipe's settings."""
    text = f"`{command_of(row).removeprefix('weft train ')}`"
    if row.get("recipe") == "fast" and "label_smoothing" not in row:
        return f"{text} (before its labels were smoothed)"
    return text if row.get("dataset", "mnist") == "mnist" else f"{text} (rate {row['lr']:g})"


def epoch_text(row):
    """The median of an epoch, and where it is known the interval of the seeds' medians."""
    text = seconds(row["epoch_seconds_median"])
    interval = row.get("epoch_seconds_interval")
    return f"{text} ({seconds(interval[0])} to {seconds(interval[1])})" if interval else text


def accuracy_text(row):
    """Mean, standard deviation of the seeds, lowest."""
    accuracies = row["test_accuracy"]
    deviation = f"{100 * statistics.stdev(accuracies):.2f}" if len(accuracies) > 1 else ""
    return f"{100 * row['accuracy_mean']:.2f} % | {deviation} | {100 * row['accuracy_min']:.2f} %"


def table_of(result):
    machine = result["machine"]
    where = machine["gpu"] if result["device"] == "cuda" else f"{machine['cpu']}, {result['threads']} threads"
    version = f", CUDA {machine['cuda']}, driver {machine['driver']}" if result["device"] == "cuda" else ""
    more = f", and `{HIDDEN_FLAG}` with each command, which is no default" if machine["commit"] in MEASURED_WITH_IT else ""
    more += gpu_state.text_of(row.get("gpu_state") for row in result["rows"])
    lines = [f"{where}{version}, commit {machine['commit']}, {machine['date']}{more}:", "",
             "| `weft train` | seeds | test accuracy, mean | standard deviation | lowest | epoch | all epochs "
             "| the program, start to end | PyTorch's epoch |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in result["rows"]:
        yardstick = yardstick_of(result, row)
        peer = f"{seconds(yardstick['epoch_seconds'])} ({yardstick['yardstick']})" if yardstick else "not measured"
        lines.append(f"| {arguments_of(row)} | {row['seeds']} | {accuracy_text(row)} "
                     f"| {epoch_text(row)} | {median_of(row, 'train_seconds')} "
                     f"| {median_of(row, 'process_seconds')} | {peer} |")
    return lines


def training_results():
    """GPUs first, then by date, the newest first."""
    results = [json.loads(path.read_text()) for path in sorted((ROOT / "bench/results").glob("train-*.json"))]
    return sorted(results, key=lambda result: (result["device"], result["machine"]["date"]), reverse=True)


def training_tables():
    return "\n\n".join("\n".join(table_of(result)) for result in training_results())


def spread_table():
    """How far several runs of one program differ on one machine; see compare.py."""
    lines = []
    for path in sorted((ROOT / "bench/results").glob("spread-*.json")):
        result = json.loads(path.read_text())
        machine = result["machine"]
        for family in dict.fromkeys(row[0] for row in result["rows"]):
            of_family = sorted(compare.apart(row) for row in result["rows"] if row[0] == family)
            lines.append([family, machine.get("name") or machine["gpu"], machine["commit"], str(result["runs"]),
                          str(len(of_family)), str(sum(one > 3 for one in of_family)),
                          f"{statistics.median(of_family):.1f} %", f"{of_family[-1]:.1f} %"])
    return "\n".join(kernel_tables.markdown(
        ["family", "GPU", "commit", "runs", "ratios", "apart by more than 3 %", "median", "largest"], lines))


def command_tables():
    """A table for each machine; see commands.py."""
    tables = []
    for path in sorted((ROOT / "bench/results").glob("commands-*.json")):
        result = json.loads(path.read_text())
        machine = result["machine"]
        where = machine["gpu"] if result["device"] == "cuda" else f"{machine['cpu']}, {result['threads']} threads"
        rows = [[row["name"], *(f"{1e3 * of(row['seconds']):.1f} ms" for of in (statistics.median, min, max)),
                 str(len(row["seconds"]))] for row in result["rows"]]
        tables.append(f"{where}, commit {machine['commit']}, {machine['date']}:\n\n" + "\n".join(
            kernel_tables.markdown(["", "median", "least", "most", "turns"], rows)))
    return "\n\n".join(tables)


def kernel_table(results, newer, wanted):
    """Per problem and arithmetic: the fastest right rung against the fastest right yardstick of the same run."""
    machine = results.machine
    superseded = {(row["family"], row["problem"]) for other in newer for row in other.rows}
    groups = {}
    for row in results.rows:
        if (row["ok"] and wanted(row) and (row["family"], row["problem"]) not in superseded
                and not kernel_tables.is_layer(row)):
            groups.setdefault((row["family"], row["problem"], kernel_tables.accuracy_of(row)), []).append(row)
    lines = [f"{machine['name']}, CUDA {machine['cuda']}, commit {machine['commit']}, `weft bench`; medians"
             + gpu_state.text_of(row.get("gpu") for row in results.rows) + ":", "",
             "| family | problem | fastest rung | its rate | yardstick | its rate | ratio |",
             "|---|---|---|---|---|---|---|"]
    for (family, problem, arithmetic), rows in groups.items():
        # Whoever asks for tf32 may be given fp32, and who asks for bf16 either.
        own = rows + [row for more in {"tf32": ["fp32"], "bf16": ["fp32", "tf32"]}.get(arithmetic, [])
                      for row in groups.get((family, problem, more), [])]
        best = {peer: min((row for row in found if row["yardstick"] == peer), key=lambda row: row["seconds"], default=None)
                for peer, found in ((False, own), (True, rows))}
        if best[False] is None or best[True] is None:
            continue
        lines.append(f"| {family} | {problem}{'' if arithmetic == 'fp32' else ', ' + arithmetic} | {best[False]['variant']} "
                     f"| {kernel_tables.rate_of(best[False])} | {best[True]['variant']} "
                     f"| {kernel_tables.rate_of(best[True])} | {kernel_tables.ratio_between(best[True], best[False])} |")
    return "\n".join(lines) if len(lines) > 4 else ""


def kernel_tables_of(results, wanted):
    """A table for each file that is the newest for something wanted."""
    return "\n\n".join(filter(None, (kernel_table(one, results[:i], wanted) for i, one in enumerate(results))))


def replaced(text, section, body):
    begin, end = (marker.format(section) for marker in MARKERS)
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"a page lacks the line {begin} or {end}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{body}\n{end}{rest.split(end)[1]}"


def catalogue_of(program):
    found = [program] if program else [ROOT / "build" / name / "weft" for name in ("cuda", "cpu")]
    for path in (pathlib.Path(name).resolve() for name in found):
        if path.exists():
            text = subprocess.run([path, "kernel", "list", "--json"], check=True, capture_output=True, text=True).stdout
            return [json.loads(line) for line in text.splitlines()]
    sys.exit("no weft program in build/: build it, or name it with --weft")


# The six rows of README.md: what is asked first, and a loss. A training row is (model, batch, precision); a row of
# kernels is (family, problem, arithmetic).
HIGHLIGHTS = [("lenet5", 64, "fp32"), ("mlp", 1024, "bf16"), ("convnet", 1024, "fp32"),
              ("gemm", "4096 x 4096 x 4096", "fp32"), ("conv", "forward 64 x 64 x 56 x 56, 64 filters 3x3", "fp32"),
              ("gemm", "4096 x 4096 x 4096, bfloat16", "bf16")]


def short_name(gpu):
    return gpu.split()[1]  # NVIDIA H100 80GB HBM3


def highlight_of(results, what):
    if isinstance(what[1], int):
        for result in training_results():
            for row in result["rows"]:
                if (row["model"], row["batch"], row.get("precision", "fp32")) == what and row.get("fuse", True) \
                        and not row.get("recipe") and result["device"] == "cuda":
                    peer = yardstick_of(result, row)
                    hidden = f" {HIDDEN_FLAG}" if result["machine"]["commit"] in MEASURED_WITH_IT else ""
                    return [short_name(result["machine"]["gpu"]), f"`{command_of(row)}{hidden}`, an epoch "
                            f"({100 * row['accuracy_mean']:.2f} % of the test images right, mean of {row['seeds']} seeds; standard "
                            f"deviation {100 * statistics.stdev(row['test_accuracy']):.2f}, lowest {100 * row['accuracy_min']:.2f} %)",
                            seconds(row["epoch_seconds_median"]), f"{seconds(peer['epoch_seconds'])}, PyTorch with CUDA graphs",
                            f"{peer['epoch_seconds'] / row['epoch_seconds_median']:.2f}"]
    family, problem, arithmetic = what
    for one in results:
        rows = [row for row in one.of(family, problem) if row["ok"] and kernel_tables.accuracy_of(row) == arithmetic]
        own, peer = (min((row for row in rows if row["yardstick"] == is_peer), key=lambda row: row["seconds"], default=None)
                     for is_peer in (False, True))
        if own and peer:
            name = f"{family} {problem}" + ("" if arithmetic == "fp32" or arithmetic == "bf16" else f", {arithmetic}")
            return [short_name(one.machine["name"]), f"{name}: `{own['variant']}`", kernel_tables.rate_of(own), f"{kernel_tables.rate_of(peer)}, {peer['variant']}",
                    kernel_tables.ratio_between(peer, own)]
    sys.exit(f"nothing was measured of {what}")


def highlights(results):
    return "\n".join(kernel_tables.markdown(["GPU", "`weft train`, or `weft bench gemm conv`", "Weft", "yardstick of the same run", "ratio"],
                                            [highlight_of(results, what) for what in HIGHLIGHTS]))


def pages_of(results, catalogue):
    """(path, sections between markers) and (path, whole text) of everything that is written from the results."""
    sections = {ROOT / "README.md": {"results": highlights(results)},
                ROOT / "bench/README.md": {"results": training_tables(), "commands": command_tables(), "spread": spread_table(),
                                           "kernels": kernel_tables_of(results, kernel_tables.is_on_a_ladder)}}
    records = [json.loads(path.read_text()) for path in sorted((ROOT / "bench/results").glob("record-*.json"))]
    sections[ROOT / "bench/RECORDS.md"] = {"records": record.page(records)}
    whole = {ROOT / "bench/results/gemm-ladder.svg": ladder_chart.chart(
        next(one for one in results if kernel_tables.has_ladders(one, "gemm"))),
        ROOT / "measure/measured_rungs.inc": measured_rungs.table(results, catalogue),
        ROOT / "bench/results/scaling.md":
            scaling_tables.page(sorted((ROOT / "bench/results").glob("scaling-*.json")))}
    errors = sorted((ROOT / "bench/results").glob("errors-*.jsonl"))
    whole[ROOT / "bench/results/fp32-errors.md"] = error_chart.page(errors)
    if errors:
        whole[ROOT / "bench/results/fp32-errors.svg"] = error_chart.chart(errors)
    for family in dict.fromkeys([row["family"] for row in catalogue] + list(kernel_tables.LADDERS)):
        ladders = kernel_tables.shown(results, family)
        folder = kernel_tables.FOLDERS.get(family, family)
        sections[ROOT / "kernels" / folder / "README.md"] = {"measured": kernel_tables.readme_table(ladders, family)}
        if family not in kernel_tables.SINGLE:
            every = kernel_tables_of(results, lambda row: row["family"] == family)
            layers = next((one for one in results if any(map(kernel_tables.is_layer, one.of(family)))), None)
            whole[ROOT / f"bench/results/{family}.md"] = kernel_tables.full_page(
                ladders, family, every, kernel_tables.layers_table(layers, family) if layers else "")
    return sections, whole


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--summary", type=pathlib.Path)
    parser.add_argument("--weft")
    wanted = parser.parse_args()
    catalogue = catalogue_of(wanted.weft)
    if wanted.summary:
        return print(kernel_tables.summary(kernel_tables.Results(wanted.summary, catalogue)))
    sections, updated = pages_of([kernel_tables.Results(path, catalogue) for path in KERNELS], catalogue)
    for page, bodies in sections.items():
        updated[page] = page.read_text()
        for section, body in bodies.items():
            updated[page] = replaced(updated[page], section, body)
    stale = []
    for page, text in updated.items():
        if not page.exists() or page.read_text() != text:
            stale.append(str(page.relative_to(ROOT)))
            if not wanted.check:
                page.write_text(text)
    if wanted.check and stale:
        sys.exit(f"out of date, run bench/update_readme.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
