// SPDX-License-Identifier: MIT
// Counts bytes by value, and floats in bins of equal width.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/histogram/histogram.h"

bool example(const weft::Stream& stream) {
  constexpr std::int64_t kCount = 100'000;
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  for (std::int64_t i = 0; i < kCount; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i % 10));
    floats.push_back(static_cast<float>(i) / kCount);
  }
  const weft::Tensor x = weft::tensor_from_host<std::uint8_t>({kCount}, bytes, stream);
  const weft::Tensor f = weft::tensor_from_host<float>({kCount}, floats, stream);
  weft::Tensor values({weft::kernels::kHistogramByteBins}, weft::DType::i64, stream);
  weft::Tensor bins({4}, weft::DType::i64, stream);

  weft::kernels::histogram(values.data<std::int64_t>(), x.data<std::uint8_t>(), kCount, {}, stream);
  weft::kernels::histogram(bins.data<std::int64_t>(), f.data<float>(), kCount,
                           {.lower = 0, .upper = 1, .bins = 4}, {}, stream);

  const std::vector<std::int64_t> of_value = weft::to_host(values.view<std::int64_t>(), stream);
  const std::vector<std::int64_t> of_bin = weft::to_host(bins.view<std::int64_t>(), stream);
  std::printf("bytes of value 9: %lld, of value 10: %lld\n", static_cast<long long>(of_value[9]),
              static_cast<long long>(of_value[10]));
  for (const std::int64_t count : of_bin) std::printf("%lld ", static_cast<long long>(count));
  std::printf("floats in quarters\n");
  return of_value[9] == kCount / 10 && of_value[10] == 0 &&
         of_bin == std::vector<std::int64_t>(4, kCount / 4);
}
