// SPDX-License-Identifier: MIT
// Sum of floats.
#include "kernels/reduce/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

class ReduceWork final : public ProblemWork<problems::Reduce> {
 public:
  ReduceWork(const Problem& of, const Context& made_with) : ProblemWork(of, made_with) {
    one_by_one = p.one_by_one;
  }

  // One by one, those of one launch and of two; the host takes longer than the rest differ.
  bool can_run(std::string_view variant) const override {
    return !one_by_one || kernels::reduce_is_queued_alone(variant);
  }
  bool takes_block() const override { return device().is_cuda(); }
  void call(std::string_view variant, int set) override {
    const kernels::ReduceOptions options{.variant = variant, .threads = threads()};
    kernels::reduce<float>(result_[set], x_[set], p.n, kernels::Reduction::sum, options,
                           scratch(kernels::reduce_workspace_bytes<float>(p.n, options, device())),
                           context.stream);
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return reduce_facts(p.n, threads(), variant);
  }

 private:
  int threads() const { return p.threads > 0 ? p.threads : kernels::ReduceOptions().threads; }
  void compare(Comparison& comparison, int set, Arithmetic) override {
    double sum = 0;
    for (const float x : x_.host) sum += static_cast<double>(x);
    compare_each(comparison, result_, set, [&](std::int64_t) { return Exact{sum}; });
  }

  Array<float>& x_ = input("x", random_integers(p.n, seed()));
  Array<float>& result_ = output("result", 1);
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return made<ReduceWork>({size, context.block})(context);
}
std::vector<MakeWork> problems_on(Device device) {
  if (device.is_cpu()) return made_of<ReduceWork>({{1 << 16}, {1 << 24}});
  std::vector<MakeWork> all = made_of<ReduceWork>({{1 << 20}, {1 << 20, 0, true}, {1 << 28}});
  // The table of the course: every version with every size of block.
  for (const int threads : {32, 64, 128, 256, 512, 1024}) {
    all.push_back(made<ReduceWork>({1 << 24, threads}));
  }
  return all;
}

}  // namespace

extern const FamilyBench reduce_bench = {"reduce", "floats",   1 << 20, std::int64_t{1} << 32,
                                         sized,    problems_on};

}  // namespace weft::measure
