# SPDX-License-Identifier: MIT
"""measure/measured_rungs.inc: a line for each rung and GPU, for `weft kernel show` and `watch`, which have no results beside
them. The first line of a rung is what its family's README shows, from the same function.

The problem of a rung is the first of its family's ladders that it was measured on, or the one with the most work.
"""
import kernel_tables


def gpu_of(machine):
    """The name of measure/machine/gpus.cpp: "h100" of "NVIDIA H100 80GB HBM3"."""
    return machine["name"].split()[1].lower() + ("-pcie" if "PCIe" in machine["name"] else "")


def ladder_of(one, family, name):
    """The ladder of the rung's problem, or None where the rung was not measured."""
    ladders = [kernel_tables.Ladder(one, family, beginning) for beginning in kernel_tables.LADDERS.get(family, [])]
    found = [ladder for ladder in ladders if ladder.measured(name) and ladder.own[name]["ok"]]
    if found:
        return found[0]
    rows = [row for row in one.of(family) if row["variant"] == name and row["ok"] and not row["yardstick"]
            and not row.get("table") and not kernel_tables.is_layer(row)]
    return kernel_tables.Ladder(one, family, max(rows, key=lambda row: row["bytes"])["problem"]) if rows else None


def line_of(one, family, name):
    ladder = ladder_of(one, family, name)
    if ladder is None:
        return None
    row = ladder.own[name]
    kernels = row.get("kernels") or []
    heaviest = max(kernels, key=lambda k: (k["shared_bytes"], k["registers"])) if kernels else None
    threads = heaviest["block"][0] * heaviest["block"][1] * heaviest["block"][2] if heaviest else 0
    usage = [f'"{heaviest["kernel"].split("<")[0]}"', threads, heaviest["registers"], heaviest["shared_bytes"]] if heaviest \
        else ['""', 0, 0, 0]
    gain, before = ladder.gain(name) or (0, "")
    return ", ".join(str(field) for field in [
        f'"{family}"', f'"{name}"', f'"{row["problem"]}"', f'"{gpu_of(one.machine)}"', f'"{one.machine["commit"]}"',
        f'{row["seconds"]:.4g}', f'"{kernel_tables.rate_of(row)}"', f"{kernel_tables.share_of_bound(row) or 0:.3g}",
        f"{gain:.2f}", f'"{before}"', *usage])


def table(results, catalogue):
    lines = []
    for rung in (rung for rung in catalogue if rung["on_cuda"]):
        first = kernel_tables.shown(results, rung["family"])
        for one in [first, *(one for one in results if one is not first)]:
            lines.append(line_of(one, rung["family"], rung["variant"]))
    return ("// Written by bench/update_readme.py from bench/results.\n// clang-format off\n"
            + "".join(f"{{{line}}},\n" for line in lines if line))
