// SPDX-License-Identifier: MIT
// Convolution of a signal, an image or a volume with one small filter.
//
//   y[d,h,w] = sum over (a,b,c) of f[a,b,c] x[d + a - fd/2, h + b - fh/2, w + c - fw/2]
//
// where (fd, fh, fw) are the filter's extents, divided rounding down, and x is 0 outside of its
// bounds: y has the size of x ("same"). As in the courses, and in neural networks, the filter is
// not mirrored (mathematics calls that correlation). Sums are fp32, in the order of the taps, so
// integers come out exact. y must not overlap x or f. FLOPs 2 |x| |f|, least traffic 8 |x| bytes.
//
// The filter may have any odd or even extents up to kSignalFilter[rank], which are arguments of the
// call: a signal of depth and height 1 with such a filter has rank 1, an image (depth 1) rank 2.
// Rungs that stage tiles have limits of their own, and say so.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct SignalDims {
  std::int64_t depth = 1, height = 1, width = 0;
  std::int64_t filter_depth = 1, filter_height = 1, filter_width = 1;

  std::int64_t elements() const { return depth * height * width; }
  std::int64_t taps() const { return filter_depth * filter_height * filter_width; }
  int rank() const {
    if (depth > 1 || filter_depth > 1) return 3;
    return height > 1 || filter_height > 1 ? 2 : 1;
  }
};

// The most taps of a filter: the 64 KiB of constant memory that a GPU has, in floats.
constexpr std::int64_t kSignalTaps = 16384;
// The largest filter extent, by rank: 128 x 128 and 25 x 25 x 25 are the most that fit there.
constexpr std::int64_t kSignalFilter[] = {0, kSignalTaps, 128, 25};

// constant_memory keeps the filter in one place for the whole device: calls of that variant on
// different streams must not overlap.
struct SignalOptions {
  std::string_view variant = kAutomatic;
};

void signal_convolve(float* y,             // (depth, height, width)
                     const float* x,       // (depth, height, width)
                     const float* filter,  // (filter_depth, filter_height, filter_width)
                     const SignalDims& dims, const SignalOptions& options, const Stream& stream);

// What a rung loads from global memory, as it is worked out by hand.
enum class SignalLoads {
  none,
  element_and_tap,   // for each product
  element,           // for each product
  tile,              // once for a block, with its halo
  tile_without_halo  // and an element for each product with the halo
};
struct SignalTraits {
  SignalLoads loads = SignalLoads::none;
  int least_rank = 1;
  bool threads_load_halo = false;  // threads match the input: a block has fewer outputs
};
SignalTraits signal_traits(std::string_view rung);  // of another name: none

Rungs signal_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool signal_takes(std::string_view variant, const SignalDims& dims, Device device);
Choice signal_choice(const SignalDims& dims, Device device);

}  // namespace weft::kernels
