/* SPDX-License-Identifier: MIT
   A yardstick that is built apart: a shared library that exports the functions below, in C, and is
   loaded by weft-bench.

     WEFT_YARDSTICKS=./fast.so:./samples.so weft bench gemm nbody --device cuda

   So a program whose licence or size keeps it out of this tree can still be measured in turns with
   Weft's rungs and be checked like them. A library exports its name and those functions that it
   has. Each function enqueues its work on the stream and returns 0, or 1 for a problem that it does
   not take, or another number when it failed. It runs once before it is timed, and what it sets up
   then it keeps: later calls can be captured in a graph. Pointers are of the device. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
typedef struct CUstream_st* weft_stream;

/* What its rows are called, such as "fast.cu". */
const char* weft_yardstick_name(void);

/* c = a b of bfloat16, row by row: c is (m, n), a (m, k) or (k, m) where it is transposed, b (k, n)
   or (n, k). */
int weft_yardstick_gemm_bf16(void* c, const void* a, const void* b, int64_t m, int64_t n, int64_t k,
                             int transpose_a, int transpose_b, weft_stream stream);

/* Accelerations (n, 4) of all pairs of bodies (n, 4): x, y, z, mass, with G = 1. */
int weft_yardstick_nbody(float* accelerations, const float* bodies, int64_t n, float softening,
                         weft_stream stream);

/* y = softmax of each row of x, both (rows, cols). */
int weft_yardstick_softmax(float* y, const float* x, int64_t rows, int64_t cols,
                           weft_stream stream);

/* dx = y (dy - sum of dy y), row by row, all (rows, cols). */
int weft_yardstick_softmax_backward(float* dx, const float* dy, const float* y, int64_t rows,
                                    int64_t cols, weft_stream stream);

#ifdef __cplusplus
}
#endif
