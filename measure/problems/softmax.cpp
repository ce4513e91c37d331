// SPDX-License-Identifier: MIT
#include "measure/problems/softmax.h"

#include "kernels/softmax/cpu/templates.h"
#include "kernels/softmax/softmax.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

using kernels::GradientMode;

double bytes_of(std::int64_t rows, std::int64_t cols, SoftmaxPass pass) {
  return (pass == SoftmaxPass::forward ? 8.0 : 12.0) * static_cast<double>(rows * cols);
}

// Numbers that add up to about 1 in each row.
std::vector<float> probabilities(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  return random_values(rows * cols, seed, 0, 2.0f / static_cast<float>(cols));
}

}  // namespace

SoftmaxWork::SoftmaxWork(std::int64_t row_count, std::int64_t col_count, SoftmaxPass which,
                         const Context& made_with)
    : Work(made_with),
      rows(row_count),
      cols(col_count),
      pass(which),
      host_in_(random_values(rows * cols, made_with.seed, pass == SoftmaxPass::forward ? -8.0f : -1,
                             pass == SoftmaxPass::forward ? 8.0f : 1)),
      host_y_(pass == SoftmaxPass::forward ? std::vector<float>()
                                           : probabilities(rows, cols, made_with.seed + 1)),
      in_(host_in_, sets_for(bytes_of(rows, cols, pass), made_with.stream.device()),
          made_with.stream),
      y_(host_y_, sets_for(bytes_of(rows, cols, pass), made_with.stream.device()),
         made_with.stream),
      out_(rows * cols, sets_for(bytes_of(rows, cols, pass), made_with.stream.device()),
           made_with.stream) {
  problem = str(pass == SoftmaxPass::forward ? "" : "backward, ", rows, " rows of ", cols);
  bytes = bytes_of(rows, cols, pass);
  flops = (pass == SoftmaxPass::forward ? 5.0 : 4.0) * static_cast<double>(rows * cols);
  sets = sets_for(bytes, made_with.stream.device());
}

bool SoftmaxWork::can_run(std::string_view variant) const {
  return kernels::softmax_takes(variant, cols, context.stream.device());
}

void SoftmaxWork::call(std::string_view variant, int set) {
  if (pass == SoftmaxPass::forward) {
    kernels::softmax_forward(out_[set], in_[set], rows, cols, variant, context.stream);
  } else {
    kernels::softmax_backward(out_[set], in_[set], y_[set], rows, cols, GradientMode::overwrite,
                              variant, context.stream);
  }
}

// By the formula in double; bounds are those of float with |x - max| <= 16.
void SoftmaxWork::expect_row(std::vector<double>& expected, std::vector<double>& bound,
                             std::int64_t row) const {
  const auto row_of = [&](const std::vector<float>& values) {
    return std::vector<double>(values.begin() + row * cols, values.begin() + (row + 1) * cols);
  };
  const std::vector<double> in = row_of(host_in_);
  if (pass == SoftmaxPass::forward) {
    kernels::cpu::softmax_forward<double>(expected.data(), in.data(), 1, cols);
    for (std::size_t c = 0; c < bound.size(); ++c) bound[c] = 2e-5 * expected[c] + 1e-30;
  } else {
    const std::vector<double> y = row_of(host_y_);
    kernels::cpu::softmax_backward<double>(expected.data(), in.data(), y.data(), 1, cols,
                                           GradientMode::overwrite);
    for (std::size_t c = 0; c < bound.size(); ++c) bound[c] = 2e-6 * y[c] + 1e-30;
  }
}

Verdict SoftmaxWork::check(int set, Arithmetic) {
  const std::vector<float> found = out_.host(set);
  std::vector<double> expected(static_cast<std::size_t>(cols)), bound(expected.size());
  Comparison comparison;
  for (const std::int64_t row : sample_indices(rows, 64, context.seed)) {
    expect_row(expected, bound, row);
    for (std::size_t c = 0; c < expected.size(); ++c) {
      comparison.add(found[static_cast<std::size_t>(row * cols) + c], expected[c], bound[c]);
    }
  }
  return comparison.verdict();
}

namespace {

constexpr std::int64_t kColumns = 1000;  // unless said otherwise

std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  return std::make_unique<SoftmaxWork>(size[0], size.size() > 1 ? size[1] : kColumns,
                                       SoftmaxPass::forward, context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}
std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  return {{"rows", kernels::softmax_choice(size.size() > 1 ? size[1] : kColumns, device)}};
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto shape = [](std::int64_t rows, std::int64_t cols, SoftmaxPass pass) {
    return [=](const Context& c) { return std::make_unique<SoftmaxWork>(rows, cols, pass, c); };
  };
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> made;
  for (const SoftmaxPass pass : {SoftmaxPass::forward, SoftmaxPass::backward}) {
    if (device.is_cpu()) {
      made.push_back(shape(4096, 1000, pass));
      made.push_back(shape(256, 10, pass));
      continue;
    }
    made.push_back(shape(256, 10, pass));
    made.push_back(shape(65536, 1000, pass));
    made.push_back(shape(32768, 8000, pass));
    made.push_back(shape(8192, 32000, pass));
  }
  return made;
}

}  // namespace

extern const FamilyBench softmax_bench = {
    .family = "softmax",
    .size_meaning = "rows of 1000 columns, or rows and columns as 1000x10",
    .default_size = 1000,
    .largest_size = std::int64_t{1} << 21,
    .sized = sized,
    .problems = problems,
    .shape_extents = 2,
    .shaped = shaped,
    .choices = choices};

}  // namespace weft::measure
