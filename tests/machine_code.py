#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the compiler made of the kernels: no local memory, and the instructions that a rung is about.

    tests/machine_code.py build/cuda/CMakeFiles/weft_kernels.dir

reads every object file under kernels/ with NVIDIA's cuobjdump and nvdisasm, from PATH or the folder
CUDA_TOOLS. Exits 77 where they are missing: the toolkit's compiler comes without them.
"""
import collections
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
    "batch/gather.cu": 32,
    "batch_norm/split.cu": 8,
    "conv/fused_relu_pool_gather.cu": 16,
    "fused_cnn/infer.cu": 32,
    "fused_cnn/persistent.cu": 32,
    "fused_cnn/two_kernels.cu": 40,
    "fused_mlp/prepare.cu": 32,
    "fused_mlp/update.cu": 32,
    "gemm/tf32x3.cu": 16,
    "gemm/vectorized.cu": 48,
    "gemm/wmma_tf32.cu": 16,
    "signal/constant_memory.cu": 16,
    "softmax/classifier.cu": 8,
    "softmax/warp_per_row.cu": 104,
}
# Tensor cores by a warp (HMMA) and by a warpgroup (HGMMA), copies by threads that do not wait (LDGSTS)
# and by the copy engine (UTMALDG: boxes of a tensor).
INSTRUCTIONS = {
    "gemm/wmma_tf32.cu": {"80": ["HMMA"], "90a": ["HMMA"]},
    "gemm/mma_tf32.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "gemm/tf32x3.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "gemm/cluster_tf32.cu": {"90a": ["HMMA", "UTMALDG"]},
    "gemm/wgmma_tf32.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "gemm/wgmma_tf32x3.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "gemm/wgmma_bf16.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "conv/direct_tensor_core.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "conv/direct_tensor_core_weights.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "conv/implicit_gemm_tensor_core.cu": {"80": ["HMMA", "LDGSTS"], "90a": ["HMMA", "LDGSTS"]},
    "conv/implicit_gemm_wgmma.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "conv/implicit_gemm_wgmma_weights.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "conv/fused_relu_pool_wgmma.cu": {"90a": ["HGMMA"]},
    "conv/fused_relu_pool_wgmma_data.cu": {"90a": ["HGMMA"]},
    "conv/fused_relu_pool_wgmma_weights.cu": {"90a": ["HGMMA"]},
    "fused_mlp/forward.cu": {"90a": ["HGMMA", "UTMALDG"]},
    "fused_mlp/backward.cu": {"90a": ["HGMMA", "HMMA", "UTMALDG"]},
    "fused_mlp/update.cu": {"90a": ["HGMMA", "UTMALDG"]},
}


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


def main():
    folder, sources = pathlib.Path(sys.argv[1]) / "kernels", pathlib.Path(__file__).parents[1] / "kernels"
    objects = {str(path.relative_to(folder)).removesuffix(".o"): path for path in sorted(folder.glob("*/*.cu.o"))}
    # A file that was renamed leaves its object in a build folder that is used again.
    objects = {name: path for name, path in objects.items() if (sources / name).exists()}
    if not objects:
        sys.exit(f"no compiled kernels under {folder}")
    path = tools_path()
    if path is None:
        print("no cuobjdump and nvdisasm: nothing was looked at")
        sys.exit(77)
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
    if functions == 0 and not wrong:
        print(f"no kernel was compiled for sm_{' or sm_'.join(CHECKED)}")
        sys.exit(77)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{functions} kernels of {len(objects)} files, {len(looked_at)} of them by their instructions")


if __name__ == "__main__":
    main()
