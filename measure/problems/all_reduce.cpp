// SPDX-License-Identifier: MIT
// All-reduce of two ranks on one device. It works in place, so every call doubles what the one
// before has left, until that is infinite.
#include <algorithm>
#include <cmath>

#include "kernels/all_reduce/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

constexpr int kRanks = problems::AllReduce::kRanks;

class AllReduceWork final : public ProblemWork<problems::AllReduce> {
 public:
  AllReduceWork(const Problem& of, const Context& made_with) : ProblemWork(of, made_with) {
    group_.size = kRanks;
    group_.capacity = p.n;
    for (int r = 0; r < kRanks; ++r) group_.memory[r] = memory_[0] + r * p.peer_floats();
  }

  bool can_run(std::string_view variant) const override {
    return kernels::all_reduce_takes(variant, p.n, group_, device());
  }
  void call(std::string_view variant, int set) override {
    float* const values[kRanks] = {a_[set], b_[set]};
    kernels::all_reduce(values, p.n, group_, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::vector<float> found_a = a_.found(set), found_b = b_.found(set);
    for (std::size_t i = 0; i < found_a.size(); ++i) {
      const int doublings = static_cast<int>(std::min<std::int64_t>(runs - 1, 1000));
      const float expected = std::ldexp(a_.host[i] + b_.host[i], doublings);
      for (const float found : {found_a[i], found_b[i]}) {
        const bool infinite = std::isinf(expected) && found == expected;
        comparison.add(infinite ? 0 : found, infinite ? 0 : static_cast<double>(expected), 0);
      }
    }
  }

  Array<float>& a_ = updated("a", random_values(p.n, seed()));
  Array<float>& b_ = updated("b", random_values(p.n, seed() + 1));
  Array<float>& memory_ = input(
      "memory", std::vector<float>(static_cast<std::size_t>(kRanks*(p.peer_floats() + 64))), 1);
  kernels::PeerGroup group_;
};

constexpr std::int64_t kLenet = 61706;  // the gradient of lenet5

std::vector<MakeWork> problems_on(Device device) {
  if (device.is_cpu()) return made_of<AllReduceWork>({{kLenet}});
  return made_of<AllReduceWork>({{256}, {kLenet}, {1 << 20}});
}

std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  return {{str(kRanks, " ranks"),
           kernels::all_reduce_choice(size[0], {0, kRanks, size[0], {}}, device)}};
}

}  // namespace

extern const FamilyBench all_reduce_bench = {
    .family = "all_reduce",
    .size_meaning = "floats",
    .default_size = kLenet,
    .largest_size = std::int64_t{1} << 24,
    .sized = of_size<AllReduceWork>,
    .problems = problems_on,
    .choices = choices,
};

}  // namespace weft::measure
