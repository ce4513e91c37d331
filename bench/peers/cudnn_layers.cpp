// SPDX-License-Identifier: MIT
// cuDNN at the layers beside convolution: activations and the bias, batch normalisation, dropout,
// and pooling.
#include "bench/peers/cudnn_state.h"
#include "kernels/activation/problem.h"
#include "kernels/batch_norm/problem.h"
#include "kernels/dropout/problem.h"
#include "kernels/pool/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

constexpr float kOne = 1, kZero = 0;

cudnnActivationMode_t mode_of(kernels::Activation kind) {
  return kind == kernels::Activation::relu      ? CUDNN_ACTIVATION_RELU
         : kind == kernels::Activation::sigmoid ? CUDNN_ACTIVATION_SIGMOID
                                                : CUDNN_ACTIVATION_TANH;
}

PeerCall bind_activation(Work& work) {
  auto* act = work_on<problems::Activation>(work);
  if (act == nullptr) return {};
  Array<float>&in = act->array("in"), &y = act->array("y"), &out = act->array("out");
  const auto s = std::make_shared<CudnnState>(work.context.stream);
  describe(s->x, 1, 1, 1, act->p.n);
  check(cudnnSetActivationDescriptor(s->activation, mode_of(act->p.kind), CUDNN_PROPAGATE_NAN, 0),
        "describe an activation");
  if (!act->p.backward) {
    const Call call = [=, &in, &out](int set) {
      check(cudnnActivationForward(s->handle, s->activation, &kOne, s->x, in[set], &kZero, s->x,
                                   out[set]),
            "activate");
    };
    return {call, {}};
  }
  // It asks for the inputs of the activation too, which Weft does without.
  const auto inputs =
      std::make_shared<Rotated<float>>(act->array("x").host, work.sets, work.context.stream);
  const Call call = [=, &in, &y, &out](int set) {
    check(cudnnActivationBackward(s->handle, s->activation, &kOne, s->x, y[set], s->x, in[set],
                                  s->x, (*inputs)[set], &kZero, s->x, out[set]),
          "differentiate an activation");
  };
  return {call, {}};
}

PeerCall bind_bias(Work& work) {
  auto* bias = work_on<problems::Bias>(work);
  // Adding a bias out of place would take two calls: only the gradient is the same operation.
  if (bias == nullptr || !bias->p.backward) return {};
  Array<float>&in = bias->array("in"), &out = bias->array("out");
  const auto s = std::make_shared<CudnnState>(work.context.stream);
  describe(s->x, bias->p.outer, bias->p.channels, 1, bias->p.inner);
  describe(s->channels, 1, bias->p.channels, 1, 1);
  const Call call = [=, &in, &out](int set) {
    check(cudnnConvolutionBackwardBias(s->handle, &kOne, s->x, in[set], &kZero, s->channels,
                                       out[set]),
          "differentiate a bias");
  };
  return {call, {}};
}

PeerCall bind_batch_norm(Work& work) {
  auto* norm = work_on<problems::BatchNorm>(work);
  if (norm == nullptr) return {};
  const problems::BatchNorm& p = norm->p;
  const auto s = std::make_shared<CudnnState>(work.context.stream);
  describe(s->x, p.dims.n, p.dims.c, 1, p.dims.inner);
  describe(s->channels, 1, p.dims.c, 1, 1);
  constexpr auto kMode = CUDNN_BATCHNORM_SPATIAL;
  constexpr double kEps = problems::BatchNorm::kEps, kMomentum = problems::BatchNorm::kMomentum;
  const Call call = [=, &p](int set) {
    const auto at = [&](std::string_view name) { return norm->array(name)[set]; };
    if (p.pass == problems::BatchNormPass::forward) {
      check(cudnnBatchNormalizationForwardTraining(
                s->handle, kMode, &kOne, &kZero, s->x, at("x"), s->x, at("out"), s->channels,
                at("gamma"), at("beta"), kMomentum, at("running_mean"), at("running_var"), kEps,
                at("mean"), at("inv_std")),
            "normalise");
    } else if (p.pass == problems::BatchNormPass::inference) {
      check(cudnnBatchNormalizationForwardInference(s->handle, kMode, &kOne, &kZero, s->x, at("x"),
                                                    s->x, at("out"), s->channels, at("gamma"),
                                                    at("beta"), at("mean"), at("inv_std"), kEps),
            "normalise");
    } else {
      check(cudnnBatchNormalizationBackward(s->handle, kMode, &kOne, &kZero, &kOne, &kZero, s->x,
                                            at("x"), s->x, at("dy"), s->x, at("out"), s->channels,
                                            at("gamma"), at("dgamma"), at("dbeta"), kEps,
                                            at("mean"), at("inv_std")),
            "differentiate a normalisation");
    }
  };
  return {call, {}};
}

// It draws a mask of its own and stores it, a bit for each value.
PeerCall bind_dropout(Work& work) {
  auto* dropout = work_on<problems::Dropout>(work);
  if (dropout == nullptr) return {};
  Array<float>&x = dropout->array("x"), &y = dropout->array("y");
  const Stream stream = work.context.stream;
  const auto s = std::make_shared<CudnnState>(stream);
  describe(s->x, 1, 1, 1, dropout->p.n);
  std::size_t state_bytes = 0, mask_bytes = 0;
  check(cudnnDropoutGetStatesSize(s->handle, &state_bytes), "size its random state");
  check(cudnnDropoutGetReserveSpaceSize(s->x, &mask_bytes), "size its mask");
  const auto states = std::make_shared<Tensor>(Shape{std::int64_t(state_bytes)}, DType::u8, stream);
  const auto masks =
      std::make_shared<Rotated<std::uint8_t>>(std::int64_t(mask_bytes), work.sets, stream);
  check(cudnnSetDropoutDescriptor(s->dropout, s->handle, dropout->p.kP, states->raw(), state_bytes,
                                  work.context.seed),
        "seed dropout");
  const Call call = [=, &x, &y](int set) {
    static_cast<void>(states);  // lives as long as the call
    check(cudnnDropoutForward(s->handle, s->dropout, s->x, x[set], s->x, y[set], (*masks)[set],
                              mask_bytes),
          "drop out");
  };
  return {call, [=](int) { dropout->of_yardstick = true; }};
}

PeerCall bind_pool(Work& work) {
  using problems::PoolPass;
  auto* pool = work_on<problems::Pool>(work);
  if (pool == nullptr || pool->p.pass == PoolPass::bias_sigmoid) return {};
  Array<float>&in = pool->array("in"), &out = pool->array("out");
  const kernels::PoolDims& d = pool->p.dims;
  const bool max_forward = pool->p.pass == PoolPass::max;
  const bool max = max_forward || pool->p.pass == PoolPass::max_backward;
  const auto s = std::make_shared<CudnnState>(work.context.stream);
  describe(s->x, d.n, d.c, d.h, d.w);
  describe(s->y, d.n, d.c, d.oh(), d.ow());
  check(cudnnSetPooling2dDescriptor(
            s->pool, max ? CUDNN_POOLING_MAX : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
            max_forward ? CUDNN_NOT_PROPAGATE_NAN : CUDNN_PROPAGATE_NAN, int(d.kh), int(d.kw),
            int(d.pad_h), int(d.pad_w), int(d.stride_h), int(d.stride_w)),
        "describe pooling");
  if (max_forward || pool->p.pass == PoolPass::average) {
    const Call call = [=, &in, &out](int set) {
      check(cudnnPoolingForward(s->handle, s->pool, &kOne, s->x, in[set], &kZero, s->y, out[set]),
            "pool");
    };
    return {call, {}};
  }
  // It finds the maxima again from x and y, where Weft has kept their places. For averages the
  // values of x and y do not matter, but there must be some.
  const auto values = [&](std::string_view name, std::int64_t n) {
    return std::make_shared<Rotated<float>>(
        max ? pool->array(name).host : std::vector<float>(static_cast<std::size_t>(n)), work.sets,
        work.context.stream);
  };
  const auto x = values("x", pool->p.inputs()), y = values("y", pool->p.outputs());
  const Call call = [=, &in, &out](int set) {
    check(cudnnPoolingBackward(s->handle, s->pool, &kOne, s->y, (*y)[set], s->y, in[set], s->x,
                               (*x)[set], &kZero, s->x, out[set]),
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
          {"cuDNN pooling", Arithmetic::fp32, bind_pool}};
}

}  // namespace weft::measure
