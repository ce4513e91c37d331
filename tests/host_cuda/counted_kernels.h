// SPDX-License-Identifier: MIT
#pragma once

#include "engine/stream.h"

namespace weft::test {

void run_read_column(bool padded, float* out, const Stream& stream);
// All lanes read words 0 to 31 of shared memory one after the other, or 1 to 7.
void run_add_up(bool from_the_second, float* out, const Stream& stream);
void run_read_strided(float* out, const float* x, int stride, const Stream& stream);
void run_read_in_a_branch(float* out, const float* x, const Stream& stream);
void run_add_to_bins(int* bins, int count, const Stream& stream);  // 64 threads
// Out and in: 32 vectors of 16 bytes.
void run_add_one_to_vectors(float* y, const float* x, const Stream& stream);
// Lane l reads vector l / sharing * stride, of 8 or 16 bytes; sharing 1, 2, 32; stride 1, 2.
void run_read_shared_vectors(int bytes, int sharing, int stride, float* out, const Stream& stream);
void run_sweep_down(float* out, const Stream& stream);
enum class Loop {
  skip_a_trip_each,
  as_many_trips_as_lanes,
  leave_in_different_ways,
  call_a_function,
};
void run_loop(Loop loop, float* out, const float* x, const Stream& stream);
// Two blocks of 64 threads.
void run_add_to_copies_of_bins(int* bins, int count, const Stream& stream);
void run_square_or_cube(float* y, const float* x, int n, const Stream& stream);  // blocks of 64

}  // namespace weft::test
