// SPDX-License-Identifier: MIT
// Shapes of the softmax kernels.
#pragma once

#include "kernels/softmax/problem.h"

namespace weft::cases {

// Around the rows that a warp with each number of registers holds, a block and a cluster of each
// size, and beyond them all; more rows than a grid has in y; a prime.
inline constexpr problems::Softmax kSoftmaxCases[] = {
    {1, 1},      {2, 2},      {7, 10},    {64, 10},   {257, 10},  {70001, 3}, {3, 31},
    {3, 32},     {9, 33},     {5, 64},    {5, 65},    {2, 127},   {2, 128},   {2, 129},
    {3, 256},    {2, 257},    {2, 512},   {2, 513},   {2, 1000},  {2, 1023},  {2, 1024},
    {2, 1025},   {2, 2048},   {2, 2049},  {2, 4096},  {3, 4099},  {2, 8192},  {2, 8193},
    {1, 16384},  {1, 16385},  {1, 32000}, {1, 32769}, {1, 65536}, {2, 65537}, {1, 131072},
    {1, 131073}, {1, 300007},
};

// One of each path, for sanitizers.
inline constexpr problems::Softmax kFewSoftmaxCases[] = {
    {1, 1},    {9, 10},   {5, 33},   {2, 127},   {2, 200},   {2, 500},   {1, 1000},   {2, 1025},
    {1, 2049}, {1, 4099}, {1, 8193}, {1, 16385}, {1, 32769}, {1, 65537}, {1, 131073},
};

}  // namespace weft::cases
