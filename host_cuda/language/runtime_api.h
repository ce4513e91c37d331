// SPDX-License-Identifier: MIT
// The part of the CUDA runtime that engine/ and kernels/ call, on host memory. There is one device;
// a stream runs its work at once, and a graph is a list of calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "host_cuda/language/language.h"

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;
using cudaGraph_t = CUgraph_st*;
using cudaGraphExec_t = CUgraphExec_st*;
using cudaMemPool_t = void*;

#include "host_cuda/language/runtime_enums.inc"

inline cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return cudaSuccess;  // nothing is forbidden while work is recorded
}
inline constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
#define CUDART_VERSION 0

const char* cudaGetErrorName(cudaError_t code);
const char* cudaGetErrorString(cudaError_t code);
cudaError_t cudaGetLastError();  // and forgets it
cudaError_t cudaPeekAtLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
namespace weft::host_cuda {
// The clocks and the memory's width that the device shows, in kHz and bits; 0 before.
void show_clocks(int cores, int memory, int bus_width);
}  // namespace weft::host_cuda
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream);
template <class T>
cudaError_t cudaMallocAsync(T** data, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(data), bytes, stream);
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream);
cudaError_t cudaMalloc(void** data, std::size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaMallocHost(void** data, std::size_t bytes);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaMemcpyAsync(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* dst, int value, std::size_t bytes, cudaStream_t stream);
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* src, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyAsync(reinterpret_cast<char*>(&symbol) + offset, src, bytes, kind, stream);
}

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return cudaSuccess;  // a stream runs its work at once
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);

// On host-cuda a kernel has its own __shared__ variables without those of functions that it calls,
// all __constant__ variables, and 0 of what only nvcc knows: registers and local memory.
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
  int cacheModeCA, maxDynamicSharedSizeBytes, preferredShmemCarveout;
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetName(const char** name, const void* kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int threads, std::size_t shared_bytes);

union cudaLaunchAttributeValue {
  int cooperative;
  int programmaticStreamSerializationAllowed;
  struct {
    unsigned x, y, z;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
inline cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*,
                                                  const cudaLaunchConfig_t*) {
  *clusters = 0;
  return cudaErrorNotSupported;
}

namespace weft::host_cuda {

// Remembers a failure for cudaGetLastError(), and returns it.
cudaError_t noted(cudaError_t code);

// A kernel with its arguments. Each thread of a grid runs it once.
class Call {
 public:
  virtual ~Call() = default;
  virtual void run() const = 0;
  virtual const void* kernel() const = 0;
  virtual const char* name() const { return nullptr; }  // where the address does not tell it
  virtual std::size_t bytes() const = 0;  // of this object: threads read their arguments in it
  // This tells what each argument points to: null where it is no pointer.
  virtual std::vector<const void*> pointers() const { return {}; }
};

template <class T>
const void* pointer_in(const T& argument) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    return const_cast<const void*>(static_cast<const volatile void*>(argument));
  } else {
    return nullptr;
  }
}

// Does a function take a T by the address of a copy, which constructors make? (Itanium C++ ABI,
// "non-trivial for the purposes of calls")
template <class T>
constexpr bool is_passed_by_address() {
  if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
    constexpr bool copies = std::is_copy_constructible_v<T>,
                   moves = std::is_move_constructible_v<T>;
    return !std::is_trivially_destructible_v<T> || (!copies && !moves) ||
           (copies && !std::is_trivially_copy_constructible_v<T>) ||
           (moves && !std::is_trivially_move_constructible_v<T>);
  } else {
    return false;
  }
}

// A parameter of a kernel. One whose class has constructors is copied once, by the caller; each
// thread gets the bytes of that, as on a GPU.
template <class T, bool kBytes = is_passed_by_address<T>()>
struct Parameter {
  using Passed = T;
  explicit Parameter(T from) : value(static_cast<T>(from)) {}
  T pass() const { return static_cast<T>(value); }
  const void* pointer() const { return pointer_in<std::remove_const_t<T>>(value); }

  std::remove_const_t<T> value;
};
template <class T>
struct Parameter<T, true> {
  using Passed = void*;
  explicit Parameter(const T& from) { std::memcpy(bytes, &from, sizeof(T)); }
  void* pass() { return bytes; }
  const void* pointer() const { return nullptr; }

  alignas(T) unsigned char bytes[sizeof(T)];
};

template <class... Parameters>
class KernelCall : public Call {
 public:
  template <class... Arguments>
  explicit KernelCall(void (*function)(Parameters...), Arguments&&... arguments)
      : kernel_(function),
        arguments_(Parameter<Parameters>(std::forward<Arguments>(arguments))...) {}

  void run() const override {
    using Function = void (*)(typename Parameter<Parameters>::Passed...);
    std::apply([this](auto... copies) { reinterpret_cast<Function>(kernel_)(copies.pass()...); },
               arguments_);
  }
  const void* kernel() const override { return reinterpret_cast<const void*>(kernel_); }
  std::size_t bytes() const override { return sizeof(*this); }
  std::vector<const void*> pointers() const override {
    return std::apply([](const auto&... all) { return std::vector<const void*>{all.pointer()...}; },
                      arguments_);
  }

 private:
  void (*kernel_)(Parameters...);
  std::tuple<Parameter<Parameters>...> arguments_;
};

// Runs the grid, or records it where the stream is being captured. Throws check_failed where a
// thread breaks a rule.
cudaError_t start(const cudaLaunchConfig_t& config, std::shared_ptr<const Call> call);

}  // namespace weft::host_cuda

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  using Call = weft::host_cuda::KernelCall<Parameters...>;
  return weft::host_cuda::start(
      *config, std::make_shared<const Call>(kernel, std::forward<Arguments>(arguments)...));
}
