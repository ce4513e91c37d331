// SPDX-License-Identifier: MIT
// Dropout on the CPU: random bits for a block of elements, then one pass over the block.
#pragma once

#include "engine/random.h"
#include "kernels/cpu_math.h"
#include "kernels/dropout/dropout.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

constexpr std::int64_t kDropoutBlock = 512;  // elements: 2 KiB of random bits

// flatten: philox() is inlined here, so that no copy of it for this instruction set is shared.
// x[0] takes word `skip` (0 to 3) of the first counter.
template <class T>
[[gnu::flatten]] void dropout_block(T* y, const T* x, std::int64_t n, T p, T scale,
                                    std::uint64_t seed, std::uint32_t layer,
                                    std::uint64_t first_counter, std::int64_t skip,
                                    bool accumulate) {
  std::uint32_t words[kDropoutBlock + 4];
  const std::uint32_t* bits = words + skip;
  const int groups = static_cast<int>(divide_up(skip + n, 4));
#pragma omp simd
  for (int group = 0; group < groups; ++group) {
    const Random4 random = philox(seed, RandomStream::dropout, layer,
                                  first_counter + static_cast<std::uint64_t>(group));
    words[4 * group] = random.value[0];
    words[4 * group + 1] = random.value[1];
    words[4 * group + 2] = random.value[2];
    words[4 * group + 3] = random.value[3];
  }
  if (accumulate) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] += static_cast<T>(uniform01(bits[i])) >= p ? x[i] * scale : T(0);
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<T>(uniform01(bits[i])) >= p ? x[i] * scale : T(0);
    }
  }
}

}  // namespace detail

template <class T>
void dropout(T* y, const T* x, std::int64_t n, T p, const DropoutKey& key, GradientMode mode) {
  const T scale = T(1) / (T(1) - p);
  const std::uint64_t counter = static_cast<std::uint64_t>(*key.step) << 32;
  const std::int64_t blocks = divide_up(n, detail::kDropoutBlock);
#pragma omp parallel for schedule(static) if (n >= kParallelElements)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * detail::kDropoutBlock;
    const std::int64_t length =
        n - first < detail::kDropoutBlock ? n - first : detail::kDropoutBlock;
    detail::dropout_block(y + first, x + first, length, p, scale, key.seed, key.layer,
                          counter + static_cast<std::uint64_t>((key.first + first) / 4),
                          key.first % 4, mode == GradientMode::accumulate);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
