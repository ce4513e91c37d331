// SPDX-License-Identifier: MIT
// A convolution with ReLU and pooling of random values, on a device and in double, and how close
// the two have to be.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/conv_relu_pool/problem.h"
#include "tests/support/compare.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"

namespace weft::test::relu_pool {

using namespace weft::kernels;
using Bytes = std::vector<std::uint8_t>;

inline std::string name_of(const ReluPoolDims& dims) {
  const ConvDims& d = dims.conv;
  return str("x(", d.n, ",", d.c, ",", d.h, ",", d.w, ") w(", d.oc, ",", d.c, ",", d.kh, ",", d.kw,
             ") stride(", d.stride_h, ",", d.stride_w, ") pad(", d.pad_h, ",", d.pad_w, ") window(",
             dims.ph, ",", dims.pw, ")");
}

template <class T>
struct PoolResults {
  std::vector<T> y, dx, dw, db;
  Bytes argmax;
};

struct PoolProblem {
  ReluPoolDims d;
  GradientMode mode;
  std::vector<float> x, w, bias, dy, dx, dw, db;  // the last three: before an accumulating pass

  std::int64_t inputs() const { return problems::ReluPool{d}.inputs(); }
  std::int64_t outputs() const { return problems::ReluPool{d}.outputs(); }
  std::int64_t weights() const { return problems::ReluPool{d}.weights(); }
  double flops() const { return problems::ReluPool{d}.flops(); }

  PoolProblem(const ReluPoolDims& dims, bool integers, GradientMode mode_) : d(dims), mode(mode_) {
    const auto values = [&](std::int64_t n, std::uint64_t seed) {
      return integers ? random_integers(n, seed, -2, 2) : random_floats(n, seed);
    };
    x = values(inputs(), 1);
    w = values(weights(), 2);
    bias = values(d.conv.oc, 3);
    dy = values(outputs(), 4);
    dx = values(inputs(), 5);
    dw = values(weights(), 6);
    db = values(d.conv.oc, 7);
  }

  PoolResults<double> expected() const {
    const auto x64 = to_double(x), w64 = to_double(w), bias64 = to_double(bias),
               dy64 = to_double(dy);
    PoolResults<double> r{std::vector<double>(dy.size()), to_double(dx), to_double(dw),
                          to_double(db), Bytes(dy.size())};
    cpu::conv2d_relu_pool_forward<double>(r.y.data(), r.argmax.data(), x64.data(), w64.data(),
                                          bias64.data(), d);
    cpu::conv2d_relu_pool_backward_data<double>(r.dx.data(), dy64.data(), r.argmax.data(),
                                                w64.data(), d, mode);
    cpu::conv2d_relu_pool_backward_weights<double>(r.dw.data(), r.db.data(), dy64.data(),
                                                   r.argmax.data(), x64.data(), d, mode);
    return r;
  }

  // Memory of a gradient: nothing, or what is there before.
  Guarded<float> output(const std::vector<float>& before, const Stream& stream,
                        std::int64_t misalign) const {
    Guarded<float> memory(static_cast<std::int64_t>(before.size()), stream, misalign);
    if (mode == GradientMode::accumulate) memory.set(before);
    return memory;
  }

  // The backward passes start from `argmax`, so that a near tie cannot tell them apart. What the
  // rung does not take stays empty.
  PoolResults<float> run(const Bytes& argmax, const ReluPoolOptions& options, const Stream& stream,
                         std::int64_t misalign = 0) const {
    const auto takes = [&](ConvPass pass) {
      return conv_relu_pool_takes(options.variant, {pass, d, options.mode}, stream.device());
    };
    PoolResults<float> r;
    const Guarded<float> x_(x, stream, misalign), w_(w, stream, misalign);
    const Guarded<float> bias_(bias, stream, misalign), dy_(dy, stream, misalign);
    const Guarded<std::uint8_t> given(argmax, stream, misalign);
    Guarded<float> y_(outputs(), stream, misalign);
    Guarded<std::uint8_t> argmax_(outputs(), stream, misalign);
    Guarded<float> dx_ = output(dx, stream, misalign), dw_ = output(dw, stream, misalign);
    Guarded<float> db_ = output(db, stream, misalign);
    const auto scratch = [&](ConvPass pass) {
      return Buffer(conv2d_relu_pool_workspace_bytes(pass, d, options, stream.device()), stream);
    };
    if (takes(ConvPass::forward)) {
      const Buffer forward = scratch(ConvPass::forward);
      conv2d_relu_pool_forward(y_.data(), argmax_.data(), x_.data(), w_.data(), bias_.data(), d,
                               options, {forward.data(), forward.bytes()}, stream);
      r.y = y_.get(), r.argmax = argmax_.get();
    }
    if (takes(ConvPass::backward_data)) {
      const Buffer data = scratch(ConvPass::backward_data);
      conv2d_relu_pool_backward_data(dx_.data(), dy_.data(), given.data(), w_.data(), d, mode,
                                     options, {data.data(), data.bytes()}, stream);
      r.dx = dx_.get();
    }
    if (takes(ConvPass::backward_weights)) {
      const Buffer filters = scratch(ConvPass::backward_weights);
      conv2d_relu_pool_backward_weights(dw_.data(), db_.data(), dy_.data(), given.data(), x_.data(),
                                        d, mode, options, {filters.data(), filters.bytes()},
                                        stream);
      r.dw = dw_.get(), r.db = db_.get();
    }
    return r;
  }
};

// A random walk of `length` roundings of sums of size sqrt(length) / 3, with room for unlucky
// signs; `unit` is the rounding of each operand. `few` windows may all be cut, and then every
// gradient is zero.
inline Bound bound(std::int64_t length, double unit, bool integers, bool few) {
  const double eps = std::numeric_limits<float>::epsilon(), k = static_cast<double>(length);
  if (integers) return {0, 0, few};
  return {4 * eps * (k / 6 + 2) + 4 * unit * std::sqrt(k + 1), 4 * eps, few};
}

inline void expect_equal(const PoolResults<float>& found, const PoolResults<double>& expected,
                         const PoolProblem& p, const ReluPoolOptions& options, bool integers) {
  const ComputeMode mode = options.mode;
  const ConvDims& d = p.d.conv;
  const bool few = p.outputs() <= 5;
  const std::int64_t taps = d.kh * d.kw, windows = d.n * p.d.rows() * p.d.columns();
  const double unit = mode == ComputeMode::fp32   ? 0
                      : mode == ComputeMode::tf32 ? std::ldexp(1.0, -11)
                                                  : std::ldexp(1.0, -8);
  const char* name = mode == ComputeMode::fp32   ? " in fp32"
                     : mode == ComputeMode::tf32 ? " in tf32"
                                                 : " in bf16";
  const std::string what = str(options.variant, " ", name_of(p.d), name);
  if (!found.y.empty()) {
    EXPECT_TRUE(compare(found.y, expected.y, bound(d.c * taps, unit, integers, few), what + " y"));
  }
  if (!found.dx.empty()) {
    EXPECT_TRUE(
        compare(found.dx, expected.dx, bound(d.oc * taps, unit, integers, few), what + " dx"));
  }
  if (!found.dw.empty()) {
    EXPECT_TRUE(compare(found.dw, expected.dw, bound(windows, unit, integers, few), what + " dw"));
    // The bias is a plain sum of dy: nothing is rounded for it.
    EXPECT_TRUE(compare(found.db, expected.db, bound(windows, 0, integers, few), what + " db"));
  }
}

}  // namespace weft::test::relu_pool
