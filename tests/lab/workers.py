# SPDX-License-Identifier: MIT
"""Runs programs of `weft lab` on one process and on several, which must make no difference.

    python3 workers.py WEFT FOLDER

WEFT_HOST_CUDA_JOBS_FROM=1 lets the processes begin after the first block, however short the others
are. Each program has to say the same on stdout and stderr, with the same exit code, and to have used
processes or not, as its row says. FOLDER is for the programs and the cache.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HEAD = """#include <cstdio>
#include <sys/resource.h>
struct AtTheEnd {  // the most memory of a process that was begun and has ended
  ~AtTheEnd() { rusage use; getrusage(RUSAGE_CHILDREN, &use); fprintf(stderr, "processes: %d\\n", use.ru_maxrss > 0); }
} at_the_end;
const int n = 4096;
__device__ int at() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void fill(int* p, int x) { p[at()] = x + at(); }
int *a, *b, h[2 * n];
void show() {
  cudaMemcpy(h, a, sizeof h / 2, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += h[i] * (i % 7 + 1L);
  printf("%ld %s\\n", sum, cudaGetErrorString(cudaDeviceSynchronize()));
}
"""
MAIN = "int main() { cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMemset(b, 0, n * 4); %s show(); }\n"
# name: (kernels, what main does, are processes used?, the exit code and a piece of stderr)
CASES = {
    "independent": ("__global__ void tile(int* p, const int* q) { __shared__ int s[64]; s[threadIdx.x] = q[at()];\n"
                    " __syncthreads(); atomicAdd(&s[threadIdx.x / 2], 1); __syncthreads();\n"
                    " p[at()] = p[at()] * 3 + s[63 - threadIdx.x]; }\n",
                    "fill<<<n / 64, 64>>>(a, 1); tile<<<n / 64, 64>>>(a, b); tile<<<n / 64, 64>>>(a, b);", 1, 0, ""),
    "bytes": ("__global__ void letters(char* p) { for (int i = 0; i < 4; ++i) p[4 * at() + i] = at() + i; }\n",
              "letters<<<n / 64, 64>>>((char*)a);", 1, 0, ""),
    "race_with_the_last_block": (
        "__global__ void wraps(int* p) { p[at()] = 1; if (at() == n - 1) p[5] = 2; }\n",
        "wraps<<<n / 64, 64>>>(a);", 1, 1, "race: kernel wraps, block (63, 0, 0), thread (63, 0, 0)"),
    "reads_what_another_block_writes": (
        "__global__ void shifts(int* p, const int* q) { p[at()] = q[(at() + 64 * 40) % n]; }\n",
        "fill<<<n / 64, 64>>>(a, 1); shifts<<<n / 64, 64>>>(a, a);", 1, 1, "race: kernel shifts"),
    "past_the_end": ("__global__ void past(int* p) { p[at() + 1] = 1; }\n", "past<<<n / 64, 64>>>(a);", 1, 1,
                     "kernel past, block (63, 0, 0), thread (63, 0, 0), after 0 barriers writes 4 bytes at byte 0 past"),
    "atomics_of_all_blocks": ("__global__ void counts(int* p) { atomicAdd(p + at() % 8, at()); }\n",
                              "cudaMemset(a, 0, n * 4); counts<<<n / 64, 64>>>(a);", 0, 0, ""),
    "fence": ("__global__ void fences(int* p) { p[at()] = 1; __threadfence(); }\n", "fences<<<n / 64, 64>>>(a);", 0, 0, ""),
    "prints_in_order": ('__global__ void prints(int* p) { p[at()] = 1; if (blockIdx.x > 60 && threadIdx.x == 0)\n'
                        ' printf("block %d\\n", blockIdx.x); }\n', "prints<<<n / 64, 64>>>(a);", 1, 0, ""),
    "heap": ("__global__ void heap(int* p) { int* q = new int(at()); p[at()] = *q; delete q; }\n",
             "heap<<<n / 64, 64>>>(a);", 0, 0, ""),
    "unordered_streams": ("", "cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);\n"
                          "fill<<<n / 64, 64>>>(a, 1); fill<<<n / 64, 64, 0, s>>>(a, 2);", 1, 1,
                          "race: kernel fill, block (0, 0, 0), thread (0, 0, 0)"),
    "half_is_never_written": ("__global__ void half(int* p) { if (at() % 2) p[at()] = 1; }\n"
                              "__global__ void copy(int* p, const int* q) { p[at()] = q[at()]; }\n",
                              "half<<<n / 64, 64>>>(a); copy<<<n / 64, 64>>>(b, a);", 1, 1,
                              "uninitialised read: kernel copy, block (0, 0, 0), thread (0, 0, 0)"),
}


def complaint(weft: str, folder: pathlib.Path, name: str) -> str:
    """What is not as expected; empty when all is."""
    kernels, work, processes, code, piece = CASES[name]
    path = folder / f"{name}.cu"
    path.write_text(HEAD + kernels + MAIN % work)
    said = []
    for jobs in ("1", "3"):
        settings = {"XDG_CACHE_HOME": str(folder), "WEFT_HOST_CUDA_JOBS": jobs, "WEFT_HOST_CUDA_JOBS_FROM": "1"}
        done = subprocess.run([weft, "lab", "run", path.name], cwd=folder, env=os.environ | settings,
                              capture_output=True, text=True, timeout=120)
        used = re.findall(r"processes: (\d)\n", done.stderr)
        expected = [] if code else [str(processes if jobs == "3" else 0)]  # what ends early does not say
        if used != expected or done.returncode != code or piece not in done.stderr:
            return (f"{name}: expected {code}, '{piece}', and processes {expected} with {jobs} jobs, "
                    f"found {done.returncode}, {used}:\n{done.stdout}{done.stderr}")
        said.append((done.stdout, re.sub(r"processes: \d\n", "", done.stderr)))
    return "" if said[0] == said[1] else f"{name}: one process says\n{said[0]}\nand several say\n{said[1]}"


def main() -> int:
    folder = pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        failures = [one for one in pool.map(lambda name: complaint(str(pathlib.Path(sys.argv[1]).resolve()), folder, name), CASES) if one]
    print("\n".join([*failures, f"workers: {len(CASES)} programs, {len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
