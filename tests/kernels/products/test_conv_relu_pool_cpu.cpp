// SPDX-License-Identifier: MIT
// The CPU kernels of convolution with ReLU and max pooling, on every instruction set of this
// machine and on several numbers of threads.
#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>
#include <limits>

#include "kernels/conv_relu_pool/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/kernels/products/relu_pool_problem.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(ReluPoolCpu, relu_pool_cpu)

namespace weft::test {
namespace {

using namespace weft::kernels;
using Bytes = std::vector<std::uint8_t>;

std::vector<ReluPoolDims> cases() {
  return {
      {{1, 1, 3, 3, 1, 2, 2}},                 // one window
      {{3, 1, 28, 28, 6, 5, 5, 1, 1, 2, 2}},   // lenet5: filters in rows
      {{19, 6, 14, 14, 16, 5, 5}},             // more than one image in a chunk of sums
      {{2, 3, 20, 26, 15, 5, 5, 1, 1, 2, 2}},  // filters in rows of two vectors, in two groups
      {{2, 1, 7, 22, 7, 4, 3, 1, 1, 1, 1}},    // the same with one filter beyond a tile
      {{2, 32, 26, 26, 64, 3, 3}},             // convnet: several strips
      {{2, 17, 9, 9, 130, 3, 3, 1, 1, 1, 1}},  // more than 64 filters, a channel over 16
      {{2, 3, 12, 40, 9, 3, 9, 1, 1, 1, 4}},   // runs of 27 floats
      {{1, 2, 7, 70, 3, 5, 60, 1, 1, 2, 3}},   // runs longer than a piece
      {{1, 1, 40, 10, 2, 30, 3}},              // more runs than a piece
      {{1, 3, 6, 200, 5, 3, 3}},               // rows longer than a strip
      {{3, 5, 9, 11, 7, 3, 3, 2, 2, 1, 0}},    // strided
      {{2, 4, 9, 9, 3, 2, 3, 3, 1, 3, 5}},     // padding beyond the kernel
      {{1, 2, 15, 16, 5, 4, 4}, 3, 2},         // windows of other sizes
      {{2, 2, 8, 9, 20, 3, 3}, 1, 1},
      {{1, 3, 18, 18, 3, 3, 3}, 15, 17},    // 255 elements
      {{2, 3, 5, 5, 4, 3, 3}, 4, 4},        // no window at all
      {{0, 3, 8, 8, 4, 3, 3}},              // no image
      {{3, 2, 0, 6, 5, 2, 3, 1, 1, 2, 0}},  // images without rows: padding alone
  };
}

// What table functions compute of a problem of random values.
struct TableProblem : relu_pool::PoolProblem {
  using PoolProblem::PoolProblem;

  // The backward passes start from `argmax`, so that a near tie cannot tell them apart.
  relu_pool::PoolResults<float> run(const ReluPoolCpu& table, const Bytes& argmax) const {
    const Stream stream(Device::cpu());
    const std::int64_t misalign = 1;
    Guarded<float> y_(outputs(), stream, misalign);
    Guarded<float> dx_ = output(dx, stream, misalign), dw_ = output(dw, stream, misalign);
    Guarded<float> db_ = output(db, stream, misalign);
    Guarded<std::uint8_t> argmax_(outputs(), stream, misalign);
    if (outputs() > 0) {
      table.forward(y_.data(), argmax_.data(), x.data(), w.data(), bias.data(), d);
    }
    if (inputs() > 0) {
      table.backward_data(dx_.data(), dy.data(), argmax.data(), w.data(), d, mode);
    }
    table.backward_weights(dw_.data(), db_.data(), dy.data(), argmax.data(), x.data(), d, mode);
    return {y_.get(), dx_.get(), dw_.get(), db_.get(), argmax_.get()};
  }
};

class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

TEST(ReluPoolCpu, MatchesTheOracle) {
  const Threads threads(2);
  for (const auto& [isa, table] : relu_pool_cpu_tables()) {
    int turn = 0;
    for (const ReluPoolDims& d : cases()) {
      for (const bool integers : {false, true}) {
        const GradientMode mode =
            turn++ % 3 == 0 ? GradientMode::overwrite : GradientMode::accumulate;
        const TableProblem p(d, integers, mode);
        if (too_large(p.flops())) continue;
        const relu_pool::PoolResults<double> expected = p.expected();
        const relu_pool::PoolResults<float> found = p.run(*table, expected.argmax);
        const auto bound = [&](std::int64_t length) {
          return relu_pool::bound(length, 0, integers, p.outputs() <= 5 || p.inputs() == 0);
        };
        const std::string what = str(isa, " ", relu_pool::name_of(d), integers ? " integers" : "");
        const std::int64_t taps = d.conv.kh * d.conv.kw;
        const std::int64_t windows = d.conv.n * d.rows() * d.columns();
        if (p.outputs() > 0) {
          EXPECT_TRUE(compare(found.y, expected.y, bound(d.conv.c * taps), what + " y"));
        }
        if (p.inputs() > 0) {
          EXPECT_TRUE(compare(found.dx, expected.dx, bound(d.conv.oc * taps), what + " dx"));
        }
        EXPECT_TRUE(compare(found.dw, expected.dw, bound(windows), what + " dw"));
        EXPECT_TRUE(compare(found.db, expected.db, bound(windows), what + " db"));
        if (integers) {
          EXPECT_EQ(found.argmax, expected.argmax) << what;
        }
      }
    }
  }
}

TEST(ReluPoolCpu, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const auto& [isa, table] : relu_pool_cpu_tables()) {
    for (const ReluPoolDims& d : cases()) {
      const TableProblem p(d, false, GradientMode::overwrite);
      if (too_large(p.flops())) continue;
      const Bytes argmax = p.expected().argmax;
      const auto run = [&, table = table](int count) {
        const Threads threads(count);
        return p.run(*table, argmax);
      };
      const relu_pool::PoolResults<float> one = run(1);
      for (const int count : {2, 3}) {
        const relu_pool::PoolResults<float> more = run(count);
        EXPECT_TRUE(one.y == more.y && one.dx == more.dx && one.dw == more.dw &&
                    one.db == more.db && one.argmax == more.argmax)
            << isa << " on " << count << " threads, " << relu_pool::name_of(d);
      }
    }
  }
}

TEST(ReluPoolCpu, WithoutIndicesTheValuesHaveTheSameBits) {
  for (const auto& [isa, table] : relu_pool_cpu_tables()) {
    for (const ReluPoolDims& d : cases()) {
      const TableProblem p(d, false, GradientMode::overwrite);
      if (p.outputs() == 0 || too_large(p.flops())) continue;
      std::vector<float> with(p.outputs(), -1.0f), without(p.outputs(), -2.0f);
      Bytes argmax(p.outputs());
      table->forward(with.data(), argmax.data(), p.x.data(), p.w.data(), p.bias.data(), d);
      table->forward(without.data(), nullptr, p.x.data(), p.w.data(), p.bias.data(), d);
      EXPECT_EQ(with, without) << isa << " " << relu_pool::name_of(d);
    }
  }
}

// A NaN in a window wins, and no gradient passes it.
TEST(ReluPoolCpu, NanWinsAndIsCut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [isa, table] : relu_pool_cpu_tables()) {
    for (const auto& [filters, columns] : {std::pair{2, 42}, {20, 42}, {2, 26}}) {
      for (std::int64_t bad = 0; bad < 4; ++bad) {
        const ReluPoolDims d{{1, 1, 2, columns, filters, 1, 1}};
        std::vector<float> x(static_cast<std::size_t>(2 * columns), 1.0f);
        std::vector<float> w(static_cast<std::size_t>(filters), 1.0f);
        x[static_cast<std::size_t>(bad / 2 * columns + 6 + bad % 2)] = nan;  // in window 3
        const auto windows = static_cast<std::size_t>(columns / 2);
        std::vector<float> y(windows * static_cast<std::size_t>(filters));
        Bytes argmax(y.size());
        table->forward(y.data(), argmax.data(), x.data(), w.data(), nullptr, d);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const bool is_bad = i % windows == 3;
          EXPECT_EQ(std::isnan(y[i]), is_bad) << isa << " filters " << filters << " at " << i;
          EXPECT_EQ(argmax[i], is_bad ? kReluPoolCut : 0) << isa << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
