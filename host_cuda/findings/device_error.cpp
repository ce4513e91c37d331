// SPDX-License-Identifier: MIT
#include "host_cuda/findings/device_error.h"

#include <atomic>
#include <utility>

namespace weft::host_cuda {
namespace {

constexpr std::pair<const char*, cudaError_t> kErrors[] = {
    {"out of bounds", cudaErrorIllegalAddress},
    {"null pointer", cudaErrorIllegalAddress},
    {"host pointer", cudaErrorIllegalAddress},
    {"constant memory", cudaErrorIllegalAddress},
    {"misaligned", cudaErrorMisalignedAddress},
    {"assertion failed", cudaErrorAssert},
    {"trap", cudaErrorLaunchFailure},
    {"deadlock", cudaErrorLaunchTimeout},
    {"launch in a kernel", cudaErrorLaunchFailure},
    {"wrong free", cudaErrorLaunchFailure},
};

std::atomic<cudaError_t> met{cudaSuccess};

}  // namespace

void kernel_failed(const std::string& kind) {
  for (const auto& [name, code] : kErrors) {
    if (kind == name && met == cudaSuccess) met = code;
  }
}
cudaError_t device_error() {
  return met;
}
void forget_device_error() {
  met = cudaSuccess;
}

}  // namespace weft::host_cuda
