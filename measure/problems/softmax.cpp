// SPDX-License-Identifier: MIT
// Softmax over rows, forward and backward.
#include "kernels/softmax/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

class SoftmaxWork final : public ProblemWork<problems::Softmax> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::softmax_takes(variant, p.cols, device());
  }
  void call(std::string_view variant, int set) override {
    if (!p.backward) {
      kernels::softmax_forward(out_[set], in_[set], p.rows, p.cols, variant, context.stream);
      return;
    }
    kernels::softmax_backward(out_[set], in_[set], y_[set], p.rows, p.cols,
                              kernels::GradientMode::overwrite, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    std::vector<double> y;
    const auto expect = [&](std::int64_t row, double* values) {
      if (p.backward) y = y_.doubles(row * p.cols, p.cols);
      p.expect_row(values, in_.doubles(row * p.cols, p.cols).data(), y.data());
    };
    compare_slices(comparison, out_, set, p.cols, 64, expect, [&](std::size_t i, double expected) {
      return p.bound(expected, p.backward ? y[i] : 0);
    });
  }

  const float reach_ = p.backward ? 1 : 8;
  Array<float>& in_ = input("in", random_values(p.elements(), seed(), -reach_, reach_));  // or dy
  // Backward only: numbers that add up to about 1 in each row.
  Array<float>& y_ = input("y", random_values(p.backward ? p.elements() : 0, seed() + 1, 0,
                                              2.0f / static_cast<float>(p.cols)));
  Array<float>& out_ = output("out", p.elements());  // y, or dx
};

constexpr std::int64_t kColumns = 1000;  // unless said otherwise

std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  return made<SoftmaxWork>({size[0], size.size() > 1 ? size[1] : kColumns})(context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}
std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  return {{"rows", kernels::softmax_choice(size.size() > 1 ? size[1] : kColumns, device)}};
}

std::vector<MakeWork> problems_on(Device device) {
  std::vector<problems::Softmax> all = {{256, 10}, {65536, 1000}, {32768, 8000}, {8192, 32000}};
  if (device.is_cpu()) all = {{4096, 1000}, {256, 10}};
  for (std::size_t i = 0, forward = all.size(); i < forward; ++i) {
    all.push_back({all[i].rows, all[i].cols, true});
  }
  return made_of<SoftmaxWork>(all);
}

}  // namespace

extern const FamilyBench softmax_bench = {
    .family = "softmax",
    .size_meaning = "rows of 1000 columns, or rows and columns as 1000x10",
    .default_size = 1000,
    .largest_size = std::int64_t{1} << 21,
    .sized = sized,
    .problems = problems_on,
    .shape_extents = 2,
    .shaped = shaped,
    .choices = choices};

}  // namespace weft::measure
