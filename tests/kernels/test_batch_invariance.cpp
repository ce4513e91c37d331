// SPDX-License-Identifier: MIT
// An input of a batch has the same bits whatever else is in it: on a CPU with every instruction set
// and any number of threads, on a GPU where a call asks for it.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/activation/cpu/table.h"
#include "kernels/conv/cpu/table.h"
#include "kernels/conv_relu_pool/cpu/table.h"
#include "kernels/gemm/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/products/gemm_problem.h"

WEFT_CPU_TABLES(ActivationCpu, activation_cpu)
WEFT_CPU_TABLES(ConvCpu, conv_cpu)
WEFT_CPU_TABLES(GemmCpu, gemm_cpu)
WEFT_CPU_TABLES(ReluPoolCpu, relu_pool_cpu)

namespace weft::test {
namespace {

// Memory that is aligned as the CPU kernels want their scratch.
class Scratch {
 public:
  explicit Scratch(std::size_t floats)
      : buffer_((floats + 1) * sizeof(float), Stream(Device::cpu())) {}
  float* data() const { return static_cast<float*>(buffer_.data()); }

 private:
  Buffer buffer_;
};

// Calls work(what) with one thread and with three.
void with_threads(std::string_view isa, const std::function<void(const std::string&)>& work) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    work(str(isa, " on ", threads, " threads"));
  }
  omp_set_num_threads(before);
}

testing::AssertionResult begins_with(const std::vector<float>& all, const std::vector<float>& few,
                                     std::int64_t count) {
  for (std::size_t i = 0; i < at(count); ++i) {
    if (std::memcmp(&all[i], &few[i], sizeof(float)) == 0 && !std::isnan(few[i])) continue;
    return testing::AssertionFailure()
           << "value " << i << " of " << count << ": " << all[i] << " and " << few[i];
  }
  return testing::AssertionSuccess();
}

// Products of layers, and such as take every path of a CPU.
struct RowCase {
  std::int64_t n, k;
  bool transpose_a, transpose_b, bias;
  float alpha, beta;
};
constexpr RowCase kRowCases[] = {
    {10, 512, false, true, true, 1, 0},   {512, 784, false, true, true, 1, 0},
    {37, 2500, false, true, true, 1, 0},  {96, 130, false, false, true, 1, 0},
    {40, 1100, true, false, false, 1, 1}, {33, 70, true, true, true, 0.5f, 2},
    {1, 300, false, true, true, 1, 0},    {17, 1, false, true, true, 1, 0}};
constexpr std::int64_t kMostRows = 203;

// run(problem, dims) is the product of the first dims.m rows.
using RunRows = std::function<std::vector<float>(const Problem& problem, const GemmDims& dims)>;

void expect_rows_alone(const RowCase& c, const std::string& what, const RunRows& run) {
  GemmCase whole{{kMostRows, c.n, c.k, c.transpose_a, c.transpose_b}, c.alpha, c.beta, c.bias};
  if (c.beta == 0) whole.epilogue = Epilogue::relu;
  const Problem problem(whole, false);
  const std::vector<float> all = run(problem, problem.d);
  for (const std::int64_t m : {1, 2, 5, 7, 16, 31, 64, 130}) {
    GemmDims few = problem.d;  // the rows of A stay as far apart
    few.m = m;
    ASSERT_TRUE(begins_with(all, run(problem, few), m * c.n))
        << what << ": " << m << " rows of " << c.n << " columns, k " << c.k;
  }
}

class BatchInvariance : public DeviceTest {};

TEST_P(BatchInvariance, OfARowOfAProduct) {
  for (const RowCase& c : kRowCases) {
    if (!device().is_cpu() && too_large(2e2 * static_cast<double>(c.n * c.k))) continue;
    if (built_for_host_cuda() && c.n * c.k > 20000) continue;
    expect_rows_alone(c, "gemm", [&](const Problem& problem, const GemmDims& dims) {
      const GemmOptions options{.alpha = c.alpha,
                                .beta = c.beta,
                                .epilogue = problem.c.epilogue,
                                .batch_invariant = true};
      Guarded<float> a(problem.a, stream()), b(problem.b, stream()), bias(problem.bias, stream());
      Guarded<float> result(problem.before, stream());
      gemm(result.data(), a.data(), b.data(), c.bias ? bias.data() : nullptr, dims, options,
           stream());
      return result.get();
    });
    if (HasFailure()) return;
  }
}

TEST_P(BatchInvariance, TakesTheOneRungThatHasIt) {
  if (device().is_cpu()) GTEST_SKIP() << "every rung of a CPU has it";
  const Guarded<float> some(std::vector<float>(64, 1.0f), stream());
  Guarded<float> c(std::vector<float>(64, 1.0f), stream());
  EXPECT_USAGE_ERROR(gemm(c.data(), some.data(), some.data(), nullptr, {8, 8, 8},
                          {.variant = "split_k", .batch_invariant = true}, stream()),
                     "register_tiled");
}

WEFT_ON_EACH_DEVICE(BatchInvariance);

TEST(BatchInvarianceCpuIsas, OfARowOfAProduct) {
  for (const auto& [isa, table] : gemm_cpu_tables()) {
    const GemmCpu& cpu = *table;
    with_threads(isa, [&](const std::string& what) {
      for (const RowCase& c : kRowCases) {
        expect_rows_alone(c, what, [&](const Problem& problem, const GemmDims& dims) {
          std::vector<float> result = problem.before;
          const Scratch scratch(cpu.packed_scratch(dims));
          cpu.packed(result.data(), problem.a.data(), problem.b.data(),
                     c.bias ? problem.bias.data() : nullptr, dims, c.alpha, c.beta,
                     problem.c.epilogue, scratch.data());
          return result;
        });
      }
    });
  }
}

// Shapes whose filters lie in rows, and whose pixels do; of fours, of strides, with odd tails.
constexpr ConvDims kConvs[] = {
    {1, 1, 28, 28, 6, 5, 5, 1, 1, 2, 2},  {1, 6, 14, 14, 16, 5, 5, 1, 1, 0, 0},
    {1, 1, 28, 28, 32, 3, 3, 1, 1, 0, 0}, {1, 32, 26, 26, 64, 3, 3, 1, 1, 0, 0},
    {1, 3, 17, 11, 5, 3, 3, 2, 2, 1, 1},  {1, 40, 8, 8, 33, 3, 3, 1, 1, 1, 1},
    {1, 4, 9, 40, 3, 4, 2, 1, 1, 0, 0},   {1, 300, 4, 4, 20, 1, 1, 1, 1, 0, 0}};
constexpr std::int64_t kMostImages = 9;

struct ConvInputs {
  std::vector<float> x, w, bias;
  ConvInputs(const ConvDims& d, std::int64_t images)
      : x(random_floats(images * d.c * d.h * d.w, 1)),
        w(random_floats(d.oc * d.c * d.kh * d.kw, 2)),
        bias(random_floats(d.oc, 3)) {}
};

TEST(BatchInvarianceCpuIsas, OfAnImageOfAConvolution) {
  for (const auto& [isa, table] : conv_cpu_tables()) {
    const ConvCpu& cpu = *table;
    with_threads(isa, [&](const std::string& what) {
      for (ConvDims d : kConvs) {
        const ConvInputs in(d, kMostImages);
        const std::int64_t out = d.oc * d.oh() * d.ow();
        const auto run = [&](std::int64_t images) {
          d.n = images;
          std::vector<float> y(at(images * out), kNan);
          const Scratch scratch(cpu.forward_scratch(d, omp_get_max_threads()));
          cpu.forward_implicit_gemm(y.data(), in.x.data(), in.w.data(), in.bias.data(), d,
                                    Epilogue::none, scratch.data());
          return y;
        };
        const std::vector<float> all = run(kMostImages);
        for (const std::int64_t images : {1, 2, 5}) {
          EXPECT_TRUE(begins_with(all, run(images), images * out))
              << what << ": " << images << " images of " << d.c << " x " << d.h << " x " << d.w;
        }
      }
    });
  }
}

// Joined with its pooling or not, a convolution has the same sums.
TEST(BatchInvarianceCpuIsas, OfAConvolutionThatIsJoinedWithItsPooling) {
  const auto tables = conv_cpu_tables();
  const auto pooled_tables = relu_pool_cpu_tables();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const ConvCpu& cpu = *tables[t].table;
    for (ConvDims d : kConvs) {
      for (const std::int64_t side : {2, 3}) {
        const ReluPoolDims pool{d, side, side};
        if (pool.rows() == 0 || pool.columns() == 0) continue;
        const ConvInputs in(d, 1);
        std::vector<float> map(at(d.oc * d.oh() * d.ow()), kNan);
        const Scratch scratch(cpu.forward_scratch(d, omp_get_max_threads()));
        cpu.forward_implicit_gemm(map.data(), in.x.data(), in.w.data(), in.bias.data(), d,
                                  Epilogue::relu, scratch.data());
        std::vector<float> expected;
        for (std::int64_t f = 0; f < d.oc; ++f) {
          for (std::int64_t p = 0; p < pool.rows() * side; p += side) {
            for (std::int64_t q = 0; q < pool.columns() * side; q += side) {
              float best = 0;
              for (std::int64_t e = 0; e < side * side; ++e) {
                const std::int64_t row = f * d.oh() + p + e / side;
                best = std::max(best, map[at(row * d.ow() + q + e % side)]);
              }
              expected.push_back(best);
            }
          }
        }
        std::vector<float> y(expected.size(), kNan);
        pooled_tables[t].table->forward(y.data(), nullptr, in.x.data(), in.w.data(), in.bias.data(),
                                        pool);
        EXPECT_TRUE(begins_with(expected, y, std::ssize(y)))
            << tables[t].isa << ": " << d.c << " x " << d.h << " x " << d.w << ", " << d.oc
            << " filters, windows of " << side;
      }
    }
  }
}

// The last elements of an array, which do not fill a vector, are computed as the others.
TEST(BatchInvarianceCpuIsas, OfAnElementOfAnActivation) {
  const std::vector<float> x = random_floats(1000, 4);
  for (const auto& [isa, table] : activation_cpu_tables()) {
    for (const Activation kind : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
      std::vector<float> all(x.size(), kNan);
      table->forward(all.data(), x.data(), std::ssize(x), kind);
      for (const std::int64_t count : {1, 3, 17, 84, 120, 999}) {
        std::vector<float> some(at(count), kNan);
        table->forward(some.data(), x.data(), count, kind);
        EXPECT_TRUE(begins_with(all, some, count)) << isa << ", " << count << " elements";
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
