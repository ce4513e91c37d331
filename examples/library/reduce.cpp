// SPDX-License-Identifier: MIT
// Sum, least, largest and where the largest is, of a million numbers.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/reduce/reduce.h"

bool example(const weft::Stream& stream) {
  using weft::kernels::Reduction;
  constexpr std::int64_t kCount = 1'000'000;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < kCount; ++i) values.push_back(i * 7 % kCount);  // each once
  const weft::Tensor x = weft::tensor_from_host<std::int64_t>({kCount}, values, stream);
  weft::Tensor result({1}, weft::DType::i64, stream);
  std::int64_t* const out = result.data<std::int64_t>();
  const std::size_t bytes =
      weft::kernels::reduce_workspace_bytes<std::int64_t>(kCount, {}, stream.device());
  const weft::Buffer scratch(bytes, stream);
  const auto read = [&] { return weft::to_host(result.view<std::int64_t>(), stream)[0]; };
  const auto reduce = [&](Reduction kind) {
    weft::kernels::reduce(out, x.data<std::int64_t>(), kCount, kind, {}, {scratch.data(), bytes},
                          stream);
    return read();
  };
  const std::int64_t sum = reduce(Reduction::sum), least = reduce(Reduction::min);
  const std::int64_t largest = reduce(Reduction::max);
  weft::kernels::argmax(out, x.data<std::int64_t>(), kCount, {}, {scratch.data(), bytes}, stream);
  const std::int64_t at = read();
  std::printf("sum %lld, least %lld, largest %lld at %lld\n", static_cast<long long>(sum),
              static_cast<long long>(least), static_cast<long long>(largest),
              static_cast<long long>(at));
  return sum == kCount * (kCount - 1) / 2 && least == 0 && largest == kCount - 1 &&
         values[static_cast<std::size_t>(at)] == largest;
}
