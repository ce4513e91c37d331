// SPDX-License-Identifier: MIT
#include "lab/translate/unsupported.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weft::lab {
namespace {

struct Library {
  std::string_view prefix, name;
};

constexpr Library kLibraries[] = {
    {"thrust/", "Thrust"},
    {"cub/", "CUB"},
    {"curand", "cuRAND"},
    {"cublas", "cuBLAS"},
    {"cufft", "cuFFT"},
    {"cusparse", "cuSPARSE"},
    {"cusolver", "cuSOLVER"},
    {"cudnn", "cuDNN"},
    {"npp", "NPP"},
    {"nvjpeg", "nvJPEG"},
    {"nccl", "NCCL"},
    {"cutlass/", "CUTLASS"},
    {"cute/", "CuTe"},
    {"cuda/std/", "libcu++"},
    {"cuda/", "libcu++"},
    {"cudaProfiler", "the CUDA profiler"},
    {"cuda_gl_interop", "OpenGL interoperability"},
};

// Headers of a toolkit of which the lab has all in cuda_runtime.h. "crt/" and the like stand before
// some of them.
constexpr std::string_view kOfTheRuntime[] = {
    "cuda.h",
    "builtin_types.h",
    "channel_descriptor.h",
    "common_functions.h",
    "cuda_device_runtime_api.h",
    "cuda_runtime_api.h",
    "device_atomic_functions.h",
    "device_double_functions.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "device_types.h",
    "driver_functions.h",
    "driver_types.h",
    "func_macro.h",
    "host_config.h",
    "host_defines.h",
    "library_types.h",
    "math_functions.h",
    "sm_20_atomic_functions.h",
    "sm_20_intrinsics.h",
    "sm_30_intrinsics.h",
    "sm_32_atomic_functions.h",
    "sm_32_intrinsics.h",
    "sm_35_atomic_functions.h",
    "sm_35_intrinsics.h",
    "sm_60_atomic_functions.h",
    "sm_61_intrinsics.h",
    "surface_functions.h",
    "surface_indirect_functions.h",
    "surface_types.h",
    "texture_fetch_functions.h",
    "texture_indirect_functions.h",
    "texture_types.h",
    "vector_functions.h",
    "vector_functions.hpp",
    "vector_types.h",
};

}  // namespace

bool is_of_the_runtime(std::string_view header) {
  if (header.starts_with("crt/")) header.remove_prefix(4);
  return std::find(std::begin(kOfTheRuntime), std::end(kOfTheRuntime), header) !=
         std::end(kOfTheRuntime);
}

std::string why_unsupported_header(std::string_view name) {
  for (const Library& one : kLibraries) {
    if (name.starts_with(one.prefix)) {
      return fmt::format("{} is not there: the lab runs a program's own kernels only.", one.name);
    }
  }
  return "";
}

std::string why_unsupported(std::string_view word, std::string_view next) {
  const bool call = next == "(";
  for (const std::string_view old :
       {"__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__any", "__all", "__ballot"}) {
    if (word == old && call) {
      return fmt::format("{} is gone since CUDA 9: use {}_sync with a mask of lanes.", word, word);
    }
  }
  if (word == "texture" && next == "<") {
    return "texture references are gone since CUDA 12, and the lab has no textures.";
  }
  for (const std::string_view one :
       {"cudaTextureObject_t", "cudaSurfaceObject_t", "tex1D", "tex2D", "tex3D", "tex1Dfetch",
        "cudaArray_t", "cudaMallocArray", "cudaMalloc3DArray", "cudaBindTexture"}) {
    if (word == one) return "the lab has no textures and no CUDA arrays: use plain device memory.";
  }
  if (word == "cuLaunchKernel" || word == "cuModuleLoad" || word == "cuInit") {
    return "the lab has the CUDA runtime API, not the driver API.";
  }
  if (word == "__cluster_dims__" || word == "cudaLaunchAttributeClusterDimension") {
    return "thread block clusters need sm_90: the lab runs kernels up to sm_80.";
  }
  return "";
}

}  // namespace weft::lab
