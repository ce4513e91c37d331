// SPDX-License-Identifier: MIT
// Convolution on the CPU: every instruction set, any number of threads, and the oracle itself.
#include <omp.h>

#include "kernels/conv/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/kernels/products/conv_problem.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(ConvCpu, conv_cpu)

namespace weft::test::conv {
namespace {

TEST(ConvCpuIsas, MatchTheOracle) {
  constexpr int kThreads = 2;
  const int before = omp_get_max_threads();
  omp_set_num_threads(kThreads);
  for (const auto& [isa, table] : conv_cpu_tables()) {
    int turn = 0, fitted = 0;
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
      ConvResults<float> winograd = fresh();
      winograd.backward_weights = table->fits_winograd(ConvPass::backward_weights, c.dims);
      winograd.forward = table->fits_winograd(ConvPass::forward, c.dims);
      winograd.backward_data = table->fits_winograd(ConvPass::backward_data, c.dims);
      const auto room = [&, table = table](ConvPass pass) {  // clang shares no binding
        return Buffer(table->winograd_scratch(pass, c.dims, kThreads) * sizeof(float),
                      Stream(Device::cpu()));
      };
      if (winograd.forward) {
        table->forward_winograd(winograd.y.data(), p.x.data(), p.w.data(), p.bias.data(), c.dims,
                                p.epilogue, static_cast<float*>(room(ConvPass::forward).data()));
      }
      if (winograd.backward_data) {
        table->backward_data_winograd(winograd.dx.data(), p.dy.data(), p.w.data(), c.dims, mode,
                                      static_cast<float*>(room(ConvPass::backward_data).data()));
      }
      if (winograd.backward_weights) {
        table->backward_weights_winograd(
            winograd.dw.data(), winograd.db.data(), p.dy.data(), p.x.data(), c.dims, mode,
            static_cast<float*>(room(ConvPass::backward_weights).data()));
      }
      fitted += winograd.forward && winograd.backward_data ? 1 : 0;
      expect_equal(winograd, expected, p, str(isa, " winograd ", c.name()), false);
      if (HasFailure()) return;
    }
    EXPECT_GE(fitted, small_tests() ? 0 : 5) << isa;
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

TEST(ConvCpu, TakesWinogradWhereItIsAllowedTo) {
  const Stream stream(Device::cpu());
  for (const std::int64_t side : {3, 5}) {
    const ConvProblem p({{2, 16, 18, 18, 16, side, side, 1, 1, 1, 1}}, false, Epilogue::none,
                        GradientMode::overwrite);
    ConvOptions allowed;
    allowed.tile_errors = true;
    const ConvResults<float> exact = p.run({}, stream), found = p.run(allowed, stream);
    expect_equal(found, p.expected(), p, str("kernels of ", side), false);
    EXPECT_EQ(found.y == exact.y, side == 5);
    EXPECT_EQ(found.dx == exact.dx, side == 5);
    EXPECT_EQ(found.dw == exact.dw, side == 5);
  }
}

// Blocks of tiles reach over images and threads.
TEST(ConvCpuIsas, WinogradGivesTheSameBitsInAnyBatchAndOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const auto& [isa, table] : conv_cpu_tables()) {
    for (const ConvDims& dims : {ConvDims{7, 16, 7, 7, 20, 3, 3, 1, 1, 1, 1},
                                 ConvDims{3, 24, 18, 16, 40, 3, 3, 1, 1, 0, 1}}) {
      const ConvProblem all({dims}, false);
      const auto run = [&, table = table](const ConvDims& d, std::int64_t image, int threads) {
        omp_set_num_threads(threads);
        ConvResults<float> r;
        const std::int64_t of_y = d.oc * d.oh() * d.ow(), of_x = d.c * d.h * d.w;
        r.y.resize(static_cast<std::size_t>(d.n * of_y));
        r.dx.resize(static_cast<std::size_t>(d.n * of_x));
        const auto room = [&](ConvPass pass) {
          return Buffer(table->winograd_scratch(pass, d, threads) * sizeof(float),
                        Stream(Device::cpu()));
        };
        table->forward_winograd(r.y.data(), all.x.data() + image * of_x, all.w.data(),
                                all.bias.data(), d, Epilogue::none,
                                static_cast<float*>(room(ConvPass::forward).data()));
        table->backward_data_winograd(r.dx.data(), all.dy.data() + image * of_y, all.w.data(), d,
                                      GradientMode::overwrite,
                                      static_cast<float*>(room(ConvPass::backward_data).data()));
        if (d.n != dims.n) return r;
        r.dw.resize(all.w.size());
        r.db.resize(all.bias.size());
        table->backward_weights_winograd(
            r.dw.data(), r.db.data(), all.dy.data(), all.x.data(), d, GradientMode::overwrite,
            static_cast<float*>(room(ConvPass::backward_weights).data()));
        return r;
      };
      const ConvResults<float> together = run(dims, 0, 1);
      for (const int threads : {2, 3}) {
        const ConvResults<float> shared = run(dims, 0, threads);
        EXPECT_TRUE(shared.y == together.y && shared.dx == together.dx) << isa << threads;
        EXPECT_TRUE(shared.dw == together.dw && shared.db == together.db) << isa << threads;
      }
      ConvDims one = dims;
      one.n = 1;
      for (std::int64_t i = 0; i < dims.n; ++i) {
        const ConvResults<float> alone = run(one, i, 1);
        const auto holds = [&](const std::vector<float>& whole, const std::vector<float>& part) {
          return std::equal(part.begin(), part.end(), whole.begin() + i * std::ssize(part));
        };
        EXPECT_TRUE(holds(together.y, alone.y) && holds(together.dx, alone.dx)) << isa << i;
      }
    }
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

}  // namespace
}  // namespace weft::test::conv
