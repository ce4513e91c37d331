// SPDX-License-Identifier: MIT
#ifdef WEFT_WITH_CUDA
#include "engine/cuda/tensor_map.h"

#include <cuda_runtime.h>

#include "engine/cuda/cuda_check.h"
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

unsigned element_bytes(TensorMapType type) {
  return type == TensorMapType::bf16 || type == TensorMapType::fp16 ? 2 : 4;
}

// Extents and box of a tensor of `rank` dimensions, the contiguous one first; strides, in bytes, of
// the others.
CUresult encode(CUtensorMap& map, const void* data, TensorMapType type, cuuint32_t rank,
                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box) {
  const cuuint32_t steps[] = {1, 1, 1, 1};
  return encode_function()(&map,
                           type == TensorMapType::bf16   ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                           : type == TensorMapType::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                           : type == TensorMapType::tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                                         : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                           rank, const_cast<void*>(data), extents, strides, box, steps,
                           CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace

CUtensorMap matrix_map(const void* data, TensorMapType type, const MatrixExtents& matrix,
                       int box_rows) {
  const unsigned bytes = element_bytes(type);
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(matrix.columns),
                                static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(matrix.ld) * bytes};
  const cuuint32_t box[] = {128 / bytes, static_cast<cuuint32_t>(box_rows)};
  CUtensorMap map;
  const CUresult result = encode(map, data, type, 2, extents, strides, box);
  if (result != CUDA_SUCCESS) {
    throw Error(ErrorKind::device,
                str("the driver refused to map a matrix of (", matrix.rows, ", ", matrix.columns,
                    "), rows ", matrix.ld, " elements apart: CUresult ", static_cast<int>(result)));
  }
  return map;
}

CUtensorMap images_map(const void* data, TensorMapType type, const ImageExtents& images,
                       const ImageBox& box) {
  const unsigned bytes = element_bytes(type);
  const auto extent = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
  const cuuint64_t extents[] = {extent(images.channels), extent(images.width),
                                extent(images.height), extent(images.images)};
  const cuuint64_t pixel = extents[0] * bytes;
  const cuuint64_t strides[] = {pixel, pixel * extents[1], pixel * extents[1] * extents[2]};
  const cuuint32_t boxes[] = {128 / bytes, static_cast<cuuint32_t>(box.width),
                              static_cast<cuuint32_t>(box.height),
                              static_cast<cuuint32_t>(box.images)};
  CUtensorMap map;
  const CUresult result = encode(map, data, type, 4, extents, strides, boxes);
  if (result != CUDA_SUCCESS) {
    throw Error(ErrorKind::device,
                str("the driver refused to map images of (", images.images, ", ", images.height,
                    ", ", images.width, ", ", images.channels, ") by boxes of (", box.images, ", ",
                    box.height, ", ", box.width, "): CUresult ", static_cast<int>(result)));
  }
  return map;
}

}  // namespace weft
#endif
