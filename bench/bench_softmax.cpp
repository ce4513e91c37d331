// SPDX-License-Identifier: MIT
// Softmax over rows, forward.
#include <cmath>

#include "bench/families.h"
#include "kernels/softmax/cpu.h"
#include "kernels/softmax/softmax.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/softmax/cuda.h"
#endif

namespace weft::bench {
namespace {

class SoftmaxWork final : public Work {
 public:
  SoftmaxWork(std::int64_t rows, std::int64_t cols, const Context& made_with)
      : Work(made_with),
        rows_(rows),
        cols_(cols),
        host_x_(random_values(rows * cols, made_with.seed, -8, 8)),
        x_(host_x_, sets_for(8.0 * static_cast<double>(rows * cols), made_with.stream.device()),
           made_with.stream),
        y_(rows * cols, sets_for(8.0 * static_cast<double>(rows * cols), made_with.stream.device()),
           made_with.stream) {
    problem = str(rows, " rows of ", cols);
    bytes = 8.0 * static_cast<double>(rows * cols);
    flops = 5.0 * static_cast<double>(rows * cols);
    sets = sets_for(bytes, made_with.stream.device());
  }

  bool can_run(std::string_view variant) const override {
#ifdef WEFT_WITH_CUDA
    if (variant == "warp_per_row" && context.stream.device().is_cuda()) {
      return cols_ <= kernels::cuda::kWarpColumns;
    }
#endif
    return variant == "warp_per_row" || variant == "block_per_row";
  }

  void call(std::string_view variant, int set) override {
#ifdef WEFT_WITH_CUDA
    if (context.stream.device().is_cuda() && rows_ > 0) {
      return variant == "warp_per_row" ? kernels::cuda::softmax_forward_warp(
                                             y_[set], x_[set], rows_, cols_, context.stream)
                                       : kernels::cuda::softmax_forward_block(
                                             y_[set], x_[set], rows_, cols_, context.stream);
    }
#endif
    static_cast<void>(variant);
    kernels::softmax_forward(y_[set], x_[set], rows_, cols_, context.stream);
  }

  void reset() override {
    y_.clear();
  }

  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = y_.host(set);
    std::vector<double> x(static_cast<std::size_t>(cols_)), y(x.size());
    Comparison comparison;
    for (const std::int64_t row : sample_indices(rows_, 64, context.seed)) {
      const std::int64_t first = row * cols_;
      for (std::int64_t c = 0; c < cols_; ++c) {
        x[static_cast<std::size_t>(c)] = host_x_[static_cast<std::size_t>(first + c)];
      }
      kernels::cpu::softmax_forward<double>(y.data(), x.data(), 1, cols_);
      for (std::int64_t c = 0; c < cols_; ++c) {
        const double expected = y[static_cast<std::size_t>(c)];
        comparison.add(found[static_cast<std::size_t>(first + c)], expected,
                       2e-5 * expected + 1e-30);
      }
    }
    return comparison.verdict();
  }

 private:
  std::int64_t rows_, cols_;
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<SoftmaxWork>(size, 1000, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto shape = [](std::int64_t rows, std::int64_t cols) {
    return [=](const Context& c) { return std::make_unique<SoftmaxWork>(rows, cols, c); };
  };
  if (device.is_cpu()) return {shape(4096, 1000), shape(256, 10)};
  return {shape(256, 10), shape(65536, 1000), shape(8192, 32000)};
}

}  // namespace

extern const FamilyBench softmax_bench = {
    "softmax", "rows, of 1000 columns each", 1000, std::int64_t{1} << 21, sized, problems};

}  // namespace weft::bench
