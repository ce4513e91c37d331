// SPDX-License-Identifier: MIT
#ifdef WEFT_WITH_CUDA
#include "engine/tensor_map.h"

#include <cuda_runtime.h>

#include "engine/cuda_check.h"
#include "engine/error.h"

namespace weft {
namespace {

// The driver's function, found at run time: a program must start where there is no driver.
auto encode_function() {
  static const auto function = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    cuda_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                cudaEnableDefault, &found),
               "find cuTensorMapEncodeTiled");
    if (found != cudaDriverEntryPointSuccess || entry == nullptr) {
      throw Error(ErrorKind::device, "the CUDA driver has no cuTensorMapEncodeTiled");
    }
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  }();
  return function;
}

}  // namespace

CUtensorMap matrix_map(const void* data, TensorMapType type, const MatrixExtents& matrix,
                       int box_rows) {
  const unsigned bytes = type == TensorMapType::bf16 ? 2 : 4;
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(matrix.columns),
                                static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(matrix.ld) * bytes};
  const cuuint32_t box[] = {128 / bytes, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  const CUresult result =
      encode_function()(&map,
                        type == TensorMapType::bf16   ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                        : type == TensorMapType::tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                                      : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                        2, const_cast<void*>(data), extents, strides, box, steps,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw Error(ErrorKind::device,
                str("the driver refused to map a matrix of (", matrix.rows, ", ", matrix.columns,
                    "), rows ", matrix.ld, " elements apart: CUresult ", static_cast<int>(result)));
  }
  return map;
}

}  // namespace weft
#endif
