// SPDX-License-Identifier: MIT
// The families optimizer and batch.
#include <algorithm>

#include <nanobind/stl/vector.h>

#include "kernels/batch/batch.h"
#include "kernels/optimizer/optimizer.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

using PerChannel = std::variant<float, std::vector<float>>;

void sgd_update(const Writable& parameters, const Array& gradients,
                const std::optional<Writable>& velocity, float lr, float momentum,
                float weight_decay, bool nesterov) {
  Call call("sgd_update");
  const auto values = call.in_place<float>("parameters", parameters);
  const float* g = call.input<float>("gradients", gradients, values.shape).data;
  call.require(momentum == 0 || velocity.has_value(), "a momentum needs a velocity, ",
               values.shape);
  float* v = velocity ? call.in_place<float>("velocity", *velocity, values.shape) : nullptr;
  const float* rate = call.constant(lr);
  const auto* step = call.constant(std::int64_t{0});
  const kernels::SgdOptions options{momentum, weight_decay, nesterov};
  call.run([&](const Stream& on) {
    kernels::sgd_update(values.data, v, g, values.n(), rate, step, options, on);
  });
}

void adamw_update(const Writable& parameters, const Array& gradients, const Writable& first,
                  const Writable& second, std::int64_t step, float lr, double beta1, double beta2,
                  double epsilon, double weight_decay, const std::string& variant) {
  Call call("adamw_update");
  call.require(step >= 0 && step < 1 << 20, "step is ", step, ", expected 0 to 2^20 - 1");
  const auto values = call.in_place<float>("parameters", parameters);
  const float* g = call.input<float>("gradients", gradients, values.shape).data;
  float* moment = call.in_place<float>("first", first, values.shape);
  float* square = call.in_place<float>("second", second, values.shape);
  const auto* steps = call.constant(step);
  const float* rates = call.constant(lr, step);  // the kernel reads the rate of its step
  const kernels::AdamwOptions options{beta1, beta2, epsilon, weight_decay};
  call.run([&](const Stream& on) {
    kernels::adamw_update(values.data, moment, square, g, values.n(), rates, steps, options, {},
                          variant, on);
  });
}

void ema_update(const Writable& average, const Array& values, float decay, std::int64_t step) {
  Call call("ema_update");
  const auto kept = call.in_place<float>("average", average);
  const float* now = call.input<float>("values", values, kept.shape).data;
  const auto* steps = call.constant(step);
  call.run(
      [&](const Stream& on) { kernels::ema_update(kept.data, now, kept.n(), decay, steps, on); });
}

// Makes each channel's normalisation from one number for all, or from one for each channel.
std::vector<kernels::Normalization> normalization(const Call& call, const PerChannel& mean,
                                                  const PerChannel& stddev, std::int64_t channels) {
  const auto of_channel = [&](const char* what, const PerChannel& numbers, std::int64_t channel) {
    if (const float* one = std::get_if<float>(&numbers)) return *one;
    const auto& all = std::get<std::vector<float>>(numbers);
    call.require(std::ssize(all) == channels, what, " has ", all.size(),
                 " numbers, expected one or ", channels, ", one for each channel");
    return all[static_cast<std::size_t>(channel)];
  };
  std::vector<kernels::Normalization> all;
  for (std::int64_t c = 0; c < channels; ++c) {
    all.push_back({of_channel("mean", mean, c), of_channel("stddev", stddev, c)});
    call.require(all.back().stddev != 0, "stddev is 0");
  }
  return all;
}

ResultsOf<3> gather_batch(const Array& images, const Array& labels, std::int64_t rows,
                          std::int64_t step, bool shuffle, std::uint64_t seed,
                          const PerChannel& mean, const PerChannel& stddev,
                          const std::string& variant) {
  Call call("gather_batch");
  const auto pixels = call.input<std::uint8_t>("images", images);
  const int rank = pixels.shape.rank();
  call.require(rank == 3 || rank == 4, "images has shape ", pixels.shape,
               ", expected (count, height, width) or (count, channels, height, width)");
  const std::int64_t count = pixels[0];
  const kernels::BatchDims dims{rank == 4 ? pixels[1] : 1, pixels[rank - 2], pixels[rank - 1]};
  call.require(dims.channels >= 1 && dims.channels <= kernels::kMaxImageChannels,
               "images has shape ", pixels.shape, ": (count, channels, height, width) with ",
               dims.channels, " channels, expected 1 to ", kernels::kMaxImageChannels,
               rank == 4 && dims.width <= kernels::kMaxImageChannels
                   ? "; images of (count, height, width, channels) are not read"
                   : "");
  const auto numbers = normalization(call, mean, stddev, dims.channels);
  const auto classes = call.input<std::int32_t>("labels", labels, Shape{count});
  call.require(rows >= 0 && step >= 0, "rows is ", rows, " and step is ", step,
               ", expected numbers from 0");
  const std::int64_t steps = rows > 0 ? count / rows : 0;  // whole batches of an epoch
  call.require(rows == 0 || steps > 0, "rows is ", rows, " and images has shape ", pixels.shape,
               ": there are not so many");
  float* x = call.output<float>(pixels.shape.with_batch(rows));
  auto* truth = call.output<std::int32_t>({rows});
  auto* indices = call.output<std::int64_t>({rows});
  const kernels::BatchOrder order{count, std::max<std::int64_t>(steps, 1), rows, shuffle, seed};
  const auto* at = call.constant(step);
  call.run([&](const Stream& on) {
    kernels::gather_batch(x, truth, indices, pixels.data, classes.data, rows, dims, at, order, {},
                          numbers, variant, on);
  });
  return call.results();
}

}  // namespace

void bind_updates(nb::module_& m) {
  m.def(
      "sgd_update", &sgd_update, "parameters"_a, "gradients"_a, "velocity"_a = nb::none(),
      nb::kw_only(), "lr"_a, "momentum"_a = 0.0f, "weight_decay"_a = 0.0f, "nesterov"_a = false,
      "One step of SGD in place, with PyTorch's rule.\n\n"
      "parameters, gradients, velocity: the same shape, float32. parameters and velocity change;\n"
      "velocity starts at zero and is needed with a momentum.");
  m.def("adamw_update", &adamw_update, "parameters"_a, "gradients"_a, "first"_a, "second"_a,
        "step"_a, nb::kw_only(), "lr"_a, "beta1"_a = 0.9, "beta2"_a = 0.999, "epsilon"_a = 1e-8,
        "weight_decay"_a = 0.01, "variant"_a = "automatic",
        with_rungs(
            "One step of AdamW in place, with PyTorch's rule.\n\n"
            "parameters, gradients, first, second: the same shape, float32. All but the gradients\n"
            "change; the moments start at zero. step counts from 0.",
            "optimizer")
            .c_str());
  m.def("ema_update", &ema_update, "average"_a, "values"_a, "decay"_a, "step"_a,
        "average += (1 - d) (values - average) in place, d = min(decay, (1 + step) / (10 + "
        "step)).\n\n"
        "average, values: the same shape, float32. step counts from 0.");
  m.def(
      "gather_batch", &gather_batch, "images"_a, "labels"_a, "rows"_a, "step"_a = 0, nb::kw_only(),
      "shuffle"_a = true, "seed"_a = 1, "mean"_a = 0.0f, "stddev"_a = 1.0f,
      "variant"_a = "automatic",
      "The batch of a training step: (x, labels, indices).\n\n"
      "images: (count, height, width) or (count, channels, height, width), uint8, with at most 4\n"
      "channels. labels: (count,), int32. mean, stddev: one number, or one for each channel.\n"
      "x: (rows, ...), float32, (byte / 255 - mean) / stddev. labels: (rows,), int32. indices:\n"
      "(rows,), int64, the places of these images in the set. An epoch has count // rows steps,\n"
      "and is shuffled anew.");
}

}  // namespace weft::python
