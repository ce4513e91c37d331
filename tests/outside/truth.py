#!/usr/bin/env python3
"""Settles what the programs of HiRace's Indigo set hold, by an oracle that shares nothing with host-cuda.

    python3 tests/outside/truth.py ARTIFACT/indigo [--threads 256] [--blocks 16] [--out tests/outside/indigo.csv]
        [--resume]  goes on with a file that was begun: programs that are in it are not settled again

The artifact plants bugs by name and has no list of which of them race on which of its graphs. oracle.h says
the rule. A program that leaves an array on a graph is `bounds` there.
"""
import argparse
import concurrent.futures
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def kernel_of(text: str) -> str:
    """The program's kernel and its device functions, on the oracle's types."""
    begin, end = text.index("typedef int data_t;"), text.index("void serial_code")
    kernel = text[begin:end].replace('#include "indigo_cuda.h"', "")
    kernel = kernel.replace("int* nindex, int* nlist, data_t* data1, data_t* data2",
                            "oracle::Array& nindex, oracle::Array& nlist, oracle::Array& data1, oracle::Array& data2")
    kernel = re.sub(r"__shared__\s+data_t\s+(\w+)\[(\d+)\]", r"static oracle::Shared<\2> \1", kernel)
    kernel = kernel.replace("data_t* address", "oracle::Location* address")
    if "__shared__" in kernel or "data_t*" in kernel:
        raise ValueError("a declaration that the oracle does not know")
    return kernel


def settle(programs: list[pathlib.Path], graphs: list[pathlib.Path], threads: int, blocks: int) -> list[list[str]]:
    """What each program holds on each graph. One compilation has all of them."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "a.cpp"), pathlib.Path(folder, "a")
        kernels = "".join(f"namespace program{i} {{\n{kernel_of(path.read_text())}\n}}\n" for i, path in enumerate(programs))
        table = ", ".join(f"program{i}::test_kernel" for i in range(len(programs)))
        source.write_text(f'#include "oracle.h"\n{kernels}\nconst oracle::Kernel oracle::kernels[] = {{{table}}};\n'
                          '#include "oracle_main.h"\n')
        subprocess.run(["g++", "-std=c++20", "-O1", "-w", "-I", HERE, "-o", binary, source], check=True)
        verdicts = []
        for i in range(len(programs)):
            verdicts.append([])
            for graph in graphs:
                told = set()
                for order in ("ascending", "descending"):
                    told.update(subprocess.run([binary, str(i), graph, str(threads), str(blocks), order], check=True,
                                               capture_output=True, text=True, timeout=120).stdout.split())
                verdicts[-1].append(" ".join(sorted(told)) or "clean")
        return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("indigo", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "indigo.csv")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="only each Nth program")
    options = parser.parse_args()
    # The artifact measures those programs that it has in both versions.
    paired = {path.name.replace("_hirace", "") for path in (options.indigo / "indigo_hirace_sources").rglob("*.cu")}
    programs = [path for path in sorted((options.indigo / "indigo_sources").rglob("*.cu")) if path.name in paired][::options.every]
    graphs = sorted((options.indigo / "input").glob("*.egr"))
    verdicts = {}
    if options.resume and options.out.exists():
        with options.out.open(newline="") as file:
            verdicts = {row[0]: row[1:] for row in list(csv.reader(file))[1:]}
    names = {str(path.relative_to(options.indigo)): path for path in programs}
    left = [name for name in names if name not in verdicts]
    batches = [left[i:i + 20] for i in range(0, len(left), 20)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(settle, [names[name] for name in batch], graphs, options.threads, options.blocks)
                   for batch in batches]
        for batch, result in zip(batches, running):
            verdicts.update(zip(batch, result.result()))
            with options.out.open("w", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["program"] + [graph.name for graph in graphs])
                rows.writerows([one] + verdicts[one] for one in names if one in verdicts)
    for i, graph in enumerate(graphs):
        told = [verdicts[name][i] for name in names]
        print(f"{graph.name}: {sum('race' in t for t in told)} race, {sum('bounds' in t for t in told)} leave an array, {told.count('clean')} are clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
