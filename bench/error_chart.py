# SPDX-License-Identifier: MIT
"""bench/results/fp32-errors.md and .svg: what `weft bench errors --json FILE` measured (bench/results/errors-*.jsonl)."""
import json
import math

WIDTH, LEFT, RIGHT, TOP, HEIGHT = 860, 70, 250, 56, 340
COLOURS = ["#3b6ea5", "#c77d1e", "#3f8f5b", "#8e4f9e", "#b3261e", "#59636e", "#2a9d8f", "#9c6644"]


def read(path):
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return next(event for event in events if event["event"] == "machine"), [e for e in events if e["event"] == "errors"]


def digits(value):
    return "no number" if value is None else f"{value:.2f}" if value < 100 else f"{value:.3g}"


def page(paths):
    lines = ["# How accurate the products of fp32 are", "",
             "`weft bench errors` makes products whose inputs are uniform in [-1, 1), each times a power of two. The exponents are "
             "uniform over 0 to 40 bits, as the papers on Ozaki's scheme spread them with their phi. A figure is the largest error "
             "of 1024 results, over the sum of the absolute values of their terms, in units of 2^-24: the most by which rounding "
             "to fp32 once is off. The last column says what computes the terms. Yardsticks have names in italics.", ""]
    if not paths:
        return "\n".join(lines + ["Nothing has been measured yet.", ""])
    if any(row["family"] == "gemm" for path in paths for row in read(path)[1]):
        lines += ["![Errors of the matrix products over the spread of exponents](fp32-errors.svg)", ""]
    for path in paths:
        machine, rows = read(path)
        lines += [f"## {machine['name']}", "",
                  f"Commit {machine['commit'] or 'unknown'}, `weft bench errors --device {machine['device'].split(':')[0]}`.", ""]
        for problem in dict.fromkeys((row["family"], row["problem"]) for row in rows):
            of_problem = [row for row in rows if (row["family"], row["problem"]) == problem]
            spreads = of_problem[0]["spreads"]
            lines += [f"**{problem[0]}, {problem[1]}**, by bits of exponents", "",
                      "| | " + " | ".join(f"{spread:g}" for spread in spreads) + " | computes in |", "|---" * (len(spreads) + 2) + "|"]
            for row in of_problem:
                name = f"*{row['variant']}*" if row["yardstick"] else f"`{row['variant']}`"
                cells = [digits(value) for value in row["errors"]] or [row.get("error", "")]
                lines.append(f"| {name} | " + " | ".join(cells + [""] * (len(spreads) - len(cells))) + f" | {row['computes_in']} |")
            lines.append("")
    return "\n".join(lines)


def chart(paths):
    """The lines of gemm on a GPU, or else on host-cuda, the error logarithmic. Rungs with the same errors share a line."""
    order = ("cuda", "host-cuda", "cpu")
    machine, rows = min(map(read, paths), key=lambda one: order.index(one[0]["device"].split(":")[0]))
    lines = {}
    for row in rows:
        if row["family"] == "gemm" and row["errors"] and all(row["errors"]):
            lines.setdefault((tuple(row["errors"]), row["yardstick"]), []).append(row)
    spreads = rows[0]["spreads"]
    values = [value for errors, _ in lines for value in errors]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x(spread):
        return LEFT + (WIDTH - LEFT - RIGHT) * spread / max(spreads)

    def y(value):
        return TOP + HEIGHT * (high - math.log10(value)) / (high - low)

    def text(at_x, at_y, words, size=12, anchor="start", colour="#1f2328"):
        return f'<text x="{at_x:.1f}" y="{at_y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {TOP + HEIGHT + 60}" font-family="Helvetica, Arial, '
             'sans-serif" role="img" aria-label="Errors of matrix products over the spread of exponents">',
             f'<rect width="{WIDTH}" height="{TOP + HEIGHT + 60}" rx="8" fill="#ffffff"/>',
             text(20, 30, f"Largest error of a matrix product, in 2^-24 of its terms", 16),
             text(20, 48, machine["name"], 12, colour="#59636e")]
    for exponent in range(low, high + 1):
        at = y(10.0 ** exponent)
        parts += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#d0d7de"/>',
                  text(LEFT - 8, at + 4, f"{10.0 ** exponent:g}", anchor="end")]
    for spread in spreads:
        parts.append(text(x(spread), TOP + HEIGHT + 18, f"{spread:g}", anchor="middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, TOP + HEIGHT + 40, "bits over which the exponents are spread", anchor="middle"))
    for i, ((errors, yardstick), of_line) in enumerate(sorted(lines.items(), key=lambda line: -line[0][0][-1])):
        colour = COLOURS[i % len(COLOURS)]
        points = " ".join(f"{x(spread):.1f},{y(value):.1f}" for spread, value in zip(spreads, errors))
        dashes = ' stroke-dasharray="6 4"' if yardstick else ""
        names = ", ".join(row["variant"] for row in of_line)
        parts += [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>',
                  text(WIDTH - RIGHT + 14, TOP + 14 + 17 * i, names if len(names) < 38 else f"{names[:34]} ...", 11.5, colour=colour)]
    return "\n".join(parts + ["</svg>"]) + "\n"
