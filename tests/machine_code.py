#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the compiler made of the kernels: no local memory, the instructions that a rung is about, and no
load in front of the wait of a kernel that starts early.

    tests/machine_code.py build/cuda/CMakeFiles/weft_kernels.dir

reads every object file under kernels/ with NVIDIA's cuobjdump and nvdisasm, from PATH or the folder
CUDA_TOOLS. Exits 77 where they are missing: the toolkit's compiler comes without them.

    tests/machine_code.py build/cuda/CMakeFiles/weft_kernels.dir --results results.jsonl

holds the rows that `weft bench --json` wrote on a GPU against the same build: a row that computes in
tf32 or bf16 has run a kernel with tensor core instructions of that type, and a row of fp32 has not.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

CHECKED = ("80", "90a")  # architectures; others are not looked at
# Bytes of local memory of a thread, at most, where there may be some: spills that were measured to cost
# less than what they make room for, and the trigonometric functions of large angles (32 bytes), which
# draws of distorted images call.
LOCAL = {
    "batch/rungs/gather.cu": 32,
    "batch_norm/rungs/split.cu": 8,
    "conv_relu_pool/rungs/gather.cu": 16,
    "networks/cnn/rungs/resident_weights.cu": 32,
    "networks/cnn/rungs/persistent.cu": 32,
    "networks/cnn/parts/persistent_peers.cu": 40,
    "networks/cnn/rungs/two_kernels.cu": 40,
    "networks/mlp/rungs/hopper/four_kernels_bf16.cu": 32,
    "networks/mlp/parts/hopper/bf16/update.cu": 32,
    "networks/mlp/rungs/hopper/four_kernels_fp16x3.cu": 32,
    "networks/mlp/parts/hopper/fp16x3/update.cu": 32,
    "gemm/rungs/tf32x3.cu": 16,
    "gemm/rungs/vectorized.cu": 48,
    "gemm/rungs/wmma_tf32.cu": 16,
    "signal/rungs/constant_memory.cu": 16,
    "softmax/parts/classifier.cu": 8,
    "softmax/rungs/warp_per_row.cu": 104,
}
# Tensor cores by a warp (HMMA) and by a warpgroup (HGMMA), copies by threads that do not wait (LDGSTS)
# and by the copy engine (UTMALDG: boxes of a tensor).
INSTRUCTIONS = {
    "gemm/rungs/wmma_tf32.cu": {"80": ["HMMA"], "90a": ["HMMA"]},
    "gemm/rungs/mma_tf32.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "gemm/rungs/tf32x3.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "gemm/rungs/hopper/cluster_tf32.cu": {"90a": ["HMMA", "UTMALDG"]},
    "gemm/rungs/hopper/cluster_tf32x3.cu": {"90a": ["HMMA", "UTMALDG"]},
    "gemm/rungs/hopper/wgmma_tf32.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "gemm/rungs/hopper/wgmma_tf32x3.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "gemm/rungs/hopper/wgmma_fp16x3.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "gemm/rungs/hopper/wgmma_bf16.cu": {"90a": ["HGMMA", "UTMALDG", "UTMASTG"]},
    "conv/rungs/direct_tensor_core.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "conv/tensor_core/direct_tensor_core_weights.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "conv/tensor_core/window_product.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "conv/hopper/window_product.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "conv/hopper/implicit_gemm_wgmma_weights.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "conv_relu_pool/rungs/hopper/wgmma.cu": {"90a": ["HGMMA"]},
    "conv_relu_pool/parts/hopper/wgmma_data.cu": {"90a": ["HGMMA"]},
    "conv_relu_pool/parts/hopper/wgmma_weights.cu": {"90a": ["HGMMA"]},
    "networks/mlp/parts/hopper/bf16/forward.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "networks/mlp/parts/hopper/bf16/backward.cu": {"90a": ["HGMMA", "HMMA", "UTMALDG"]},
    "networks/mlp/parts/hopper/bf16/update.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "networks/mlp/parts/hopper/fp16x3/forward.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "networks/mlp/parts/hopper/fp16x3/backward.cu": {"90a": ["HGMMA", "HMMA", "UTMALDG"]},
    "networks/mlp/parts/hopper/fp16x3/update.cu": {"90a": ["HGMMA", "UTMALDG"]},
}


# Kernels whose tf32 is the three larger products of operands that are sums of two in bf16, for wgmma cannot transpose tf32.
IN_PARTS = ("pool_weights_kernel<",)


def tools_path():
    folders = [os.environ.get("CUDA_TOOLS", ""), os.environ["PATH"], "/usr/local/cuda/bin"]
    path = os.pathsep.join(folder for folder in folders if folder)
    return path if shutil.which("cuobjdump", path=path) and shutil.which("nvdisasm", path=path) else None


def dump(option, objects, path):
    """(object, architecture, line) of what cuobjdump says."""
    for name in objects:
        done = subprocess.run(["cuobjdump", option, str(name)], capture_output=True, text=True,
                              env={**os.environ, "PATH": path})
        if done.returncode != 0:
            sys.exit(f"cuobjdump {option} {name}: {done.stderr.strip()}")
        architecture = None
        for line in done.stdout.splitlines():
            if line.startswith("arch = sm_"):
                architecture = line.removeprefix("arch = sm_").strip()
            elif architecture in CHECKED:
                yield name, architecture, line


def objects_of(folder):
    """{source under kernels/: its object file}."""
    folder, sources = pathlib.Path(folder) / "kernels", pathlib.Path(__file__).parents[1] / "kernels"
    objects = {str(path.relative_to(folder)).removesuffix(".o"): path for path in sorted(folder.rglob("*.cu.o"))}
    # A file that was renamed leaves its object in a build folder that is used again.
    objects = {name: path for name, path in objects.items() if (sources / name).exists()}
    if not objects:
        sys.exit(f"no compiled kernels under {folder}")
    return objects


def includes(source, header, root=pathlib.Path(__file__).parents[1]):
    """Does a source file under `root` include this header, itself or by others?"""
    seen, left = set(), [source]
    while left:
        path = left.pop()
        if path not in seen and (root / path).exists():
            seen.add(path)
            left += re.findall(r'^#include "(.+)"', (root / path).read_text(), re.MULTILINE)
    return header in seen


def same_in_every_build(symbol):
    """nvcc puts two hashes beside the file's name into a symbol of an anonymous namespace."""
    return re.sub(r"_GLOBAL__N__[0-9a-f]{8}_\d+_(\w+?_cu)_[0-9a-f]{8}", r"_GLOBAL__N__\1", symbol)


def tensor_core_type(line):
    """What a line of machine code multiplies on tensor cores: TF32, BF16 or F16; else None."""
    match = re.match(r"\s+/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+\s+)?[A-Z]*MMA\.(\S+)", line)
    if not match:
        return None
    types = match[1].split(".")
    return next((t for t in types if t in ("TF32", "BF16")), "F16")


def misnamed_rows(rows, types_of):
    """(what is wrong, rows looked at): own rows of a results file against {symbol: types of its products}."""
    wrong, looked_at = [], 0
    for row in rows:
        if row.get("event") != "measurement" or row["yardstick"] or not row.get("kernels"):
            continue
        looked_at += 1
        name, found = f"{row['family']}/{row['variant']} on {row['problem']}", set()
        for kernel in row["kernels"]:
            symbol = same_in_every_build(kernel["symbol"])
            if symbol not in types_of:
                wrong.append(f"{name}: this build has no {kernel['kernel']}")
            found |= types_of.get(symbol, set())
        wanted = {"tf32": "TF32", "tf32x3": "TF32", "fp16x3": "F16", "bf16": "BF16"}.get(row["computes_in"])
        if wanted == "TF32" and any(kernel["kernel"].startswith(IN_PARTS) for kernel in row["kernels"]):
            wanted = "BF16"
        if wanted and wanted not in found:
            wrong.append(f"{name} is said to compute in {row['computes_in']}, but no kernel of it does")
        if not wanted and found:
            wrong.append(f"{name} is said to compute in fp32, but its kernels multiply {', '.join(sorted(found))}")
    if looked_at == 0:
        wrong.append("no row with kernels: nothing was looked at")
    return wrong, looked_at


def check_results(objects, results, path):
    rows = [json.loads(line) for line in pathlib.Path(results).read_text().splitlines() if line]
    wanted = {same_in_every_build(k["symbol"]) for row in rows for k in row.get("kernels", [])}
    holding, functions = set(), set()
    for compiled, _, line in dump("--dump-resource-usage", objects.values(), path):
        if match := re.match(r"\s*Function (\S+):", line):
            functions.add(same_in_every_build(match[1]))
            if same_in_every_build(match[1]) in wanted:
                holding.add(compiled)
    types_of, function = {symbol: set() for symbol in functions}, ""
    for _, _, line in dump("-sass", sorted(holding), path):
        if match := re.match(r"\s*Function : (\S+)", line):
            function = same_in_every_build(match[1])
        elif kind := tensor_core_type(line):
            types_of[function].add(kind)
    wrong, looked_at = misnamed_rows(rows, types_of)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{looked_at} rows compute in what they say, by the machine code of {len(holding)} files")


def moved_loads(lines, names):
    """(loads of constants that precede the wait of a kernel which starts early (device/overlap.cuh), kernels that
    wait): of what dump("-sass") yields. Goes by addresses, and looks in front of the first wait only."""
    wrong, function, loads, waiting = [], "", 0, set()
    for compiled, architecture, line in lines:
        if "Function :" in line:
            function, loads = line.split()[-1], 0
        elif "LDG." in line and "CONSTANT" in line:
            loads += 1
        elif "ACQBULK" in line and function not in waiting:
            waiting.add(function)
            if loads:
                wrong.append(f"{names[compiled]}, sm_{architecture}: {loads} loads of constants precede the wait of "
                             f"{function}")
    return wrong, len(waiting)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("objects", help="the folder of weft_kernels' object files")
    parser.add_argument("--results", help="rows of `weft bench --json` from this build")
    options = parser.parse_args()
    objects = objects_of(options.objects)
    path = tools_path()
    if path is None:
        print("no cuobjdump and nvdisasm: nothing was looked at")
        sys.exit(77)
    if options.results:
        return check_results(objects, options.results, path)
    names = {compiled: name for name, compiled in objects.items()}
    wrong, functions, function = [], 0, ""
    for compiled, architecture, line in dump("--dump-resource-usage", objects.values(), path):
        if match := re.match(r"\s*Function (\S+):", line):
            function, functions = match[1], functions + 1
        local = sum(int(size) for size in re.findall(r"\b(?:STACK|LOCAL):(\d+)", line))
        if local > LOCAL.get(names[compiled], 0):
            wrong.append(f"{names[compiled]}, sm_{architecture}: {local} bytes of local memory in {function}")

    found, compiled_for = collections.defaultdict(set), collections.defaultdict(set)
    looked_at = {name: objects[name] for name in INSTRUCTIONS if name in objects}
    wrong += [f"{name} was not compiled" for name in (*LOCAL, *INSTRUCTIONS) if name not in objects]
    for compiled, architecture, line in dump("-sass", looked_at.values(), path):
        compiled_for[names[compiled]].add(architecture)
        if match := re.match(r"\s+/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)", line):
            found[names[compiled], architecture].add(match[1])
    for name in looked_at:
        for architecture, wanted in INSTRUCTIONS[name].items():
            if architecture not in compiled_for[name]:
                continue  # this build is for other devices
            for instruction in wanted:
                if instruction not in found[name, architecture]:
                    wrong.append(f"{name}, sm_{architecture}: no {instruction}")
    early = [compiled for name, compiled in objects.items()
             if includes(f"kernels/{name}", "kernels/device/overlap.cuh")]
    moved, waiting = moved_loads(dump("-sass", early, path), names)
    wrong += moved
    if waiting == 0 and any("90a" in architectures for architectures in compiled_for.values()):
        wrong.append("no kernel for sm_90a waits for the one ahead of it")
    if functions == 0 and not wrong:
        print(f"no kernel was compiled for sm_{' or sm_'.join(CHECKED)}")
        sys.exit(77)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{functions} kernels of {len(objects)} files, {len(looked_at)} of them by their instructions; "
          f"{waiting} kernels wait for the one ahead of them")


if __name__ == "__main__":
    main()
