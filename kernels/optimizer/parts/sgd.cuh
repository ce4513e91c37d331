// SPDX-License-Identifier: MIT
// SGD's update of one parameter, as optimizer.h defines it, for every kernel that makes it.
#pragma once

namespace weft::kernels {

struct SgdRule {
  float rate, momentum, decay;
  bool nesterov;

  __device__ __forceinline__ void apply(float& parameter, float& velocity, float gradient) const {
    const float g = gradient + decay * parameter;
    velocity = momentum * velocity + g;
    parameter -= rate * (nesterov ? g + momentum * velocity : velocity);
  }
};

}  // namespace weft::kernels
