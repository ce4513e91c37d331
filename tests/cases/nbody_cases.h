// SPDX-License-Identifier: MIT
// Numbers of bodies: around warps, tiles of 128 and 256 bodies, the 1024 bodies of a block, and
// the several tiles in a ring of pair_symmetric, odd and even; two slices of constant memory.
#pragma once

#include "kernels/nbody/problem.h"

namespace weft::cases {

inline constexpr problems::Nbody kNbodyCases[] = {
    {1},   {2},   {3},    {31},   {32},   {33},   {127},  {128},  {129},  {255},  {256},
    {257}, {509}, {1023}, {1024}, {1025}, {1531}, {2048}, {3001}, {4096}, {6200},
};

inline constexpr problems::Nbody kFewNbodyCases[] = {{1}, {33}, {257}, {1025}};

}  // namespace weft::cases
