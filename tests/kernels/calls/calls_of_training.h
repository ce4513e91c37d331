// SPDX-License-Identifier: MIT
// A call of each public function of the families that training uses besides the layers.
#pragma once

#include "kernels/all_reduce/all_reduce.h"
#include "kernels/batch/batch.h"
#include "kernels/dropout/dropout.h"
#include "kernels/loss/loss.h"
#include "kernels/networks/cnn/fused_cnn.h"
#include "kernels/networks/cnn/parts/timed.h"
#include "kernels/networks/mlp/fused_mlp.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/pool/pool.h"
#include "tests/kernels/calls/calls_of_layers.h"

namespace weft::test {

using Byte = std::uint8_t;
using Label = std::int32_t;
using Step = std::int64_t;

inline Calls all_reduce_calls() {
  constexpr std::int64_t n = 16;
  const auto bytes = static_cast<std::int64_t>(kernels::peer_memory_bytes(n));
  const auto group = [](CallOf a) {
    kernels::PeerGroup alone{.rank = 0, .size = 1, .capacity = n};
    alone.memory[0] = a.at("memory");
    return alone;
  };
  const auto on_gpu = [](Device device) { return device.is_cuda(); };
  const auto run = [=](CallOf a) {
    float* const values[] = {a.at("values[0]")};
    kernels::all_reduce(values, n, group(a), kernels::kAutomatic, a.stream);
  };
  return {
      {.function = "all_reduce",
       .arrays = {out("values[0]", n), out<Byte>("memory", bytes).aligned_to(16)},
       .run = run,
       .runs_on = on_gpu},
      {.function = "all_reduce",  // two ranks in a call
       .arrays = {out("values[0]", n), out("values[1]", n)},
       .run =
           [](CallOf a) {
             float* const values[] = {a.at("values[0]"), a.at("values[1]")};
             kernels::all_reduce(values, n, {.size = 2}, kernels::kAutomatic, a.stream);
           },
       .runs_on = [](Device device) { return device.is_cpu(); }},
  };
}

inline Calls batch_calls() {
  constexpr std::int64_t rows = 4, pixels = 64, count = 16;
  const auto gather = [](kernels::Normalization line, float rotate = 0) {
    return [=](CallOf a) {
      const kernels::BatchOrder order{.count = count, .steps = 4, .batch = rows};
      kernels::gather_batch(a.at("x"), a.at<Label>("labels"), a.at<Step>("indices"),
                            a.at<Byte>("images"), a.at<Label>("image_labels"), rows, {1, 8, 8},
                            a.at<Step>("step"), order, {.rotate_degrees = rotate}, {&line, 1},
                            a.stream);
    };
  };
  const auto without_labels = [](CallOf a) {
    const kernels::Normalization line;
    kernels::gather_batch(a.at("x"), nullptr, a.at<Step>("indices"), a.at<Byte>("images"),
                          a.at<Label>("image_labels"), rows, {1, 8, 8}, a.at<Step>("step"),
                          {.count = count, .steps = 4, .batch = rows}, {}, {&line, 1}, a.stream);
  };
  return {
      {.function = "gather_batch",
       .arrays = {out("x", rows * pixels), out<Label>("labels", rows).or_null(),
                  out<Step>("indices", rows).or_null(), in<Byte>("images", count * pixels),
                  in<Label>("image_labels", count), in<Step>("step", 1)},
       .run = gather({}),
       .refused = {{"mean", gather({kNan, 1})},
                   {"deviation", gather({0, kInf})},
                   {"limits", gather({}, kInf)}}},
      {.function = "gather_batch",
       .arrays = {out("x", rows * pixels), out<Step>("indices", rows).or_null(),
                  in<Byte>("images", count * pixels), in<Label>("image_labels", count).or_null(),
                  in<Step>("step", 1)},
       .run = without_labels},
  };
}

inline Calls dropout_and_loss_calls() {
  constexpr std::int64_t n = kCallN, rows = 8;
  const auto drop = [](float p, GradientMode mode) {
    return [=](CallOf a) {
      kernels::dropout(a.at("y"), a.at("x"), n, p, {.step = a.at<Step>("key.step")}, mode,
                       a.stream);
    };
  };
  const auto squares = [](float scale) {
    return [=](CallOf a) {
      kernels::mean_squared_error(a.at("loss"), a.at("dy"), a.at("y"), a.at("target"), scale, rows,
                                  8, a.stream);
    };
  };
  using kernels::MetricTotals;
  return {
      {.function = "dropout",
       .arrays = {out("y", n).may_be("x"), in("x", n), in<Step>("key.step", 1)},
       .run = drop(0.5f, GradientMode::overwrite),
       .refused = {{"probability", drop(kNan, GradientMode::overwrite)},
                   {"mode", drop(0.5f, kNoMode)}}},
      {.function = "mean_squared_error",
       .arrays = {out("loss", rows).or_null(), out("dy", n).or_null(), in("y", n), in("target", n)},
       .run = squares(1),
       .refused = {{"scale", squares(kInf)},
                   {"operation",
                    [](CallOf a) {
                      kernels::loss_takes("automatic", kernels::LossOperation(7),
                                          a.stream.device());
                    }}}},
      {.function = "accumulate_totals",
       .arrays = {out<MetricTotals>("totals", 1).aligned_to(8), in("loss", rows),
                  in<Label>("prediction", rows), in<Label>("labels", rows)},
       .run =
           [](CallOf a) {
             kernels::accumulate_totals(a.at<MetricTotals>("totals"), a.at("loss"),
                                        a.at<Label>("prediction"), a.at<Label>("labels"), rows,
                                        a.stream);
           }},
  };
}

inline Calls optimizer_calls() {
  constexpr std::int64_t n = kCallN;
  const auto sgd = [](kernels::SgdOptions options, float max_norm = 1) {
    return [=](CallOf a) {
      sgd_update(a.at("parameters"), a.at("velocity"), a.at("gradients"), n, a.at("lr"),
                 a.at<Step>("step"), options, {a.at("clip.sum_of_squares"), max_norm}, a.stream);
    };
  };
  const auto adamw = [](kernels::AdamwOptions options) {
    return [=](CallOf a) {
      adamw_update(a.at("parameters"), a.at("first"), a.at("second"), a.at("gradients"), n,
                   a.at("lr"), a.at<Step>("step"), options, {a.at("clip.sum_of_squares"), 1},
                   kernels::kAutomatic, a.stream);
    };
  };
  const auto ema = [](float decay) {
    return [=](CallOf a) {
      kernels::ema_update(a.at("average"), a.at("values"), n, decay, a.at<Step>("step"), a.stream);
    };
  };
  return {
      {.function = "sgd_update",
       .arrays = {out("parameters", n), out("velocity", n), in("gradients", n), in("lr", 1),
                  in<Step>("step", 1), in("clip.sum_of_squares", 1).or_null()},
       .run = sgd({.momentum = 0.9f}),
       .refused = {{"momentum", sgd({.momentum = kNan})},
                   {"weight_decay", sgd({.momentum = 0.9f, .weight_decay = kInf})},
                   {"norm", sgd({.momentum = 0.9f}, kInf)},
                   {"norm", sgd({.momentum = 0.9f}, kNan)}}},
      {.function = "adamw_update",
       .arrays = {out("parameters", n), out("first", n), out("second", n), in("gradients", n),
                  in("lr", 1), in<Step>("step", 1), in("clip.sum_of_squares", 1).or_null()},
       .run = adamw({}),
       .refused = {{"betas", adamw({.beta1 = kNan})},
                   {"epsilon", adamw({.epsilon = kInf})},
                   {"weight_decay", adamw({.weight_decay = kNan})}}},
      {.function = "ema_update",
       .arrays = {out("average", n), in("values", n), in<Step>("step", 1)},
       .run = ema(0.9f),
       .refused = {{"decay", ema(kNan)}}},
      {.function = "advance_step",
       .arrays = {out<Step>("step", 1)},
       .run = [](CallOf a) { kernels::advance_step(a.at<Step>("step"), a.stream); },
       .refused = {{"rule",
                    [](CallOf a) {
                      kernels::optimizer_takes("automatic", kernels::UpdateRule(7),
                                               a.stream.device());
                    }}}},
  };
}

inline Calls pool_calls() {
  static constexpr kernels::PoolDims d{2, 2, 8, 8};
  constexpr std::int64_t x = 256, y = 64;
  using Index = std::int32_t;
  const auto max_backward = [](GradientMode mode) {
    return [=](CallOf a) {
      max_pool2d_backward(a.at("dx"), a.at("dy"), a.at<Index>("argmax"), d, mode, a.stream);
    };
  };
  const auto avg_backward = [](GradientMode mode) {
    return [=](CallOf a) { avg_pool2d_backward(a.at("dx"), a.at("dy"), d, mode, a.stream); };
  };
  const auto sigmoid_backward = [](GradientMode mode) {
    return [=](CallOf a) {
      avg_pool2d_bias_sigmoid_backward(a.at("dx"), a.at("dbias"), a.at("dy"), a.at("y"), d, mode,
                                       kernels::kAutomatic, a.stream);
    };
  };
  return {
      {.function = "max_pool2d_forward",
       .arrays = {out("y", y), out<Index>("argmax", y).or_null(), in("x", x)},
       .run =
           [](CallOf a) {
             max_pool2d_forward(a.at("y"), a.at<Index>("argmax"), a.at("x"), d, a.stream);
           },
       .refused = {{"operation",
                    [](CallOf a) {
                      pool_takes("automatic", d, a.stream.device(), kernels::PoolOperation(7));
                    }}}},
      {.function = "max_pool2d_backward",
       .arrays = {out("dx", x), in("dy", y), in<Index>("argmax", y)},
       .run = max_backward(GradientMode::overwrite),
       .refused = {{"mode", max_backward(kNoMode)}}},
      {.function = "avg_pool2d_forward",
       .arrays = {out("y", y), in("x", x)},
       .run = [](CallOf a) { avg_pool2d_forward(a.at("y"), a.at("x"), d, a.stream); }},
      {.function = "avg_pool2d_backward",
       .arrays = {out("dx", x), in("dy", y)},
       .run = avg_backward(GradientMode::overwrite),
       .refused = {{"mode", avg_backward(kNoMode)}}},
      {.function = "avg_pool2d_bias_sigmoid_forward",
       .arrays = {out("y", y), in("x", x), in("bias", 2)},
       .run =
           [](CallOf a) {
             avg_pool2d_bias_sigmoid_forward(a.at("y"), a.at("x"), a.at("bias"), d,
                                             kernels::kAutomatic, a.stream);
           }},
      {.function = "avg_pool2d_bias_sigmoid_backward",
       .arrays = {out("dx", x), out("dbias", 2), in("dy", y), in("y", y)},
       .run = sigmoid_backward(GradientMode::overwrite),
       .refused = {{"mode", sigmoid_backward(kNoMode)}}},
  };
}

// The arrays that the whole networks train with.
inline std::vector<CallArray> training_arrays(std::int64_t parameters, std::int64_t count,
                                              std::int64_t pixels, std::size_t image_alignment) {
  return {out("parameters", parameters).aligned_to(16),
          out("velocity", parameters),
          out<kernels::MetricTotals>("totals", 1).aligned_to(8).or_null(),
          out<Step>("step", 1),
          in<Byte>("images", count * pixels).aligned_to(image_alignment),
          in<Label>("labels", count),
          in("lr", 1)};
}

inline Calls fused_cnn_calls() {
  using kernels::FusedCnnOptions;
  using kernels::MetricTotals;
  using kernels::Normalization;
  static constexpr kernels::FusedCnnDims dims = kernels::lenet5_dims(10);
  constexpr std::int64_t rows = 2, count = 4, pixels = 784;
  const auto supports = [](Device device) { return fused_cnn_supports(dims, device); };
  const auto bytes = [](Device device) { return fused_cnn_workspace_bytes(dims, rows, device); };
  const auto options = [](kernels::SgdOptions sgd, Normalization line) {
    return FusedCnnOptions{.order = {.count = count, .batch = rows},
                           .augmentation = {},
                           .normalization = line,
                           .sgd = sgd};
  };
  const auto train = [=](kernels::SgdOptions sgd, Normalization line = {}) {
    return [=](CallOf a) {
      fused_cnn_train(a.at("parameters"), a.at("velocity"), a.at<MetricTotals>("totals"),
                      a.at<Step>("step"), a.at<Byte>("images"), a.at<Label>("labels"), a.at("lr"),
                      rows, 1, dims, options(sgd, line), a.workspace, a.stream);
    };
  };
  const auto infer = [](Normalization line) {
    return [=](CallOf a) {
      fused_cnn_infer(a.at("logits"), a.at<Label>("predictions"), a.at<MetricTotals>("totals"),
                      a.at("parameters"), a.at<Byte>("images"), a.at<Label>("labels"), rows, dims,
                      line, a.workspace, a.stream);
    };
  };
  std::vector<CallArray> timed = training_arrays(dims.parameters(), count, pixels, 1);
  timed.push_back(out<long long>("cycles", std::ssize(kernels::fused_cnn_parts())));
  return {
      {.function = "fused_cnn_train",
       .arrays = training_arrays(dims.parameters(), count, pixels, 1),
       .run = train({.momentum = 0.9f}),
       .refused = {{"momentum", train({.momentum = kInf})},
                   {"weight_decay", train({.momentum = 0.9f, .weight_decay = kNan})},
                   {"mean", train({.momentum = 0.9f}, {kNan, 1})},
                   {"deviation", train({.momentum = 0.9f}, {0, kInf})}},
       .workspace_bytes = bytes,
       .runs_on = supports},
      {.function = "fused_cnn_train_timed",
       .arrays = timed,
       .run =
           [=](CallOf a) {
             fused_cnn_train_timed(a.at<long long>("cycles"), a.at("parameters"), a.at("velocity"),
                                   a.at<MetricTotals>("totals"), a.at<Step>("step"),
                                   a.at<Byte>("images"), a.at<Label>("labels"), a.at("lr"), rows, 1,
                                   dims, options({.momentum = 0.9f}, {}), a.workspace, a.stream);
           },
       .workspace_bytes = bytes,
       // Cycles depend on the order of the threads, which host-cuda changes.
       .runs_on =
           [=](Device device) {
             return device.is_cuda() && !built_for_host_cuda() && supports(device);
           }},
      {.function = "fused_cnn_infer",
       .arrays = {out("logits", rows * 10).or_null(), out<Label>("predictions", rows).or_null(),
                  out<MetricTotals>("totals", 1).aligned_to(8).or_null(),
                  in("parameters", dims.parameters()).aligned_to(16),
                  in<Byte>("images", rows * pixels), in<Label>("labels", rows)},
       .run = infer({}),
       .refused = {{"mean", infer({kInf, 1})}, {"deviation", infer({0, kNan})}},
       .workspace_bytes = bytes,
       .runs_on = supports},
  };
}

inline Calls fused_mlp_calls() {
  using kernels::MetricTotals;
  static constexpr kernels::FusedMlpDims dims{16, 16, 64, 64, 10};
  constexpr std::int64_t rows = 2, count = 4;
  const auto state = [](CallOf a) {
    return kernels::FusedMlpState{
        a.at("parameters"), a.at("velocity"),     a.at<MetricTotals>("totals"),
        a.at<Step>("step"), a.at<Byte>("images"), a.at<Label>("labels"),
        a.at("lr")};
  };
  const auto options = [](float momentum, float smoothing) {
    return kernels::FusedMlpOptions{.order = {.count = count, .batch = rows},
                                    .augmentation = {},
                                    .normalization = {},
                                    .sgd = {.momentum = momentum},
                                    .label_smoothing = smoothing};
  };
  const auto train = [=](float momentum, float smoothing = 0) {
    return [=](CallOf a) {
      fused_mlp_train(state(a), rows, 1, dims, options(momentum, smoothing), a.workspace, a.stream);
    };
  };
  std::vector<CallArray> arrays = training_arrays(dims.parameters(), count, 256, 8);
  arrays[1] = arrays[1].aligned_to(16);
  const auto call = [&](std::string_view function, RunCall run) {
    return KernelCall{
        .function = function,
        .arrays = arrays,
        .run = std::move(run),
        .workspace_bytes =
            [](Device device) { return fused_mlp_workspace_bytes(dims, rows, device); },
        .workspace_alignment = 256,
        .runs_on = [](Device device) { return fused_mlp_supports(dims, device); }};
  };
  Calls calls = {call("fused_mlp_prepare",
                      [=](CallOf a) {
                        fused_mlp_prepare(state(a), rows, dims, options(0.9f, 0), a.workspace,
                                          a.stream);
                      }),
                 call("fused_mlp_train", train(0.9f))};
  calls[1].refused = {{"momentum", train(kNan)},
                      {"smoothing", train(0.9f, kNan)},
                      {"mode", [=](CallOf a) {
                         kernels::FusedMlpDims none = dims;
                         none.mode = kernels::ComputeMode(7);
                         fused_mlp_train(state(a), rows, 1, none, options(0.9f, 0), a.workspace,
                                         a.stream);
                       }}};
  return calls;
}

}  // namespace weft::test
