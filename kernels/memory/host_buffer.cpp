// SPDX-License-Identifier: MIT
// Host memory, pinned or not, and copies between it and a device.
#include <cstdlib>

#include "engine/error.h"
#include "engine/stream.h"
#include "kernels/memory/memory.h"
#ifdef WEFT_WITH_CUDA
#include "engine/cuda_check.h"
#endif

namespace weft::kernels {

HostBuffer::HostBuffer(std::size_t bytes, HostMemory kind, Device device) : bytes_(bytes) {
  if (bytes == 0) return;
#ifdef WEFT_WITH_CUDA
  if (kind == HostMemory::pinned && device.is_cuda()) {
    cuda_check(cudaSetDevice(device.index), "select the GPU");
    cuda_check(cudaMallocHost(&data_, bytes), "allocate pinned memory");
    pinned_ = true;
    return;
  }
#endif
  static_cast<void>(kind), static_cast<void>(device);
  data_ = std::malloc(bytes);
  if (data_ == nullptr) {
    throw Error(ErrorKind::device, str("out of memory: could not allocate ", bytes, " bytes"));
  }
}

HostBuffer::~HostBuffer() {
#ifdef WEFT_WITH_CUDA
  if (pinned_) {
    static_cast<void>(cudaFreeHost(data_));  // may fail while the process unloads
    return;
  }
#endif
  std::free(data_);
}

namespace {

void check_fits(const char* where, const HostBuffer& host, std::size_t bytes) {
  if (bytes > host.bytes()) {
    throw Error(ErrorKind::usage,
                str(where, ": ", bytes, " bytes, but the host buffer has ", host.bytes()));
  }
}

}  // namespace

void transfer_to_device(void* device, const HostBuffer& host, std::size_t bytes,
                        const Stream& stream) {
  check_fits("transfer_to_device", host, bytes);
  copy_bytes(device, stream.device(), host.data(), Device::cpu(), bytes, stream);
}

void transfer_to_host(const HostBuffer& host, const void* device, std::size_t bytes,
                      const Stream& stream) {
  check_fits("transfer_to_host", host, bytes);
  copy_bytes(host.data(), Device::cpu(), device, stream.device(), bytes, stream);
}

}  // namespace weft::kernels
