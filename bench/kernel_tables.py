# SPDX-License-Identifier: MIT
"""Tables of measured kernels, from the file that `weft bench all --json` wrote.

Rungs come in the order of the catalogue, as `weft kernel list --json` gives it. A rung that the file
does not have is shown as not measured rather than left out.
"""
import json
import re
import statistics

# Of each family: the problems whose ladder its README shows, as the beginnings of their names.
LADDERS = {
    "gemm": ["4096 x 4096 x 4096", "256 x 512 x 784"],
    "reduce": ["sum of 268435456 floats", "sum of 1048576 floats"],
    "scan": ["268435456 floats", "1048576 floats"],
    "histogram": ["16777216 bytes, uniform", "1073741824 bytes, uniform", "268435456 floats"],
    "nbody": ["262144 bodies", "16384 bodies"],
    "conv": ["forward 256 x 1 x 28 x 28", "with ReLU and max pooling, forward", "forward 64 x 64 x 56 x 56", "backward data 64 x 64 x 56 x 56",
             "backward weights 64 x 64 x 56 x 56"],
    "signal": ["1-D", "2-D", "3-D"],
    "softmax": ["65536 rows of 1000", "8192 rows of 32000"],
    "image": ["RGB to grey", "box blur of 4096 x 4096, window 5 x 5", "box blur of 4096 x 4096, window 17 x 17"],
    "memory": ["vector add", "copy of 1048576 rows of 33", "transfer"],
    "fused_cnn": ["64 steps of lenet5, 64 images", "64 steps of lenet5, 256 images", "64 steps of lenet5, 1024 images",
                  "forward of lenet5"],
    "fused_mlp": ["16 steps of mlp, 256 images", "16 steps of mlp, 1024 images"],
}
# Families of one rung: a line for each problem instead.
SINGLE = ["pool", "activation", "batch_norm", "dropout", "loss", "batch", "optimizer"]
# Rungs that a problem is for, where it is not for all of the family.
OPERATIONS = {
    "conv": {"forward": r"(?!fused_relu_pool)", "backward": r"(?!fused_relu_pool)"},
    "histogram": {"268435456 floats": r"(?!lane_private)"},
    "softmax": {"8192 rows": r"(?!(warp|block)_per_row)"},
    "image": {"RGB": r"rgb_to_grey_", "box": r"box_blur_"},
    "memory": {"vector": r"vector_add", "copy of 1048576 rows": r".*_rows$", "transfer": r".*_transfer$"},
    "fused_cnn": {"64 steps": r"(?!resident_weights)", "forward": r"resident_weights"},
    "signal": {"1-D": r"(?!tiled$)", "2-D": r"(naive|constant_memory|tiled)$", "3-D": r"(naive|constant_memory|tiled)$"},
}
NOT_MEASURED = "not measured"


class Results:
    def __init__(self, path, catalogue):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        self.machine = next(event for event in events if event["event"] == "machine")
        self.rows = [event for event in events if event["event"] == "measurement"]
        self.catalogue = catalogue  # of `weft kernel list --json`

    def of(self, family, problem=None):
        return [row for row in self.rows if row["family"] == family and (problem is None or row["problem"] == problem)]

    def problems(self, family, beginning=""):
        found = (row["problem"] for row in self.of(family) if row["problem"].startswith(beginning) and not row.get("table")
                 and not is_layer(row))
        return list(dict.fromkeys(found))

    def rungs(self, family, beginning):
        """Variants of the catalogue that run on a GPU and belong to the operation of this problem."""
        pattern = next((p for b, p in OPERATIONS.get(family, {}).items() if beginning.startswith(b)), "")
        return [v["variant"] for v in self.catalogue
                if v["family"] == family and v["on_cuda"] and re.match(pattern, v["variant"])]


def digits(value):
    """Three of them, also when the last are zeros."""
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


def time_of(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{digits(seconds * scale)} {unit}"


def by_flops(row):
    return row["family"] in ("gemm", "conv", "nbody")


def rate_of(row):
    value, unit = (row["flops_per_second"], "FLOP/s") if by_flops(row) else (row["bytes_per_second"], "B/s")
    prefix, scale = ("T", 1e12) if value >= 1e12 else ("G", 1e9)
    return f"{digits(value / scale)} {prefix}{unit}"


def share_of(row):
    share = row.get("share_of_bound")
    return "" if share is None else f"{100 * share:.1f} %"


def usage_of(row):
    """Registers, shared memory and occupancy of the heaviest kernel of one call: that with the most registers."""
    kernels = row.get("kernels")
    if not kernels:
        return ""
    heaviest = max(kernels, key=lambda k: k["registers"])
    return (f"{heaviest['registers']} registers, {heaviest['shared_bytes'] / 1024:.3g} KiB; "
            f"{100 * heaviest['occupancy']:.0f} % ({heaviest['limited_by']})")


def markdown(header, lines):
    """The last column is left out when it is empty."""
    filled = [i for i in range(len(header)) if i < len(header) - 1 or any(line[i] for line in lines)]
    header, *lines = [[line[i] for i in filled] for line in [header, *lines]]
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + ["| " + " | ".join(line) + " |" for line in lines]


def ratio(value):
    return f"{value:.2f} x" if value >= 0.1 else f"{value:.2g} x"


def best_yardsticks(rows):
    """The fastest right yardstick for each arithmetic."""
    best = {}
    for row in rows:
        if row["yardstick"] and row["ok"]:
            if row["arithmetic"] not in best or row["seconds"] < best[row["arithmetic"]]["seconds"]:
                best[row["arithmetic"]] = row
    return best


def ratio_to_yardstick(results, row, yardsticks):
    yardstick = yardsticks.get(row["arithmetic"])
    if yardstick is not None:
        return f"{ratio(yardstick['seconds'] / row['seconds'])} {yardstick['variant']}"
    if not by_flops(row) and row.get("share_of_bound") is not None:
        return f"{ratio(row['bytes_per_second'] / results.machine['copy_bytes_per_second'])} a device copy"
    return ""


def ladder(results, family, beginning):
    problems = results.problems(family, beginning)
    if not problems:
        return [f"**{beginning}**: {NOT_MEASURED}."]
    # Products of one shape are one ladder, however the matrices are stored.
    stored = ", bfloat16"
    same = [p for p in problems if p.removesuffix(stored) == problems[0].removesuffix(stored)]
    rows = [row for problem in same for row in results.of(family, problem)]
    own = {row["variant"]: row for row in rows if not row["yardstick"]}
    rungs = results.rungs(family, beginning)
    rungs += [name for name in own if name not in rungs and any(row is own[name] for row in rows)]
    if sum(name in own for name in results.rungs(family, beginning)) == 1:
        rungs = [name for name in rungs if name in own]  # a problem that only one rung is for
    yardsticks = best_yardsticks(rows)
    lines, before = [], None
    for name in rungs:
        row = own.get(name)
        if row is None or "error" in row:
            lines.append([f"`{name}`", NOT_MEASURED if row is None else row["error"]] + [""] * 5)
            continue
        gain = before["seconds"] / row["seconds"] if before and before["arithmetic"] == row["arithmetic"] else None
        lines.append([f"`{name}`", time_of(row["seconds"]), rate_of(row), share_of(row),
                      f"{gain:.2f} x" if gain else "", ratio_to_yardstick(results, row, yardsticks) if row["ok"] else "WRONG",
                      usage_of(row)])
        before = row
    for row in rows:
        if row["yardstick"]:
            lines.append([row["variant"], time_of(row["seconds"]) if "seconds" in row else row["error"],
                          rate_of(row) if "seconds" in row else "", share_of(row), "",
                          "" if row["ok"] else "outside the error bound", ""])
    return [f"**{problems[0]}**", ""] + markdown(
        ["rung", "time", "rate", "of bound", "to the rung before", "speed", "resources; occupancy (limit)"], lines)


def single(results, family):
    lines = []
    for problem in results.problems(family):
        rows = results.of(family, problem)
        yardsticks = best_yardsticks(rows)
        for row in rows:
            if row["yardstick"]:
                continue
            if "error" in row:
                lines.append([problem, f"`{row['variant']}`", row["error"]] + [""] * 4)
                continue
            lines.append([problem, f"`{row['variant']}`", time_of(row["seconds"]), rate_of(row), share_of(row),
                          ratio_to_yardstick(results, row, yardsticks) if row["ok"] else "WRONG", usage_of(row)])
    if not lines:
        lines = [[NOT_MEASURED, f"`{name}`"] + [""] * 5 for name in results.rungs(family, "")]
    return markdown(["problem", "rung", "time", "rate", "of bound", "speed", "resources; occupancy (limit)"], lines)


def series(results, family):
    """The tables with a column for each block size, width, offset or stride, in TFLOP/s or GB/s."""
    text = []
    rows = [row for row in results.of(family) if row.get("table") and not row["yardstick"] and row["ok"]]
    for title in dict.fromkeys(row["table"] for row in rows):
        of_title = [row for row in rows if row["table"] == title]
        columns = list(dict.fromkeys(row["column"] for row in of_title))
        columns.sort(key=lambda column: float(column) if column.replace(".", "").isdigit() else 0)
        lines = []
        for name in dict.fromkeys(row["variant"] for row in of_title):
            cells = {row["column"]: f"{row['flops_per_second'] / 1e12:.1f}" if by_flops(row) else f"{row['bytes_per_second'] / 1e9:.0f}"
                     for row in of_title if row["variant"] == name}
            lines.append([f"`{name}`"] + [cells.get(column, "") for column in columns])
        text += ["", f"**{title[0].upper()}{title[1:]}**", ""] + markdown([""] + columns, lines)
    return text


def family_table(results, family):
    machine = results.machine
    lines = [f"{machine['name']}, CUDA {machine['cuda']} on a driver for CUDA {machine['driver']}, commit {machine['commit']}, "
             f"`weft bench {family}`; medians. {machine['peak_bytes_per_second'] / 1e12:.2f} TB/s and "
             f"{machine['peak_fp32_flops_per_second'] / 1e12:.1f} TFLOP/s of fp32 were measured in the same run; "
             "\"speed\" is relative to the yardstick named, above 1 is faster.", ""]
    if family in SINGLE:
        lines += single(results, family)
    else:
        for beginning in LADDERS[family]:
            lines += ladder(results, family, beginning) + [""]
        lines.pop()
    return "\n".join(lines + series(results, family))


def has_ladders(results, family):
    """Has this file all that the family's page shows?"""
    return all(results.problems(family, beginning) for beginning in LADDERS.get(family, [""]))


def is_on_a_ladder(row):
    """Is its problem one that its family's page shows?"""
    return row["family"] in SINGLE or any(row["problem"].startswith(beginning) for beginning in LADDERS[row["family"]])


def is_layer(row):
    """One of `weft bench FAMILY:layers`, whose problems begin with a layer's name."""
    return ": " in row["problem"] and row["family"] == "gemm"


def layers_table(results, family):
    """What `automatic` takes for the layers of the built-in networks, by mode, and what the yardstick takes."""
    modes = [("automatic", "fp32"), ("automatic tf32", "tf32")]
    lines, ratios = [], {}
    for problem in dict.fromkeys(row["problem"] for row in results.of(family) if is_layer(row)):
        rows = results.of(family, problem)
        line = [problem]
        for variant, arithmetic in modes:
            own = next((row for row in rows if row["variant"] == variant and row["ok"]), None)
            peer = next((row for row in rows if row["yardstick"] and row["arithmetic"] == arithmetic and row["ok"]), None)
            if own is None or peer is None:
                line += [NOT_MEASURED, "", ""]
                continue
            gain = peer["seconds"] / own["seconds"]
            ratios.setdefault((arithmetic, " forward" in problem), []).append(gain)
            line += [time_of(own["seconds"]), time_of(peer["seconds"]), ratio(gain)]
        lines.append(line)
    for name, wanted in (("geometric mean, forward", [True]), ("geometric mean, all", [True, False])):
        line = [name]
        for _, arithmetic in modes:
            gains = [gain for forward in wanted for gain in ratios.get((arithmetic, forward), [])]
            line += ["", "", ratio(statistics.geometric_mean(gains)) if gains else ""]
        lines.append(line)
    machine = results.machine
    text = [f"{machine['name']}, commit {machine['commit']}, `weft bench {family}:layers`; calls in a CUDA graph, operands in "
            "the L2 cache:", ""]
    return "\n".join(text + markdown(["layer, pass: m x n x k", "fp32", "cuBLAS", "ratio", "tf32", "cuBLAS", "ratio"], lines))


def summary(results):
    """A line for each family: how much was measured, and how the best rung of its first problem does."""
    lines = []
    for family in dict.fromkeys(row["family"] for row in results.catalogue):
        rows = results.of(family)
        own = [row for row in rows if not row["yardstick"]]
        wrong = sum(not row["ok"] for row in own)
        beginning = LADDERS.get(family, [""])[0]
        problems = results.problems(family, beginning)
        text = NOT_MEASURED
        if problems:
            right = [row for row in results.of(family, problems[0]) if row["ok"]]
            best = min((row for row in right if not row["yardstick"]), key=lambda row: row["seconds"], default=None)
            text = f"{problems[0]}: nothing right"
            if best:
                text = (f"{problems[0]}: {best['variant']} {time_of(best['seconds'])}, {rate_of(best)}, "
                        f"{share_of(best)}, {ratio_to_yardstick(results, best, best_yardsticks(right))}")
        lines.append(f"{family:<11} {len(own):4} measured {wrong:3} wrong   {text}")
    return "\n".join(lines)
