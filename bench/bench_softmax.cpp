// SPDX-License-Identifier: MIT
#include "bench/bench_softmax.h"

#include "bench/families.h"
#include "kernels/softmax/cpu.h"
#include "kernels/softmax/softmax.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/softmax/cuda.h"
#endif

namespace weft::bench {

SoftmaxWork::SoftmaxWork(std::int64_t row_count, std::int64_t col_count, const Context& made_with)
    : Work(made_with),
      rows(row_count),
      cols(col_count),
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

bool SoftmaxWork::can_run(std::string_view variant) const {
#ifdef WEFT_WITH_CUDA
  if (variant == "warp_per_row" && context.stream.device().is_cuda()) {
    return cols <= kernels::cuda::kWarpColumns;
  }
#endif
  return variant == "warp_per_row" || variant == "block_per_row";
}

void SoftmaxWork::call(std::string_view variant, int set) {
#ifdef WEFT_WITH_CUDA
  if (context.stream.device().is_cuda()) {
    return variant == "warp_per_row"
               ? kernels::cuda::softmax_forward_warp(y_[set], x_[set], rows, cols, context.stream)
               : kernels::cuda::softmax_forward_block(y_[set], x_[set], rows, cols, context.stream);
  }
#endif
  static_cast<void>(variant);
  kernels::softmax_forward(y_[set], x_[set], rows, cols, context.stream);
}

Verdict SoftmaxWork::check(int set, Arithmetic) {
  const std::vector<float> found = y_.host(set);
  std::vector<double> x(static_cast<std::size_t>(cols)), y(x.size());
  Comparison comparison;
  for (const std::int64_t row : sample_indices(rows, 64, context.seed)) {
    const std::int64_t first = row * cols;
    for (std::int64_t c = 0; c < cols; ++c) {
      x[static_cast<std::size_t>(c)] =
          static_cast<double>(host_x_[static_cast<std::size_t>(first + c)]);
    }
    kernels::cpu::softmax_forward<double>(y.data(), x.data(), 1, cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      const double expected = y[static_cast<std::size_t>(c)];
      comparison.add(found[static_cast<std::size_t>(first + c)], expected, 2e-5 * expected + 1e-30);
    }
  }
  return comparison.verdict();
}

namespace {

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
