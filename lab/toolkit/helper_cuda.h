// SPDX-License-Identifier: MIT
// The checks of errors and the choice of a device that NVIDIA's samples have in a header of this
// name, which courses pass on with them.
#pragma once

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "helper_string.h"

#include "host_cuda/language/macros_hidden.inc"

// Ends the program at an error.
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(text) __getLastCudaError(text, __FILE__, __LINE__)
#define printLastCudaError(text) __printLastCudaError(text, __FILE__, __LINE__)
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

inline const char* _cudaGetErrorEnum(cudaError_t code) {
  return cudaGetErrorName(code);
}
template <class T>
void check(T result, const char* call, const char* file, int line) {
  const auto code = static_cast<cudaError_t>(result);
  if (code == cudaSuccess) return;
  fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, static_cast<int>(code),
          _cudaGetErrorEnum(code), call);
  exit(EXIT_FAILURE);
}
inline cudaError_t __printLastCudaError(const char* text, const char* file, int line) {
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) {
    fprintf(stderr, "%s(%i) : %s : (%d) %s.\n", file, line, text, static_cast<int>(code),
            cudaGetErrorString(code));
  }
  return code;
}
inline void __getLastCudaError(const char* text, const char* file, int line) {
  if (__printLastCudaError(text, file, line) != cudaSuccess) exit(EXIT_FAILURE);
}

// Arithmetic units of fp32 in a multiprocessor.
inline int _ConvertSMVer2Cores(int major, int minor) {
  if (major == 3) return 192;
  if (major == 7 || (minor == 0 && (major == 6 || major == 8))) return 64;
  return 128;
}
inline const char* _ConvertSMVer2ArchName(int major, int minor) {
  if (major == 3) return "Kepler";
  if (major == 5) return "Maxwell";
  if (major == 6) return "Pascal";
  if (major == 7) return minor == 5 ? "Turing" : "Volta";
  if (major == 8) return minor == 9 ? "Ada" : "Ampere";
  return major == 9 ? "Hopper" : "Blackwell";
}

inline int gpuDeviceInit(int device) {
  checkCudaErrors(cudaSetDevice(device));
  return device;
}
inline int gpuGetMaxGflopsDeviceId() {
  return 0;
}
// Says which device it is; --device=N chooses it.
inline int findCudaDevice(int count, const char** words) {
  const int device = gpuDeviceInit(getCmdLineArgumentInt(count, words, "device"));
  cudaDeviceProp properties;
  checkCudaErrors(cudaGetDeviceProperties(&properties, device));
  printf("GPU Device %d: \"%s\" with compute capability %d.%d\n\n", device,
         _ConvertSMVer2ArchName(properties.major, properties.minor), properties.major,
         properties.minor);
  return device;
}
inline bool checkCudaCapabilities(int major, int minor) {
  cudaDeviceProp properties;
  checkCudaErrors(cudaGetDeviceProperties(&properties, 0));
  return properties.major > major || (properties.major == major && properties.minor >= minor);
}

#include "host_cuda/language/macros_shown.inc"
