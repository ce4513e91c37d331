// SPDX-License-Identifier: MIT
// Lengths of the scans: around warps, blocks, tiles, the second level of sections and the reach of
// the look-back, and one that is a prime.
#pragma once

#include "kernels/scan/problem.h"

namespace weft::cases {

inline constexpr problems::Scan kScanCases[] = {
    {1},    {2},     {3},     {31},    {32},     {33},     {511},    {512},     {513},
    {1023}, {1024},  {1025},  {2047},  {2049},   {4095},   {4096},   {4097},    {8193},
    {9973}, {65535}, {65536}, {65537}, {131072}, {262145}, {524289}, {1048577}, {2200013},
};

inline constexpr problems::Scan kFewScanCases[] = {{33}, {9973}};

}  // namespace weft::cases
