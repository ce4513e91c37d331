// SPDX-License-Identifier: MIT
#pragma once

#include "engine/stream.h"

namespace weft::test {

void run_read_column(bool padded, float* out, const Stream& stream);
void run_read_strided(float* out, const float* x, int stride, const Stream& stream);
void run_read_in_a_branch(float* out, const float* x, const Stream& stream);
void run_add_to_bins(int* bins, int count, const Stream& stream);  // 64 threads

}  // namespace weft::test
