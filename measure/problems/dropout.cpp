// SPDX-License-Identifier: MIT
#include <cmath>

#include "kernels/dropout/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

class DropoutWork final : public ProblemWork<problems::Dropout> {
 public:
  using ProblemWork::ProblemWork;

  void call(std::string_view variant, int set) override {
    kernels::dropout(y_[set], x_[set], p.n, p.kP, {seed(), p.kLayer, step_[set]},
                     kernels::GradientMode::overwrite, variant, context.stream);
  }

 private:
  static constexpr double kDropped = static_cast<double>(problems::Dropout::kP);

  void compare(Comparison& comparison, int set, Arithmetic) override {
    const auto expect = [&](std::int64_t i, bool keep) {
      const double expected = keep ? x_(i) / (1 - kDropped) : 0;
      return Exact{expected, std::ldexp(1.0, -22) * std::fabs(expected)};
    };
    if (!of_yardstick) {
      const auto by_seed = [&](std::int64_t i) { return expect(i, p.keeps(i, seed())); };
      return compare_each(comparison, y_, set, by_seed, 1 << 16);
    }
    // Any mask that keeps 1 - p of the values.
    const std::vector<float> found = y_.found(set);
    double kept = 0;
    compare_each(comparison, y_, set, [&](std::int64_t i) {
      const bool keep = found[static_cast<std::size_t>(i)] != 0;
      kept += keep ? 1 : 0;
      return expect(i, keep);
    });
    const double count = static_cast<double>(p.n);
    const double sigma = std::sqrt(kDropped * (1 - kDropped) * count);
    comparison.add(kept, (1 - kDropped) * count, 6 * sigma);
  }

  Array<float>& x_ = input("x", random_values(p.n, seed(), 1, 2));
  Array<float>& y_ = output("y", p.n);
  Array<std::int64_t>& step_ = input("step", std::vector<std::int64_t>{p.kStep}, 1);
};

std::vector<MakeWork> problems_on(Device device) {
  if (device.is_cpu()) return made_of<DropoutWork>({{1 << 20}});
  return made_of<DropoutWork>({{1 << 18}, {1 << 25}});
}

}  // namespace

extern const FamilyBench dropout_bench = {
    "dropout", "floats", 1 << 20, std::int64_t{1} << 31, of_size<DropoutWork>, problems_on};

}  // namespace weft::measure
