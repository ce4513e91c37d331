// SPDX-License-Identifier: MIT
// Error codes: their names and texts, and the one that was last.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/error.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/findings/device_error.h"
#include "host_cuda/language/runtime_api.h"
#include "host_cuda/memory/symbols.h"

namespace {

struct ErrorText {
  cudaError_t code;
  const char *name, *text;
};

#define WEFT_ERROR(name, text) {name, #name, text},
constexpr ErrorText kErrors[] = {
#include "host_cuda/language/runtime_errors.inc"
};
#undef WEFT_ERROR

const ErrorText* entry_of(cudaError_t code) {
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
    call_failed([&] {
      const std::string line = caller_line();
      return CallFailure{str("the call at ", line, " failed: ", entry_of(code)->text),
                         line == kUnknownLine ? "" : line};
    });
  }
  return code;
}

}  // namespace weft::host_cuda

const char* cudaGetErrorName(cudaError_t code) {
  const ErrorText* found = entry_of(code);
  if (code != cudaSuccess) weft::host_cuda::error_was_read();
  return found == nullptr ? "unrecognized error code" : found->name;
}
const char* cudaGetErrorString(cudaError_t code) {
  const ErrorText* found = entry_of(code);
  if (code != cudaSuccess) weft::host_cuda::error_was_read();
  return found == nullptr ? "unrecognized error code" : found->text;
}
cudaError_t cudaGetLastError() {
  weft::host_cuda::error_was_read();
  const cudaError_t of_call = std::exchange(last, cudaSuccess);
  const cudaError_t of_device = weft::host_cuda::device_error();
  return of_device != cudaSuccess ? of_device : of_call;
}
cudaError_t cudaPeekAtLastError() {
  weft::host_cuda::error_was_read();
  const cudaError_t of_device = weft::host_cuda::device_error();
  return of_device != cudaSuccess ? of_device : last;
}
