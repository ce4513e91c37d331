// SPDX-License-Identifier: MIT
// What calls of cuDNN share: errors, the handle and the descriptors.
#pragma once

#include <cudnn.h>

#include "bench/peers/peers.h"
#include "engine/error.h"

namespace weft::measure {

inline void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw Error(ErrorKind::device,
                str("cuDNN could not ", what, ": ", cudnnGetErrorString(status)));
  }
}

// The handle and every descriptor that these calls need; destroyed together.
struct CudnnState {
  explicit CudnnState(const Stream& stream) {
    check(cudnnCreate(&handle), "start");
    check(cudnnSetStream(handle, stream.native()), "take the stream");
    for (cudnnTensorDescriptor_t* tensor : {&x, &y, &channels}) {
      check(cudnnCreateTensorDescriptor(tensor), "describe a tensor");
    }
    check(cudnnCreateFilterDescriptor(&w), "describe filters");
    check(cudnnCreateConvolutionDescriptor(&conv), "describe a convolution");
    check(cudnnCreateActivationDescriptor(&activation), "describe an activation");
    check(cudnnCreatePoolingDescriptor(&pool), "describe pooling");
    check(cudnnCreateDropoutDescriptor(&dropout), "describe dropout");
  }
  ~CudnnState() {
    static_cast<void>(cudnnDestroyDropoutDescriptor(dropout));
    static_cast<void>(cudnnDestroyPoolingDescriptor(pool));
    static_cast<void>(cudnnDestroyActivationDescriptor(activation));
    static_cast<void>(cudnnDestroyConvolutionDescriptor(conv));
    static_cast<void>(cudnnDestroyFilterDescriptor(w));
    for (cudnnTensorDescriptor_t tensor : {x, y, channels}) {
      static_cast<void>(cudnnDestroyTensorDescriptor(tensor));
    }
    static_cast<void>(cudnnDestroy(handle));
  }
  CudnnState(const CudnnState&) = delete;
  CudnnState& operator=(const CudnnState&) = delete;

  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnTensorDescriptor_t channels = nullptr;  // one value for each channel of x
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  cudnnActivationDescriptor_t activation = nullptr;
  cudnnPoolingDescriptor_t pool = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  int algorithm = 0;  // of a convolution
  Tensor workspace;
};

inline void describe(cudnnTensorDescriptor_t tensor, std::int64_t n, std::int64_t c, std::int64_t h,
                     std::int64_t w) {
  check(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, int(n), int(c),
                                   int(h), int(w)),
        "describe a tensor");
}

}  // namespace weft::measure
