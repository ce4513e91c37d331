// SPDX-License-Identifier: MIT
// Whether kernels for exactly sm_90a (wgmma) run on a device.
#pragma once

#include <string_view>

#include "engine/device.h"

namespace weft::kernels {

// It has compute capability 90, and there is code for it.
inline bool runs_hopper_code(Device device) {
  return device.is_cuda() && device_properties(device).compute_capability == 90 &&
         built_cuda_architectures().find("90a") != std::string_view::npos;
}

}  // namespace weft::kernels
