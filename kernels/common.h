// SPDX-License-Identifier: MIT
// What the host contracts of all kernel families share.
//
// Every function of kernels/*/NAME.h runs on the device of its Stream, in stream order, and takes
// pointers to memory of that device. Destinations come first, then inputs, dimensions, options and
// the Stream. An extent of 0 is valid: nothing is launched or written unless a contract says so.
// What is written overlaps nothing, unless a contract says that it may be another: exactly that.
// Wrong arguments throw Error{usage} before any work (checks.h), a failed launch Error{device}.
// All results are deterministic: the same bits for the same inputs, device and binary, and on the
// CPU whatever the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/stream.h"

namespace weft::kernels {

// What a backward kernel does with its destination.
enum class GradientMode { overwrite, accumulate };  // dst = value, dst += value

// Arithmetic of GEMM and convolution. Storage and accumulation are float in every mode.
enum class ComputeMode {
  fp32,  // every product in fp32
  tf32,  // operands rounded to 10 mantissa bits, tensor cores (sm_80 and later)
  bf16,  // operands rounded to 7 mantissa bits, tensor cores (sm_80 and later)
};

// Applied to each output element after the bias, before it is stored.
enum class Epilogue { none, relu };

// Scratch memory lent to one call; contents are undefined before and after.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace weft::kernels
