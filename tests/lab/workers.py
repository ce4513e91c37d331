# SPDX-License-Identifier: MIT
"""Runs programs of `weft lab` on one process and on several, which must make no difference.

    python3 workers.py WEFT FOLDER

WEFT_HOST_CUDA_JOBS_FROM=1 lets the processes begin after the first block, however short the others
are. With --check 1e-6 the third launch of a kernel runs without checks, and of one whose blocks run in order also the last 32 of 64
blocks. Each program has to say the same on stdout and stderr, with the same exit code, and to have used
processes or not, as its row says. FOLDER is for the programs and the cache.
"""
import concurrent.futures
import os
import pathlib
import platform
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


LATE = "const bool late = blockIdx.x > 40; "
# The same of programs of which half of the blocks run without checks.
UNCHECKED = {
    "independent_unchecked": (CASES["independent"][0], "fill<<<n / 64, 64>>>(a, 1);" + "tile<<<n / 64, 64>>>(a, b);" * 4, 1, 0,
                              "unchecked: kernel tile"),
    "sums_in_order": ("__global__ void sums(float* s) { for (int i = 0; i < 100; ++i) atomicAdd(s, 1e-3f * (at() + i)); }\n",
                      "float* s = (float*)a; cudaMemset(a, 0, n * 4); sums<<<n / 64, 64>>>(s);", 1, 0, ""),
    "numbers_in_order": ("__device__ int next; __global__ void numbers(int* p) { __shared__ int mine; if (threadIdx.x == 0)\n"
                         " mine = atomicAdd(&next, 1); __syncthreads(); p[at()] = mine; }\n",
                         "numbers<<<n / 64, 64>>>(a);", 1, 0, ""),
    "last_block_sums": ("__device__ unsigned done; __device__ int parts[64], total;\n"
                        "__global__ void last(int* p) { __shared__ bool am_last; if (threadIdx.x == 0) { parts[blockIdx.x] = blockIdx.x;\n"
                        " __threadfence(); am_last = atomicInc(&done, 64) == gridDim.x - 1; } __syncthreads();\n"
                        " if (am_last && threadIdx.x == 0) for (int i = 0; i < 64; ++i) total += ((volatile int*)parts)[i]; p[at()] = 1; }\n",
                        "last<<<n / 64, 64>>>(a); int t; cudaMemcpyFromSymbol(&t, total, 4); printf(\"%d\\n\", t);", 1, 0, ""),
    "device_variable": ("__device__ int all[n]; __global__ void puts_all() { all[at()] = 3 * at(); }\n"
                        "__global__ void gets_all(int* p) { p[at()] = all[n - 1 - at()]; }\n",
                        "puts_all<<<n / 64, 64>>>();" * 3 + "gets_all<<<n / 64, 64>>>(a);" * 3, 1, 0, "unchecked: kernel puts_all"),
    "prints_late": ('__global__ void prints(int* p) { p[at()] = 1; if (threadIdx.x % 32 == 3) printf("block %d\\n", blockIdx.x); }\n',
                    'printf("before\\n"); prints<<<n / 64, 64>>>(a);', 1, 0, ""),
    "managed_and_pinned": ("__global__ void both(int* m, int* p) { m[at()] = p[at()] = at(); }\n",
                           "int *m, *p; cudaMallocManaged(&m, n * 4); cudaMallocHost(&p, n * 4); " + "both<<<n / 64, 64>>>(m, p);" * 3 + "\n"
                           "cudaDeviceSynchronize(); long t = 0; for (int i = 0; i < n; ++i) t += m[i] + p[i] * 3L;\n"
                           'printf("%ld\\n", t); cudaMemset(a, 0, n * 4);', 1, 0, "unchecked: kernel both"),
    "registered": ("", "static int r[n]; cudaHostRegister(r, sizeof r, 0);" + "fill<<<n / 64, 64>>>(r, 2);" * 3 + "\n"
                                'cudaDeviceSynchronize(); printf("%d\\n", r[n - 1]); cudaMemset(a, 0, n * 4);', 1, 0, "unchecked: kernel fill"),
    "assert_in_a_late_block": ('#include <cassert>\n__global__ void asserts(int* p) { ' + LATE + 'if (late && threadIdx.x == 0)\n'
                               ' printf("block %d\\n", blockIdx.x); assert(blockIdx.x < 50); p[at()] = 1; }\n',
                               "asserts<<<n / 64, 64>>>(a);", 1, 1, "assertion failed: kernel asserts, block (50, 0, 0), thread (0, 0, 0)"),
    "null_in_late_blocks": ("__global__ void null(int* p) { " + LATE + "if (blockIdx.x > 44) p = nullptr; p[threadIdx.x] = late; }\n",
                            "null<<<n / 64, 64>>>(a);", 1, 1, "null pointer: kernel null, block (45, 0, 0), thread (0, 0, 0)"),
    "stuck_in_a_late_block": ("__global__ void stuck(int* p) { if (blockIdx.x == 47 && threadIdx.x < 9) while (true) __syncwarp(0xffffffff);\n"
                              " p[at()] = 1; __syncthreads(); }\n", "stuck<<<n / 64, 64>>>(a);", 1, 1,
                              "missing lane: kernel stuck, block (47, 0, 0)"),
    "exited_in_late_blocks": ("__global__ void exits(int* p) { " + LATE + "p[at()] = 1; if (late && threadIdx.x > 9) return; __syncthreads(); }\n",
                              "exits<<<n / 64, 64>>>(a);", None, 0, "barrier without all threads: kernel exits, block (41, 0, 0)"),
    "zero_divides_in_a_late_block": ("__global__ void zero(int* p, int z) { p[at()] = blockIdx.x == 55 ? at() / z : 1; }\n",
                                     "zero<<<n / 64, 64>>>(a, 0);", 1, 1, "integer division: kernel zero, block (55, 0, 0), thread (0, 0, 0)"),
}
if platform.machine() != "x86_64":
    del UNCHECKED["zero_divides_in_a_late_block"]  # other processors, and GPUs, go on with some number
HEAP_LATE = ("__global__ void heap(int* p) { " + LATE + "p[at()] = 1; if (late) delete new int; }\n", "heap<<<n / 64, 64>>>(a);")


def complaint_of_heap(weft: str, folder: pathlib.Path) -> str:
    """Memory that only blocks without checks allocate: on several processes the program is refused by its line."""
    path = folder / "heap_late.cu"
    path.write_text(HEAD + HEAP_LATE[0] + MAIN % HEAP_LATE[1])
    for jobs, code in (("1", 0), ("3", 2)):
        settings = {"XDG_CACHE_HOME": str(folder), "WEFT_HOST_CUDA_JOBS": jobs, "WEFT_HOST_CUDA_JOBS_FROM": "1"}
        done = subprocess.run([weft, "lab", "run", "--check", "1e-6", path.name], cwd=folder, env=os.environ | settings,
                              capture_output=True, text=True, timeout=120)
        if done.returncode != code or (code == 2) != ("--jobs 1" in done.stderr):
            return f"heap_late with {jobs} jobs: expected {code}, found {done.returncode}:\n{done.stdout}{done.stderr}"
    return ""


def complaint(weft: str, folder: pathlib.Path, name: str) -> str:
    """What is not as expected; empty when all is."""
    kernels, work, processes, code, piece = {**CASES, **UNCHECKED}[name]
    flags = ["--check", "1e-6"] if name in UNCHECKED else []
    path = folder / f"{name}.cu"
    path.write_text(HEAD + kernels + MAIN % work)
    said = []
    for jobs in ("1", "3"):
        settings = {"XDG_CACHE_HOME": str(folder), "WEFT_HOST_CUDA_JOBS": jobs, "WEFT_HOST_CUDA_JOBS_FROM": "1"}
        done = subprocess.run([weft, "lab", "run", *flags, path.name], cwd=folder, env=os.environ | settings,
                              capture_output=True, text=True, timeout=120)
        used = re.findall(r"processes: (\d)\n", done.stderr)
        # What ends early does not say, and one process is begun to look up a line.
        expected = used if code or processes is None else [str(processes if jobs == "3" else 0)]
        if used != expected or done.returncode != code or piece not in done.stderr:
            return (f"{name}: expected {code}, '{piece}', and processes {expected} with {jobs} jobs, "
                    f"found {done.returncode}, {used}:\n{done.stdout}{done.stderr}")
        said.append((done.stdout, re.sub(r"processes: \d\n|weft: note: host-cuda: unchecked: .*\n", "", done.stderr)))
    return "" if said[0] == said[1] else f"{name}: one process says\n{said[0]}\nand several say\n{said[1]}"


def main() -> int:
    weft, folder = (str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        failures = [one for one in pool.map(lambda name: complaint(weft, folder, name), [*CASES, *UNCHECKED]) if one]
    failures += [one for one in [complaint_of_heap(weft, folder)] if one]
    print("\n".join([*failures, f"workers: {len(CASES) + len(UNCHECKED) + 1} programs, {len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
