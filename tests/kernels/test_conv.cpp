// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <functional>
#include <limits>

#include "kernels/conv/conv.h"
#include "kernels/conv/cpu.h"
#include "kernels/conv/cpu_table.h"
#include "tests/cases/conv_cases.h"
#include "tests/cases/cpu_isas.h"
#include "tests/support/compare.h"
#include "tests/support/device_test.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(ConvCpu, conv_cpu)

namespace weft::test {
namespace {

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
double unit_of(ComputeMode mode) {
  if (mode == ComputeMode::fp32) return 0;
  return std::ldexp(1.0, mode == ComputeMode::bf16 ? -8 : -11);
}

void expect_equal(const ConvResults<float>& found, const ConvResults<double>& expected,
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

bool runs_on(const VariantInfo& info, Device device) {
  if (device.is_cpu()) return info.on_cpu;
  return info.on_cuda && device_properties(device).compute_capability >= info.compute_capability;
}

bool rounds(ConvVariant variant) {
  return variant == ConvVariant::implicit_gemm_tensor_core;
}

// Every variant that runs here; those that round their operands in both modes.
void for_each_variant(Device device,
                      const std::function<void(const std::string&, const ConvOptions&)>& body) {
  for (const VariantInfo& info : conv_variants()) {
    if (!runs_on(info, device)) continue;
    ConvOptions options;
    options.variant = parse_conv_variant(info.name);
    if (!conv_has_pass(options.variant, ConvPass::forward)) continue;
    if (!rounds(options.variant)) {
      body(std::string(info.name), options);
      continue;
    }
    options.mode = ComputeMode::tf32;
    body(str(info.name, " tf32"), options);
    options.mode = ComputeMode::bf16;
    body(str(info.name, " bf16"), options);
  }
  body("automatic", {});
}

class Conv : public DeviceTest {};

TEST_P(Conv, MatchesTheOracle) {
  int turn = 0;
  for (const ConvCase& c : conv_cases()) {
    if (too_large(c.flops())) continue;
    const ConvProblem problem(c, false, turn % 2 == 0 ? Epilogue::none : Epilogue::relu,
                              turn % 3 == 0 ? GradientMode::accumulate : GradientMode::overwrite);
    ++turn;
    const ConvResults<double> expected = problem.expected();
    for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
      expect_equal(problem.run(options, stream()), expected, problem, variant + " " + c.name(),
                   false, options);
    });
    if (HasFailure()) return;
  }
}

TEST_P(Conv, IsExactOnIntegers) {
  for (const ConvCase& c : conv_cases()) {
    if (too_large(c.flops())) continue;
    const ConvProblem problem(c, true);
    const ConvResults<double> expected = problem.expected();
    for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
      expect_equal(problem.run(options, stream()), expected, problem, variant + " " + c.name(),
                   true, options);
    });
    if (HasFailure()) return;
  }
}

TEST_P(Conv, KeepsToThePrecisionOfItsMode) {
  for (const ConvCase& c : network_conv_cases(2)) {
    if (too_large(c.flops())) continue;
    const ConvProblem problem(c, false);
    const ConvResults<double> expected = problem.expected();
    for_each_variant(device(), [&](const std::string& variant, ConvOptions options) {
      for (const ComputeMode mode : {ComputeMode::tf32, ComputeMode::bf16}) {
        options.mode = mode;
        expect_equal(problem.run(options, stream()), expected, problem,
                     str(variant, mode == ComputeMode::bf16 ? " in bf16 " : " in tf32 ", c.name()),
                     false, options);
      }
    });
  }
}

// On 132 multiprocessors each of these is a layer for another tile of filters and pixels: 128 x
// 128, 128 x 96, 64 x 256, 64 x 128. Channels go through several chunks, backward weights through
// many slices.
TEST_P(Conv, FillsLargeTiles) {
  if (device().is_cpu()) GTEST_SKIP() << "tiles of tensor cores";
  for (const ConvCase& c :
       {ConvCase{{43, 17, 28, 28, 128, 3, 1, 1, 1, 1, 0}},
        ConvCase{{32, 17, 28, 28, 128, 3, 1, 1, 1, 1, 0}}, ConvCase{{86, 16, 28, 28, 40, 1, 1}},
        ConvCase{{8, 96, 14, 14, 96, 3, 3, 1, 1, 1, 1}}}) {
    if (too_large(c.flops())) continue;
    const ConvProblem problem(c, true);
    const ConvResults<double> expected = problem.expected();
    for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
      if (!rounds(options.variant)) return;
      expect_equal(problem.run(options, stream()), expected, problem, variant + " " + c.name(),
                   true, options);
    });
    ConvOptions automatic;  // tensor cores, for work of this size
    automatic.mode = ComputeMode::tf32;
    expect_equal(problem.run(automatic, stream()), expected, problem, "automatic " + c.name(), true,
                 automatic);
  }
}

TEST_P(Conv, TakesAnyAlignment) {
  for (const std::int64_t misalign : {1, 2, 3}) {
    const ConvProblem problem({{2, 3, 9, 12, 5, 3, 3, 1, 1, 1, 1}}, true);
    for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
      expect_equal(problem.run(options, stream(), misalign), problem.expected(), problem,
                   str(variant, " misaligned by ", misalign), true, options);
    });
  }
}

// The backward of a ReLU before the layer: the gradient passes where its output is above 0.
TEST_P(Conv, MasksTheGradientOfTheData) {
  for (const ConvCase& c :
       {ConvCase{{2, 3, 9, 12, 5, 3, 3, 1, 1, 1, 1}}, ConvCase{{3, 2, 8, 7, 4, 3, 2, 2, 3, 1, 0}},
        ConvCase{{2, 32, 7, 12, 64, 3, 3, 1, 1, 1, 1}}}) {
    if (too_large(c.flops() / 2)) continue;
    std::vector<float> mask = random_integers(c.inputs(), 8, -1, 2);
    mask[0] = std::nanf("");
    const Guarded<float> x(mask, stream());
    for (const GradientMode mode : {GradientMode::overwrite, GradientMode::accumulate}) {
      const ConvProblem problem(c, true, Epilogue::none, mode);
      ConvResults<double> expected = problem.expected();
      for (std::size_t i = 0; i < mask.size(); ++i) {
        if (!(mask[i] > 0)) expected.dx[i] = 0;
      }
      for_each_variant(device(), [&](const std::string& variant, ConvOptions options) {
        options.relu_mask = x.data();
        expect_equal(problem.run(options, stream()), expected, problem, variant + " " + c.name(),
                     true, options);
      });
    }
  }
}

TEST_P(Conv, GivesTheSameBitsTwice) {
  const std::int64_t images = small_tests() ? 2 : 19;
  const ConvProblem problem({{images, 6, 14, 14, 16, 5, 5, 1, 1, 0, 0}}, false);
  for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
    const ConvResults<float> one = problem.run(options, stream());
    const ConvResults<float> two = problem.run(options, stream());
    EXPECT_TRUE(one.y == two.y && one.dx == two.dx && one.dw == two.dw && one.db == two.db)
        << variant;
  });
}

TEST_P(Conv, WorksWithoutBias) {
  const ConvProblem problem({{2, 3, 9, 12, 5, 3, 3, 1, 1, 1, 1}}, true);
  const ConvDims& d = problem.c.dims;
  const auto x64 = to_double(problem.x), w64 = to_double(problem.w), dy64 = to_double(problem.dy);
  std::vector<double> y64(problem.dy.size()), dw64(problem.w.size());
  cpu::conv2d_forward_direct<double>(y64.data(), x64.data(), w64.data(), nullptr, d,
                                     Epilogue::none);
  cpu::conv2d_backward_weights_direct<double>(dw64.data(), nullptr, dy64.data(), x64.data(), d,
                                              GradientMode::overwrite);
  for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
    const Guarded<float> x(problem.x, stream()), w(problem.w, stream()), dy(problem.dy, stream());
    Guarded<float> y(problem.c.outputs(), stream()), dw(problem.c.weights(), stream());
    const Buffer forward(conv2d_workspace_bytes(ConvPass::forward, d, options, device()), stream());
    conv2d_forward(y.data(), x.data(), w.data(), nullptr, d, Epilogue::none, options,
                   {forward.data(), forward.bytes()}, stream());
    EXPECT_TRUE(compare(y.get(), y64, exact(), variant));
    if (!conv_has_pass(options.variant, ConvPass::backward_weights)) return;
    const Buffer backward(conv2d_workspace_bytes(ConvPass::backward_weights, d, options, device()),
                          stream());
    conv2d_backward_weights(dw.data(), nullptr, dy.data(), x.data(), d, GradientMode::overwrite,
                            options, {backward.data(), backward.bytes()}, stream());
    EXPECT_TRUE(compare(dw.get(), dw64, exact(), variant));
  });
}

TEST_P(Conv, AnEmptyBatchHasZeroWeightGradients) {
  const ConvDims d{0, 2, 6, 6, 3, 3, 3};
  for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
    Guarded<float> dw(54, stream()), db(3, stream()), image(4, stream());
    dw.set(std::vector<float>(54, 3.0f));
    conv2d_forward(image.data(), image.data(), dw.data(), nullptr, d, Epilogue::none, options, {},
                   stream());
    conv2d_backward_data(image.data(), image.data(), dw.data(), d, GradientMode::overwrite, options,
                         {}, stream());
    for (const float value : image.get()) EXPECT_TRUE(std::isnan(value)) << variant;
    if (!conv_has_pass(options.variant, ConvPass::backward_weights)) return;
    const Buffer buffer(conv2d_workspace_bytes(ConvPass::backward_weights, d, options, device()),
                        stream());
    const Workspace workspace{buffer.data(), buffer.bytes()};
    conv2d_backward_weights(dw.data(), db.data(), image.data(), image.data(), d,
                            GradientMode::overwrite, options, workspace, stream());
    EXPECT_EQ(dw.get(), std::vector<float>(54)) << variant;
    EXPECT_EQ(db.get(), std::vector<float>(3)) << variant;
    dw.set(std::vector<float>(54, 3.0f));
    conv2d_backward_weights(dw.data(), db.data(), image.data(), image.data(), d,
                            GradientMode::accumulate, options, workspace, stream());
    EXPECT_EQ(dw.get(), std::vector<float>(54, 3.0f)) << variant;
  });
}

TEST_P(Conv, RefusesWhatItCannotDo) {
  const auto refused = [&](const ConvDims& d, const ConvOptions& options, const std::string& part) {
    try {
      conv2d_forward(nullptr, nullptr, nullptr, nullptr, d, Epilogue::none, options, {}, stream());
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const std::int64_t huge = std::int64_t{1} << 30;
  refused({-1, 1, 4, 4, 1, 3, 3}, {}, "must not be negative");
  refused({1, 1, 4, 4, 1, 0, 3}, {}, "no size");
  refused({1, 1, 4, 4, 1, 3, 3, 0, 1}, {}, "strides must be positive");
  refused({1, 1, 4, 4, 1, 3, 3, 1, 1, -1, 0}, {}, "pads must not be negative");
  refused({1, 1, 4, 4, 1, 5, 3}, {}, "larger than the padded image");
  refused({huge, huge, 4, 4, 1, 3, 3}, {}, "does not fit in memory");
  for (const VariantInfo& info : conv_variants()) {
    if (runs_on(info, device())) continue;
    ConvOptions options;
    options.variant = parse_conv_variant(info.name);
    refused({1, 1, 4, 4, 1, 3, 3}, options, std::string(info.name));
  }
  if (device().is_cpu()) return;
  ConvOptions options;
  options.variant = ConvVariant::implicit_gemm_tensor_core;
  refused({1, 1, 4, 4, 1, 3, 3}, options, "implicit_gemm_tensor_core rounds its operands");
  options.variant = ConvVariant::direct_constant;
  refused({1, 2000, 4, 4, 1, 3, 3}, options, "at most 16384 weights");
  options.variant = ConvVariant::tiled;
  refused({1, 1, 200, 200, 1, 200, 200}, options, "shared memory");
}

TEST_P(Conv, RefusesThePassesThatAVariantLacks) {
  const ConvDims d{1, 1, 4, 4, 1, 3, 3};
  for (const VariantInfo& info : conv_variants()) {
    if (!runs_on(info, device())) continue;
    ConvOptions options;
    options.variant = parse_conv_variant(info.name);
    for (const ConvPass pass :
         {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
      if (conv_has_pass(options.variant, pass)) continue;
      EXPECT_FALSE(info.needs.empty()) << info.name << " does not say what it lacks";
      EXPECT_THROW(conv2d_workspace_bytes(pass, d, options, device()), Error) << info.name;
    }
  }
}

WEFT_ON_EACH_DEVICE(Conv);

TEST(ConvCpuIsas, MatchTheOracle) {
  constexpr int kThreads = 2;
  const int before = omp_get_max_threads();
  omp_set_num_threads(kThreads);
  for (const auto& [isa, table] : conv_cpu_tables()) {
    int turn = 0;
    for (const ConvCase& c : conv_cases()) {
      if (too_large(c.flops())) continue;
      const GradientMode mode =
          turn++ % 2 == 0 ? GradientMode::accumulate : GradientMode::overwrite;
      const ConvProblem p(c, false, Epilogue::relu, mode);
      const ConvResults<double> expected = p.expected();
      const float nan = std::numeric_limits<float>::quiet_NaN();
      const auto fresh = [&] {
        ConvResults<float> r{std::vector<float>(p.dy.size(), nan), p.dx, p.dw, p.db};
        if (mode == GradientMode::overwrite) {
          r.dx.assign(r.dx.size(), nan);
          r.dw.assign(r.dw.size(), nan);
          r.db.assign(r.db.size(), nan);
        }
        return r;
      };
      ConvResults<float> direct = fresh(), implicit = fresh();
      table->forward_direct(direct.y.data(), p.x.data(), p.w.data(), p.bias.data(), c.dims,
                            p.epilogue);
      table->backward_data_direct(direct.dx.data(), p.dy.data(), p.w.data(), c.dims, mode);
      table->backward_weights_direct(direct.dw.data(), direct.db.data(), p.dy.data(), p.x.data(),
                                     c.dims, mode);
      expect_equal(direct, expected, p, str(isa, " direct ", c.name()), false);
      const auto scratch = [&](std::size_t (*floats)(const ConvDims&, int)) {
        return Buffer(floats(c.dims, kThreads) * sizeof(float), Stream(Device::cpu()));
      };
      const Buffer forward = scratch(table->forward_scratch);
      table->forward_implicit_gemm(implicit.y.data(), p.x.data(), p.w.data(), p.bias.data(), c.dims,
                                   p.epilogue, static_cast<float*>(forward.data()));
      const Buffer data = scratch(table->backward_data_scratch);
      table->backward_data_implicit_gemm(implicit.dx.data(), p.dy.data(), p.w.data(), c.dims, mode,
                                         static_cast<float*>(data.data()));
      const Buffer weights = scratch(table->backward_weights_scratch);
      table->backward_weights_implicit_gemm(implicit.dw.data(), implicit.db.data(), p.dy.data(),
                                            p.x.data(), c.dims, mode,
                                            static_cast<float*>(weights.data()));
      expect_equal(implicit, expected, p, str(isa, " implicit_gemm ", c.name()), false);
      if (HasFailure()) return;
    }
  }
  omp_set_num_threads(before);
}

TEST(ConvCpu, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  const Stream stream(Device::cpu());
  for (const ConvCase& c : network_conv_cases(19)) {
    if (too_large(c.flops())) continue;
    const ConvProblem problem(c, false);
    for_each_variant(Device::cpu(), [&](const std::string& variant, const ConvOptions& options) {
      omp_set_num_threads(1);
      const ConvResults<float> one = problem.run(options, stream);
      for (const int threads : {2, 3}) {
        omp_set_num_threads(threads);
        const ConvResults<float> more = problem.run(options, stream);
        EXPECT_TRUE(one.y == more.y && one.dx == more.dx && one.dw == more.dw && one.db == more.db)
            << variant << " on " << threads << " threads, " << c.name();
      }
    });
  }
  omp_set_num_threads(before);
}

// The oracle itself: its gradients against central differences of its own forward pass, for the
// loss sum(y dy) with a random dy. Convolution is linear in x, w and bias, so only rounding is
// left.
TEST(ConvOracle, GradientsMatchCentralDifferences) {
  for (const ConvCase& c :
       {ConvCase{{2, 3, 5, 6, 4, 3, 2, 1, 1, 1, 0}}, ConvCase{{2, 2, 7, 9, 3, 2, 3, 2, 3, 1, 2}},
        ConvCase{{1, 2, 3, 3, 2, 3, 3, 1, 1, 4, 4}}}) {
    const ConvProblem problem(c, false, Epilogue::none, GradientMode::overwrite);
    const ConvResults<double> gradients = problem.expected();
    std::vector<double> x = to_double(problem.x), w = to_double(problem.w),
                        bias = to_double(problem.bias);
    const std::vector<double> dy = to_double(problem.dy);
    const auto loss = [&] {
      std::vector<double> y(dy.size());
      cpu::conv2d_forward_direct<double>(y.data(), x.data(), w.data(), bias.data(), c.dims,
                                         Epilogue::none);
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
      return sum;
    };
    const auto differences = [&](std::vector<double>& values) {
      std::vector<double> result(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i], step = 1e-3;
        values[i] = value + step;
        const double above = loss();
        values[i] = value - step;
        const double below = loss();
        values[i] = value;
        result[i] = (above - below) / (2 * step);
      }
      return result;
    };
    const Bound bound{1e-9, 1e-6};
    EXPECT_TRUE(compare(gradients.dx, differences(x), bound, c.name() + " dx"));
    EXPECT_TRUE(compare(gradients.dw, differences(w), bound, c.name() + " dw"));
    EXPECT_TRUE(compare(gradients.db, differences(bias), bound, c.name() + " db"));
  }
}

TEST(ConvVariants, ParseTheirNames) {
  for (const VariantInfo& info : conv_variants()) {
    EXPECT_TRUE(info.on_cpu || info.on_cuda) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_NE(parse_conv_variant(info.name), ConvVariant::automatic) << info.name;
  }
  EXPECT_EQ(parse_conv_variant("automatic"), ConvVariant::automatic);
  EXPECT_THROW(parse_conv_variant("winograd"), Error);
}

}  // namespace
}  // namespace weft::test
