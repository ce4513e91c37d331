// SPDX-License-Identifier: MIT
// cuDNN at convolution (the fastest algorithm that it finds, in fp32 and in tf32), softmax and max
// pooling, all in NCHW.
#include <cudnn.h>

#include "bench/peers/peers.h"
#include "engine/error.h"
#include "measure/problems/conv.h"
#include "measure/problems/pool.h"
#include "measure/problems/softmax.h"

namespace weft::measure {
namespace {

void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw Error(ErrorKind::device,
                str("cuDNN could not ", what, ": ", cudnnGetErrorString(status)));
  }
}

// The handle and every descriptor that these calls need; destroyed together.
struct State {
  explicit State(const Stream& stream) {
    check(cudnnCreate(&handle), "start");
    check(cudnnSetStream(handle, stream.native()), "take the stream");
    check(cudnnCreateTensorDescriptor(&x), "describe a tensor");
    check(cudnnCreateTensorDescriptor(&y), "describe a tensor");
    check(cudnnCreateFilterDescriptor(&w), "describe filters");
    check(cudnnCreateConvolutionDescriptor(&conv), "describe a convolution");
    check(cudnnCreatePoolingDescriptor(&pool), "describe pooling");
  }
  ~State() {
    static_cast<void>(cudnnDestroyPoolingDescriptor(pool));
    static_cast<void>(cudnnDestroyConvolutionDescriptor(conv));
    static_cast<void>(cudnnDestroyFilterDescriptor(w));
    static_cast<void>(cudnnDestroyTensorDescriptor(y));
    static_cast<void>(cudnnDestroyTensorDescriptor(x));
    static_cast<void>(cudnnDestroy(handle));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  cudnnPoolingDescriptor_t pool = nullptr;
  int algorithm = 0;
  Tensor workspace;
};

void describe(cudnnTensorDescriptor_t tensor, std::int64_t n, std::int64_t c, std::int64_t h,
              std::int64_t w) {
  check(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, int(n), int(c),
                                   int(h), int(w)),
        "describe a tensor");
}

// The best of the algorithms in `found` that succeeded; cuDNN sorts them by time.
template <class Performance>
void choose(State& state, const Performance* found, int count, cudnnMathType_t math,
            const Stream& stream) {
  for (int i = 0; i < count; ++i) {
    if (found[i].status != CUDNN_STATUS_SUCCESS) continue;
    // An fp32 yardstick must not round to tf32 in silence.
    if (math == CUDNN_FMA_MATH && found[i].mathType != CUDNN_FMA_MATH &&
        found[i].mathType != CUDNN_DEFAULT_MATH) {
      continue;
    }
    state.algorithm = static_cast<int>(found[i].algo);
    state.workspace = Tensor(Shape{static_cast<std::int64_t>(found[i].memory)}, DType::u8, stream);
    return;
  }
  throw Error(ErrorKind::device, "cuDNN found no algorithm");
}

void find_algorithm(State& s, kernels::ConvPass pass, cudnnMathType_t math, const Stream& stream) {
  constexpr int kMost = 8;
  int count = 0;
  if (pass == kernels::ConvPass::forward) {
    cudnnConvolutionFwdAlgoPerf_t found[kMost];
    check(
        cudnnFindConvolutionForwardAlgorithm(s.handle, s.x, s.w, s.conv, s.y, kMost, &count, found),
        "try its algorithms");
    choose(s, found, count, math, stream);
  } else if (pass == kernels::ConvPass::backward_data) {
    cudnnConvolutionBwdDataAlgoPerf_t found[kMost];
    check(cudnnFindConvolutionBackwardDataAlgorithm(s.handle, s.w, s.y, s.conv, s.x, kMost, &count,
                                                    found),
          "try its algorithms");
    choose(s, found, count, math, stream);
  } else {
    cudnnConvolutionBwdFilterAlgoPerf_t found[kMost];
    check(cudnnFindConvolutionBackwardFilterAlgorithm(s.handle, s.x, s.y, s.conv, s.w, kMost,
                                                      &count, found),
          "try its algorithms");
    choose(s, found, count, math, stream);
  }
}

PeerCall bind_conv(Work& work, cudnnMathType_t math) {
  auto* conv = dynamic_cast<ConvWork*>(&work);
  if (conv == nullptr) return {};
  const kernels::ConvDims& d = conv->dims;
  const Stream stream = work.context.stream;
  const auto s = std::make_shared<State>(stream);
  describe(s->x, d.n, d.c, d.h, d.w);
  describe(s->y, d.n, d.oc, d.oh(), d.ow());
  check(cudnnSetFilter4dDescriptor(s->w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, int(d.oc), int(d.c),
                                   int(d.kh), int(d.kw)),
        "describe filters");
  check(cudnnSetConvolution2dDescriptor(s->conv, int(d.pad_h), int(d.pad_w), int(d.stride_h),
                                        int(d.stride_w), 1, 1, CUDNN_CROSS_CORRELATION,
                                        CUDNN_DATA_FLOAT),
        "describe a convolution");
  check(cudnnSetConvolutionMathType(s->conv, math), "choose its arithmetic");
  find_algorithm(*s, conv->pass, math, stream);
  const Call call = [=](int set) {
    const float one = 1, zero = 0;
    void* scratch = s->workspace.raw();
    const std::size_t bytes = s->workspace.bytes();
    if (conv->pass == kernels::ConvPass::forward) {
      check(cudnnConvolutionForward(s->handle, &one, s->x, conv->x(set), s->w, conv->w(set),
                                    s->conv, cudnnConvolutionFwdAlgo_t(s->algorithm), scratch,
                                    bytes, &zero, s->y, conv->y(set)),
            "convolve");
    } else if (conv->pass == kernels::ConvPass::backward_data) {
      check(cudnnConvolutionBackwardData(s->handle, &one, s->w, conv->w(set), s->y, conv->y(set),
                                         s->conv, cudnnConvolutionBwdDataAlgo_t(s->algorithm),
                                         scratch, bytes, &zero, s->x, conv->x(set)),
            "convolve backward");
    } else {
      check(cudnnConvolutionBackwardFilter(s->handle, &one, s->x, conv->x(set), s->y, conv->y(set),
                                           s->conv, cudnnConvolutionBwdFilterAlgo_t(s->algorithm),
                                           scratch, bytes, &zero, s->w, conv->w(set)),
            "convolve backward");
    }
  };
  return {call, {}};
}

PeerCall bind_softmax(Work& work) {
  auto* softmax = dynamic_cast<SoftmaxWork*>(&work);
  if (softmax == nullptr) return {};
  const auto s = std::make_shared<State>(work.context.stream);
  describe(s->x, softmax->rows, softmax->cols, 1, 1);
  const Call call = [=](int set) {
    const float one = 1, zero = 0;
    check(softmax->pass == SoftmaxPass::forward
              ? cudnnSoftmaxForward(s->handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                    &one, s->x, softmax->in(set), &zero, s->x, softmax->out(set))
              : cudnnSoftmaxBackward(s->handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                     &one, s->x, softmax->y(set), s->x, softmax->in(set), &zero,
                                     s->x, softmax->out(set)),
          "compute a softmax");
  };
  return {call, {}};
}

PeerCall bind_pool(Work& work) {
  auto* pool = dynamic_cast<PoolWork*>(&work);
  if (pool == nullptr) return {};
  const kernels::PoolDims& d = pool->dims;
  const auto s = std::make_shared<State>(work.context.stream);
  describe(s->x, d.n, d.c, d.h, d.w);
  describe(s->y, d.n, d.c, d.oh(), d.ow());
  check(cudnnSetPooling2dDescriptor(s->pool, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, int(d.kh),
                                    int(d.kw), int(d.pad_h), int(d.pad_w), int(d.stride_h),
                                    int(d.stride_w)),
        "describe pooling");
  const Call call = [=](int set) {
    const float one = 1, zero = 0;
    check(cudnnPoolingForward(s->handle, s->pool, &one, s->x, pool->x(set), &zero, s->y,
                              pool->y(set)),
          "pool");
  };
  return {call, {}};
}

}  // namespace

std::vector<Peer> cudnn_peers() {
  return {
      {"cuDNN fp32", Arithmetic::fp32, [](Work& work) { return bind_conv(work, CUDNN_FMA_MATH); }},
      {"cuDNN tf32", Arithmetic::tf32,
       [](Work& work) { return bind_conv(work, CUDNN_TENSOR_OP_MATH); }},
      {"cuDNN softmax", Arithmetic::fp32, bind_softmax},
      {"cuDNN pooling", Arithmetic::fp32, bind_pool}};
}

}  // namespace weft::measure
