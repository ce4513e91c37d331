// SPDX-License-Identifier: MIT
#include "host_cuda/checks/failures.h"

#include <unistd.h>

#include <atomic>

#include "host_cuda/environment.h"

namespace weft::host_cuda {
namespace {

constexpr int kNever = 0x7fffffff;
std::atomic<std::int64_t> kernels{0};

int last_kernel() {
  static const int count = from_environment("WEFT_HOST_CUDA_LOST_AFTER", kNever, kNever);
  return count;
}

}  // namespace

std::size_t device_memory_bytes() {
  static const int mib = from_environment("WEFT_HOST_CUDA_MEMORY", kNever, kNever);
  if (mib != kNever) return static_cast<std::size_t>(mib) << 20;
  constexpr std::size_t kPart = 4;
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) / kPart *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool next_kernel_runs() {
  return last_kernel() == kNever || ++kernels <= last_kernel();
}

bool device_is_lost() {
  return last_kernel() != kNever && kernels > last_kernel();
}

}  // namespace weft::host_cuda
