// SPDX-License-Identifier: MIT
// Tensor cores as a warp uses them: mma.sync and ldmatrix (PTX ISA, "Warp-level matrix
// instructions"). Each is one operation of all 32 lanes and, like a shuffle, orders no memory;
// lanes that are at different places of the source are reported.
//
// What an mma is here. Operands of tf32 are what a tensor core reads of a word, its upper 19 bits;
// products are exact; a step's products and the number that they are added to are summed up in
// double, and the sum is cut to fp32, towards zero. Tensor cores cut too, but keep fewer bits on
// the way, in an order that no document tells: small integers give the same bits as on a GPU, other
// numbers may differ in the last ones. A sum beyond fp32 is infinite.
#pragma once

#include <cstdint>

#include "host_cuda/language/vector_types.h"

namespace weft::host_cuda {

// d + a b. kernels/device/mma.cuh tells which lane holds what of the fragments.
float4 mma_m16n8k8_tf32(float4 d, uint4 a, uint2 b);
float4 mma_m16n8k8_bf16(float4 d, uint2 a, std::uint32_t b);
float4 mma_m16n8k16_bf16(float4 d, uint4 a, uint2 b);

// ldmatrix .x4: a lane reads the row that it names, at once and in its own name, and receives the
// words that are its own when all have come. The row has to be 16 aligned bytes of shared memory.
uint4 load_matrices(const void* row);
uint4 load_matrices_transposed(const void* row);

// Any other operation of all 32 lanes: when all have come, `compute` is called once, with what
// each lane has brought.
void warp_function(void (*compute)(void* const* lanes), void* mine, const char* name,
                   const void* site);

}  // namespace weft::host_cuda
