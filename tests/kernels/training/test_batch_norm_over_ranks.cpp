// SPDX-License-Identifier: MIT
// The steps of batch normalisation over ranks: slices of a batch, merged, give the statistics and
// gradients that the double oracle finds for the whole batch.
#include <algorithm>

#include "kernels/batch_norm/cpu/templates.h"
#include "kernels/batch_norm/over_ranks.h"
#include "tests/cases/batch_norm_cases.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

constexpr float kRanksEps = 1e-5f, kRanksMomentum = 0.1f;

// The rows of three ranks; the second has none.
std::vector<std::int64_t> rows_of_ranks(std::int64_t n) {
  return {n / 3, 0, n - n / 3};
}

class BatchNormOverRanks : public DeviceTest {
 protected:
  using Dims = kernels::BatchNormDims;

  std::vector<std::string_view> variants() {
    if (stream().device().is_cpu()) return {"two_pass"};
    return {"two_pass", "split", kernels::kAutomatic};
  }

  // A slice of the batch on its rank, with what its steps write.
  struct Rank {
    Rank(const Dims& d, std::int64_t row, const std::vector<float>& all_x,
         const std::vector<float>& all_dy, const Stream& stream)
        : dims(d),
          x(slice(all_x, d, row), stream),
          dy(slice(all_dy, d, row), stream, 1),
          y(elements(d), stream),
          dx(elements(d), stream),
          moments(3 * d.c, stream),
          mean(d.c, stream),
          var(d.c, stream),
          means(2 * d.c, stream),
          dgamma(d.c, stream),
          dbeta(d.c, stream),
          running_mean(std::vector<float>(static_cast<std::size_t>(d.c), 0.25f), stream),
          running_var(std::vector<float>(static_cast<std::size_t>(d.c), 2.0f), stream),
          workspace_bytes(kernels::batch_norm_workspace_bytes(d, stream.device())),
          scratch(static_cast<std::int64_t>(workspace_bytes / sizeof(double)), stream) {}

    static std::int64_t elements(const Dims& d) { return d.n * d.c * d.inner; }
    static std::vector<float> slice(const std::vector<float>& all, const Dims& d,
                                    std::int64_t row) {
      const auto first = all.begin() + row * d.c * d.inner;
      return {first, first + elements(d)};
    }
    kernels::Moments* kept() { return reinterpret_cast<kernels::Moments*>(moments.data()); }
    kernels::Workspace workspace() { return {scratch.data(), workspace_bytes}; }

    Dims dims;
    Guarded<float> x, dy, y, dx;
    Guarded<double> moments;
    Guarded<float> mean, var, means, dgamma, dbeta, running_mean, running_var;
    std::size_t workspace_bytes;
    Guarded<double> scratch;
  };

  std::vector<std::unique_ptr<Rank>> ranks_of(const Dims& all, const std::vector<float>& x,
                                              const std::vector<float>& dy) {
    std::vector<std::unique_ptr<Rank>> ranks;
    std::int64_t row = 0;
    for (const std::int64_t rows : rows_of_ranks(all.n)) {
      ranks.push_back(std::make_unique<Rank>(Dims{rows, all.c, all.inner}, row, x, dy, stream()));
      row += rows;
    }
    return ranks;
  }

  // What all ranks have afterwards in this member: the sum.
  static std::vector<float> sum(std::vector<std::unique_ptr<Rank>>& ranks,
                                Guarded<float> Rank::*member) {
    std::vector<float> total(static_cast<std::size_t>(((*ranks[0]).*member).size()), 0.0f);
    for (const auto& rank : ranks) {
      const std::vector<float> own = ((*rank).*member).get();
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += own[i];
    }
    for (const auto& rank : ranks) ((*rank).*member).set(total);
    return total;
  }
  static std::vector<float> joined(const std::vector<std::unique_ptr<Rank>>& ranks,
                                   Guarded<float> Rank::*member) {
    std::vector<float> all;
    for (const auto& rank : ranks) {
      const std::vector<float> own = ((*rank).*member).get();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
};

TEST_P(BatchNormOverRanks, ForwardMatchesTheWholeBatch) {
  for (const problems::BatchNorm& c :
       all_or_few(cases::kBatchNormCases, cases::kFewBatchNormCases)) {
    for (const float offset : {0.0f, 100.0f}) {
      const Dims& d = c.dims;
      const std::size_t channels = static_cast<std::size_t>(d.c);
      std::vector<float> x = random_floats(c.elements(), 5, offset - 1, offset + 1);
      // The means of the slices differ: a merge that forgot that would show.
      for (std::int64_t i = rows_of_ranks(d.n)[0] * d.c * d.inner; i < c.elements(); ++i) {
        x[static_cast<std::size_t>(i)] += 3;
      }
      const std::vector<float> gamma = random_floats(d.c, 6, 0.5f, 2), beta = random_floats(d.c, 7);
      std::vector<double> y(x.size()), mean(channels), inv_std(channels),
          running_mean(channels, 0.25), running_var(channels, 2);
      kernels::cpu::batch_norm_forward<double>(
          y.data(), mean.data(), inv_std.data(), running_mean.data(), running_var.data(),
          to_double(x).data(), to_double(gamma).data(), to_double(beta).data(), kRanksEps,
          kRanksMomentum, d);
      Guarded<float> gamma_in(gamma, stream()), beta_in(beta, stream());
      for (const std::string_view variant : variants()) {
        auto ranks = ranks_of(d, x, x);
        for (const auto& rank : ranks) {
          kernels::batch_norm_moments(rank->kept(), rank->mean.data(), rank->x.data(), rank->dims,
                                      d.n, {.variant = variant}, rank->workspace(), stream());
        }
        const std::vector<float> found_mean = sum(ranks, &Rank::mean);
        for (const auto& rank : ranks) {
          kernels::batch_norm_variance(rank->var.data(), rank->kept(), rank->mean.data(),
                                       rank->dims, d.n, stream());
        }
        sum(ranks, &Rank::var);
        for (const auto& rank : ranks) {
          kernels::batch_norm_inference(rank->y.data(), rank->x.data(), rank->mean.data(),
                                        rank->var.data(), gamma_in.data(), beta_in.data(),
                                        kRanksEps, rank->dims, stream());
          kernels::batch_norm_finish(rank->var.data(), rank->running_mean.data(),
                                     rank->running_var.data(), rank->mean.data(), rank->var.data(),
                                     kRanksEps, kRanksMomentum, rank->dims, d.n, stream());
        }
        // As for one device, in test_batch_norm.cpp: rounding of x - mean is relative to the
        // largest value, and 1 / std of two near values magnifies it.
        double amplify = 1;
        for (const double s : inv_std) amplify = std::max(amplify, s);
        const double error = 6e-7 * (4 + static_cast<double>(offset)) * amplify;
        const std::string what = str(c, " ", variant);
        EXPECT_TRUE(compare(found_mean, mean, {1e-6, 1e-6, false}, what));
        EXPECT_TRUE(
            compare(joined(ranks, &Rank::y), y, {2 * error, 1e-5 + 2 * error, false}, what));
        for (const auto& rank : ranks) {
          EXPECT_TRUE(compare(rank->var.get(), inv_std, {0, 1e-6 + error, false}, what));
          EXPECT_TRUE(compare(rank->running_mean.get(), running_mean, {1e-6, 1e-6, false}, what));
          EXPECT_TRUE(compare(rank->running_var.get(), running_var, {error, 1e-6, false}, what));
          EXPECT_TRUE(same_bits(rank->running_var.get(), ranks[0]->running_var.get())) << what;
        }
      }
    }
  }
}

TEST_P(BatchNormOverRanks, BackwardMatchesTheWholeBatch) {
  using kernels::GradientMode;
  for (const problems::BatchNorm& c :
       all_or_few(cases::kBatchNormCases, cases::kFewBatchNormCases)) {
    const Dims& d = c.dims;
    const std::vector<float> x = random_floats(c.elements(), 13),
                             dy = random_floats(c.elements(), 14),
                             gamma = random_floats(d.c, 15, 0.5f, 2),
                             mean = random_floats(d.c, 16, -0.1f, 0.1f),
                             inv_std = random_floats(d.c, 17, 1, 3),
                             start = random_floats(c.elements(), 18);
    Guarded<float> gamma_in(gamma, stream()), mean_in(mean, stream()),
        inv_std_in(inv_std, stream());
    for (const std::string_view variant : variants()) {
      for (const bool mask : {false, true}) {
        for (const GradientMode mode : {GradientMode::overwrite, GradientMode::accumulate}) {
          const bool adds = mode == GradientMode::accumulate;
          std::vector<double> dx = to_double(start), dgamma(gamma.size()), dbeta(gamma.size());
          kernels::cpu::batch_norm_backward<double>(
              dx.data(), dgamma.data(), dbeta.data(), to_double(dy).data(), to_double(x).data(),
              to_double(gamma).data(), to_double(mean).data(), to_double(inv_std).data(), d, mode,
              GradientMode::overwrite);
          for (std::size_t i = 0; mask && i < dx.size(); ++i) {
            if (!(x[i] > 0)) dx[i] = adds ? static_cast<double>(start[i]) : 0;
          }
          auto ranks = ranks_of(d, x, dy);
          std::int64_t row = 0;
          for (const auto& rank : ranks) {
            if (adds) {  // to as much as makes gamma and mean over all ranks
              std::vector<float> third = gamma, other = mean;
              for (float& value : third) value /= 3;
              for (float& value : other) value /= 3;
              rank->dgamma.set(third);
              rank->dbeta.set(other);
              rank->dx.set(Rank::slice(start, rank->dims, row));
            }
            row += rank->dims.n;
            kernels::batch_norm_gradient_sums(
                rank->dgamma.data(), rank->dbeta.data(), rank->means.data(), rank->dy.data(),
                rank->x.data(), mean_in.data(), inv_std_in.data(), rank->dims, d.n, mode,
                {.variant = variant}, rank->workspace(), stream());
          }
          sum(ranks, &Rank::means);
          for (const auto& rank : ranks) {
            kernels::batch_norm_input_gradient(
                rank->dx.data(), rank->dy.data(), rank->x.data(), gamma_in.data(), mean_in.data(),
                inv_std_in.data(), rank->means.data(), rank->dims, mode, mask, stream());
          }
          for (std::size_t i = 0; adds && i < gamma.size(); ++i) {
            dgamma[i] += static_cast<double>(gamma[i]);
            dbeta[i] += static_cast<double>(mean[i]);
          }
          const double length = static_cast<double>(d.n * d.inner);
          const std::string what = str(c, " ", variant);
          EXPECT_TRUE(compare(joined(ranks, &Rank::dx), dx, {1e-5, 1e-6, false}, what));
          EXPECT_TRUE(compare(sum(ranks, &Rank::dbeta), dbeta,
                              sum_bound(length + 3, std::sqrt(length)), what));
          EXPECT_TRUE(compare(sum(ranks, &Rank::dgamma), dgamma,
                              sum_bound(length + 3, 3 * std::sqrt(length)), what));
        }
      }
    }
  }
}

// Their variance is 0, which must not become negative.
TEST_P(BatchNormOverRanks, EqualValuesHaveNoVariance) {
  const Dims d{40, 1, 100};
  const std::vector<float> x(4000, 1234567.8f);
  for (const std::string_view variant : variants()) {
    auto ranks = ranks_of(d, x, x);
    for (const auto& rank : ranks) {
      kernels::batch_norm_moments(rank->kept(), rank->mean.data(), rank->x.data(), rank->dims, d.n,
                                  {.variant = variant}, rank->workspace(), stream());
    }
    EXPECT_TRUE(compare(sum(ranks, &Rank::mean), std::vector<double>{1234567.8}, {0, 2e-7, false}));
    for (const auto& rank : ranks) {
      kernels::batch_norm_variance(rank->var.data(), rank->kept(), rank->mean.data(), rank->dims,
                                   d.n, stream());
      EXPECT_GE(rank->var.get()[0], 0) << variant;
      EXPECT_LE(rank->var.get()[0], 0.25f) << variant;  // the square of the mean's rounding
    }
  }
}

TEST_P(BatchNormOverRanks, RefusesWhatHasNoStatistics) {
  Guarded<float> v(8, stream());
  Guarded<double> kept(6, stream());
  auto* moments = reinterpret_cast<kernels::Moments*>(kept.data());
  const std::vector<float> before = v.get();
  const auto run = [&](const Dims& d, std::int64_t all_n) {
    kernels::batch_norm_moments(moments, v.data(), v.data(), d, all_n, {}, {}, stream());
  };
  EXPECT_USAGE_ERROR(run({1, 2, 1}, 1), "more than one value");
  EXPECT_USAGE_ERROR(run({0, 2, 1}, 0), "more than one value");
  EXPECT_USAGE_ERROR(run({3, 2, 1}, 2), "no more rows here");
  EXPECT_USAGE_ERROR(
      kernels::batch_norm_variance(v.data(), moments, v.data(), {3, 2, 1}, 2, stream()),
      "batch_norm_variance");
  run({1, 0, 1}, 2);
  EXPECT_TRUE(same_bits(v.get(), before));
}

WEFT_ON_EACH_DEVICE(BatchNormOverRanks);

}  // namespace
}  // namespace weft::test
