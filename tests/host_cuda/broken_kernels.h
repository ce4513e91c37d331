// SPDX-License-Identifier: MIT
#pragma once

#include "engine/stream.h"

namespace weft::test {

enum class Broken {
  kogge_stone_one_barrier,
  one_past_a_static_array,
  one_past_a_static_array_by_pointer,
  one_past_dynamic_memory,
  one_past_an_allocation,
  one_before_an_allocation,
  return_above_a_barrier,
  barrier_in_a_branch,
  lane_missing_in_a_shuffle,
  shuffle_from_outside_of_the_mask,
  reads_what_nobody_wrote,
  reads_a_vector_half_written,
  warp_without_syncwarp,
  warps_out_of_step,
  waits_for_ever,
  order_of_blocks,
  copies_padding,  // no mistake
};

constexpr int kBrokenElements = 64;

// Launches that kernel on kBrokenElements integers.
void run_broken(Broken which, int* x, const Stream& stream);

}  // namespace weft::test
