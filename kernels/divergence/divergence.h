// SPDX-License-Identifier: MIT
// Squares or cubes: the smallest kernel in which neighbouring threads want different instructions.
//
//   v = x[i]; for r = 0, 1, ... rounds - 1:  v = v * v + r         where i is even
//                                            v = v * v * v + r     where i is odd
//   y[i] = v
//
// Everything is modulo 2^32, in two's complement, so results are exact on every device. One round
// is the sq_or_cube of the course notes; more of them make the arithmetic, and not the memory, what
// a call waits for. y may be x. Traffic 8 n bytes, 1.5 n rounds multiplications and n rounds
// additions.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

void sq_or_cube(std::int32_t* y,        // (n,)
                const std::int32_t* x,  // (n,)
                std::int64_t n, int rounds, std::string_view variant, const Stream& stream);

// What a warp does for its squares and cubes, as it is worked out by hand.
struct DivergenceTraits {
  double multiplications = 0;  // of a warp in each round, the mean over the warps
  bool diverges = false;       // Do the threads of a warp disagree?
};
DivergenceTraits divergence_traits(std::string_view rung);  // of another name: none

Rungs divergence_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool divergence_takes(std::string_view variant, std::int64_t n, Device device);

}  // namespace weft::kernels
