#!/usr/bin/env python3
"""Runs programs as students write them with `weft lab run`, and looks at what it says.

    python3 tests/lab/run.py WEFT FOLDER

Each program of programs/ has to end with 0 and print what its lines "// prints: ..." say. Each case
of CASES is a program of a few lines, with the exit code and a piece of the message that it has to
get. FOLDER is for the cache and for what is written.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

KERNEL = "__global__ void k(int* p) { p[threadIdx.x] = 1; }\n"
# name: (source, words behind `lab run`, exit code, piece of stdout or stderr)
CASES = {
    "out_of_bounds": (KERNEL + "int main() { int* p; cudaMalloc(&p, 40);\n k<<<1, 32>>>(p);\n}\n", [], 1,
                      "out of bounds: kernel k, block (0, 0, 0), thread (10, 0, 0), after 0 barriers writes "
                      "4 bytes at byte 0 past the end of a device allocation of 40 bytes, at case.cu:1"),
    "byte_order_mark": ("\ufeff#include <cstdio>\r\n__global__ void k() {}\r\nint main() { k<<<1, 1>>>(); printf(\"it ran\\n\"); }\r\n",
                        [], 0, "it ran"),
    "utf_16": ("\ufeffint main() {}\n".encode("utf-16-le"), [], 3, "case.cu: is in UTF-16, which compilers do not read"),
    "overloaded_kernels": ("#include <cstdio>\n__global__ void add(float, int);\n__global__ void add(float* p, int n) { *p += n; }\n"
                           "__global__ void two(int* p, int n) { *p = n; }\n__global__ void two(int* p, float n) { *p = 2 * n; }\n"
                           "__global__ void skip(int*, unsigned);\n__global__ void skip(int* p, unsigned int n) { if (p) *p = n; }\n"
                           "int main() { float* f; int* p; cudaMallocManaged(&f, 4); cudaMallocManaged(&p, 4); *f = 1;\n"
                           " add<<<1, 1>>>(f, 4); two<<<1, 1>>>(p, 3.0f); skip<<<1, 1>>>(0, 9); cudaDeviceSynchronize();\n"
                           ' printf("%g %d\\n", *f, *p); two<<<1, 1>>>(p, 3); cudaDeviceSynchronize(); printf("%d\\n", *p); }\n',
                           [], 0, "5 6\n3\n"),
    "main_returns_nothing": ("#include <cstdio>\nint main(int n, char** all) {\n auto say = [&](int k) { if (k > 1) return; printf(\"%d\\n\", k); };\n"
                             " struct S { void f() { return; } } s; s.f(); say(n); if (all[n - 1][0]) return;\n return 3;\n}\n", [], 0, "1\n"),
    "headers_of_nvcc": ("__global__ void k(int* p) { *p = INT_MAX; }\nint main() { return isdigit('7') != 0 && ULONG_MAX > CHAR_BIT ? 7 : 0; }\n",
                        [], 7, ""),
    "race": ("__global__ void k() {\n __shared__ int s;\n s = threadIdx.x;\n}\n"
             "int main() { k<<<1, 32>>>(); }\n", [], 1, "writes shared s at byte 0 at case.cu:3"),
    "race_in_a_template": ("template <int N> __global__ void k(int x) {\n __shared__ int s[N];\n"
                           " s[0] = threadIdx.x + x;\n}\nint main() { k<4><<<1, 32>>>(1); }\n", [], 1,
                           "race: kernel k<4>"),
    "missing_barrier_dynamic": ("extern __shared__ float s[];\n__global__ void k(float* p) {\n"
                                " s[threadIdx.x] = 1;\n p[threadIdx.x] = s[threadIdx.x ^ 1];\n}\n"
                                "int main() { float* p; cudaMalloc(&p, 256); k<<<1, 64, 256>>>(p); }\n", [], 1,
                                "dynamic shared memory at byte 4 at case.cu:4"),
    "assertion": ("#include <cassert>\n__global__ void k(int n) {\n assert(threadIdx.x < n);\n}\n"
                  "int main() { k<<<1, 8>>>(4); }\n", [], 1, "assertion failed: kernel k, block (0, 0, 0), "
                  "thread (4, 0, 0), after 0 barriers: threadIdx.x < n at case.cu:3"),
    "orders": ("__global__ void k(int* p) { atomicExch(p, (int)threadIdx.x); }\n"
               "int main() { int* p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); k<<<1, 32>>>(p); }\n", ["--schedules", "4"], 1,
               "kernel k leaves other results when its threads run in another order"),
    "prints_once": ('#include <cstdio>\n__global__ void k() { printf("hello"); }\n'
                    'int main() { k<<<1, 1>>>(); printf("!\\n"); }\n', ["--schedules", "4"], 0, "hello!\n"),
    "does_not_compile": ("int main() {\n  return nothing;\n}\n", [], 2, "case.cu:2:10: error"),
    "launch_in_any_spelling": ("#include <cstdio>\n__global__ void set(int* p, int x) { *p = x; }\n"
                               "__global__ void set(double* p, double x) { *p = x; }\n"
                               "int main() { int *i, a; double *d, b; cudaMalloc(&i, 4); cudaMalloc(&d, 8);\n"
                               " set << <1, 1 >> > (i, 7); set <<< 1, 1 >>>(d, 2.5);\n"
                               " cudaMemcpy(&a, i, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&b, d, 8, cudaMemcpyDeviceToHost);\n"
                               ' printf("%d %g\\n", a, b); }\n', [], 0, "7 2.5\n"),
    "kernel_with_the_name_of_a_function": ("#include <cstdio>\nstruct Pair { int* p; int n; };\n__global__ void solve(Pair a) { *a.p = a.n; }\n"
                                           "void solve(int n) {\n int *p, h; cudaMalloc(&p, 4); solve<<<1, 1>>>(Pair{p, n});\n"
                                           ' cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%d\\n", h);\n}\nint main() { solve(3); }\n', [], 0, "3\n"),
    "cxx17_by_default": ("#include <cmath>\n#include <cstdio>\nusing namespace std;\nstruct span {};\n"
                         "float lerp(float a, float b, float t) { return a + t * (b - a); }\n"
                         'int main() { span s; (void)s; printf("%ld %g\\n", __cplusplus, lerp(1.0f, 2.0f, 0.5f)); }\n',
                         [], 0, "201703 1.5\n"),
    "flags_of_nvcc": ('#include <cstdio>\nint main() { printf("%ld %d %d\\n", __cplusplus, N, (int)(_OPENMP > 0)); }\n',
                      ["-O3", "-arch=sm_80", "-std=c++20", "-DN=3", "-Xcompiler", "-fopenmp", "-lm"], 0, "202002 3 1\n"),
    "flags_of_nvcc_that_change_nothing": ("int main() {}\n", ["-O3", "-gencode", "arch=compute_80,code=sm_80", "-lm"], 0,
                                          "these flags of nvcc change nothing in the lab: -O3, -gencode, -lm"),
    "older_standard": ('#include <cstdio>\nint main() { printf("%ld\\n", __cplusplus); }\n', ["-x", "cu", "--std=c++11"], 0, "201703\n"),
    "kernel_in_two_branches": ("#include <cstdio>\n#ifdef FAST\n__global__ void set(int* to, const int* n) { *to = 1; }\n#else\n"
                               "__global__ void set(int* p, const int* from) { *p = from == nullptr ? 5 : *from; }\n#endif\n"
                               "int main() { int *p, h; cudaMalloc(&p, 4); set<<<1, 1>>>(p, 0);\n"
                               ' cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%d\\n", h); }\n', [], 0, "5\n"),
    "flag_behind_those_of_nvcc": ("int main() {}\n", ["-O3", "-zap"], 2, "unknown option '-zap' of weft lab run"),
    "kernel_as_void_pointer": ("#include <cstdio>\n__global__ void add(int* p, int n) { *p += n; }\n"
                               "template <class T> __global__ void twice(T* p) { *p *= 2; }\nstruct Work { const void* kernel; void** arguments; };\n"
                               "cudaError_t run(const Work& w) { return cudaLaunchKernel(w.kernel, dim3(1), dim3(1), w.arguments, 0, 0); }\n"
                               "int main() { int *p, h, n = 5; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); void* a[] = {&p, &n};\n"
                               " run({(void*)add, a}); run({reinterpret_cast<const void*>(&twice<int>), a}); cudaLaunchKernel((const void*)add, 1, 1, a);\n"
                               " cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);\n"
                               ' printf("%d %s\\n", h, cudaGetErrorName(run({&h, a}))); }\n', [], 0, "15 cudaErrorInvalidDeviceFunction\n"),
    "backslash_before_a_comment": ('#include <cstdio>\nint main() {\n int n = 1 + \\ // one\n         2;\n printf("%d\\n", n);\n}\n', [], 0, "3\n"),
    "openmp": ("#include <cstdio>\nint main() {\n int sum = 0;\n#pragma omp parallel for reduction(+ : sum) num_threads(2)\n"
               ' for (int i = 0; i < 10; ++i) sum += i;\n printf("%d\\n", sum);\n}\n', [], 0, "45\n"),
    "return_from_openmp": ("#include <omp.h>\n#include <cstdio>\nint find(const int* p) {\n#pragma omp parallel for\n"
                           " for (int i = 0; i < 9; ++i) {\n  if (p[i] == 0) { return i; }\n }\n return -1;\n}\n"
                           'int main() { int p[9] = {1, 2, 0}; printf("%d\\n", find(p)); }\n', [], 0, "2\n"),
    "openmp_with_a_lambda": ("#include <cstdio>\nint main() {\n int sum = 0;\n#pragma omp parallel for reduction(+ : sum) num_threads(2)\n"
                             ' for (int i = 0; i < 10; ++i) sum += [](int x) { return x; }(i);\n printf("%d %d\\n", sum, (int)(_OPENMP > 0));\n}\n',
                             [], 0, "45 1\n"),
    "finding_in_a_graph": ("__global__ void k(int* p) {\n p[1] = 1;\n}\nint main() {\n int* p; cudaMalloc(&p, 4); cudaStream_t s; cudaStreamCreate(&s);\n"
                           " cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); k<<<1, 1, 0, s>>>(p); cudaGraph_t g; cudaStreamEndCapture(s, &g);\n"
                           " cudaGraphExec_t e; cudaGraphInstantiate(&e, g, 0); cudaGraphLaunch(e, s);\n}\n", [], 1,
                           "weft: error: host-cuda: out of bounds: kernel k, block (0, 0, 0), thread (0, 0, 0), after 0 barriers writes 4 bytes"),
    "freed_by_a_destructor": ("struct Pool { int* p = nullptr; cudaStream_t s; ~Pool() { cudaMemsetAsync(p, 0, 4, s); cudaFree(p); cudaStreamDestroy(s); } };\n"
                              "Pool pool;\n__global__ void k(int* p) { *p = 1; }\n"
                              "int main() { cudaMalloc(&pool.p, 400); cudaStreamCreate(&pool.s); k<<<1, 1, 0, pool.s>>>(pool.p); cudaStreamSynchronize(pool.s); }\n",
                              [], 0, ""),
    "no_main": ("__global__ void k() {}\nvoid solve() { k<<<1, 1>>>(); }\n", [], 2,
                "case.cu has no main(): name the file that has it, too"),
    "missing_and_not_reached": ("int main() { int peers = 0; cudaDeviceCanAccessPeer(&peers, 0, 1);\n"
                                " if (peers) cudaIpcGetMemHandle(nullptr, nullptr); return peers; }\n", [], 0, ""),
    "missing_and_reached": ("int main() {\n cudaGraph_t graph = nullptr;\n cudaGraphDebugDotPrint(graph, nullptr, 0);\n}\n", [], 2,
                            "missing function: cudaGraphDebugDotPrint, called at case.cu:3, is not there"),
    "headers_of_the_toolkit": ("#include <cuda.h>\n#include <crt/host_defines.h>\n#include <cuComplex.h>\n#include <math_constants.h>\n"
                               '#include "device_launch_parameters.h"\n#include <nvtx3/nvToolsExt.h>\n#include <cstdio>\n'
                               "int main() { nvtxRangePushA(\"all\"); cuDoubleComplex q = cuCdiv(make_cuDoubleComplex(3, 4), "
                               "make_cuDoubleComplex(0, 1));\n cudaError e = cudaSuccess; nvtxRangePop();\n"
                               ' printf("%g %g %g %d\\n", cuCreal(q), cuCimag(q), CUDART_PI, e); }\n', [], 0, "4 -3 3.14159 0\n"),
    "macros_of_one_letter": ("#define N 8\n#define K 3\n#define size 7\n#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
                             "#include <cooperative_groups/scan.h>\n#include <cooperative_groups/memcpy_async.h>\n#include <cuda_bf16.h>\n"
                             "#include <cuda_fp16.h>\n#include <cuda_pipeline.h>\n#include <cuComplex.h>\n#include <mma.h>\n#include <nvtx3/nvToolsExt.h>\n"
                             "#include <cstdio>\n__global__ void k(T* out) { *out = A + B + V + a + b + i + N + K + size; }\n"
                             'int main() { T *d, h; cudaMalloc(&d, 4); k<<<1, 1>>>(d); cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); printf("%g\\n", h); }\n',
                             ["-DT=float", "-DA=1", "-DB=2", "-DV=3", "-Da=4", "-Db=5", "-Di=6", "-Dx=x", "-Dy=y", "-Dk=kernel"], 0, "39\n"),
    "texts_of_errors": ("#include <cstdio>\nint main() { for (int code : {0, 1, 98, 209, 304, 700, 801, 911, 12345})\n"
                        ' printf("%s: %s\\n", cudaGetErrorName((cudaError_t)code), cudaGetErrorString((cudaError_t)code)); }\n', [], 0,
                        "cudaErrorNoKernelImageForDevice: no kernel image is available for execution on the device\n"
                        "cudaErrorOperatingSystem: OS call failed or operation not supported on this OS\n"
                        "cudaErrorIllegalAddress: an illegal memory access was encountered\ncudaErrorNotSupported: operation not supported\n"),
    "old_shuffle": ("__global__ void k() {\n __shfl_down(1, 2);\n}\nint main() {}\n", [], 2,
                    "case.cu:2: __shfl_down is gone since CUDA 9: use __shfl_down_sync"),
    "words_that_are_not_reached": ("#define OLD(x) __shfl(x, 0) + cuInit(0)\n#if __CUDA_ARCH__ >= 900\n__device__ void f() {\n"
                                   ' asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); tex1Dfetch(); }\n#endif\nint main() {}\n', [], 0, ""),
    "thrust": ("#include <thrust/sort.h>\nint main() {}\n", [], 2, "case.cu:1: Thrust is not there"),
    "curand_when_asked": ("#ifdef RANDOM\n#include <curand.h>\n#endif\nint main() {}\n", [], 0, ""),
    "ptx_of_hopper": ('__global__ void k() {\n asm volatile("wgmma.fence.sync.aligned;" ::: "memory");\n}\n'
                      "int main() {}\n", [], 2,
                      "case.cu:2: the lab does not have the PTX instruction 'wgmma.fence.sync.aligned'"),
    "ptx_in_a_macro": ('#define LANE(x) \\\n  asm("mov.u32 %0, %%laneid;" \\\n : "=r"(x))\n'
                       "__global__ void k(unsigned* p) {\n unsigned lane;\n LANE(lane);\n p[lane] = 1;\n}\n"
                       "int main() { unsigned* p; cudaMalloc(&p, 4); k<<<1, 2>>>(p); }\n", [], 1, "at case.cu:7"),
    "ptx_races": ('__global__ void k(int* p) {\n asm volatile("st.global.u32 [%0], %1;" ::"l"(p),\n'
                  ' "r"(threadIdx.x));\n}\nint main() { int* p; cudaMalloc(&p, 4); k<<<1, 2>>>(p); }\n', [], 1,
                  "race: kernel k, block (0, 0, 0), thread (1, 0, 0), after 0 barriers writes"),
    "ptx_unknown_register": ('__global__ void k(int* p) {\n asm("mov.u32 %0, %%pm0;" : "=r"(*p));\n}\nint main() {}\n',
                             [], 2, "case.cu:2: the lab does not have the special register '%pm0' of PTX"),
    "texture": ("texture<float, 2> t;\nint main() {}\n", [], 2, "case.cu:1: texture references are gone"),
    "wait_in_a_kernel": (KERNEL + "__global__ void outer(int* p) {\n k<<<1, 1>>>(p);\n cudaDeviceSynchronize();\n}\n"
                         "int main() { int* p; cudaMalloc(&p, 4); outer<<<1, 1>>>(p); }\n", [], 1,
                         "waits at case.cu:4 for kernels that it has launched: dynamic parallelism has no such wait"),
    "too_deep": ("#include <cstdio>\n__global__ void k(int n) {\n  if (n > 0) k<<<1, 1>>>(n - 1);\n"
                 '  if (n == 1) printf("%d\\n", cudaGetLastError());\n}\nint main() { k<<<1, 1>>>(25); }\n', [], 0, "65"),
    "too_many_threads": (KERNEL + "#include <cstdio>\nint main() { k<<<1, 2000>>>(nullptr);\n"
                         'printf("%s, ", cudaGetErrorString(cudaPeekAtLastError()));\n'
                         'printf("%s, ", cudaGetErrorString(cudaGetLastError()));\n'
                         'printf("%s\\n", cudaGetErrorString(cudaGetLastError())); }\n', [], 0,
                         "invalid configuration argument, invalid configuration argument, no error\n"),
    "too_much_shared_memory": ("#include <cstdio>\n__global__ void k() {}\nint main() {\n"
                               " k<<<1, 1, 50000>>>(); printf(\"%s, \", cudaGetErrorName(cudaGetLastError()));\n"
                               " cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000);\n"
                               " k<<<1, 1, 50000>>>(); printf(\"%s\\n\", cudaGetErrorName(cudaGetLastError())); }\n",
                               [], 0, "cudaErrorInvalidValue, cudaSuccess\n"),
    "exit_code_and_arguments": ("#include <cstdlib>\nint main(int argc, char** argv) { exit(atoi(argv[1])); }\n",
                                ["FILE", "7"], 7, ""),
    "flags_behind_the_file": ('#include <cstdio>\nint main(int, char** v) { puts(v[1]); }\n',
                              ["FILE", "--counts"], 0, "--counts\n"),
    "signal": ("int main() { *(volatile int*)8 = 1; }\n", [], 139, "was ended by signal 11"),
    "counts": (KERNEL + "int main() { int* p; cudaMalloc(&p, 256); k<<<1, 64>>>(p); }\n", ["--counts"], 0,
               r"global store +2 +32\.0 +4\.0 +4\.0 +case\.cu:1"),
    "counts_after_exit": (KERNEL + "#include <cstdlib>\nint main() { int* p; cudaMalloc(&p, 256);\n"
                          "k<<<1, 64>>>(p); exit(3); }\n", ["--counts"], 3,
                          r"global store +2 +32\.0 +4\.0 +4\.0 +case\.cu:1"),
    "macros": ("#define BLOCKS 1\n#define RUN(kernel, ...) \\\n  kernel<<<BLOCKS, 32>>>(__VA_ARGS__)\n" + KERNEL +
               "int main() { int* p; cudaMalloc(&p, 128);\n RUN(k, p);\n RUN(k, p + 1);\n}\n", [], 1,
               "at case.cu:4"),
    "strings_and_comments": ('#include <cstdio>\n// a<<<b, c>>>(d)\nconst char* s = R"(x<<<1, 1>>>(); __shfl(0))";\n'
                             "/* extern __shared__ int x[]; */\nint main() { puts(s); }\n", [], 0,
                             "x<<<1, 1>>>(); __shfl(0)\n"),
    "host_statics": ("#include <cstdio>\nint next() { static int n = 0; static int zero; return ++n + zero; }\n"
                     "__global__ void k(int* p) {\n __shared__ int s[2]; s[threadIdx.x] = 5; __syncthreads();\n"
                     " p[blockIdx.x * 2 + threadIdx.x] = s[1 - threadIdx.x];\n}\nint main() { int* p; cudaMalloc(&p, 32); next();\n"
                     ' k<<<4, 2>>>(p);\n printf("%d\\n", next());\n}\n', ["--schedules", "3"], 0, "2\n"),
    "device_variables": ("#include <cstdio>\n__device__ int a[3] = {1, 2, 3}, sum;\n__device__ const int b = 4;\n"
                         "__managed__ float m = 1;\nnamespace n { __device__ volatile int late; }\n"
                         "__device__ int f(int x) { return x + b; }\n"
                         "__global__ void k() { sum = f(a[0] + a[1] + a[2]); m += 1; n::late = 1; }\n"
                         "int main() { int s; k<<<1, 1>>>(); cudaDeviceSynchronize();\n"
                         ' cudaMemcpyFromSymbol(&s, sum, sizeof s); printf("%d %g\\n", s, m); }\n', [], 0, "10 2\n"),
    "votes_of_a_small_block": ("#include <cstdio>\n__global__ void k(unsigned* p) {\n"
                               " unsigned b = __ballot_sync(~0u, threadIdx.x > 0); int all = __all_sync(~0u, 1);\n"
                               " if (threadIdx.x == 0) *p = all ? b : 0;\n}\n"
                               "int main() { unsigned *p, h; cudaMalloc(&p, 4); k<<<1, 16>>>(p);\n"
                               ' cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%x\\n", h); }\n', [], 0, "fffe\n"),
    "votes_of_exited_lanes": ("#include <cstdio>\n__global__ void k(unsigned* p) {\n if (threadIdx.x >= 20) return;\n"
                              " unsigned b = __ballot_sync(~0u, 1);\n if (threadIdx.x == 0) *p = b;\n}\n"
                              "int main() { unsigned *p, h; cudaMalloc(&p, 4); k<<<1, 32>>>(p);\n"
                              ' cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%x\\n", h); }\n',
                              ["--schedules", "4"], 0, "case.cu:4 names lane 20, and thread (20, 0, 0) has returned"),
    "counts_of_exited_threads": ("#include <cstdio>\n__global__ void k(int* p) {\n if (threadIdx.x >= 50) return;\n"
                                 " int n = __syncthreads_count(1) + 100 * __syncthreads_and(1) + 1000 * __syncthreads_or(0);\n"
                                 " if (threadIdx.x == 0) *p = n;\n}\n"
                                 "int main() { int *p, h; cudaMalloc(&p, 4); k<<<1, 64>>>(p);\n"
                                 ' cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%d\\n", h); }\n', [], 0, "150\n"),
    "class_parameters": ("#include <cstdio>\nint copied, destroyed;\ntemplate <class T> struct Handle { T* p; Handle(T* q) : p(q) {}\n"
                         " Handle(const Handle& o) : p(o.p) { ++copied; } ~Handle() { ++destroyed; } };\n"
                         "__global__ void add(Handle<int> h) { atomicAdd(h.p, 1); }\n"
                         "template <class T> __global__ void twice(Handle<T> h, const T* x) { atomicAdd(h.p, 2 + *x); }\n"
                         "int main() { int *d, r; cudaMalloc(&d, 8); cudaMemset(d, 0, 8); Handle<int> h(d);\n"
                         ' add<<<1, 10>>>(h); printf("%d %d, ", copied, destroyed);\n'
                         " twice<<<2, 10>>>(h, d + 1); cudaMemcpy(&r, d, 4, cudaMemcpyDeviceToHost);\n"
                         ' printf("%d %d, %d\\n", copied, destroyed, r); }\n', [], 0, "1 1, 2 2, 50\n"),
    "heap_of_kernels": ("#include <cstdio>\nstruct A { int n; __device__ A(int k) : n(k) {} __device__ virtual ~A() {}\n"
                        " __device__ virtual int f() { return n; } };\n"
                        "struct B : A { __device__ B(int k) : A(k) {} __device__ int f() override { return n * n; } };\n"
                        "__global__ void k(int* p) { A* a = new B(threadIdx.x); int* m = (int*)malloc(8); m[1] = a->f();\n"
                        " p[threadIdx.x] = m[1]; delete a; if (threadIdx.x > 0) free(m); }\n"
                        "int main() { int *p, h[4]; cudaMalloc(&p, 16); k<<<1, 4>>>(p);\n"
                        ' cudaMemcpy(h, p, 16, cudaMemcpyDeviceToHost); printf("%d %d\\n", h[2], h[3]); }\n',
                        ["--schedules", "4"], 0, "kernels have allocated 1 piece of memory, 8 bytes, and not freed"),
    "heap_out_of_bounds": ("__global__ void k(int* p, int n) {\n int* m = (int*)malloc(8);\n m[n] = 1; *p = m[0];\n}\n"
                           "int main() { int* p; cudaMalloc(&p, 4); k<<<1, 1>>>(p, 2); }\n", [], 1,
                           "byte 0 past the end of memory of the heap of kernels of 8 bytes, at case.cu:3"),
    "heap_freed_twice": ("__global__ void k() {\n int* m = new int;\n delete m;\n delete m;\n}\nint main() { k<<<1, 1>>>(); }\n", [], 1,
                         "gives delete byte 0 of memory of the heap of kernels of 4 bytes, which was freed, at case.cu:4"),
    "heap_is_full": ("#include <cstdio>\n__global__ void k(int* p) { *p = malloc(100) == nullptr; }\n"
                     "int main() { int *p, h; cudaMalloc(&p, 4); cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64); k<<<1, 1>>>(p);\n"
                     ' cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%d\\n", h); }\n', [], 0, "1\n"),
    "host_threads": ("#include <cstdio>\n#include <thread>\n#include <vector>\n__global__ void k(int* p) { atomicAdd(p, 1); }\n"
                     "int main() { int* p[4]; int h[4]; std::vector<std::thread> all;\n"
                     " for (int t = 0; t < 4; ++t) all.emplace_back([&, t] { cudaStream_t s; cudaStreamCreate(&s);\n"
                     "  cudaMalloc(&p[t], 4); cudaMemsetAsync(p[t], 0, 4, s);\n"
                     "  for (int i = 0; i < 50; ++i) k<<<10, 32, 0, s>>>(p[t]);\n"
                     "  cudaMemcpyAsync(&h[t], p[t], 4, cudaMemcpyDeviceToHost, s); cudaStreamSynchronize(s); });\n"
                     ' for (auto& t : all) t.join(); printf("%d %d %d %d\\n", h[0], h[1], h[2], h[3]); }\n', [], 0,
                     "16000 16000 16000 16000\n"),
    "launch_of_no_kernel": ("void run(void (*kernel)(int*)) {\n kernel<<<1, 1>>>(nullptr);\n}\nvoid helper(int*) {}\n"
                            "int main() { run(helper); }\n", [], 1,
                            "no kernel: helper, launched at case.cu:2, is no __global__ function"),
    "launch_of_a_lambda": ("template <class F> void run(F kernel) {\n kernel<<<1, 1>>>(nullptr);\n}\nstruct All { void go() {\n"
                           " void (*kernel)(int*) = [](int*) {};\n run(kernel); } };\nint main() { All().go(); }\n", [], 1,
                           "no kernel: a lambda of host code, launched at case.cu:2, is no __global__ function"),
    "calls_a_host_function": ("int helper(int x) { return x + 1; }\n__device__ int good(int x) { return x; }\n"
                              "template <class T> __global__ void k(T* p) {\n *p = good(1);\n *p = helper(1);\n}\n"
                              "int main() { return helper(-1); }\n", [], 2,
                              "case.cu:5: k() is code of the device and calls helper(), which is the host's"),
    "calls_what_the_device_has_too": ("int min(int a, int b) { return a < b ? a : b; }\n"
                                      "__global__ void k(int* p) { if (p) *p = min(*p, 4); }\nint main() { k<<<1, 1>>>(nullptr); return min(0, 1); }\n", [], 0, ""),
    "calls_what_may_be_the_devices": ("#define HD __host__ __device__\nHD int a(int x) { return x; }\nconstexpr int b() { return 1; }\n"
                                      "template <class T> T c(T x) { return x; }\nstruct S { __device__ int d() { return 1; } };\n"
                                      "int e(int x) { return x; }\n__global__ void __launch_bounds__(32) k(int* p, S s) {\n"
                                      " auto e = [](int x) { return x; };\n if (p) *p = a(b()) + c(1) + s.d() + e(1);\n}\n"
                                      "int main() { k<<<1, 1>>>(nullptr, S()); return e(0); }\n", [], 0, ""),
    "managed_unwritten": ("__global__ void k(float* c) {\n c[threadIdx.x] += 1;\n}\n"
                          "int main() { float* c; cudaMallocManaged(&c, 32); k<<<1, 8>>>(c); cudaDeviceSynchronize(); }\n", [], 1,
                          "uninitialised read: kernel k, block (0, 0, 0), thread (0, 0, 0), after 0 barriers reads byte 0 of "
                          "managed memory of 32 bytes at case.cu:2"),
    "managed_written_unseen": ("#include <cstring>\n__global__ void k(int* c, unsigned char* b) { c[threadIdx.x] += b[threadIdx.x]; }\n"
                               "int main() { int* c; unsigned char* b; cudaMallocManaged(&c, 32); cudaMallocManaged(&b, 32);\n"
                               " memset(c, 0xff, 32); memset(b, 255, 32); k<<<1, 8>>>(c, b); cudaDeviceSynchronize(); return c[0] != 254; }\n",
                               [], 0, ""),
    "managed_unwritten_on_the_host": ("int main() {\n int* c; cudaMallocManaged(&c, 32);\n return c[1];\n}\n", [], 1,
                                      "uninitialised read: host code reads byte 4 of managed memory of 32 bytes, at case.cu:3"),
    "mapped_unwritten": ("__global__ void k(int* p, int* q) {\n p[0] = q[4];\n}\nint main() { int *p, *q;\n"
                         " cudaMalloc(&p, 4); cudaHostAlloc(&q, 32, cudaHostAllocMapped); q[0] = 1; k<<<1, 1>>>(p, q); }\n", [], 1,
                         "reads byte 16 of pinned memory of 32 bytes at case.cu:2"),
    "copied_out_unwritten": ("#include <cstdio>\n" + KERNEL + "int main() { int *p, h[64]; cudaMalloc(&p, 256); k<<<1, 32>>>(p);\n"
                             " cudaMemcpy(h, p, 256, cudaMemcpyDeviceToHost);\n"
                             ' printf("%d", h[0]);\n printf("%d\\n", h[63]); }\n', ["--allow", "unwritten"], 1,
                             "host code reads, at case.cu:6, what cudaMemcpy at case.cu:4 has copied there: byte 124 of 32 elements of 4 bytes"),
    "copied_out_and_not_read": ("#include <cstdio>\n" + KERNEL + "int main() { int *p, h[64]; cudaMalloc(&p, 256); k<<<1, 32>>>(p);\n"
                                " cudaMemcpy(h, p, 256, cudaMemcpyDeviceToHost);\n"
                                ' printf("%d\\n", h[31]); }\n', [], 1,
                                "unwritten: cudaMemcpy at case.cu:4 copies 32 elements of 4 bytes that nobody has written to the host"),
    "local_unwritten": ("__global__ void k(const float* a, float* c, int n) {\n float sum;\n"
                        " for (int i = 0; i < n; ++i) sum += a[i];\n c[threadIdx.x] = sum;\n}\nint main() {}\n", [], 0,
                        r"weft: note: case\.cu:[34]: .*sum.* uninitialized"),
    "no_nvcc_or_gpu": ("int main() {}\n", ["--device", "cuda"], 4, "weft: error: --device cuda needs "),
}


class Runner:
    def __init__(self, weft: str, folder: pathlib.Path):
        self.weft = weft
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "LC_ALL": "C"}

    def run(self, words: list[str], where: pathlib.Path, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.weft, "lab", "run", *words], cwd=where, capture_output=True, text=True,
                              timeout=120, env={**self.environment, **more})

    def program(self, path: pathlib.Path) -> str:
        expected = "".join(line + "\n" for line in re.findall(r"^// prints: (.*)$", path.read_text(), re.M))
        done = self.run([str(path.relative_to(ROOT))], ROOT)
        if not expected:
            return f"{path.name} does not say what it prints"
        if done.returncode != 0 or done.stdout != expected or "uninitialized" in done.stderr:
            return f"{path.name}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return ""

    def transcript(self, page: pathlib.Path) -> str:
        """The commands of a page's console blocks print what stands below them."""
        where = self.folder / "transcript"
        shutil.copytree(ROOT / "examples/lab", where / "examples/lab")
        (where / "run").write_text(f'#!/bin/sh\nexec "{self.weft}" "$@"\n')
        (where / "run").chmod(0o755)
        text = "".join(re.findall(r"^```console\n(.*?)^```", page.read_text(), re.M | re.S))
        commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        script = "".join(f"cat <<'END'\n$ {command}\nEND\n(exit $status)\n{command}\nstatus=$?\n"
                         for command in commands)
        done = subprocess.run(["bash"], input=script, cwd=where, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**self.environment, "LC_ALL": "C.UTF-8"})
        if not commands or done.stdout != text:
            return f"{page.name} says:\n{text}and its commands print:\n{done.stdout}"
        return ""

    def case(self, name: str) -> str:
        source, words, code, piece = CASES[name]
        where = self.folder / name
        where.mkdir()
        (where / "case.cu").write_bytes(source if isinstance(source, bytes) else source.encode())
        words = ["case.cu" if word == "FILE" else word for word in words]
        if "case.cu" not in words:
            words = [*words, "case.cu"]
        more = {"PATH": "/nowhere", "CUDACXX": ""} if name == "no_nvcc_or_gpu" else {}
        done = self.run(words, where, **more)
        text = done.stdout + done.stderr
        if done.returncode != code or not (piece in text or re.search(piece, text)):
            return f"{name}: expected {code} and '{piece}', found {done.returncode}:\n{text}"
        return ""


def interrupted(runner: Runner) -> str:
    """Signals reach the program, and its end is the lab's."""
    where = runner.folder / "interrupted"
    where.mkdir()
    (where / "case.cu").write_text('#include <cstdio>\nint main() { puts("on"); fflush(stdout); for (;;) {} }\n')
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = subprocess.Popen([runner.weft, "lab", "run", "case.cu"], cwd=where, stdout=subprocess.PIPE, text=True,
                                 stderr=subprocess.DEVNULL, env=runner.environment, preexec_fn=heed_signals)
        child.stdout.readline()
        child.send_signal(number)
        code = child.wait(timeout=60)
        child.stdout.close()
        if code != 128 + number:
            return f"interrupted by {number}: exit code {code}"
    return ""


def heed_signals() -> None:
    """In a child: the tests may run in the background, where these are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def compiler_ended(runner: Runner) -> str:
    """A signal while the compiler is at work ends it and what it has started, and no folder stays."""
    where = runner.folder / "compiler"
    where.mkdir()
    (where / "case.cu").write_text("int main() {}\n")
    slow = where / "slow-cxx"
    slow.write_text('#!/bin/sh\n[ "$1" = --version ] && exit\nsleep 60 &\necho $$ $! >"$0.new"\nmv "$0.new" "$0.pids"\nwait\n')
    slow.chmod(0o755)
    cache = where / "cache"
    child = subprocess.Popen([runner.weft, "lab", "run", "case.cu"], cwd=where, preexec_fn=heed_signals,
                             env={**runner.environment, "XDG_CACHE_HOME": str(cache), "CXX": str(slow)})
    pids = where / "slow-cxx.pids"
    for _ in range(600):
        if pids.exists():
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    code = child.wait(timeout=60)
    for _ in range(100):
        running = [pid for pid in pids.read_text().split()
                   if pathlib.Path(f"/proc/{pid}/stat").exists() and
                   pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"]
        if not running:
            break
        time.sleep(0.05)
    left = [path.name for path in cache.glob("weft/lab/making-*")]
    if code != -signal.SIGTERM or running or left:
        return f"compiler_ended: exit code {code}, {running} still run, {left} stay"
    return ""


def watched(runner: Runner) -> str:
    """--watch writes a page with the source, the requests and what they cost, and keeps the exit code."""
    where = runner.folder / "watched"
    where.mkdir()
    (where / "case.cu").write_text(
        "__global__ void strided(int* p) { p[8 * threadIdx.x] = 1; }\n"
        "int main() { int* p; cudaMalloc(&p, 1024);\n strided<<<1, 32>>>(p);\n return 5; }\n")
    done = runner.run(["--watch", "page.html", "case.cu"], where)
    page = (where / "page.html").read_text() if (where / "page.html").exists() else ""
    for piece in ("strided(int* p)", "32 bytes apart: 32 sectors instead of 4; 128 of 1024 bytes are used", '"kernel":"strided"'):
        if piece not in page:
            return f"watched: exit code {done.returncode}, no '{piece}' on the page:\n{done.stdout}{done.stderr}"
    if done.returncode != 5 or "case.cu:1: 32.0 sectors for each request, where 4.0 would do" not in done.stderr:
        return f"watched: exit code {done.returncode}:\n{done.stderr}"
    refused = runner.run(["--watch", "nowhere/page.html", "case.cu"], where)
    if refused.returncode != 3:
        return f"watched: without a folder {refused.returncode}:\n{refused.stderr}"
    return ""


def several(runner: Runner) -> str:
    """Further sources behind the first, of C too, are linked with it, and headers stand beside them or in a folder."""
    where = runner.folder / "several"
    where.mkdir()
    (where / "k.h").write_text("#pragma once\n__device__ inline int plus(int x) { return x + 1; }\n"
                               "__global__ void one(int* p);\nvoid set_all(int* p, int n);\n")
    (where / "a.cu").write_text(
        '#include <cstdio>\n#include <cstdlib>\n#include "k.h"\nint main(int, char** v) {\n int *p, h[32];\n'
        " cudaMalloc(&p, 128); set_all(p, atoi(v[1])); one<<<1, 32>>>(p);\n"
        ' cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost); printf("%d %s\\n", h[31], v[2]);\n}\n')
    (where / "b.cu").write_text(
        '#include "k.h"\n__global__ void set(int* p, int n) {\n __shared__ int s[32]; s[threadIdx.x] = n; __syncthreads();\n'
        " p[threadIdx.x] = s[threadIdx.x ^ n];\n}\n__global__ void one(int* p) { p[threadIdx.x] = plus(p[threadIdx.x]); }\n"
        "void set_all(int* p, int n) { set<<<1, 32>>>(p, n); }\n")
    (where / "include").mkdir()
    (where / "include/own.cuh").write_text(
        "__global__ void add(int* p, int n) { extern __shared__ int s[]; s[0] = n; *p += s[0]; }\n")
    (where / "d.cu").write_text('#include <own.cuh>\nextern "C" void run(int* h) { int* p; cudaMalloc(&p, 4);\n'
                                " cudaMemcpy(p, h, 4, cudaMemcpyHostToDevice); add<<<1, 1, 4>>>(p, 2);\n"
                                " cudaMemcpy(h, p, 4, cudaMemcpyDeviceToHost); }\n")
    (where / "apart/src").mkdir(parents=True)
    (where / "apart/common").mkdir()
    (where / "apart/common/far.cuh").write_text("__global__ void far() {}\n")
    (where / "apart/src/e.cu").write_text('#include "far.cuh"\nint main() { far<<<1, 1>>>(); }\n')
    (where / "main.c").write_text("#include <stdio.h>\n#include <stdlib.h>\nvoid run(int* out);\nint main(void) {\n"
                                  ' int* class = malloc(4); *class = 40; run(class); printf("%d\\n", *class); return 0; }\n')
    for words, code, piece in ((["a.cu", "b.cu", "6", "x"], 0, "7 x\n"), (["-I", "include", "d.cu", "main.c"], 0, "42\n"), (["a.cu", "b.cu", "--", "6", "y.cu"], 0, "7 y.cu\n"),
                               (["a.cu", "b.cu", "32", "x"], 1, "at b.cu:4"), (["a.cu", "c.cu", "6"], 3, "c.cu: no such file"),
                               (["apart/src/e.cu"], 2, "e.cu does not compile; far.cuh is in apart/common: add -I apart/common\n"),
                               (["-I", "apart/common", "apart/src/e.cu"], 0, "")):
        done = runner.run(words, where)
        if done.returncode != code or piece not in done.stdout + done.stderr:
            return f"several, {words}: expected {code} and '{piece}', found {done.returncode}:\n{done.stdout}{done.stderr}"
    return ""


def strangers(runner: Runner) -> str:
    """What others could have put into the cache does not run, and pipes and devices are not waited for."""
    where = runner.folder / "strangers"
    where.mkdir()
    (where / "case.cu").write_text('#include <cstdio>\nint main() { puts("my own"); }\n')
    lab = where / "cache/weft/lab"

    def planted(prepare) -> str:  # the lab's finished programs are replaced, and its folder prepared
        runner.run(["case.cu"], where, XDG_CACHE_HOME=str(where / "cache"))
        programs = [path for path in lab.glob("*/program")]
        for program in programs:
            program.write_text("#!/bin/sh\necho planted\n")
        prepare()
        done = runner.run(["case.cu"], where, XDG_CACHE_HOME=str(where / "cache"))
        return "" if programs and done.stdout == "my own\n" else f"{len(programs)} planted: {done.stdout}{done.stderr}"

    def link() -> None:
        lab.rename(where / "theirs")
        lab.symlink_to(where / "theirs")

    ways = [lambda: lab.chmod(0o777), link]
    if os.geteuid() == 0:
        ways.append(lambda: os.chown(lab, 65534, 65534))
    for way in ways:
        if found := planted(way):
            return f"strangers: {found}"
        if lab.is_symlink():
            lab.unlink()
        if lab.exists() and lab.stat().st_mode & 0o777 != 0o700:
            return f"strangers: the cache has mode {lab.stat().st_mode:o}"
    os.mkfifo(where / "pipe.cu")
    for name, text in (("quoted", '#include "pipe.cu"\n'), ("angle", "#include </dev/zero>\n")):
        (where / f"{name}.cu").write_text(text + "int main() {}\n")
    for file in ("pipe.cu", "quoted.cu", "angle.cu", "/dev/zero"):
        done = runner.run([file], where)
        if done.returncode != 3 or "is a pipe or a device" not in done.stderr or done.stderr.count("\n") != 1:
            return f"strangers: {file}: exit code {done.returncode}: {done.stderr}"
    return ""


def outside(runner: Runner) -> str:
    """tests/outside/run.py counts how the programs of other people's repositories end, and what got worse."""
    where = runner.folder / "outside"
    programs = {"ran.cu": '#include "own.h"\nint main() { return EXIT; }\n', "bounds.cu": CASES["out_of_bounds"][0],
                "wrong.cu": "int main() { return nothing; }\n", "argument.cu": "#include <cstdlib>\nint main(int, char** argv) { return atoi(argv[1]); }\n",
                "thrust.cu": CASES["thrust"][0], "loop.cu": "int main() { for (volatile int i = 0;; ++i) {} }\n"}
    (where / "A+B/part/inc").mkdir(parents=True)
    (where / "A+B/part/inc/own.h").write_text("#define EXIT 0\n")
    for name, source in programs.items():
        (where / "A+B/part" / name).write_text(source)
    (where / "list.csv").write_text("repository,program,flags and arguments\n" + "".join(
        f"A/B,part/{name},{'-I inc ' if name == 'ran.cu' else ''}{name}\n" for name in programs))
    (where / "page.md").write_text("<!-- programs -->\nold\n<!-- end of programs -->\n")
    words = [sys.executable, str(ROOT / "tests/outside/run.py"), runner.weft, ".", "list.csv", "--nvcc", "false", "--seconds", "12",
             "--page", "page.md", "--results"]
    first = subprocess.run([*words, "one.csv"], cwd=where, capture_output=True, text=True, env=runner.environment, timeout=600)
    lines = (where / "one.csv").read_text().splitlines() if first.returncode == 0 else []
    found = [",".join(line.split(",")[1:]) for line in lines[1:]]
    if found != ["ran,", 'finding,"out of bounds, line 1"', "nvcc,", "needs,", "library,Thrust", "slow,"]:
        return f"outside: exit code {first.returncode}: {found}\n{first.stdout}{first.stderr}"
    if "| ran to the end | 1 |\n| ended with a finding | 1 |\n" not in (where / "page.md").read_text():
        return f"outside: the page is\n{(where / 'page.md').read_text()}"
    (where / "A+B/part/ran.cu").write_text("int main() { return nothing; }\n")
    second = subprocess.run([*words, "two.csv", "--before", "one.csv", "--only", "ran.cu", "--nvcc", "true"], cwd=where, capture_output=True,
                            text=True, env=runner.environment, timeout=600)
    if second.returncode != 1 or "worse: " not in second.stdout:
        return f"outside: exit code {second.returncode} for what got worse\n{second.stdout}{second.stderr}"
    return ""


def main() -> int:
    runner = Runner(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve())
    programs = sorted((HERE / "programs").glob("*.cu")) + sorted((ROOT / "examples/lab").glob("*.cu"))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        results = [*pool.map(runner.program, programs), *pool.map(runner.case, CASES),
                   runner.transcript(ROOT / "docs/lab.md"), interrupted(runner), compiler_ended(runner), watched(runner),
                   several(runner), strangers(runner), outside(runner)]
    failures = [one for one in results if one]
    for one in failures:
        print(one)
    print(f"lab: {len(programs)} programs, {len(CASES)} cases, {len(failures)} failures")
    if len(programs) < 30:
        print("expected at least 30 programs")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
