// SPDX-License-Identifier: MIT
// Moves vectors through pinned host memory, and adds them on the device.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/memory/memory.h"

bool example(const weft::Stream& stream) {
  using weft::kernels::HostBuffer;
  constexpr std::int64_t kCount = 1 << 20;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  // Pinned: on a GPU the copies run while the host goes on.
  const HostBuffer a(kBytes, weft::kernels::HostMemory::pinned, stream.device());
  const HostBuffer c(kBytes, weft::kernels::HostMemory::pinned, stream.device());
  for (int i = 0; i < kCount; ++i) static_cast<float*>(a.data())[i] = static_cast<float>(i);
  const weft::Buffer x(kBytes, stream), y(kBytes, stream);

  weft::kernels::transfer_to_device(x.data(), a, kBytes, stream);
  weft::kernels::vector_add(static_cast<float*>(y.data()), static_cast<const float*>(x.data()),
                            static_cast<const float*>(x.data()), kCount, weft::kernels::kAutomatic,
                            stream);
  weft::kernels::transfer_to_host(c, y.data(), kBytes, stream);
  stream.synchronize();

  const float* const sums = static_cast<const float*>(c.data());
  std::printf("%g + %g = %g\n", 1000.0, 1000.0, static_cast<double>(sums[1000]));
  for (int i = 0; i < kCount; ++i) {
    if (sums[i] != 2 * static_cast<float>(i)) return false;
  }
  return true;
}
