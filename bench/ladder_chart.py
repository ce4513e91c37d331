# SPDX-License-Identifier: MIT
"""The picture of a ladder, such as README.md's of GEMM. A bar is the speed relative to the yardstick, which is the line."""
import kernel_tables

PROBLEM = "4096 x 4096 x 4096"
# By accuracy: the title of the group, the colour of its bars, and what the yardstick computes in.
GROUPS = [("As accurate as fp32", "#3b6ea5", "fp32"), ("Operands rounded to tf32", "#c77d1e", "tf32"),
          ("Matrices of bf16", "#3f8f5b", "bf16")]
LEFT, RIGHT, WIDTH, ROW, TITLE, TOP = 220, 110, 860, 19, 28, 78
LINE = "#b3261e"


def text(x, y, words, size=12, colour="#1f2328", anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{words}</text>')


def groups_of(ladder):
    """(title, colour, rows in reading order, yardstick) of each group that has one."""
    for title, colour, arithmetic in GROUPS:
        rows = [ladder.own[name] for name in ladder.rungs if ladder.measured(name) and ladder.own[name]["ok"]
                and kernel_tables.accuracy_of(ladder.own[name]) == arithmetic]
        if rows and arithmetic in ladder.yardsticks:
            yield title, colour, rows, ladder.yardsticks[arithmetic]


def chart(results, family="gemm", beginning=PROBLEM):
    """"" where nothing was measured beside a yardstick."""
    ladder = kernel_tables.Ladder(results, family, beginning)
    groups = list(groups_of(ladder))
    if not groups:
        return ""
    names = list(dict.fromkeys(peer["variant"].split(" ")[0].rstrip(",") for *_, peer in groups))
    most = max(peer["seconds"] / row["seconds"] for _, _, rows, peer in groups for row in rows)
    height = TOP + sum(TITLE + ROW * len(rows) for _, _, rows, _ in groups) + 40

    def place(ratio):
        return LEFT + (WIDTH - LEFT - RIGHT) * ratio / most

    machine = results.machine
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
             'font-family="Helvetica, Arial, sans-serif" role="img" '
             f'aria-label="The speed of each rung of {family}, relative to {" and ".join(names)}">',
             f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
             text(20, 30, f"The ladder of {family}: {ladder.title}", 17, weight="bold"),
             text(20, 50, f"Speed relative to {' and '.join(names)} at the same accuracy, on an {machine['name']}", 12.5, "#59636e"),
             text(place(1), TOP, " and ".join(names), 12.5, LINE, "middle", "bold")]
    y = TOP
    for title, colour, rows, peer in groups:
        parts.append(text(LEFT, y + 20, f"{title} ({peer['variant']}: {kernel_tables.rate_of(peer)})", 12.5, colour, weight="bold"))
        y += TITLE
        for row in rows:
            parts.append(text(LEFT - 8, y + 13.5, row["variant"], anchor="end"))
            width = place(peer["seconds"] / row["seconds"]) - LEFT
            parts.append(f'<rect x="{LEFT}" y="{y + 3}" width="{width:.1f}" height="{ROW - 5}" fill="{colour}"/>')
            parts.append(text(WIDTH - 20, y + 13.5, kernel_tables.rate_of(row), anchor="end"))
            y += ROW
    parts.append(f'<line x1="{place(1):.1f}" y1="{TOP + 6}" x2="{place(1):.1f}" y2="{y + 4}" stroke="{LINE}" stroke-width="1.8"/>')
    parts.append(text(20, height - 14, f"weft bench {family} at commit {machine['commit']}, CUDA {machine['cuda']}; medians. "
                      "Drawn from bench/results by bench/ladder_chart.py.", 11, "#59636e"))
    return "\n".join(parts + ["</svg>"]) + "\n"
