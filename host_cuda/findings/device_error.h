// SPDX-License-Identifier: MIT
// The error that a GPU would have met in a kernel: from then on every call says so.
#pragma once

#include <string>

#include "host_cuda/language/runtime_api.h"

namespace weft::host_cuda {

// After a finding of this kind in a kernel; nothing where a GPU would not notice.
void kernel_failed(const std::string& kind);
// What calls return from then on: cudaErrorIllegalAddress or the like, else cudaSuccess. They do
// their work all the same, so that more can be found.
cudaError_t device_error();
void forget_device_error();  // cudaDeviceReset()

}  // namespace weft::host_cuda
