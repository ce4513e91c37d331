// SPDX-License-Identifier: MIT
#include "measure/problems/pool.h"

#include <cmath>

#include "kernels/pool/cpu/bias_sigmoid.h"
#include "kernels/pool/cpu/templates.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

std::int64_t inputs(const kernels::PoolDims& d) {
  return d.n * d.c * d.h * d.w;
}
std::int64_t outputs(const kernels::PoolDims& d) {
  return d.n * d.c * d.oh() * d.ow();
}
double footprint(const kernels::PoolDims& d) {
  return 4.0 * static_cast<double>(inputs(d) + outputs(d));
}
bool takes(std::string_view variant, const kernels::PoolDims& d, const Context& c) {
  return kernels::pool_takes(variant, d, c.stream.device());
}

}  // namespace

PoolWork::PoolWork(const kernels::PoolDims& d, const Context& made_with)
    : Work(made_with),
      dims(d),
      host_x_(random_values(inputs(d), made_with.seed)),
      x_(host_x_, sets_for(footprint(d), made_with.stream.device()), made_with.stream),
      y_(outputs(d), sets_for(footprint(d), made_with.stream.device()), made_with.stream) {
  problem = str("max ", d.kh, "x", d.kw, " of ", d.n, " x ", d.c, " x ", d.h, " x ", d.w);
  bytes = footprint(d);
  flops = static_cast<double>(outputs(d) * d.kh * d.kw);
  sets = sets_for(bytes, made_with.stream.device());
}

bool PoolWork::can_run(std::string_view variant) const {
  return takes(variant, dims, context);
}

void PoolWork::call(std::string_view variant, int set) {
  kernels::max_pool2d_forward(y_[set], nullptr, x_[set], dims, variant, context.stream);
}

Verdict PoolWork::check(int set, Arithmetic) {
  const std::vector<float> found = y_.host(set);
  kernels::PoolDims plane = dims;
  plane.n = plane.c = 1;
  const std::int64_t in = dims.h * dims.w, out = dims.oh() * dims.ow();
  std::vector<float> expected(static_cast<std::size_t>(out));
  Comparison comparison;
  for (const std::int64_t p : sample_indices(dims.n * dims.c, 16, context.seed)) {
    kernels::cpu::max_pool2d_forward<float>(expected.data(), nullptr, host_x_.data() + p * in,
                                            plane);
    for (std::int64_t i = 0; i < out; ++i) {
      comparison.add(found[static_cast<std::size_t>(p * out + i)],
                     expected[static_cast<std::size_t>(i)], 0);
    }
  }
  return comparison.verdict();
}

namespace {

using Pass = PoolPassWork::Pass;

double pass_footprint(const kernels::PoolDims& d, Pass pass) {
  return footprint(d) + (pass == Pass::max_backward ? 4.0 * static_cast<double>(outputs(d)) : 0);
}
int sets_of(const kernels::PoolDims& d, Pass pass, const Context& c) {
  return sets_for(pass_footprint(d, pass), c.stream.device());
}
const char* name_of(Pass pass) {
  return pass == Pass::max_backward      ? "max backward "
         : pass == Pass::average_forward ? "average "
                                         : "average backward ";
}

}  // namespace

PoolPassWork::PoolPassWork(const kernels::PoolDims& d, Pass which, const Context& made_with)
    : Work(made_with),
      dims(d),
      pass(which),
      host_in_(
          random_values(which == Pass::average_forward ? inputs(d) : outputs(d), made_with.seed)),
      in_(host_in_, sets_of(d, which, made_with), made_with.stream),
      out_(which == Pass::average_forward ? outputs(d) : inputs(d), sets_of(d, which, made_with),
           made_with.stream),
      argmax_(which == Pass::max_backward ? outputs(d) : 1, sets_of(d, which, made_with),
              made_with.stream) {
  problem = str(name_of(pass), d.kh, "x", d.kw, " of ", d.n, " x ", d.c, " x ", d.h, " x ", d.w);
  bytes = pass_footprint(d, pass);
  flops = static_cast<double>(outputs(d) * (pass == Pass::max_backward ? 1 : d.kh * d.kw));
  sets = sets_of(d, pass, made_with);
  if (pass != Pass::max_backward) return;
  host_x_ = random_values(inputs(d), made_with.seed + 1);
  host_y_.resize(static_cast<std::size_t>(outputs(d)));
  host_argmax_.resize(host_y_.size());
  kernels::cpu::max_pool2d_forward<float>(host_y_.data(), host_argmax_.data(), host_x_.data(), d);
  for (int set = 0; set < sets; ++set) {
    copy_bytes(argmax_[set], made_with.stream.device(), host_argmax_.data(), Device::cpu(),
               argmax_.bytes(set).count, made_with.stream);
  }
  made_with.stream.synchronize();
}

bool PoolPassWork::can_run(std::string_view variant) const {
  return takes(variant, dims, context);
}

void PoolPassWork::call(std::string_view variant, int set) {
  constexpr auto kOverwrite = kernels::GradientMode::overwrite;
  if (pass == Pass::max_backward) {
    kernels::max_pool2d_backward(out_[set], in_[set], argmax_[set], dims, kOverwrite, variant,
                                 context.stream);
  } else if (pass == Pass::average_forward) {
    kernels::avg_pool2d_forward(out_[set], in_[set], dims, variant, context.stream);
  } else {
    kernels::avg_pool2d_backward(out_[set], in_[set], dims, kOverwrite, variant, context.stream);
  }
}

Verdict PoolPassWork::check(int set, Arithmetic) {
  const std::vector<float> found = out_.host(set);
  kernels::PoolDims plane = dims;
  plane.n = plane.c = 1;
  const std::int64_t small = dims.oh() * dims.ow(), large = dims.h * dims.w;
  const std::int64_t in = pass == Pass::average_forward ? large : small;
  const std::int64_t out = pass == Pass::average_forward ? small : large;
  constexpr auto kOverwrite = kernels::GradientMode::overwrite;
  std::vector<double> from(static_cast<std::size_t>(in)), expected(static_cast<std::size_t>(out));
  Comparison comparison;
  for (const std::int64_t p : sample_indices(dims.n * dims.c, 64, context.seed)) {
    for (std::int64_t i = 0; i < in; ++i) {
      from[static_cast<std::size_t>(i)] =
          static_cast<double>(host_in_[static_cast<std::size_t>(p * in + i)]);
    }
    if (pass == Pass::max_backward) {
      kernels::cpu::max_pool2d_backward<double>(expected.data(), from.data(),
                                                host_argmax_.data() + p * small, plane, kOverwrite);
    } else if (pass == Pass::average_forward) {
      kernels::cpu::avg_pool2d_forward<double>(expected.data(), from.data(), plane);
    } else {
      kernels::cpu::avg_pool2d_backward<double>(expected.data(), from.data(), plane, kOverwrite);
    }
    const double bound = std::ldexp(1.0, -23) * static_cast<double>(dims.kh * dims.kw);
    for (std::int64_t i = 0; i < out; ++i) {
      comparison.add(found[static_cast<std::size_t>(p * out + i)],
                     expected[static_cast<std::size_t>(i)], bound);
    }
  }
  return comparison.verdict();
}

namespace {

// The subsampling layer of LeNet, forward.
class BiasSigmoidWork final : public Work {
 public:
  BiasSigmoidWork(const kernels::PoolDims& d, const Context& made_with)
      : Work(made_with),
        dims_(d),
        host_x_(random_values(inputs(d), made_with.seed)),
        host_bias_(random_values(d.c, made_with.seed + 1)),
        x_(host_x_, sets_for(footprint(d), made_with.stream.device()), made_with.stream),
        bias_(host_bias_, 1, made_with.stream),
        y_(outputs(d), sets_for(footprint(d), made_with.stream.device()), made_with.stream) {
    problem = str("average ", d.kh, "x", d.kw, " with bias and sigmoid of ", d.n, " x ", d.c, " x ",
                  d.h, " x ", d.w);
    bytes = footprint(d) + 4.0 * static_cast<double>(d.c);
    flops = static_cast<double>(outputs(d) * (d.kh * d.kw + 4));
    sets = sets_for(footprint(d), made_with.stream.device());
  }

  bool can_run(std::string_view variant) const override {
    return kernels::pool_takes(variant, dims_, context.stream.device(),
                               kernels::PoolOperation::bias_sigmoid);
  }
  void call(std::string_view variant, int set) override {
    kernels::avg_pool2d_bias_sigmoid_forward(y_[set], x_[set], bias_[0], dims_, variant,
                                             context.stream);
  }
  void reset() override { y_.clear(); }
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

  // The error of the sum of a window, and of the exponential function and a division.
  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = y_.host(set);
    const std::int64_t in = dims_.h * dims_.w, out = dims_.oh() * dims_.ow();
    kernels::PoolDims plane = dims_;
    plane.n = plane.c = 1;
    std::vector<double> expected(static_cast<std::size_t>(out));
    const double bound = std::ldexp(1.0, -23) * static_cast<double>(dims_.kh * dims_.kw + 4);
    Comparison comparison;
    for (const std::int64_t p : sample_indices(dims_.n * dims_.c, 64, context.seed)) {
      const std::vector<double> from(host_x_.begin() + p * in, host_x_.begin() + (p + 1) * in);
      const double bias = static_cast<double>(host_bias_[static_cast<std::size_t>(p % dims_.c)]);
      kernels::cpu::avg_pool2d_bias_sigmoid_forward<double>(expected.data(), from.data(), &bias,
                                                            plane);
      for (std::int64_t i = 0; i < out; ++i) {
        comparison.add(found[static_cast<std::size_t>(p * out + i)],
                       expected[static_cast<std::size_t>(i)], bound);
      }
    }
    return comparison.verdict();
  }

 private:
  kernels::PoolDims dims_;
  std::vector<float> host_x_, host_bias_;
  Rotated<float> x_, bias_, y_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::pool_operation(context.variant) == kernels::PoolOperation::bias_sigmoid) {
    return std::make_unique<BiasSigmoidWork>(kernels::PoolDims{.n = size, .c = 6, .h = 28, .w = 28},
                                             context);
  }
  return std::make_unique<PoolWork>(kernels::PoolDims{.n = size, .c = 32, .h = 28, .w = 28},
                                    context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto shape = [](const kernels::PoolDims& dims) {
    return [=](const Context& c) { return std::make_unique<PoolWork>(dims, c); };
  };
  const auto with = [](const kernels::PoolDims& dims, Pass pass) {
    return [=](const Context& c) { return std::make_unique<PoolPassWork>(dims, pass, c); };
  };
  const auto sigmoid = [](const kernels::PoolDims& dims) {
    return [=](const Context& c) { return std::make_unique<BiasSigmoidWork>(dims, c); };
  };
  const kernels::PoolDims small = {.n = 64, .c = 32, .h = 28, .w = 28};
  if (device.is_cpu()) {
    return {shape(small), with(small, Pass::max_backward), with(small, Pass::average_forward),
            with(small, Pass::average_backward), sigmoid(small)};
  }
  const kernels::PoolDims halved = {.n = 256, .c = 64, .h = 112, .w = 112};
  const kernels::PoolDims overlapping = {
      .n = 64, .c = 64, .h = 112, .w = 112, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1};
  return {shape({.n = 256, .c = 6, .h = 28, .w = 28}),
          shape(halved),
          shape(overlapping),
          with(halved, Pass::max_backward),
          with(overlapping, Pass::max_backward),
          with(halved, Pass::average_forward),
          with(halved, Pass::average_backward),
          sigmoid(halved)};
}

}  // namespace

extern const FamilyBench pool_bench = {
    "pool", "images of 32 x 28 x 28, or of 6 x 28 x 28 with bias and sigmoid",
    64,     std::int64_t{1} << 20,
    sized,  problems};

}  // namespace weft::measure
