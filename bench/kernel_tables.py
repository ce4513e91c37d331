# SPDX-License-Identifier: MIT
"""Tables of measured kernels, from the file that `weft bench all --json` wrote.

Rungs come in the order of the catalogue, as `weft kernel list --json` gives it. A rung that the file
does not have is shown as not measured rather than left out. `readme_table` is the short table of a
family's README, `full_page` is everything that was measured of the family.
"""
import json
import re
import statistics

import compare
import gpu_state

# The problems whose ladder the page of a family shows, by the beginnings of their names.
LADDERS = {
    "gemm": ["4096 x 4096 x 4096", "256 x 512 x 784"],
    "reduce": ["sum of 268435456 floats", "sum of 1048576 floats"],
    "scan": ["268435456 floats", "1048576 floats"],
    "histogram": ["16777216 bytes, uniform", "1073741824 bytes, uniform", "268435456 floats"],
    "nbody": ["262144 bodies", "16384 bodies"],
    "conv": ["forward 64 x 64 x 56 x 56", "backward data 64 x 64 x 56 x 56", "backward weights 64 x 64 x 56 x 56",
             "forward 256 x 1 x 28 x 28"],
    "conv_relu_pool": [f"with ReLU and max pooling, {a_pass} 1024 x 32 x 26 x 26"
                       for a_pass in ("forward", "backward data", "backward weights")] +
                      ["with ReLU and max pooling behind a stem"],
    "signal": ["1-D", "2-D", "3-D"],
    "softmax": ["65536 rows of 1000", "8192 rows of 32000"],
    "image": ["RGB to grey", "box blur of 4096 x 4096, window 5 x 5", "box blur of 4096 x 4096, window 17 x 17"],
    "memory": ["vector add", "copy of 1048576 rows of 33", "transfer"],
    "divergence": ["33554432 words, 256 rounds", "33554432 words, 1 round"],
    "transpose": ["8192 x 8192", "8191 x 8193"],
    "fused_cnn": ["64 steps of lenet5, 64 images", "64 steps of lenet5, 256 images", "64 steps of lenet5, 1024 images",
                  "forward of lenet5"],
    "fused_mlp": ["16 steps of mlp, 256 images", "16 steps of mlp, 1024 images"],
}
# Families of few rungs: a line for each problem instead.
SINGLE = ["pool", "activation", "batch_norm", "dropout", "loss", "batch", "optimizer", "all_reduce"]
# Rungs that a problem is for, where it is not for all of the family.
OPERATIONS = {
    "conv_relu_pool": {"with ReLU and max pooling behind": r"wgmma"},
    "histogram": {"268435456 floats": r"(?!lane_private)"},
    "softmax": {"8192 rows": r"(?!(warp|block)_per_row)"},
    "image": {"RGB": r"rgb_to_grey_", "box": r"box_blur_"},
    "memory": {"vector": r"vector_add", "copy of 1048576 rows": r".*_rows$", "transfer": r".*_transfer$"},
    "fused_cnn": {"64 steps": r"(?!resident_weights)", "forward": r"resident_weights"},
    "signal": {"1-D": r"(?!tiled$)", "2-D": r"(naive|constant_memory|tiled)$", "3-D": r"(naive|constant_memory|tiled)$"},
}
# Families that do not lie in a folder of their name.
FOLDERS = {"fused_cnn": "networks/cnn", "fused_mlp": "networks/mlp"}
# Families whose tables by offset or stride are what their README is about.
SERIES_IN_README = ["memory"]
NOT_MEASURED = "not measured"


def own_family(row):
    """Results that were measured before convolution with ReLU and pooling was a family name it conv, and its rungs after
    the mode that was asked for. Under kernels of 3 x 3 these rungs ran."""
    if row["family"] == "conv" and row["problem"].startswith("with ReLU and max pooling"):
        row["family"] = "conv_relu_pool"
        if " 3x3" in row["problem"]:
            rungs = {"fused_relu_pool": "staged_images", "fused_relu_pool_tf32": "wgmma", "fused_relu_pool_bf16": "wgmma_bf16"}
            row["variant"] = rungs.get(row["variant"], row["variant"])
    return row


class Results:
    def __init__(self, path, catalogue):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        self.machine = next(event for event in events if event["event"] == "machine")
        self.rows = [own_family(event) for event in events if event["event"] == "measurement"]
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


def accuracy_of(row):
    """What a caller asks for to get this arithmetic: three products of parts are as accurate as fp32."""
    return "fp32" if row["arithmetic"] in ("tf32x3", "fp16x3") else row["arithmetic"]


def by_flops(row):
    return row["family"] in ("gemm", "conv", "conv_relu_pool", "nbody")


def rate_of(row):
    value, unit = (row["flops_per_second"], "FLOP/s") if by_flops(row) else (row["bytes_per_second"], "B/s")
    prefix, scale = ("T", 1e12) if value >= 1e12 else ("G", 1e9)
    return f"{digits(value / scale)} {prefix}{unit}"


def share_of_bound(row):
    """None where no bound is known. What is faster than a bound shows that it is none: cuDNN multiplies less often than
    the formula (Winograd), or the ceiling was measured too low."""
    share = row.get("share_of_bound")
    return share if share is not None and share <= 1 else None


def share_of(row):
    share = share_of_bound(row)
    return "" if share is None else f"{100 * share:.1f} %"


def usage_of(row):
    """Registers, shared memory and occupancy of the heaviest kernel of one call: it has the most shared memory, or else
    the most registers."""
    kernels = row.get("kernels")
    if not kernels:
        return ""
    heaviest = max(kernels, key=lambda k: (k["shared_bytes"], k["registers"]))
    return (f"{heaviest['registers']} registers, {heaviest['shared_bytes'] / 1024:.3g} KiB; "
            f"{100 * heaviest['occupancy']:.0f} % ({heaviest['limited_by']})")


def markdown(header, lines):
    """Columns without an entry are left out."""
    filled = [i for i in range(len(header)) if any(line[i] for line in lines)]
    header, *lines = [[line[i] for i in filled] for line in [header, *lines]]
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + ["| " + " | ".join(line) + " |" for line in lines]


def ratio(value):
    return f"{value:.2f} x" if value >= 0.1 else f"{value:.2g} x"


def best_yardsticks(rows):
    """The fastest right yardstick for each accuracy."""
    best = {}
    for row in rows:
        if row["yardstick"] and row["ok"]:
            if accuracy_of(row) not in best or row["seconds"] < best[accuracy_of(row)]["seconds"]:
                best[accuracy_of(row)] = row
    return best


def ratio_between(yardstick, row):
    """How many times as fast as the yardstick. "1.0" where the interval of their turns contains 1."""
    if len(row.get("turns", [])) == len(yardstick.get("turns", [])) > 0:
        ratios = [peer / own for peer, own in zip(yardstick["turns"], row["turns"])]
        low, high = compare.interval_of(ratios)
        return "1.0" if low <= 1 <= high else f"{statistics.median(ratios):.2f}"
    return f"{yardstick['seconds'] / row['seconds']:.2f}"


def ratio_to_yardstick(results, row, yardsticks):
    yardstick = yardsticks.get(accuracy_of(row))
    if yardstick is not None:
        close = ratio_between(yardstick, row)
        text = "1.0 x" if close == "1.0" else ratio(yardstick["seconds"] / row["seconds"])
        return f"{text} {yardstick['variant']}"
    if not by_flops(row) and row.get("share_of_bound") is not None:
        return f"{ratio(row['bytes_per_second'] / results.machine['copy_bytes_per_second'])} a device copy"
    return ""


class Ladder:
    """What was measured of one problem: `rungs` by name, `own` the row of each, and the yardsticks."""

    def __init__(self, results, family, beginning):
        problems = results.problems(family, beginning)
        # Products of one shape are one ladder, however the matrices are stored.
        stored = ", bfloat16"
        same = [p for p in problems if p.removesuffix(stored) == problems[0].removesuffix(stored)]
        self.title = problems[0] if problems else beginning
        self.rows = [row for problem in same for row in results.of(family, problem)]
        self.own = {row["variant"]: row for row in self.rows if not row["yardstick"]}
        in_catalogue = results.rungs(family, beginning)
        self.rungs = in_catalogue + [name for name in self.own if name not in in_catalogue]
        if sum(name in self.own for name in in_catalogue) == 1:
            self.rungs = [name for name in self.rungs if name in self.own]  # a problem that only one rung is for
        self.yardsticks = best_yardsticks(self.rows)

    def measured(self, name):
        return name in self.own and "error" not in self.own[name]

    def gain(self, name):
        """(how many times as fast as the measured rung before it that is as accurate, its name), or None. All pages and
        the program have it from here."""
        before = [rung for rung in self.rungs[:self.rungs.index(name)] if self.measured(rung)
                  and accuracy_of(self.own[rung]) == accuracy_of(self.own[name])]
        return (self.own[before[-1]]["seconds"] / self.own[name]["seconds"], before[-1]) if before else None

    def gain_text(self, name):
        gain = self.gain(name)
        return f"{gain[0]:.2f} x" if gain else ""


def ladder(results, family, beginning):
    """All that is known of one problem."""
    one = Ladder(results, family, beginning)
    if not one.rows:
        return [f"**{beginning}**: {NOT_MEASURED}."]
    lines = []
    for name in one.rungs:
        row = one.own.get(name)
        if not one.measured(name):
            lines.append([f"`{name}`", NOT_MEASURED if row is None else row["error"]] + [""] * 5)
            continue
        lines.append([f"`{name}`", time_of(row["seconds"]), rate_of(row), share_of(row), one.gain_text(name),
                      ratio_to_yardstick(results, row, one.yardsticks) if row["ok"] else "WRONG", usage_of(row)])
    for row in one.rows:
        if row["yardstick"]:
            lines.append([row["variant"], time_of(row["seconds"]) if "seconds" in row else row["error"],
                          rate_of(row) if "seconds" in row else "", share_of(row), "",
                          "" if row["ok"] else "outside the error bound", ""])
    return [f"**{one.title}**", ""] + markdown(
        ["rung", "time", "rate", "of bound", "gain", "speed", "resources; occupancy (limit)"], lines)


def limit_of(row):
    """Occupancy and what limits it, of the heaviest kernel of one call."""
    return usage_of(row).partition("; ")[2]


def short(title):
    return title.removeprefix("with ReLU and max pooling, ")


def short_ladders(results, family):
    """One table for all problems that have the same rungs: much of the first, time and gain of the others."""
    ladders = [Ladder(results, family, beginning) for beginning in LADDERS[family]]
    groups = {}
    for one in ladders:
        groups.setdefault(tuple(name for name in one.rungs if name in results.rungs(family, "")), []).append(one)
    text = []
    for group in groups.values():
        first, *others = group
        lines = []
        for name in dict.fromkeys(name for one in group for name in one.rungs):
            row, line = first.own.get(name), [f"`{name}`"]
            if first.measured(name):
                line += [time_of(row["seconds"]), first.gain_text(name), rate_of(row), share_of(row),
                         ratio_to_yardstick(results, row, first.yardsticks) if row["ok"] else "WRONG", limit_of(row)]
            else:
                line += ["not taken" if any(one.measured(name) for one in group) else NOT_MEASURED] + [""] * 5
            for one in others:
                if one.measured(name):
                    gain = one.gain_text(name)
                    line.append(time_of(one.own[name]["seconds"]) + (f" ({gain})" if gain else ""))
                else:
                    line.append("")
            lines.append(line)
        for arithmetic in dict.fromkeys(a for one in group for a in one.yardsticks):
            found = [one.yardsticks.get(arithmetic) for one in group]
            row = found[0]
            name = next(one["variant"] for one in found if one)
            lines.append([f"*{name}*"] + ([time_of(row["seconds"]), "", rate_of(row), share_of(row), "", ""] if row else [""] * 6)
                         + [time_of(one["seconds"]) if one else "" for one in found[1:]])
        text += markdown(["rung", short(first.title), "gain", "rate", "of bound", "beside the yardstick", "occupancy (limit)"]
                         + [short(one.title) for one in others], lines) + [""]
    return text


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


NEVER = "This family has not been measured on a GPU yet."


def measured_on(results, family):
    if not results.of(family):
        return NEVER
    machine = results.machine
    bench = next((row["benched_as"] for row in results.of(family) if "benched_as" in row), family)
    return (f"{machine['name']}, CUDA {machine['cuda']} on a driver for CUDA {machine['driver']}, commit {machine['commit']}, "
            f"`weft bench {bench}`; medians{gpu_state.text_of(row.get('gpu') for row in results.of(family))}. "
            f"{machine['peak_bytes_per_second'] / 1e12:.2f} TB/s and "
            f"{machine['peak_fp32_flops_per_second'] / 1e12:.1f} TFLOP/s of fp32 were measured in the same run.")


def readme_table(results, family):
    if not results.of(family):
        return NEVER
    if family in SINGLE:
        return "\n".join([measured_on(results, family), ""] + single(results, family))
    more = series(results, family) if family in SERIES_IN_README else []
    where = "../" * (2 + FOLDERS.get(family, "").count("/")) + f"bench/results/{family}.md"
    lines = [measured_on(results, family) + " \"Gain\" is the speed relative to the rung before of the same accuracy. "
             f"[{family}.md]({where}) has every measurement.", ""] + short_ladders(results, family)
    return "\n".join(lines[:-1] + more)


def full_page(results, family, every, layers):
    """A page of bench/results: each ladder with its resources, the series, every problem, the layers of networks."""
    lines = [f"# {family}: everything that was measured", "", "Written by bench/update_readme.py. " + measured_on(results, family)
             + " \"Speed\" is relative to the yardstick named, above 1 is faster; \"gain\" is relative to the rung before of "
             "the same accuracy.", ""]
    for beginning in LADDERS[family]:
        lines += ladder(results, family, beginning) + [""]
    lines = lines[:-1] + series(results, family)
    if every:
        lines += ["", "Every problem beside the vendor's library:", "", every]
    return "\n".join(lines + (["", layers] if layers else [])) + "\n"


def has_ladders(results, family):
    """Has this file all ladders of the family's page?"""
    return all(results.problems(family, beginning) for beginning in LADDERS.get(family, [""]))


def shown(results, family):
    """The results that the family's pages show: the newest that have all its ladders, or else the oldest."""
    return next((one for one in results if has_ladders(one, family)), results[-1])


def is_on_a_ladder(row):
    """Is its problem one that its family's page shows?"""
    return row["family"] in SINGLE or any(row["problem"].startswith(beginning) for beginning in LADDERS[row["family"]])


def is_layer(row):
    """One of `weft bench FAMILY:layers`, whose problems begin with a layer's name."""
    return ": " in row["problem"] and row["family"] == "gemm"


def layers_table(results, family):
    """What `automatic` takes for the layers of the built-in networks, by mode, and what the fastest yardstick takes."""
    modes = [("automatic", "fp32"), ("automatic tf32", "tf32")]
    lines, ratios = [], {}
    for problem in dict.fromkeys(row["problem"] for row in results.of(family) if is_layer(row)):
        rows = results.of(family, problem)
        line = [problem]
        for variant, arithmetic in modes:
            own = next((row for row in rows if row["variant"] == variant and row["ok"]), None)
            peer = min((row for row in rows if row["yardstick"] and row["arithmetic"] == arithmetic and row["ok"]),
                       key=lambda row: row["seconds"], default=None)
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
            "the L2 cache, beside the fastest algorithm of cuBLAS. Masks and row sums are in its time: in its epilogue, or by a kernel of Weft's "
            "behind it, whichever is faster:", ""]
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
