# SPDX-License-Identifier: MIT
"""measure/measured_h200.inc: one line for each rung, for `weft kernel show`, which has no results beside it.

The problem of a rung is the first of its family's ladders that it was measured on, or the one with the most work.
"""
import kernel_tables


def problem_of(results, family, name):
    """The row of the rung to show, from the newest file that has one."""
    for beginning in kernel_tables.LADDERS.get(family, []) + [""]:
        for one in results:
            rows = [row for row in one.of(family) if row["variant"] == name and row["ok"] and not row["yardstick"]
                    and row["problem"].startswith(beginning) and not kernel_tables.is_layer(row)]
            if rows and beginning:  # the plain problem, not one with "B^T" behind it
                return one, min(rows, key=lambda row: len(row["problem"]))
            if rows:
                return one, max(rows, key=lambda row: row["bytes"])
    return None


def line_of(results, rung):
    found = problem_of(results, rung["family"], rung["variant"])
    if found is None:
        return None
    one, row = found
    kernels = row.get("kernels") or []
    heaviest = max(kernels, key=lambda k: (k["shared_bytes"], k["registers"])) if kernels else None
    threads = heaviest["block"][0] * heaviest["block"][1] * heaviest["block"][2] if heaviest else 0
    usage = [f'"{heaviest["kernel"].split("<")[0]}"', threads, heaviest["registers"], heaviest["shared_bytes"]] if heaviest \
        else ['""', 0, 0, 0]
    share = row.get("share_of_bound") or 0
    return ", ".join(str(field) for field in [
        f'"{rung["family"]}"', f'"{rung["variant"]}"', f'"{row["problem"]}"', f'"{one.machine["commit"]}"',
        f'{row["seconds"]:.4g}', f'"{kernel_tables.rate_of(row)}"', f"{share:.3g}", *usage])


def table(results, catalogue):
    lines = [line_of(results, rung) for rung in catalogue if rung["on_cuda"]]
    return ("// Written by bench/update_readme.py from bench/results.\n// clang-format off\n"
            + "".join(f"{{{line}}},\n" for line in lines if line))
