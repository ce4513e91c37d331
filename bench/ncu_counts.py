#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what host-cuda counts with what a GPU's own counters say, for every rung that host-cuda runs.

    bench/ncu_counts.py --count --counts FILE [--weft build/cpu/weft] [RUNG...]      with host-cuda, on any machine
    bench/ncu_counts.py --measure --counts FILE [--weft build/cuda/weft] [RUNG...]   on a GPU, with Nsight Compute
    bench/ncu_counts.py --compare --counts FILE                                      on any machine

The first command runs each rung at a small size on host-cuda, as if the device had --multiprocessors (132, those of an
H100 or H200), and keeps its counts in FILE. The second runs the same problems under ncu and keeps the GPU's numbers in
--results (bench/results/counts-GPU.json), after every rung; --seconds ends it early, and the next call of the same
commit goes on where it ended. The third puts the two side by side in the same file and in a table beside it, so that
host-cuda's part can be counted anew without a GPU.

A rung agrees when every number that both count is within 10 %. The third command exits with 1 unless 90 % of the rungs
agree, the rungs of every family stand in the same order by their traffic, and each other rung has its reason below.
"""
import argparse
import concurrent.futures
import csv
import functools
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import machine

# By family: `--size`, small enough for host-cuda; "": the family has one size. Other families are left out: their
# problems are not one kernel's.
SIZES = {"activation": "65536", "batch": "32", "batch_norm": "4", "conv": "2", "conv_relu_pool": "2",
         "divergence": "65536", "dropout": "16384", "gemm": "128", "histogram": "65536", "image": "128", "loss": "8",
         "memory": "65536", "nbody": "1024", "optimizer": "65536", "pool": "2", "reduce": "65536", "scan": "16384",
         "signal": "16384", "softmax": "64", "transpose": "128"}

# What is compared: the access as host-cuda names it, its number, and lists of ncu's metrics. The sum of a list counts
# for the GPU: of the first list of which this GPU has every metric. cp.async is "ldgsts", ldmatrix is "ldsm".
#
# What an instruction is called here is what it is called there: a load or store with an order or a scope (ld.relaxed,
# st.release, volatile) is a load or store, an update (atom, red) is an atomic. cp.async loads from global memory. Its
# writes to shared memory are compared by their requests: their wavefronts follow the order in which the sectors come.
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
    "shared store wavefronts": ("shared store", "transactions", [[WAVEFRONTS[0].format("st")],
                                                                 [WAVEFRONTS[1].format("st")]]),
    "requests of cp.async": ("asynchronous copy", "requests",
                             [["smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts"]]),
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
         "wavefronts of cp.async": WAVEFRONTS[0].format("ldgsts"),
         "shared load instructions": "smsp__inst_executed_op_shared_ld",
         "shared store instructions": "smsp__inst_executed_op_shared_st"}
# How many shared loads there are, and how many there would be if neighbouring words were loaded at once.
WIDE = {"shared loads": "requests", "wide shared loads": "wide_requests",
        "wide shared load wavefronts": "wide_transactions"}
TOLERANCE, ENOUGH = 0.10, 0.90
# Why a rung may be apart. SASS is the code that nvcc 13.0 made of it for sm_90a, as cuobjdump shows it.
WORDS = "the GPU stores single words ({}), by these numbers, where the source stores {} bytes at once"
UNROLLED = ("nvcc unrolls the loop and handles what is left in a copy of it ({}): lanes with other numbers of trips "
            "run other copies, each with its own requests")
REASONS = {
    "gemm/split_k": WORDS.format("SASS: 32 STG.E for the parts", 16),
    "gemm/mma_bf16": WORDS.format("4 times the requests, of as many sectors each", 16),
    "conv/direct_tensor_core": WORDS.format("twice the requests, of as many sectors each", 8),
    "scan/lookahead": "blocks ask for descriptors again until they are there: how often is a matter of time",
    "histogram/compare_and_swap": "a thread tries again where another one was faster: on host-cuda threads take turns",
    "conv_relu_pool/staged_images": "nvcc loads the filters by 8 bytes (SASS: LDS.64), and the GPU executes 23,296 "
                                    "loads where the source has 15,232",
    "loss/warp_per_row": UNROLLED.format("SASS: 116 LDG where the source has two loads; the sectors are the same"),
    "image/box_blur_naive": UNROLLED.format("as in box_blur_tiled"),
    "image/box_blur_tiled": UNROLLED.format("SASS: pieces of 4, 2 and 1"),
    "optimizer/separate_passes": "nvcc drops the loads of the step in the two kernels that do not use it (SASS: 3 LDG)",
}
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


@functools.cache
def starts_copies(line):
    """Does host_cuda::async_copy() stand at "kernels/device/async_copy.cuh:36, called at ..."?"""
    path, _, number = line.split(",")[0].rpartition(":")
    file = machine.ROOT / path[max(path.find("kernels/"), 0):]
    lines = file.read_text().splitlines() if file.is_file() and number.isdigit() else []
    return 0 < int(number or 0) <= len(lines) and "host_cuda::async_copy(" in lines[int(number) - 1]


def accesses_of(line):
    """What a line of host-cuda's counts is in COMPARED.

    A copy loads from global memory; that it stores to shared memory is the copy's, and no store. Copies of zeros alone
    make no request.
    """
    if line["access"] in ("shared store", "global load") and starts_copies(line["line"]):
        return ["global load", "asynchronous copy"] if line["access"] == "global load" else []
    return [line["access"]]


def counts_of_weft(event):
    """{kernel: {"launches": n, number: value}} of the event that `weft kernel show --counts --json` prints.

    Of shared loads "wide" numbers too: neighbouring words of a thread loaded at once, as nvcc may do.
    """
    found = {}
    for kernel in event["kernels"]:
        sums = found.setdefault(base_name(kernel["kernel"]),
                                dict.fromkeys([*COMPARED, *WIDE, "divergent branches"], 0) | {"launches": 0})
        sums["launches"] += kernel["launches"]
        for name, (access, number, _) in COMPARED.items():
            sums[name] += sum(line[number] for line in kernel["lines"] if access in accesses_of(line))
        loads = [line for line in kernel["lines"] if line["access"] == "shared load"]
        for name, number in WIDE.items():
            sums[name] += sum(line[number] for line in loads)
        sums["divergent branches"] += sum(branch["divergent"] for branch in kernel["branches"])
    return found


def sums_of_gpu(ours, theirs, metrics):
    """{name: sum over the kernels that host-cuda has run}.

    The GPU may have run the rung several times: its sums are scaled to the launches that host-cuda has seen.
    """
    sums = dict.fromkeys(metrics, 0)
    for kernel, counts in ours.items():
        gpu = theirs.get(kernel)
        if gpu is None:
            raise ValueError(f"ncu has no kernel {kernel}: it found {', '.join(sorted(theirs)) or 'none'}")
        scale = counts["launches"] / gpu["launches"]
        for name, summands in metrics.items():
            sums[name] += scale * sum(gpu[metric] for metric in summands)
    return sums


def compare(ours, gpu):
    """What there is to say about a rung: its numbers, {name: [host-cuda's, the GPU's]}, and how far they are apart.

    nvcc loads neighbouring words of shared memory at once where it can unroll the loop that loads them. Whether it has
    is told by the number of load instructions that the GPU has executed: if that is nearer to the number of wide loads
    than to that of loads in the source, the wavefronts of wide loads are compared.
    """
    sums = {}
    for counts in ours.values():
        for name, value in counts.items():
            sums[name] = sums.get(name, 0) + value
    if not any(name in gpu for name in COMPARED):
        raise ValueError("ncu has none of the metrics")
    numbers = {name: [sums[name], gpu[name]] for name in [*COMPARED, "divergent branches"] if name in gpu}
    loads = gpu.get("shared load instructions")
    wide = loads is not None and abs(sums["wide shared loads"] - loads) < abs(sums["shared loads"] - loads)
    if wide and "shared load wavefronts" in numbers:
        numbers["shared load wavefronts"][0] = sums["wide shared load wavefronts"]
    apart = {name: abs(a - b) / max(a, b) if max(a, b) > 0 else 0
             for name, (a, b) in numbers.items() if name in COMPARED}
    worst = max(apart.values())
    return {"agrees": worst <= TOLERANCE, "worst": worst, "wide_loads": wide, "numbers": numbers}


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


def measure_rung(options, rung, counted, metrics):
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
    return {"problem": counted["problem"], "gpu": sums_of_gpu(ours, counts_of_ncu(text), metrics)}


def measure(options):
    """Runs every counted rung on the GPU. Of rungs that were measured before, those of this commit stay as they are."""
    counted = json.loads(options.counts.read_text())
    begin = time.monotonic()
    metrics = metrics_of([*COMPARED, *NOTED], run([options.ncu, "--query-metrics"], NCU_SECONDS))
    about = machine.machine()
    gpu = re.sub(r"[^a-z0-9]+", "-", about["gpu"].lower().replace("nvidia ", ""))
    path = options.results or machine.ROOT / "bench" / "results" / f"counts-{gpu}.json"
    rungs, failed = {}, 0
    if path.exists():
        before = json.loads(path.read_text())
        if before["machine"]["commit"] == about["commit"] and before["metrics"] == metrics:
            rungs = {name: rung for name, rung in before["rungs"].items() if "gpu" in rung}
    names = [name for name in rungs_of(options) if name not in rungs and
             counted["rungs"].get(name, {}).get("kernels") != {}]  # a transfer between host and device has none
    for done, name in enumerate(names):
        if time.monotonic() - begin > options.seconds:
            print(f"{options.seconds} s are over: {len(names) - done} rungs are left to the next call")
            break
        try:
            rungs[name] = measure_rung(options, name, counted["rungs"].get(name, {"error": "not counted"}), metrics)
            print(f"{name}: measured", flush=True)
        except (ValueError, KeyError) as failure:
            rungs[name] = {"error": str(failure)}
            failed += 1
            print(f"{name}: {failure}", flush=True)
        write(path, {"machine": about, "multiprocessors": counted["multiprocessors"], "metrics": metrics,
                     "rungs": rungs})
    print(f"{len(rungs) - failed} rungs measured, {failed} failed; {path}")
    return 0 if rungs and failed == 0 else 1


def table(result):
    """The rungs that do not agree, as a page: numbers more than 10 % apart, and why."""
    about, rungs = result["machine"], result["rungs"]
    wide = sum(rung.get("wide_loads", False) for rung in rungs.values())
    lines = [
        "<!-- Made by bench/ncu_counts.py --compare. -->", "",
        f"# host-cuda's counts beside those of an {about['gpu'].replace('NVIDIA ', '')}", "",
        f"In {result['agreeing']} of {result['of']} rungs every number that host-cuda and Nsight Compute both count is",
        f"within {100 * TOLERANCE:.0f} %: requests and sectors of global memory, wavefronts of shared memory, atomics,",
        "and requests of asynchronous copies. [ncu_counts.py](../ncu_counts.py) names the metrics. The order of rungs by",
        "their traffic is " + ("the same in every family." if all(result["same_order"].values()) else
                               "another in " + ", ".join(f for f, s in result["same_order"].items() if not s) + "."),
        f"In {wide} rungs the GPU executed fewer load instructions of shared memory than the source has, because nvcc",
        "loads neighbouring words at once; there the wavefronts of such loads are compared.", "",
        f"The GPU's numbers are of {about['date']} and commit {about['commit']} (CUDA {about['cuda']}), those of",
        f"host-cuda of commit {result['counted']['commit']}. These rungs do not agree:", "",
        "| rung | number | host-cuda | GPU | why |", "|---|---|---|---|---|"]
    for name, rung in rungs.items():
        if rung["agrees"]:
            continue
        why = REASONS.get(name, "unknown")
        if "error" in rung:
            lines.append(f"| {name} | {rung['error']} | | | {why} |")
            continue
        for number, (ours, gpu) in rung["numbers"].items():
            if number in COMPARED and abs(ours - gpu) > TOLERANCE * max(ours, gpu):
                lines.append(f"| {name} | {number} | {ours:.0f} | {gpu:.0f} | {why} |")
                why = "the same"
    return "\n".join(lines) + "\n"


def judge(options):
    """Puts host-cuda's counts beside the GPU's numbers."""
    counted = json.loads(options.counts.read_text())
    path = options.results or machine.ROOT / "bench" / "results" / "counts-h200.json"
    result = json.loads(path.read_text())
    if counted["multiprocessors"] != result["multiprocessors"]:
        raise ValueError(f"host-cuda counted for {counted['multiprocessors']} multiprocessors, "
                         f"the GPU for {result['multiprocessors']}")
    rungs = {}
    for name, measured in result["rungs"].items():
        ours = counted["rungs"].get(name, {"error": "host-cuda has not counted it"})
        kept = {key: measured[key] for key in ("problem", "gpu") if key in measured}
        try:
            for side in (measured, ours):
                if "gpu" not in side and "kernels" not in side:
                    raise ValueError(side["error"])
            if ours["problem"] != measured["problem"]:
                raise ValueError(f"host-cuda ran {ours['problem']}, the GPU {measured['problem']}")
            rungs[name] = kept | compare(ours["kernels"], measured["gpu"])
        except ValueError as failure:
            rungs[name] = kept | {"agrees": False, "error": str(failure)}
    if not rungs:
        raise ValueError(f"no rung is in {path}")
    families = dict.fromkeys(name.split("/")[0] for name in rungs)
    result |= {"counted": counted["machine"], "rungs": rungs, "of": len(rungs),
               "agreeing": sum(rung["agrees"] for rung in rungs.values()),
               "same_order": {family: orders_agree([rung["numbers"] for name, rung in rungs.items() if
                                                    name.startswith(family + "/") and "numbers" in rung])
                              for family in families}}
    write(path, result)
    page = path.with_suffix(".md")
    page.write_text(table(result))
    unknown = [name for name, rung in rungs.items() if not rung["agrees"] and name not in REASONS]
    print(f"{result['agreeing']} of {result['of']} rungs agree within {100 * TOLERANCE:.0f} %; {page}")
    print("ordered otherwise: " + (", ".join(f for f, same in result["same_order"].items() if not same) or "no family"))
    if unknown:
        print("apart for no reason that is known: " + ", ".join(unknown))
    enough = result["agreeing"] >= ENOUGH * result["of"]
    return 0 if enough and all(result["same_order"].values()) and not unknown else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help="such as scan/brent_kung; all of them by default")
    step = parser.add_mutually_exclusive_group(required=True)
    step.add_argument("--count", action="store_true", help="count on host-cuda into --counts")
    step.add_argument("--measure", action="store_true", help="run the counted rungs under ncu")
    step.add_argument("--compare", action="store_true", help="put both side by side")
    parser.add_argument("--counts", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--multiprocessors", type=int, default=132)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no rung under ncu after so long")
    parser.add_argument("--weft")
    parser.add_argument("--ncu", default="ncu")
    options = parser.parse_args()
    options.weft = options.weft or f"build/{'cpu' if options.count else 'cuda'}/weft"
    try:
        return count(options) if options.count else measure(options) if options.measure else judge(options)
    except (OSError, ValueError) as failure:
        print(f"{parser.prog}: {failure}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
