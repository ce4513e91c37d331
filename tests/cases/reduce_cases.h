// SPDX-License-Identifier: MIT
// Lengths of the reductions: around vector, block and chunk boundaries, and several chunks.
#pragma once

#include <cstdint>

namespace weft::cases {

inline constexpr std::int64_t kReduceCases[] = {
    1,    2,    3,    4,    5,     31,    32,    33,    127,   1023,   1024,
    1025, 2047, 2048, 2049, 32767, 32768, 32769, 65536, 99991, 300007, 2200013,
};

inline constexpr std::int64_t kFewReduceCases[] = {1, 33, 2049, 99991};

}  // namespace weft::cases
