// SPDX-License-Identifier: MIT
// Dropout with random numbers computed from a counter: four elements are one 16-byte load and one
// call of Philox (about 100 integer instructions), so no mask is written or read back.
#include "engine/launch.h"
#include "engine/random.h"
#include "kernels/device/vector.cuh"
#include "kernels/dropout/dropout.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// Words skip to skip + 3 of those that counters c and c + 1 give. Chosen and not indexed: an array
// that is indexed lies in local memory.
__device__ __forceinline__ Random4 words_from(int skip, std::uint64_t seed, std::uint32_t layer,
                                              std::uint64_t c) {
  const Random4 a = philox(seed, RandomStream::dropout, layer, c);
  const Random4 b = philox(seed, RandomStream::dropout, layer, c + 1);
  const std::uint32_t words[8] = {a.value[0], a.value[1], a.value[2], a.value[3],
                                  b.value[0], b.value[1], b.value[2], b.value[3]};
  Random4 chosen;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    chosen.value[i] = skip == 1 ? words[i + 1] : skip == 2 ? words[i + 2] : words[i + 3];
  }
  return chosen;
}

// x[0] takes word `skip` of counter `first_counter`. A share of a batch may start inside of a
// counter; then the words of two make up those of four elements.
template <bool kSkips>
__global__ void __launch_bounds__(kThreads)
    dropout_kernel(float* y, const float* x, std::int64_t n, float p, float scale,
                   std::uint64_t seed, std::uint32_t layer, const std::int64_t* step,
                   std::uint32_t first_counter, int skip, bool accumulate) {
  const std::uint64_t counter = (static_cast<std::uint64_t>(*step) << 32) + first_counter;
  const std::int64_t stride = 4 * device::grid_threads();
  for (std::int64_t first = 4 * device::global_thread(); first < n; first += stride) {
    const device::Float4 in = device::load4(x, first, n);
    device::Float4 out = accumulate ? device::load4(y, first, n) : device::Float4{};
    const std::uint64_t mine = counter + static_cast<std::uint64_t>(first / 4);
    const Random4 bits = kSkips ? words_from(skip, seed, layer, mine)
                                : philox(seed, RandomStream::dropout, layer, mine);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Not out += ...: rounding the product first gives the bits of the CPU when overwriting.
      const float kept = uniform01(bits.value[i]) >= p ? __fmul_rn(in.lane[i], scale) : 0.0f;
      out.lane[i] = accumulate ? out.lane[i] + kept : kept;
    }
    device::store4(y, first, n, out);
  }
}

}  // namespace

void dropout_counter_based(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
                           GradientMode mode, const Stream& stream) {
  const int skip = static_cast<int>(key.first % 4);
  launch(skip == 0 ? dropout_kernel<false> : dropout_kernel<true>,
         Launch{blocks_for(n, 4 * kThreads, 1 << 20), kThreads, 0, stream}, y, x, n, p,
         1.0f / (1.0f - p), key.seed, key.layer, key.step,
         static_cast<std::uint32_t>(key.first / 4), skip, mode == GradientMode::accumulate);
}

}  // namespace weft::kernels::cuda
