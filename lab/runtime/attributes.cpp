// SPDX-License-Identifier: MIT
// What a program may set of a kernel.
#include <map>
#include <mutex>

#include "host_cuda/checks/host.h"
#include "lab/runtime/launch.h"

namespace weft::host_cuda::lab {
namespace {

std::mutex raised_mutex;
std::map<const void*, int> raised;  // limits of kernels, in bytes of dynamic shared memory

}  // namespace

bool shared_memory_allowed(const Call& call, std::size_t bytes) {
  constexpr std::size_t kDefault = 48 * 1024;
  if (bytes <= kDefault || call.name() != nullptr) return true;
  const std::lock_guard lock(raised_mutex);
  const auto found = raised.find(call.kernel());
  return found != raised.end() && bytes <= static_cast<std::size_t>(found->second);
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const cudaError_t code = noted(cudaFuncSetAttribute(kernel, attribute, value));
  if (code == cudaSuccess && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    const std::lock_guard lock(raised_mutex);
    raised[kernel] = value;
  }
  return code;
}

}  // namespace weft::host_cuda::lab
