// SPDX-License-Identifier: MIT
// cuDNN at the layers beside convolution: activations and the bias, batch normalisation, dropout,
// and the passes of pooling other than max forward.
#include <cudnn.h>

#include "bench/peers/peers.h"
#include "engine/error.h"
#include "measure/problems/activation.h"
#include "measure/problems/batch_norm.h"
#include "measure/problems/dropout.h"
#include "measure/problems/pool.h"

namespace weft::measure {
namespace {

constexpr float kOne = 1, kZero = 0;

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
    for (cudnnTensorDescriptor_t* tensor : {&x, &y, &channels}) {
      check(cudnnCreateTensorDescriptor(tensor), "describe a tensor");
    }
    check(cudnnCreateActivationDescriptor(&activation), "describe an activation");
    check(cudnnCreatePoolingDescriptor(&pool), "describe pooling");
    check(cudnnCreateDropoutDescriptor(&dropout), "describe dropout");
  }
  ~State() {
    static_cast<void>(cudnnDestroyDropoutDescriptor(dropout));
    static_cast<void>(cudnnDestroyPoolingDescriptor(pool));
    static_cast<void>(cudnnDestroyActivationDescriptor(activation));
    for (cudnnTensorDescriptor_t tensor : {x, y, channels}) {
      static_cast<void>(cudnnDestroyTensorDescriptor(tensor));
    }
    static_cast<void>(cudnnDestroy(handle));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnTensorDescriptor_t channels = nullptr;  // one value for each channel of x
  cudnnActivationDescriptor_t activation = nullptr;
  cudnnPoolingDescriptor_t pool = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
};

void describe(cudnnTensorDescriptor_t tensor, std::int64_t n, std::int64_t c, std::int64_t h,
              std::int64_t w) {
  check(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, int(n), int(c),
                                   int(h), int(w)),
        "describe a tensor");
}

cudnnActivationMode_t mode_of(kernels::Activation kind) {
  return kind == kernels::Activation::relu      ? CUDNN_ACTIVATION_RELU
         : kind == kernels::Activation::sigmoid ? CUDNN_ACTIVATION_SIGMOID
                                                : CUDNN_ACTIVATION_TANH;
}

PeerCall bind_activation(Work& work) {
  auto* act = dynamic_cast<ActivationWork*>(&work);
  if (act == nullptr) return {};
  const auto s = std::make_shared<State>(work.context.stream);
  describe(s->x, 1, 1, 1, act->n());
  check(cudnnSetActivationDescriptor(s->activation, mode_of(act->kind), CUDNN_PROPAGATE_NAN, 0),
        "describe an activation");
  if (act->pass == Pass::forward) {
    const Call call = [=](int set) {
      check(cudnnActivationForward(s->handle, s->activation, &kOne, s->x, act->in(set), &kZero,
                                   s->x, act->out(set)),
            "activate");
    };
    return {call, {}};
  }
  // It asks for the inputs of the activation too, which Weft does without.
  const auto inputs =
      std::make_shared<Rotated<float>>(act->host_x(), work.sets, work.context.stream);
  const Call call = [=](int set) {
    check(cudnnActivationBackward(s->handle, s->activation, &kOne, s->x, act->y(set), s->x,
                                  act->in(set), s->x, (*inputs)[set], &kZero, s->x, act->out(set)),
          "differentiate an activation");
  };
  return {call, {}};
}

PeerCall bind_bias(Work& work) {
  auto* bias = dynamic_cast<BiasWork*>(&work);
  // Adding a bias out of place would take two calls: only the gradient is the same operation.
  if (bias == nullptr || bias->pass == Pass::forward) return {};
  const auto s = std::make_shared<State>(work.context.stream);
  describe(s->x, bias->outer, bias->channels, 1, bias->inner);
  describe(s->channels, 1, bias->channels, 1, 1);
  const Call call = [=](int set) {
    check(cudnnConvolutionBackwardBias(s->handle, &kOne, s->x, bias->in(set), &kZero, s->channels,
                                       bias->out(set)),
          "differentiate a bias");
  };
  return {call, {}};
}

PeerCall bind_batch_norm(Work& work) {
  auto* norm = dynamic_cast<BatchNormWork*>(&work);
  if (norm == nullptr) return {};
  const auto s = std::make_shared<State>(work.context.stream);
  describe(s->x, norm->dims.n, norm->dims.c, 1, norm->dims.inner);
  describe(s->channels, 1, norm->dims.c, 1, 1);
  constexpr auto kMode = CUDNN_BATCHNORM_SPATIAL;
  constexpr double kEps = BatchNormWork::kEps, kMomentum = BatchNormWork::kMomentum;
  using Pass = BatchNormWork::Pass;
  const Call call = [=](int set) {
    if (norm->pass == Pass::forward) {
      check(cudnnBatchNormalizationForwardTraining(
                s->handle, kMode, &kOne, &kZero, s->x, norm->x(set), s->x, norm->out(set),
                s->channels, norm->gamma(), norm->beta(), kMomentum, norm->running_mean(),
                norm->running_var(), kEps, norm->mean(set), norm->inv_std(set)),
            "normalise");
    } else if (norm->pass == Pass::inference) {
      check(cudnnBatchNormalizationForwardInference(s->handle, kMode, &kOne, &kZero, s->x,
                                                    norm->x(set), s->x, norm->out(set), s->channels,
                                                    norm->gamma(), norm->beta(), norm->mean(set),
                                                    norm->inv_std(set), kEps),
            "normalise");
    } else {
      check(cudnnBatchNormalizationBackward(
                s->handle, kMode, &kOne, &kZero, &kOne, &kZero, s->x, norm->x(set), s->x,
                norm->dy(set), s->x, norm->out(set), s->channels, norm->gamma(), norm->dgamma(set),
                norm->dbeta(set), kEps, norm->mean(set), norm->inv_std(set)),
            "differentiate a normalisation");
    }
  };
  return {call, {}};
}

// It draws a mask of its own and stores it, a bit for each value.
PeerCall bind_dropout(Work& work) {
  auto* dropout = dynamic_cast<DropoutWork*>(&work);
  if (dropout == nullptr) return {};
  const Stream stream = work.context.stream;
  const auto s = std::make_shared<State>(stream);
  describe(s->x, 1, 1, 1, dropout->n());
  std::size_t state_bytes = 0, mask_bytes = 0;
  check(cudnnDropoutGetStatesSize(s->handle, &state_bytes), "size its random state");
  check(cudnnDropoutGetReserveSpaceSize(s->x, &mask_bytes), "size its mask");
  const auto states = std::make_shared<Tensor>(Shape{std::int64_t(state_bytes)}, DType::u8, stream);
  const auto masks =
      std::make_shared<Rotated<std::uint8_t>>(std::int64_t(mask_bytes), work.sets, stream);
  check(cudnnSetDropoutDescriptor(s->dropout, s->handle, DropoutWork::kP, states->raw(),
                                  state_bytes, work.context.seed),
        "seed dropout");
  const Call call = [=](int set) {
    static_cast<void>(states);  // lives as long as the call
    check(cudnnDropoutForward(s->handle, s->dropout, s->x, dropout->x(set), s->x, dropout->y(set),
                              (*masks)[set], mask_bytes),
          "drop out");
  };
  return {call, [=](int) { dropout->accept_any_mask(); }};
}

PeerCall bind_pool_pass(Work& work) {
  auto* pool = dynamic_cast<PoolPassWork*>(&work);
  if (pool == nullptr) return {};
  const kernels::PoolDims& d = pool->dims;
  using Pass = PoolPassWork::Pass;
  const auto s = std::make_shared<State>(work.context.stream);
  describe(s->x, d.n, d.c, d.h, d.w);
  describe(s->y, d.n, d.c, d.oh(), d.ow());
  check(cudnnSetPooling2dDescriptor(s->pool,
                                    pool->pass == Pass::max_backward
                                        ? CUDNN_POOLING_MAX
                                        : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
                                    CUDNN_PROPAGATE_NAN, int(d.kh), int(d.kw), int(d.pad_h),
                                    int(d.pad_w), int(d.stride_h), int(d.stride_w)),
        "describe pooling");
  if (pool->pass == Pass::average_forward) {
    const Call call = [=](int set) {
      check(cudnnPoolingForward(s->handle, s->pool, &kOne, s->x, pool->in(set), &kZero, s->y,
                                pool->out(set)),
            "pool");
    };
    return {call, {}};
  }
  // It finds the maxima again from x and y, where Weft has kept their places. For averages the
  // values of x and y do not matter, but there must be some.
  const bool max = pool->pass == Pass::max_backward;
  const auto none = [](std::int64_t n) { return std::vector<float>(static_cast<std::size_t>(n)); };
  const auto x = std::make_shared<Rotated<float>>(
      max ? pool->host_x() : none(d.n * d.c * d.h * d.w), work.sets, work.context.stream);
  const auto y = std::make_shared<Rotated<float>>(
      max ? pool->host_y() : none(d.n * d.c * d.oh() * d.ow()), work.sets, work.context.stream);
  const Call call = [=](int set) {
    check(cudnnPoolingBackward(s->handle, s->pool, &kOne, s->y, (*y)[set], s->y, pool->in(set),
                               s->x, (*x)[set], &kZero, s->x, pool->out(set)),
          "pool backward");
  };
  return {call, {}};
}

}  // namespace

std::vector<Peer> cudnn_layer_peers() {
  return {{"cuDNN activation", Arithmetic::fp32, bind_activation},
          {"cuDNN bias", Arithmetic::fp32, bind_bias},
          {"cuDNN batch norm", Arithmetic::fp32, bind_batch_norm},
          {"cuDNN dropout", Arithmetic::fp32, bind_dropout},
          {"cuDNN pooling", Arithmetic::fp32, bind_pool_pass}};
}

}  // namespace weft::measure
