#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what host-cuda counts with what a GPU's own counters say, for every rung without tensor cores.

    bench/ncu_counts.py [--weft build/cuda/weft] [--ncu ncu] [--out FILE] [RUNG...]

Needs Nsight Compute (ncu), a GPU whose counters may be read, and a build with both CUDA and host-cuda. Each rung runs
at a small size under ncu, and the same problem under `weft kernel show --counts`. A rung agrees when every number
that both count is within 10 %. Writes bench/results/counts-GPU.json; exits with 1 unless 90 % of the rungs agree and
the rungs of every family stand in the same order by their traffic.
"""
import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys

import machine

# By family: `--size`, small enough for host-cuda. Other families are left out: their problems are not one kernel's.
SIZES = {"activation": "65536", "batch_norm": "4", "conv": "2", "conv_relu_pool": "2", "gemm": "128",
         "histogram": "65536", "image": "128", "memory": "65536", "nbody": "1024", "pool": "2", "reduce": "65536",
         "scan": "16384", "signal": "16384", "softmax": "64"}

# What is compared: the access as host-cuda names it, its number, and ncu's metrics, whose sum it is.
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
COMPARED = {
    "global load requests": ("global load", "requests", [GLOBAL.format("requests", "ld")]),
    "global load sectors": ("global load", "transactions", [GLOBAL.format("sectors", "ld")]),
    "global store requests": ("global store", "requests", [GLOBAL.format("requests", "st")]),
    "global store sectors": ("global store", "transactions", [GLOBAL.format("sectors", "st")]),
    "shared load wavefronts": ("shared load", "transactions", ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]),
    "shared store wavefronts": ("shared store", "transactions",
                                ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"]),
    "global atomics": ("global atomic", "requests", ["smsp__inst_executed_op_global_atom.sum",
                                                     "smsp__inst_executed_op_global_red.sum"]),
    "shared atomics": ("shared atomic", "requests", ["smsp__inst_executed_op_shared_atom.sum"]),
}
# Noted and not judged: nvcc replaces many branches by predicates, which the host compiler cannot know.
NOTED = {"instructions": "smsp__inst_executed.sum", "branches": "smsp__sass_branch_targets.sum",
         "divergent branches": "smsp__sass_branch_targets_threads_divergent.sum"}
TOLERANCE, ENOUGH = 0.10, 0.90


def base_name(kernel):
    """gemm_kernel for "void weft::(anonymous namespace)::gemm_kernel<float, weft::Sum<float> >(float*)"."""
    kernel = kernel.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    return re.split(r"[<(]", kernel)[0].split("::")[-1].split()[-1]


def counts_of_ncu(text):
    """{kernel: {"launches": n, metric: sum}} of `ncu --csv --page raw`. A metric that this GPU lacks is left out."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    found = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        if not row["ID"]:  # the line of units
            continue
        kernel = found.setdefault(base_name(row["Kernel Name"]), {"launches": 0})
        kernel["launches"] += 1
        for metric, value in row.items():
            if metric.endswith(".sum") and value not in ("", "n/a"):
                kernel[metric] = kernel.get(metric, 0) + float(value.replace(",", ""))
    return found


def counts_of_weft(event):
    """{kernel: {"launches": n, number: value}} of the event that `weft kernel show --counts --json` prints."""
    found = {}
    for kernel in event["kernels"]:
        sums = found.setdefault(base_name(kernel["kernel"]), dict.fromkeys(COMPARED, 0) | {"launches": 0})
        sums["launches"] += kernel["launches"]
        for name, (access, number, _) in COMPARED.items():
            sums[name] += sum(line[number] for line in kernel["lines"] if line["access"] == access)
        sums["divergent branches"] = sums.get("divergent branches", 0) + sum(b["divergent"] for b in kernel["branches"])
    return found


def compare(ours, theirs):
    """Numbers of one rung, {name: [host-cuda's, the GPU's]}, and the largest relative difference of those judged.

    The GPU may have run the rung several times: its sums are scaled to the launches that host-cuda has seen.
    """
    numbers = {}
    for kernel, counts in ours.items():
        gpu = theirs.get(kernel)
        if gpu is None:
            raise ValueError(f"ncu has no kernel {kernel}: it found {', '.join(sorted(theirs)) or 'none'}")
        scale = counts["launches"] / gpu["launches"]
        for name, metrics in {n: m for n, (_, _, m) in COMPARED.items()}.items():
            if any(metric in gpu for metric in metrics):
                pair = numbers.setdefault(name, [0, 0])
                pair[0] += counts[name]
                pair[1] += scale * sum(gpu.get(metric, 0) for metric in metrics)
        for name, metric in NOTED.items():
            pair = numbers.setdefault(name, [0, 0])
            pair[0] += counts.get(name, 0)
            pair[1] += scale * gpu.get(metric, 0)
    judged = [numbers[name] for name in COMPARED if name in numbers]
    if not judged:
        raise ValueError("ncu gave none of the metrics")
    worst = max(abs(a - b) / max(a, b) if max(a, b) > 0 else 0 for a, b in judged)
    return numbers, worst


def traffic(numbers, side):
    """Sectors and wavefronts: what orders the rungs of a family."""
    return sum(pair[side] for name, pair in numbers.items() if name.endswith(("sectors", "wavefronts")))


def orders_agree(rungs):
    """Do host-cuda and the GPU order these [numbers, ...] alike? Rungs within the tolerance may change places."""
    for a in rungs:
        for b in rungs:
            first, second = [traffic(a, s) / max(traffic(b, s), 1) for s in (0, 1)]
            if first > 1 + TOLERANCE and second < 1 / (1 + TOLERANCE):
                return False
    return True


def last_event(output):
    return json.loads(output.strip().splitlines()[-1])


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def measure(options, rung, size):
    event = last_event(run([options.weft, "kernel", "show", rung, "--counts", "--json", "--size", size]))
    ours = counts_of_weft(event)
    if not ours:
        return None  # a transfer between host and device
    metrics = [m for _, _, names in COMPARED.values() for m in names] + list(NOTED.values())
    text = run([options.ncu, "--csv", "--page", "raw", "--print-units", "base", "--kernel-name-base", "function",
                "--kernel-name", "regex:^(" + "|".join(sorted(ours)) + ")$", "--metrics", ",".join(metrics),
                options.weft, "kernel", "run", rung, "--device", "cuda", "--size", size, "--iterations", "1", "--json"])
    problems = [json.loads(line).get("problem") for line in text.splitlines() if line.startswith("{")]
    if event["problem"] not in problems:
        raise ValueError(f"host-cuda ran {event['problem']}, the GPU {problems}")
    return (event["problem"], *compare(ours, counts_of_ncu(text)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help="such as scan/brent_kung; all of them by default")
    parser.add_argument("--weft", default="build/cuda/weft")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rungs = {}
    for row in map(json.loads, run([options.weft, "kernel", "list", "--json"]).splitlines()):
        simt = row["on_cuda"] and row["compute_capability"] < 80
        if row["family"] in SIZES and simt and (not options.rungs or row["name"] in options.rungs):
            error = None
            try:
                measured = measure(options, row["name"], SIZES[row["family"]])
                if measured is None:
                    continue
                problem, numbers, worst = measured
                rungs[row["name"]] = {"problem": problem, "agrees": worst <= TOLERANCE, "worst": worst,
                                      "numbers": numbers}
            except (ValueError, subprocess.CalledProcessError) as failure:
                error = (getattr(failure, "stderr", None) or str(failure)).strip().splitlines()[-1]
                rungs[row["name"]] = {"agrees": False, "error": error}
            print(row["name"], error or f"{100 * worst:.1f} % apart at most", flush=True)
    families = {name.split("/")[0] for name in rungs}
    ordered = {family: orders_agree([r["numbers"] for n, r in rungs.items()
                                     if n.startswith(family + "/") and "numbers" in r]) for family in sorted(families)}
    agreeing = sum(rung["agrees"] for rung in rungs.values())
    about = machine.machine()
    gpu = re.sub(r"[^a-z0-9]+", "-", about["gpu"].lower().replace("nvidia ", ""))
    out = options.out or machine.ROOT / "bench" / "results" / f"counts-{gpu}.json"
    out.write_text(json.dumps({"machine": about, "agreeing": agreeing, "of": len(rungs), "same_order": ordered,
                               "rungs": rungs}, indent=1) + "\n")
    print(f"{agreeing} of {len(rungs)} rungs agree within {100 * TOLERANCE:.0f} %; {out}")
    return 0 if rungs and agreeing >= ENOUGH * len(rungs) and all(ordered.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
