// SPDX-License-Identifier: MIT
// A convolution with random operands: its three passes on a device, and in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/conv/cpu/templates.h"
#include "tests/cases/conv_cases.h"
#include "tests/support/combinations.h"
#include "tests/support/compare.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"

namespace weft::test::conv {

using namespace weft::kernels;

// What the three passes produce; empty where the rung does not take the pass.
template <class T>
struct ConvResults {
  std::vector<T> y, dx, dw, db;
  bool forward = true, backward_data = true, backward_weights = true;  // what it takes
};

struct ConvProblem {
  ConvCase c;
  Epilogue epilogue;
  GradientMode mode;
  std::vector<float> x, w, bias, dy;
  std::vector<float> dx, dw, db;  // before an accumulating pass

  ConvProblem(const ConvCase& test_case, bool integers, Epilogue epilogue_ = Epilogue::relu,
              GradientMode mode_ = GradientMode::accumulate)
      : c(test_case), epilogue(epilogue_), mode(mode_) {
    const auto values = [&](std::int64_t n, std::uint64_t seed) {
      return integers ? random_integers(n, seed, -2, 2) : random_floats(n, seed);
    };
    x = values(c.inputs(), 1);
    w = values(c.weights(), 2);
    bias = values(c.dims.oc, 3);
    dy = values(c.outputs(), 4);
    dx = values(c.inputs(), 5);
    dw = values(c.weights(), 6);
    db = values(c.dims.oc, 7);
  }

  ConvResults<double> expected() const {
    const auto x64 = to_double(x), w64 = to_double(w), bias64 = to_double(bias),
               dy64 = to_double(dy);
    ConvResults<double> r{std::vector<double>(dy.size()), to_double(dx), to_double(dw),
                          to_double(db)};
    cpu::conv2d_forward_direct<double>(r.y.data(), x64.data(), w64.data(), bias64.data(), c.dims,
                                       epilogue);
    cpu::conv2d_backward_data_direct<double>(r.dx.data(), dy64.data(), w64.data(), c.dims, mode);
    cpu::conv2d_backward_weights_direct<double>(r.dw.data(), r.db.data(), dy64.data(), x64.data(),
                                                c.dims, mode);
    return r;
  }

  ConvResults<float> run(const ConvOptions& options, const Stream& stream,
                         std::int64_t misalign = 0) const {
    const bool add = mode == GradientMode::accumulate;
    const auto output = [&](const std::vector<float>& before) {
      Guarded<float> memory(static_cast<std::int64_t>(before.size()), stream, misalign);
      if (add) memory.set(before);
      return memory;
    };
    const Guarded<float> x_(x, stream, misalign), w_(w, stream, misalign);
    const Guarded<float> bias_(bias, stream, misalign), dy_(dy, stream, misalign);
    Guarded<float> y_(c.outputs(), stream, misalign);
    Guarded<float> dx_ = output(dx), dw_ = output(dw), db_ = output(db);
    const auto workspace = [&](ConvPass pass) {
      return Buffer(conv2d_workspace_bytes(pass, c.dims, options, stream.device()), stream);
    };
    const auto takes = [&](ConvPass pass) {
      return taken(options.variant,
                   conv_takes(options.variant, {pass, c.dims, options.mode}, stream.device()));
    };
    ConvResults<float> r;
    r.forward = takes(ConvPass::forward);
    r.backward_data = takes(ConvPass::backward_data);
    r.backward_weights = takes(ConvPass::backward_weights);
    if (r.forward) {
      const Buffer scratch = workspace(ConvPass::forward);
      conv2d_forward(y_.data(), x_.data(), w_.data(), bias_.data(), c.dims, epilogue, options,
                     {scratch.data(), scratch.bytes()}, stream);
      r.y = y_.get();
    }
    if (r.backward_data) {
      const Buffer scratch = workspace(ConvPass::backward_data);
      conv2d_backward_data(dx_.data(), dy_.data(), w_.data(), c.dims, mode, options,
                           {scratch.data(), scratch.bytes()}, stream);
      r.dx = dx_.get();
    }
    if (r.backward_weights) {
      const Buffer scratch = workspace(ConvPass::backward_weights);
      conv2d_backward_weights(dw_.data(), db_.data(), dy_.data(), x_.data(), c.dims, mode, options,
                              {scratch.data(), scratch.bytes()}, stream);
      r.dw = dw_.get();
      r.db = db_.get();
    }
    return r;
  }

  // A random walk of `length` roundings of partial sums of size sqrt(length) / 3, with room for
  // unlucky signs; `unit` is the rounding of each operand, for the tensor-core modes.
  Bound bound(std::int64_t length, double unit) const {
    const double eps = std::numeric_limits<float>::epsilon(), k = static_cast<double>(length);
    return {4 * eps * (k / 6 + 2) + 4 * unit * std::sqrt(k + 1), 4 * eps, c.zero_is_right};
  }
};

// The rounding of each operand in a mode.
inline double unit_of(ComputeMode mode) {
  if (mode == ComputeMode::fp32) return 0;
  return std::ldexp(1.0, mode == ComputeMode::bf16 ? -8 : -11);
}

inline void expect_equal(const ConvResults<float>& found, const ConvResults<double>& expected,
                         const ConvProblem& p, const std::string& what, bool integers,
                         const ConvOptions& options = {}) {
  const ConvDims& d = p.c.dims;
  const Bound none{0, 0, p.c.zero_is_right};
  const auto bound = [&](std::int64_t length) {
    return integers ? none : p.bound(length, unit_of(options.mode));
  };
  const std::int64_t taps = d.kh * d.kw, pixels = d.n * d.oh() * d.ow();
  if (found.forward) {
    EXPECT_TRUE(compare(found.y, expected.y, bound(d.c * taps), what + " y"));
  }
  if (found.backward_data) {
    EXPECT_TRUE(compare(found.dx, expected.dx, bound(d.oc * taps), what + " dx"));
  }
  if (found.backward_weights) {
    EXPECT_TRUE(compare(found.dw, expected.dw, bound(pixels), what + " dw"));
    // The bias is a plain sum of dy: nothing is rounded for it.
    const Bound plain = integers ? none : p.bound(pixels, 0);
    EXPECT_TRUE(compare(found.db, expected.db, plain, what + " db"));
  }
}

// Has kernels for fp32, tf32 and bf16.
inline bool has_all_modes(const ConvOptions& options) {
  const Rung* rung = conv_rungs().find(options.variant);
  return rung != nullptr && rung->arithmetic.tf32 != rung->arithmetic.bf16 &&
         rung->compute_capability >= 80;
}

inline bool on_tensor_cores(const ConvOptions& options) {
  const Rung* rung = conv_rungs().find(options.variant);
  return rung != nullptr && rung->compute_capability >= 80;
}

// Every rung that runs here for some shape, in all modes that it has kernels for.
inline void for_each_variant(
    Device device, const std::function<void(const std::string&, const ConvOptions&)>& body) {
  for (const Rung& rung : conv_rungs()) {
    if (!ladder::refusal(rung, ComputeMode::fp32, device).empty()) continue;
    ConvOptions options{.variant = rung.name};
    body(std::string(rung.name), options);
    if (!on_tensor_cores(options)) continue;
    options.mode = ComputeMode::tf32;
    body(str(rung.name, " tf32"), options);
    if (!has_all_modes(options)) continue;
    options.mode = ComputeMode::bf16;
    body(str(rung.name, " bf16"), options);
  }
  body("automatic", {});
}

}  // namespace weft::test::conv
