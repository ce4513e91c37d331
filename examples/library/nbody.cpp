// SPDX-License-Identifier: MIT
// A planet on a circle around a star: one year by leapfrog, back to where it began.
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/nbody/nbody.h"

bool example(const weft::Stream& stream) {
  // x, y, z, mass; with G = 1 and mass 1 at distance 1 the speed is 1 and the year 2 pi.
  const std::vector<float> start = {0, 0, 0, 1, 1, 0, 0, 1e-6f};
  const std::vector<float> speeds = {0, 0, 0, 0, 0, 1, 0, 0};
  weft::Tensor bodies = weft::tensor_from_host<float>({2, 4}, start, stream);
  weft::Tensor velocity = weft::tensor_from_host<float>({2, 4}, speeds, stream);
  weft::Tensor acceleration({2, 4}, weft::DType::f32, stream);
  const weft::kernels::NbodyOptions options{.softening = 1e-4f};
  const std::size_t bytes =
      weft::kernels::nbody_workspace_bytes(2, options.variant, stream.device());
  const weft::Buffer scratch(bytes, stream);
  const weft::kernels::Workspace workspace{scratch.data(), bytes};

  constexpr int kSteps = 2000;
  constexpr float kYear = 6.2831853f;
  weft::kernels::nbody_accelerations(acceleration.data<float>(), bodies.data<float>(), 2, options,
                                     workspace, stream);
  for (int step = 0; step < kSteps; ++step) {
    weft::kernels::nbody_step(bodies.data<float>(), velocity.data<float>(),
                              acceleration.data<float>(), 2, kYear / kSteps, options, workspace,
                              stream);
  }
  const std::vector<float> end = weft::to_host(bodies.view<float>(), stream);
  const float away = std::hypot(end[4] - start[4], end[5] - start[5]);
  std::printf("after one year the planet is %.6f from where it began\n", away);
  return away < 0.01f;
}
