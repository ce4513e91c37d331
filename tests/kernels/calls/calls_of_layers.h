// SPDX-License-Identifier: MIT
// A call of each public function of the families that the layers of a network use.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/group_norm.h"
#include "kernels/batch_norm/over_ranks.h"
#include "kernels/conv/grouped.h"
#include "kernels/conv/parts/validate.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/planes/concat.h"
#include "kernels/planes/pad.h"
#include "kernels/pool/pool.h"
#include "kernels/softmax/classifier.h"
#include "kernels/softmax/softmax.h"
#include "tests/kernels/calls/call_problem.h"

namespace weft::test {

using Calls = std::vector<KernelCall>;
using CallOf = const CallArguments&;
using kernels::GradientMode;
constexpr GradientMode kNoMode = GradientMode(7);
constexpr std::int64_t kCallN = 64;

inline Calls activation_calls() {
  using kernels::Activation;
  constexpr std::int64_t n = kCallN;
  const auto forward = [](Activation kind) {
    return [=](CallOf a) { kernels::activation_forward(a.at("y"), a.at("x"), n, kind, a.stream); };
  };
  const auto backward = [](Activation kind, GradientMode mode) {
    return [=](CallOf a) {
      kernels::activation_backward(a.at("dx"), a.at("dy"), a.at("y"), n, kind, mode, a.stream);
    };
  };
  const auto prelu_backward = [](GradientMode mode) {
    return [=](CallOf a) {
      kernels::prelu_backward(a.at("dx"), a.at("dslope"), a.at("dy"), a.at("x"), a.at("slope"), 4,
                              4, 4, mode, a.stream);
    };
  };
  const auto bias_backward = [](GradientMode mode) {
    return
        [=](CallOf a) { kernels::bias_backward(a.at("db"), a.at("dy"), 4, 4, 4, mode, a.stream); };
  };
  return {
      {.function = "activation_forward",
       .arrays = {out("y", n).may_be("x"), in("x", n)},
       .run = forward(Activation::tanh),
       .refused = {{"kind", forward(Activation(11))}, {"kind", forward(Activation(-1))}}},
      {.function = "activation_backward",
       .arrays = {out("dx", n).may_be("dy"), in("dy", n), in("y", n)},
       .run = backward(Activation::relu, GradientMode::overwrite),
       .refused = {{"kind", backward(Activation(11), GradientMode::overwrite)},
                   {"mode", backward(Activation::relu, kNoMode)}}},
      {.function = "prelu_forward",
       .arrays = {out("y", n).may_be("x"), in("x", n), in("slope", 4)},
       .run =
           [](CallOf a) {
             kernels::prelu_forward(a.at("y"), a.at("x"), a.at("slope"), 4, 4, 4, a.stream);
           }},
      {.function = "prelu_backward",
       .arrays = {out("dx", n).may_be("dy").or_null(), out("dslope", 4), in("dy", n), in("x", n),
                  in("slope", 4)},
       .run = prelu_backward(GradientMode::overwrite),
       .refused = {{"mode", prelu_backward(kNoMode)}}},
      {.function = "bias_forward",
       .arrays = {out("y", n).may_be("x"), in("x", n), in("bias", 4)},
       .run =
           [](CallOf a) {
             kernels::bias_forward(a.at("y"), a.at("x"), a.at("bias"), 4, 4, 4, a.stream);
           }},
      {.function = "bias_backward",
       .arrays = {out("db", 4), in("dy", n)},
       .run = bias_backward(GradientMode::overwrite),
       .refused = {{"mode", bias_backward(kNoMode)}}},
  };
}

inline Calls batch_norm_calls() {
  using kernels::Moments;
  static constexpr kernels::BatchNormDims dims{4, 4, 4};
  constexpr std::int64_t n = kCallN, c = 4;
  const auto bytes = [](Device device) { return batch_norm_workspace_bytes(dims, device); };
  // With a workspace "automatic" takes it.
  const auto options = [](CallOf a) {
    return kernels::BatchNormOptions{.variant = a.stream.device().is_cuda() ? "split" : "two_pass"};
  };
  const auto forward = [=](float eps, float momentum) {
    return [=](CallOf a) {
      batch_norm_forward(a.at("y"), a.at("mean"), a.at("inv_std"), a.at("running_mean"),
                         a.at("running_var"), a.at("x"), a.at("gamma"), a.at("beta"), eps, momentum,
                         dims, options(a), a.workspace, a.stream);
    };
  };
  const auto inference = [](float eps) {
    return [=](CallOf a) {
      batch_norm_inference(a.at("y"), a.at("x"), a.at("running_mean"), a.at("running_var"),
                           a.at("gamma"), a.at("beta"), eps, dims, a.stream);
    };
  };
  const auto backward = [=](GradientMode dx_mode, GradientMode parameter_mode) {
    return [=](CallOf a) {
      batch_norm_backward(a.at("dx"), a.at("dgamma"), a.at("dbeta"), a.at("dy"), a.at("x"),
                          a.at("gamma"), a.at("mean"), a.at("inv_std"), dims, dx_mode,
                          parameter_mode, options(a), a.workspace, a.stream);
    };
  };
  const auto finish = [](float eps, float momentum) {
    return [=](CallOf a) {
      batch_norm_finish(a.at("inv_std"), a.at("running_mean"), a.at("running_var"), a.at("mean"),
                        a.at("var"), eps, momentum, dims, 4, a.stream);
    };
  };
  const auto sums = [=](GradientMode mode) {
    return [=](CallOf a) {
      batch_norm_gradient_sums(a.at("dgamma"), a.at("dbeta"), a.at("means"), a.at("dy"), a.at("x"),
                               a.at("mean"), a.at("inv_std"), dims, 4, mode, options(a),
                               a.workspace, a.stream);
    };
  };
  const auto input_gradient = [](GradientMode mode) {
    return [=](CallOf a) {
      batch_norm_input_gradient(a.at("dx"), a.at("dy"), a.at("x"), a.at("gamma"), a.at("mean"),
                                a.at("inv_std"), a.at("means"), dims, mode, false, a.stream);
    };
  };
  constexpr GradientMode overwrite = GradientMode::overwrite;
  return {
      {.function = "batch_norm_forward",
       .arrays = {out("y", n), out("mean", c), out("inv_std", c), out("running_mean", c),
                  out("running_var", c), in("x", n), in("gamma", c), in("beta", c)},
       .run = forward(1e-5f, 0.1f),
       .refused = {{"eps", forward(kInf, 0.1f)}, {"momentum", forward(1e-5f, kNan)}},
       .workspace_bytes = bytes},
      {.function = "batch_norm_inference",
       .arrays = {out("y", n), in("x", n), in("running_mean", c), in("running_var", c),
                  in("gamma", c), in("beta", c)},
       .run = inference(1e-5f),
       .refused = {{"eps", inference(kNan)}}},
      {.function = "batch_norm_backward",
       .arrays = {out("dx", n), out("dgamma", c), out("dbeta", c), in("dy", n), in("x", n),
                  in("gamma", c), in("mean", c), in("inv_std", c)},
       .run = backward(overwrite, overwrite),
       .refused = {{"dx_mode", backward(kNoMode, overwrite)},
                   {"parameter_mode", backward(overwrite, kNoMode)}},
       .workspace_bytes = bytes},
      {.function = "batch_norm_moments",
       .arrays = {out<Moments>("moments", c).aligned_to(8), out("mean", c), in("x", n)},
       .run =
           [=](CallOf a) {
             batch_norm_moments(a.at<Moments>("moments"), a.at("mean"), a.at("x"), dims, 4,
                                options(a), a.workspace, a.stream);
           },
       .workspace_bytes = bytes},
      {.function = "batch_norm_variance",
       .arrays = {out("var", c), in<Moments>("moments", c).aligned_to(8), in("mean", c)},
       .run =
           [](CallOf a) {
             batch_norm_variance(a.at("var"), a.at<Moments>("moments"), a.at("mean"), dims, 4,
                                 a.stream);
           }},
      {.function = "batch_norm_finish",
       .arrays = {out("inv_std", c).may_be("var"), out("running_mean", c), out("running_var", c),
                  in("mean", c), in("var", c)},
       .run = finish(1e-5f, 0.1f),
       .refused = {{"eps", finish(kInf, 0.1f)}, {"momentum", finish(1e-5f, kInf)}}},
      {.function = "batch_norm_gradient_sums",
       .arrays = {out("dgamma", c), out("dbeta", c), out("means", 2 * c), in("dy", n), in("x", n),
                  in("mean", c), in("inv_std", c)},
       .run = sums(overwrite),
       .refused = {{"parameter_mode", sums(kNoMode)}},
       .workspace_bytes = bytes},
      {.function = "batch_norm_input_gradient",
       .arrays = {out("dx", n), in("dy", n), in("x", n), in("gamma", c), in("mean", c),
                  in("inv_std", c), in("means", 2 * c)},
       .run = input_gradient(overwrite),
       .refused = {{"dx_mode", input_gradient(kNoMode)}}},
  };
}

inline Calls group_norm_calls() {
  static constexpr kernels::GroupNormDims d{2, 4, 8, 2};
  constexpr std::int64_t n = 64, rows = 4;
  const auto backward = [](GradientMode mode) {
    return [=](CallOf a) {
      group_norm_backward(a.at("dx"), a.at("dgamma"), a.at("dbeta"), a.at("dy"), a.at("x"),
                          a.at("gamma"), a.at("mean"), a.at("inv_std"), d, mode, a.stream);
    };
  };
  return {
      {.function = "group_norm_forward",
       .arrays = {out("y", n), out("mean", rows), out("inv_std", rows), in("x", n), in("gamma", 4),
                  in("beta", 4)},
       .run =
           [](CallOf a) {
             group_norm_forward(a.at("y"), a.at("mean"), a.at("inv_std"), a.at("x"), a.at("gamma"),
                                a.at("beta"), 1e-5f, d, a.stream);
           }},
      {.function = "group_norm_backward",
       .arrays = {out("dx", n).or_null(), out("dgamma", 4), out("dbeta", 4), in("dy", n),
                  in("x", n), in("gamma", 4), in("mean", rows), in("inv_std", rows)},
       .run = backward(GradientMode::overwrite),
       .refused = {{"mode", backward(kNoMode)}}},
  };
}

inline Calls planes_calls() {
  using kernels::PadMode;
  static constexpr kernels::PadDims pad{2, 4, 4, 1, 1, 1, 1, PadMode::reflect};
  static constexpr kernels::ConcatDims rows{3, 4, 8};
  const auto forward = [](PadMode mode) {
    kernels::PadDims d = pad;
    d.mode = mode;
    return [=](CallOf a) { kernels::pad_forward(a.at("y"), a.at("x"), d, a.stream); };
  };
  const auto backward = [](GradientMode mode) {
    return [=](CallOf a) { kernels::pad_backward(a.at("dx"), a.at("dy"), pad, mode, a.stream); };
  };
  return {
      {.function = "pad_forward",
       .arrays = {out("y", 72), in("x", 32)},
       .run = forward(PadMode::reflect),
       .refused = {{"dims.mode", forward(static_cast<PadMode>(3))}}},
      {.function = "pad_backward",
       .arrays = {out("dx", 32), in("dy", 72)},
       .run = backward(GradientMode::overwrite),
       .refused = {{"mode", backward(kNoMode)}}},
      {.function = "concat",
       .arrays = {out("y", 36), in("a", 12), in("b", 24)},
       .run = [](CallOf a) { kernels::concat(a.at("y"), a.at("a"), a.at("b"), rows, a.stream); }},
      {.function = "split",
       .arrays = {out("a", 12).or_null(), out("b", 24).or_null(), in("y", 36)},
       .run = [](CallOf a) { kernels::split(a.at("a"), a.at("b"), a.at("y"), rows, a.stream); }},
  };
}

inline Calls conv_calls() {
  using kernels::ComputeMode;
  using kernels::ConvOptions;
  using kernels::ConvPass;
  using kernels::Epilogue;
  static constexpr kernels::ConvDims d{2, 2, 8, 8, 2, 3, 3, 1, 1, 1, 1};
  constexpr std::int64_t n = 256, w = 36;
  const auto bytes = [](ConvPass pass) {
    return [=](Device device) { return conv2d_workspace_bytes(pass, d, {}, device); };
  };
  const auto forward = [](Epilogue epilogue, ConvOptions options) {
    return [=](CallOf a) {
      conv2d_forward(a.at("y"), a.at("x"), a.at("w"), a.at("bias"), d, epilogue, options,
                     a.workspace, a.stream);
    };
  };
  const auto backward_data = [](GradientMode mode) {
    return [=](CallOf a) {
      conv2d_backward_data(a.at("dx"), a.at("dy"), a.at("w"), d, mode,
                           {.relu_mask = a.at("relu_mask")}, a.workspace, a.stream);
    };
  };
  const auto backward_weights = [](GradientMode mode) {
    return [=](CallOf a) {
      conv2d_backward_weights(a.at("dw"), a.at("db"), a.at("dy"), a.at("x"), d, mode, {},
                              a.workspace, a.stream);
    };
  };
  return {
      {.function = "conv2d_forward",
       .arrays = {out("y", n), in("x", n), in("w", w), in("bias", 2).or_null()},
       .run = forward(Epilogue::relu, {}),
       .refused = {{"epilogue", forward(Epilogue(7), {})},
                   {"mode", forward(Epilogue::none, {.mode = ComputeMode(7)})},
                   {"pass", [=](CallOf a) { bytes(ConvPass(7))(a.stream.device()); }}},
       .workspace_bytes = bytes(ConvPass::forward),
       .workspace_alignment = kernels::kConvWorkspaceAlignment},
      {.function = "conv2d_backward_data",
       .arrays = {out("dx", n), in("dy", n), in("w", w), in("relu_mask", n).or_null()},
       .run = backward_data(GradientMode::overwrite),
       .refused = {{"mode", backward_data(kNoMode)}},
       .workspace_bytes = bytes(ConvPass::backward_data),
       .workspace_alignment = kernels::kConvWorkspaceAlignment},
      {.function = "conv2d_backward_weights",
       .arrays = {out("dw", w), out("db", 2).or_null(), in("dy", n), in("x", n)},
       .run = backward_weights(GradientMode::overwrite),
       .refused = {{"mode", backward_weights(kNoMode)}},
       .workspace_bytes = bytes(ConvPass::backward_weights),
       .workspace_alignment = kernels::kConvWorkspaceAlignment},
  };
}

inline Calls grouped_conv_calls() {
  using kernels::Epilogue;
  static constexpr kernels::GroupedConvDims d{2, 2, 8, 8, 2, 3, 3, 1, 1, 1, 1, 1, 1, 2};
  constexpr std::int64_t n = 256, w = 18;
  const auto forward = [](Epilogue epilogue) {
    return [=](CallOf a) {
      grouped_conv2d_forward(a.at("y"), a.at("x"), a.at("w"), a.at("bias"), d, epilogue, a.stream);
    };
  };
  const auto backward_data = [](GradientMode mode) {
    return [=](CallOf a) {
      grouped_conv2d_backward_data(a.at("dx"), a.at("dy"), a.at("w"), d, mode, a.stream);
    };
  };
  const auto backward_weights = [](GradientMode mode) {
    return [=](CallOf a) {
      grouped_conv2d_backward_weights(a.at("dw"), a.at("db"), a.at("dy"), a.at("x"), d, mode,
                                      a.stream);
    };
  };
  return {
      {.function = "grouped_conv2d_forward",
       .arrays = {out("y", n), in("x", n), in("w", w), in("bias", 2).or_null()},
       .run = forward(Epilogue::relu),
       .refused = {{"epilogue", forward(Epilogue(7))}}},
      {.function = "grouped_conv2d_backward_data",
       .arrays = {out("dx", n), in("dy", n), in("w", w)},
       .run = backward_data(GradientMode::overwrite),
       .refused = {{"mode", backward_data(kNoMode)}}},
      {.function = "grouped_conv2d_backward_weights",
       .arrays = {out("dw", w), out("db", 2).or_null(), in("dy", n), in("x", n)},
       .run = backward_weights(GradientMode::overwrite),
       .refused = {{"mode", backward_weights(kNoMode)}}},
  };
}

inline Calls conv_relu_pool_calls() {
  using kernels::ConvPass;
  static constexpr kernels::ReluPoolDims d{{2, 32, 8, 8, 64, 3, 3, 1, 1, 1, 1}, 2, 2};
  constexpr std::int64_t x = 2 * 32 * 64, y = 2 * 64 * 16, w = 64 * 32 * 9;
  using Byte = std::uint8_t;
  const auto bytes = [](ConvPass pass) {
    return [=](Device device) { return conv2d_relu_pool_workspace_bytes(pass, d, {}, device); };
  };
  const auto forward = [](kernels::ComputeMode mode) {
    return [=](CallOf a) {
      conv2d_relu_pool_forward(a.at("y"), a.at<Byte>("argmax"), a.at("x"), a.at("w"), a.at("bias"),
                               d, {.mode = mode}, a.workspace, a.stream);
    };
  };
  const auto backward_data = [](GradientMode mode) {
    return [=](CallOf a) {
      conv2d_relu_pool_backward_data(a.at("dx"), a.at("dy"), a.at<Byte>("argmax"), a.at("w"), d,
                                     mode, {.relu_mask = a.at("relu_mask")}, a.workspace, a.stream);
    };
  };
  const auto backward_weights = [](GradientMode mode) {
    return [=](CallOf a) {
      conv2d_relu_pool_backward_weights(a.at("dw"), a.at("db"), a.at("dy"), a.at<Byte>("argmax"),
                                        a.at("x"), d, mode, {}, a.workspace, a.stream);
    };
  };
  // A stem: the images of 10 x 10 and 32 filters of 3 x 3 from which x would come.
  const auto stem_options = [](CallOf a) {
    return kernels::ReluPoolOptions{
        .mode = kernels::ComputeMode::tf32,
        .stem = kernels::ReluPoolStem{a.at("stem.image"), a.at("stem.w"), a.at("stem.bias")}};
  };
  const auto stem_of = [](Device) {
    return kernels::ReluPoolOptions{.mode = kernels::ComputeMode::tf32,
                                    .stem = kernels::ReluPoolStem{}};
  };
  const auto backward_stem = [=](GradientMode mode) {
    return [=](CallOf a) {
      conv2d_relu_pool_backward_stem(a.at("dw"), a.at("db"), a.at("dy"), a.at<Byte>("argmax"),
                                     a.at("w"), d, mode, stem_options(a), a.workspace, a.stream);
    };
  };
  return {
      {.function = "conv2d_relu_pool_forward",
       .arrays = {out("y", y), out<Byte>("argmax", y).or_null(), in("x", x), in("w", w),
                  in("bias", 64).or_null()},
       .run = forward(kernels::ComputeMode::fp32),
       .refused = {{"mode", forward(kernels::ComputeMode(7))}},
       .workspace_bytes = bytes(ConvPass::forward),
       .workspace_alignment = kernels::kConvWorkspaceAlignment},
      {.function = "conv2d_relu_pool_backward_data",
       .arrays = {out("dx", x), in("dy", y), in<Byte>("argmax", y), in("w", w),
                  in("relu_mask", x).or_null()},
       .run = backward_data(GradientMode::overwrite),
       .refused = {{"mode", backward_data(kNoMode)}},
       .workspace_bytes = bytes(ConvPass::backward_data),
       .workspace_alignment = kernels::kConvWorkspaceAlignment},
      {.function = "conv2d_relu_pool_backward_weights",
       .arrays = {out("dw", w), out("db", 64).or_null(), in("dy", y), in<Byte>("argmax", y),
                  in("x", x)},
       .run = backward_weights(GradientMode::overwrite),
       .refused = {{"mode", backward_weights(kNoMode)}},
       .workspace_bytes = bytes(ConvPass::backward_weights),
       .workspace_alignment = kernels::kConvWorkspaceAlignment},
      {.function = "conv2d_relu_pool_backward_stem",
       .arrays = {out("dw", 32 * 9), out("db", 32).or_null(), in("dy", y), in<Byte>("argmax", y),
                  in("w", w), in("stem.image", 2 * 100).aligned_to(16), in("stem.w", 32 * 9),
                  in("stem.bias", 32).or_null()},
       .run = backward_stem(GradientMode::overwrite),
       .refused = {{"mode", backward_stem(kNoMode)}},
       .workspace_bytes =
           [=](Device device) {
             return conv2d_relu_pool_workspace_bytes(ConvPass::backward_data, d, stem_of(device),
                                                     device);
           },
       .workspace_alignment = kernels::kConvWorkspaceAlignment,
       .runs_on =
           [](Device device) {
             return kernels::conv_relu_pool_takes(
                 "wgmma", {ConvPass::backward_data, d, kernels::ComputeMode::tf32, true}, device);
           }},
  };
}

inline Calls softmax_calls() {
  constexpr std::int64_t rows = 8, cols = 8, n = kCallN;
  const auto backward = [](GradientMode mode) {
    return [=](CallOf a) {
      kernels::softmax_backward(a.at("dx"), a.at("dy"), a.at("y"), rows, cols, mode, a.stream);
    };
  };
  const auto cross_entropy = [](float scale, float smoothing) {
    return [=](CallOf a) {
      kernels::softmax_cross_entropy(a.at("loss"), a.at("dx"), a.at<std::int32_t>("prediction"),
                                     a.at("x"), a.at<std::int32_t>("labels"), scale, smoothing,
                                     rows, cols, kernels::kAutomatic, a.stream);
    };
  };
  const auto classifier = [](float scale) {
    return [=](CallOf a) {
      kernels::classifier_forward_backward({a.at("logits"), a.at("dlogits"), a.at("loss"),
                                            a.at<std::int32_t>("prediction"), a.at("dx")},
                                           a.at("x"), a.at("w"), a.at("bias"),
                                           a.at<std::int32_t>("labels"), {rows, 8, 8},
                                           {.scale = scale}, a.stream);
    };
  };
  return {
      {.function = "softmax_forward",
       .arrays = {out("y", n).may_be("x"), in("x", n)},
       .run =
           [](CallOf a) { kernels::softmax_forward(a.at("y"), a.at("x"), rows, cols, a.stream); }},
      {.function = "softmax_backward",
       .arrays = {out("dx", n).may_be("dy"), in("dy", n), in("y", n)},
       .run = backward(GradientMode::overwrite),
       .refused = {{"mode", backward(kNoMode)}}},
      {.function = "softmax_cross_entropy",
       .arrays = {out("loss", rows).or_null(), out("dx", n).or_null(),
                  out<std::int32_t>("prediction", rows).or_null(), in("x", n),
                  in<std::int32_t>("labels", rows)},
       .run = cross_entropy(1, 0),
       .refused = {{"scale", cross_entropy(kNan, 0)}, {"smoothing", cross_entropy(1, kNan)}}},
      {.function = "classifier_forward_backward",
       .arrays = {out("logits", n), out("dlogits", n), out("loss", rows).or_null(),
                  out<std::int32_t>("prediction", rows).or_null(),
                  out("dx", n).aligned_to(16).or_null(), in("x", n).aligned_to(16),
                  in("w", n).aligned_to(16), in("bias", 8).or_null(),
                  in<std::int32_t>("labels", rows)},
       .run = classifier(1),
       .refused = {{"scale", classifier(kInf)}},
       .runs_on =
           [](Device device) {
             return kernels::classifier_fits({rows, 8, 8}, device);
           }},
  };
}

}  // namespace weft::test
