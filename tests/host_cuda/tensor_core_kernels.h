// SPDX-License-Identifier: MIT
// Instructions of tensor cores by themselves, and mistakes in their use.
#pragma once

#include <cstdint>

#include "engine/stream.h"

namespace weft::test {

enum class Mma { tf32_k8, bf16_k8, bf16_k16 };

// d += a b of one warp: 4, 4 and 2 words of each lane, of which the bf16 ones may use fewer.
void run_mma(Mma which, float* d, const std::uint32_t* a, const std::uint32_t* b,
             const Stream& stream);

// The four words of each lane, from 32 rows of 8 halves.
void run_load_matrices(bool transposed, std::uint32_t* words, const std::uint16_t* halves,
                       const Stream& stream);

enum class MatrixMistake {
  mma_in_a_branch,
  mma_of_two_branches,
  mma_of_half_a_warp,
  rows_of_another_warp,
  row_half_written,
  row_beyond_the_array,
  row_in_global_memory,
  row_between_quads,
  no_wait_for_a_copy,
  no_commit_of_a_copy,
  copy_over_what_is_read,
  copy_between_quads,
};

// Launches that kernel on 64 words.
void run_mistake(MatrixMistake which, std::uint32_t* x, const Stream& stream);

}  // namespace weft::test
