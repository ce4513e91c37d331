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
#include "kernels/conv/cpu.h"
#include "tests/cases/conv_cases.h"
#include "tests/support/compare.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"

namespace weft::test::conv {

using namespace weft::kernels;

// What the three passes produce; empty where the variant has no such pass.
template <class T>
struct ConvResults {
  std::vector<T> y, dx, dw, db;
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
    ConvResults<float> r;
    if (conv_has_pass(options.variant, ConvPass::forward)) {
      const Buffer scratch = workspace(ConvPass::forward);
      conv2d_forward(y_.data(), x_.data(), w_.data(), bias_.data(), c.dims, epilogue, options,
                     {scratch.data(), scratch.bytes()}, stream);
      r.y = y_.get();
    }
    if (conv_has_pass(options.variant, ConvPass::backward_data)) {
      const Buffer scratch = workspace(ConvPass::backward_data);
      conv2d_backward_data(dx_.data(), dy_.data(), w_.data(), c.dims, mode, options,
                           {scratch.data(), scratch.bytes()}, stream);
      r.dx = dx_.get();
    }
    if (conv_has_pass(options.variant, ConvPass::backward_weights)) {
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
  static Bound bound(std::int64_t length, double unit) {
    const double eps = std::numeric_limits<float>::epsilon(), k = static_cast<double>(length);
    return {4 * eps * (k / 6 + 2) + 4 * unit * std::sqrt(k + 1), 4 * eps, true};
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
  Bound none = exact();
  none.zero_is_right = true;
  const auto bound = [&](std::int64_t length) {
    return integers ? none : ConvProblem::bound(length, unit_of(options.mode));
  };
  const std::int64_t taps = d.kh * d.kw, pixels = d.n * d.oh() * d.ow();
  if (conv_has_pass(options.variant, ConvPass::forward)) {
    EXPECT_TRUE(compare(found.y, expected.y, bound(d.c * taps), what + " y"));
  }
  if (conv_has_pass(options.variant, ConvPass::backward_data)) {
    EXPECT_TRUE(compare(found.dx, expected.dx, bound(d.oc * taps), what + " dx"));
  }
  if (conv_has_pass(options.variant, ConvPass::backward_weights)) {
    EXPECT_TRUE(compare(found.dw, expected.dw, bound(pixels), what + " dw"));
    // The bias is a plain sum of dy: nothing is rounded for it.
    const Bound plain = integers ? none : ConvProblem::bound(pixels, 0);
    EXPECT_TRUE(compare(found.db, expected.db, plain, what + " db"));
  }
}

inline bool runs_on(const VariantInfo& info, Device device) {
  return conv_runs_on(parse_conv_variant(info.name), device);
}

// Has kernels for fp32, tf32 and bf16.
inline bool has_all_modes(ConvVariant variant) {
  return variant == ConvVariant::implicit_gemm_tensor_core ||
         variant == ConvVariant::implicit_gemm_wgmma;
}

inline bool on_tensor_cores(ConvVariant variant) {
  return has_all_modes(variant) || variant == ConvVariant::direct_tensor_core;
}

// Every variant that runs here, in all modes that it has kernels for.
inline void for_each_variant(
    Device device, const std::function<void(const std::string&, const ConvOptions&)>& body) {
  for (const VariantInfo& info : conv_variants()) {
    if (!runs_on(info, device)) continue;
    ConvOptions options;
    options.variant = parse_conv_variant(info.name);
    if (!conv_has_pass(options.variant, ConvPass::forward)) continue;
    body(std::string(info.name), options);
    if (!on_tensor_cores(options.variant)) continue;
    options.mode = ComputeMode::tf32;
    body(str(info.name, " tf32"), options);
    if (!has_all_modes(options.variant)) continue;
    options.mode = ComputeMode::bf16;
    body(str(info.name, " bf16"), options);
  }
  body("automatic", {});
}

}  // namespace weft::test::conv
