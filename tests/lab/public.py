#!/usr/bin/env python3
"""Runs programs of NVIDIA's cuda-samples, unchanged, with `weft lab run`.

    python3 tests/lab/public.py WEFT [FOLDER]

FOLDER is a checkout of https://github.com/NVIDIA/cuda-samples. Without it the files are fetched from
there, into a folder that is deleted again. Exits with 77 when they cannot be fetched.
"""
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

COMMIT = "c94ff366aed18c797b8a85dfaac7817b0228b420"
RAW = f"https://raw.githubusercontent.com/NVIDIA/cuda-samples/{COMMIT}/"
HEADERS = ["exception.h", "helper_cuda.h", "helper_functions.h", "helper_image.h", "helper_string.h", "helper_timer.h"]
# program, headers of its folder, arguments that keep it small, what it prints when all is well
PROGRAMS = [
    ("0_Introduction/vectorAdd/vectorAdd.cu", [], [], "Test PASSED"),
    ("0_Introduction/matrixMul/matrixMul.cu", [], ["-wA=64", "-hA=64", "-wB=64", "-hB=64"], "Result = PASS"),
    ("0_Introduction/simplePrintf/simplePrintf.cu", [], [], "Value is:10"),
    ("0_Introduction/simpleVoteIntrinsics/simpleVoteIntrinsics.cu", ["simpleVote_kernel.cuh"], [], "OK"),
    ("0_Introduction/simpleTemplates/simpleTemplates.cu", ["sharedmem.cuh"], [], "Compare OK"),
    ("0_Introduction/simpleOccupancy/simpleOccupancy.cu", [], [], "Test PASSED"),
    ("0_Introduction/simpleCooperativeGroups/simpleCooperativeGroups.cu", [], [], "...Done."),
    ("0_Introduction/clock/clock.cu", [], [], "Average clocks/block"),
    ("0_Introduction/asyncAPI/asyncAPI.cu", [], [], "CPU executed"),
    ("0_Introduction/fp16ScalarProduct/fp16ScalarProduct.cu", [], [], "fp16ScalarProduct PASSED"),
    ("2_Concepts_and_Techniques/threadFenceReduction/threadFenceReduction.cu", ["threadFenceReduction_kernel.cuh"],
     ["-n=4096"], "CPU result"),
    ("2_Concepts_and_Techniques/reductionMultiBlockCG/reductionMultiBlockCG.cu", [], ["-n=8192"], "CPU result"),
    ("6_Performance/transpose/transpose.cu", [], ["-dimX=64", "-dimY=64"], "Test passed"),
]


def fetch(folder: pathlib.Path) -> None:
    names = [f"Common/{header}" for header in HEADERS]
    for program, headers, _, _ in PROGRAMS:
        names += [f"Samples/{program}", *(f"Samples/{pathlib.PurePath(program).parent}/{one}" for one in headers)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(RAW + name, timeout=20) as answer:
            (folder / name).write_bytes(answer.read())


def run_all(weft: str, folder: pathlib.Path) -> int:
    failed = 0
    for program, _, arguments, expected in PROGRAMS:
        path = folder / "Samples" / program
        done = subprocess.run([weft, "lab", "run", "-I", str(folder / "Common"), path.name, *arguments], cwd=path.parent,
                              capture_output=True, text=True, errors="replace", timeout=120)
        well = done.returncode == 0 and expected in done.stdout
        failed += not well
        print(f"{'well' if well else 'FAILED'}  {path.name}")
        if not well:
            print(done.stdout + done.stderr)
    print(f"{len(PROGRAMS) - failed} of {len(PROGRAMS)} programs run unchanged")
    return 1 if failed else 0


def main() -> int:
    weft = str(pathlib.Path(sys.argv[1]).resolve())
    if len(sys.argv) > 2:
        return run_all(weft, pathlib.Path(sys.argv[2]).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        try:
            fetch(folder)
        except OSError as error:
            print(f"skipped: the samples cannot be fetched: {error}")
            return 77
        return run_all(weft, folder)


if __name__ == "__main__":
    sys.exit(main())
