// SPDX-License-Identifier: MIT
// Error codes: their names and texts, and the one that was last.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/error.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/language/runtime_api.h"

namespace {

struct ErrorText {
  cudaError_t code;
  const char *name, *text;
};

#define WEFT_ERROR(name, text) \
  { name, #name, text }
constexpr ErrorText kErrors[] = {
    WEFT_ERROR(cudaSuccess, "no error"),
    WEFT_ERROR(cudaErrorInvalidValue, "invalid argument"),
    WEFT_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    WEFT_ERROR(cudaErrorInitializationError, "initialization error"),
    WEFT_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    WEFT_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    WEFT_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    WEFT_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    WEFT_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    WEFT_ERROR(cudaErrorInsufficientDriver, "the driver is too old"),
    WEFT_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    WEFT_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    WEFT_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    WEFT_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image for this device"),
    WEFT_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    WEFT_ERROR(cudaErrorNotReady, "device not ready"),
    WEFT_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    WEFT_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    WEFT_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    WEFT_ERROR(cudaErrorAssert, "device-side assert triggered"),
    WEFT_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    WEFT_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    WEFT_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    WEFT_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    WEFT_ERROR(cudaErrorNotSupported, "host-cuda cannot do this"),
    WEFT_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef WEFT_ERROR

const ErrorText* find(cudaError_t code) {
  const ErrorText* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                        [&](const ErrorText& one) { return one.code == code; });
  return found == std::end(kErrors) ? nullptr : found;
}

thread_local cudaError_t last = cudaSuccess;  // of each thread of the host

}  // namespace

namespace weft::host_cuda {

cudaError_t noted(cudaError_t code) {
  if (code != cudaSuccess) {
    last = code;
    call_failed([&] { return str("the call at ", caller_line(), " failed: ", find(code)->text); });
  }
  return code;
}

}  // namespace weft::host_cuda

const char* cudaGetErrorName(cudaError_t code) {
  const ErrorText* found = find(code);
  if (code != cudaSuccess) weft::host_cuda::error_was_read();
  return found == nullptr ? "unrecognized error code" : found->name;
}
const char* cudaGetErrorString(cudaError_t code) {
  const ErrorText* found = find(code);
  if (code != cudaSuccess) weft::host_cuda::error_was_read();
  return found == nullptr ? "unrecognized error code" : found->text;
}
cudaError_t cudaGetLastError() {
  weft::host_cuda::error_was_read();
  return std::exchange(last, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  weft::host_cuda::error_was_read();
  return last;
}
