// SPDX-License-Identifier: MIT
// The mean squared error with its gradient, and totals that stay on the device for an epoch.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/loss/loss.h"

bool example(const weft::Stream& stream) {
  using weft::kernels::MetricTotals;
  const std::vector<float> outputs = {1, 2, 3, 4}, targets = {1, 0, 3, 8};
  const weft::Tensor y = weft::tensor_from_host<float>({2, 2}, outputs, stream);
  const weft::Tensor target = weft::tensor_from_host<float>({2, 2}, targets, stream);
  weft::Tensor loss({2}, weft::DType::f32, stream), dy({2, 2}, weft::DType::f32, stream);
  const weft::Buffer totals(sizeof(MetricTotals), stream);
  weft::zero_bytes(totals.data(), totals.bytes(), stream);

  for (int batch = 0; batch < 3; ++batch) {
    weft::kernels::mean_squared_error(loss.data<float>(), dy.data<float>(), y.data<float>(),
                                      target.data<float>(), 0.5f, 2, 2, stream);
    weft::kernels::accumulate_totals(static_cast<MetricTotals*>(totals.data()), loss.data<float>(),
                                     nullptr, nullptr, 2, stream);
  }

  MetricTotals read;
  weft::copy_bytes(&read, weft::Device::cpu(), totals.data(), stream.device(), sizeof read, stream);
  stream.synchronize();
  const std::vector<float> gradient = weft::to_host(dy.view<float>(), stream);
  std::printf("mean loss %g of %lld rows\ngradient %g %g %g %g\n",
              read.loss_sum / static_cast<double>(read.rows), static_cast<long long>(read.rows),
              gradient[0], gradient[1], gradient[2], gradient[3]);
  return read.loss_sum == 30 && read.rows == 6 && gradient == std::vector<float>{0, 1, 0, -2};
}
