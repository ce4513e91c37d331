#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what host-cuda counts with what a GPU's own counters say, for every rung that host-cuda runs.

    bench/ncu_counts.py --count --counts FILE [--weft build/cpu/weft] [RUNG...]   on any machine with host-cuda
    bench/ncu_counts.py --counts FILE [--weft build/cuda/weft] [--out FILE] [RUNG...]   on a GPU, with Nsight Compute

The first command runs each rung at a small size on host-cuda, as if the device had --multiprocessors (132, those of an
H100 or H200), and keeps its counts in FILE. The second runs the same problems under ncu. A rung agrees when every
number that both count is within 10 %. The second writes bench/results/counts-GPU.json after every rung; it exits with
1 unless 90 % of the rungs agree and the rungs of every family stand in the same order by their traffic.
"""
import argparse
import concurrent.futures
import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import machine

# By family: `--size`, small enough for host-cuda; "": the family has one size. Other families are left out: their
# problems are not one kernel's.
SIZES = {"activation": "65536", "batch": "32", "batch_norm": "4", "conv": "2", "conv_relu_pool": "2",
         "divergence": "65536", "dropout": "16384", "gemm": "128", "histogram": "65536", "image": "128", "loss": "8",
         "memory": "65536", "nbody": "1024", "optimizer": "65536", "pool": "2", "reduce": "65536", "scan": "16384",
         "signal": "16384", "softmax": "64", "transpose": "128"}

# What is compared: the access as host-cuda names it, its number, and lists of ncu's metrics. The sum of a list counts
# for the GPU: of the first list of which this GPU has every metric. cp.async is "ldgsts", ldmatrix is "ldsm".
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}"
WAVEFRONTS = ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}",
              "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}")
COMPARED = {
    "global load requests": ("global load", "requests", [[GLOBAL.format("requests", "ld")]]),
    "global load sectors": ("global load", "transactions", [[GLOBAL.format("sectors", "ld")]]),
    "global store requests": ("global store", "requests", [[GLOBAL.format("requests", "st")]]),
    "global store sectors": ("global store", "transactions", [[GLOBAL.format("sectors", "st")]]),
    "shared load wavefronts": ("shared load", "transactions", [[WAVEFRONTS[0].format(op) for op in ("ld", "ldsm")],
                                                               [WAVEFRONTS[1].format("ld")]]),
    "shared store wavefronts": ("shared store", "transactions", [[WAVEFRONTS[0].format(op) for op in ("st", "ldgsts")],
                                                                 [WAVEFRONTS[1].format("st")]]),
    "global atomics": ("global atomic", "requests",
                       [[f"smsp__{sass}inst_executed_op_global_{op}" for op in ("atom", "red")]
                        for sass in ("sass_", "")]),
    "shared atomics": ("shared atomic", "requests", [["smsp__inst_executed_op_shared_atom"]]),
}
# Noted and not judged: nvcc replaces many branches by predicates, which the host compiler cannot know.
NOTED = {"instructions": "smsp__inst_executed", "branches": "smsp__sass_branch_targets",
         "divergent branches": "smsp__sass_branch_targets_threads_divergent",
         "requests of global atomics": GLOBAL.format("requests", "atom"),
         "requests of global reductions": GLOBAL.format("requests", "red"),
         "requests of cp.async": "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts",
         "wavefronts of cp.async": WAVEFRONTS[0].format("ldgsts"),
         "shared load instructions": "smsp__inst_executed_op_shared_ld",
         "shared store instructions": "smsp__inst_executed_op_shared_st"}
TOLERANCE, ENOUGH = 0.10, 0.90
COUNT_SECONDS, NCU_SECONDS = 240, 60  # for one rung


def base_name(kernel):
    """gemm_kernel for "void weft::(anonymous namespace)::gemm_kernel<float, weft::Sum<float> >(float*)"."""
    kernel = re.sub(r"(?<=\w)<unnamed>::", "<", kernel)  # ncu's "kernel<unnamed>::Argument>"
    kernel = kernel.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    return re.split(r"[<(]", kernel)[0].split("::")[-1].split()[-1]


def metrics_of(names, text):
    """{name: metrics} of COMPARED and NOTED that this GPU has, by the output of `ncu --query-metrics`."""
    known = {line.split()[0] for line in text.splitlines() if line.strip()}
    lists = {name: names_of for name, (_, _, names_of) in COMPARED.items()}
    lists |= {name: [[metric]] for name, metric in NOTED.items()}
    found = {name: next((one for one in lists[name] if known.issuperset(one)), []) for name in names}
    return {name: metrics for name, metrics in found.items() if metrics}


def counts_of_ncu(text):
    """{kernel: {"launches": n, metric: sum}} of `ncu --csv --page raw`."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    found = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        if not row["ID"]:  # the line of units
            continue
        kernel = found.setdefault(base_name(row["Kernel Name"]), {"launches": 0})
        kernel["launches"] += 1
        for metric, value in row.items():
            if metric.endswith(".sum") and value not in ("", "n/a"):
                name = metric.removesuffix(".sum")
                kernel[name] = kernel.get(name, 0) + float(value.replace(",", ""))
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


def compare(ours, theirs, metrics):
    """Numbers of one rung, {name: [host-cuda's, the GPU's]}, and the largest relative difference of those judged.

    The GPU may have run the rung several times: its sums are scaled to the launches that host-cuda has seen.
    """
    numbers = {name: [0, 0] for name in metrics}
    for kernel, counts in ours.items():
        gpu = theirs.get(kernel)
        if gpu is None:
            raise ValueError(f"ncu has no kernel {kernel}: it found {', '.join(sorted(theirs)) or 'none'}")
        scale = counts["launches"] / gpu["launches"]
        for name, summands in metrics.items():
            numbers[name][0] += counts.get(name, 0)
            numbers[name][1] += scale * sum(gpu[metric] for metric in summands)
    judged = [numbers[name] for name in COMPARED if name in numbers]
    if not judged:
        raise ValueError("ncu has none of the metrics")
    return numbers, max(abs(a - b) / max(a, b) if max(a, b) > 0 else 0 for a, b in judged)


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


def run(command, seconds, **environment):
    """What the command printed. It and what it started are stopped after that time."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env=os.environ | environment)
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise ValueError(f"{command[0]} took more than {seconds} s") from None
    if process.returncode != 0:
        lines = (errors.strip() or output.strip() or f"exit code {process.returncode}").splitlines()
        raise ValueError(next((line for line in lines if "ERROR" in line), lines[-1]))
    return output


def rungs_of(options):
    rows = map(json.loads, run([options.weft, "kernel", "list", "--json"], COUNT_SECONDS).splitlines())
    return [row["name"] for row in rows if row["family"] in SIZES and row["on_cuda"] and
            row["compute_capability"] <= 80 and (not options.rungs or row["name"] in options.rungs)]


def count(options):
    """Keeps the counts of host-cuda in a file: {rung: {"problem": text, "kernels": {...}}}, or {"error": text}."""
    def one(rung):
        try:
            event = last_event(run([options.weft, "kernel", "show", rung, "--counts", "--json", "--size",
                                    SIZES[rung.split("/")[0]]], COUNT_SECONDS, WEFT_HOST_CUDA_SCHEDULES="1",
                                   OMP_NUM_THREADS="1", WEFT_HOST_CUDA_MULTIPROCESSORS=str(options.multiprocessors)))
            return {"problem": event["problem"], "kernels": counts_of_weft(event)}
        except ValueError as failure:
            return {"error": str(failure)}

    names = rungs_of(options)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = dict(zip(names, pool.map(one, names)))
    write(options.counts, {"machine": machine.machine(), "multiprocessors": options.multiprocessors, "rungs": counted})
    for name, counts in counted.items():
        if "error" in counts:
            print(f"{name}: {counts['error']}")
    print(f"{sum('error' not in counts for counts in counted.values())} of {len(counted)} rungs counted")
    return 0


def write(path, content):
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1) + "\n")
    part.replace(path)


def measure(options, rung, counted, metrics):
    """Runs the rung once under ncu; clocks and caches stay as they are, since only counts are read."""
    if "error" in counted:
        raise ValueError("host-cuda: " + counted["error"])
    ours = counted["kernels"]
    command = [options.ncu, "--csv", "--page", "raw", "--print-units", "base", "--kernel-name-base", "function",
               "--clock-control", "none", "--cache-control", "none", "--launch-count",
               str(sum(kernel["launches"] for kernel in ours.values())),
               "--kernel-name", "regex:^(" + "|".join(sorted(ours)) + ")$",
               "--metrics", ",".join(metric + ".sum" for summands in metrics.values() for metric in summands),
               options.weft, "kernel", "run", rung, "--device", "cuda", "--size", SIZES[rung.split("/")[0]],
               "--iterations", "1", "--json"]
    text = run(command, NCU_SECONDS)
    problems = [json.loads(line).get("problem") for line in text.splitlines() if line.startswith("{")]
    if counted["problem"] not in problems:
        raise ValueError(f"host-cuda ran {counted['problem']}, the GPU {problems}")
    numbers, worst = compare(ours, counts_of_ncu(text), metrics)
    return {"problem": counted["problem"], "agrees": worst <= TOLERANCE, "worst": worst, "numbers": numbers}


def judge(options):
    """Runs every counted rung on the GPU."""
    counted = json.loads(options.counts.read_text())
    metrics = metrics_of([*COMPARED, *NOTED], run([options.ncu, "--query-metrics"], NCU_SECONDS))
    about = machine.machine()
    gpu = re.sub(r"[^a-z0-9]+", "-", about["gpu"].lower().replace("nvidia ", ""))
    out = options.out or machine.ROOT / "bench" / "results" / f"counts-{gpu}.json"
    rungs, same_order = {}, {}
    for name in rungs_of(options):
        if counted["rungs"].get(name, {}).get("kernels") == {}:
            continue  # a transfer between host and device
        try:
            rungs[name] = measure(options, name, counted["rungs"].get(name, {"error": "not counted"}), metrics)
            print(f"{name}: {100 * rungs[name]['worst']:.1f} % apart at most", flush=True)
        except (ValueError, KeyError) as failure:
            rungs[name] = {"agrees": False, "error": str(failure)}
            print(f"{name}: {failure}", flush=True)
        for family in {rung.split("/")[0] for rung in rungs}:
            same_order[family] = orders_agree([r["numbers"] for n, r in rungs.items()
                                               if n.startswith(family + "/") and "numbers" in r])
        agreeing = sum(rung["agrees"] for rung in rungs.values())
        write(out, {"machine": about, "multiprocessors": counted["multiprocessors"], "metrics": metrics,
                    "agreeing": agreeing, "of": len(rungs), "same_order": same_order, "rungs": rungs})
    if not rungs:
        print("no rung was compared")
        return 1
    print(f"{agreeing} of {len(rungs)} rungs agree within {100 * TOLERANCE:.0f} %; {out}")
    print("ordered otherwise: " + (", ".join(f for f, same in same_order.items() if not same) or "no family"))
    return 0 if agreeing >= ENOUGH * len(rungs) and all(same_order.values()) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help="such as scan/brent_kung; all of them by default")
    parser.add_argument("--count", action="store_true", help="count on host-cuda into --counts")
    parser.add_argument("--counts", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--multiprocessors", type=int, default=132)
    parser.add_argument("--weft", default="build/cuda/weft")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    return count(options) if options.count else judge(options)


if __name__ == "__main__":
    sys.exit(main())
