// SPDX-License-Identifier: MIT
// Inclusive scan of floats with +.
#include "kernels/scan/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

class ScanWork final : public ProblemWork<problems::Scan> {
 public:
  using ProblemWork::ProblemWork;

  void call(std::string_view variant, int set) override {
    const kernels::ScanOptions options{.variant = variant};
    kernels::scan<float>(y_[set], x_[set], p.n, options,
                         scratch(kernels::scan_workspace_bytes<float>(p.n, options, device())),
                         context.stream);
  }
  bool takes_flag(std::string_view flag, std::string_view variant) const override {
    return flag == "--tile" && !scan_facts(variant).empty();  // the section, for the arithmetic
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    const std::vector<std::int64_t>& tile = context.parameters.tile;
    return scan_facts(variant, tile.empty() ? 1024 : tile[0]);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    double sum = 0;
    compare_each(comparison, y_, set, [&](std::int64_t i) { return Exact{sum += x_(i)}; });
  }

  Array<float>& x_ = input("x", random_integers(p.n, seed()));
  Array<float>& y_ = output("y", p.n);
};

std::vector<MakeWork> problems_on(Device device) {
  if (device.is_cpu()) return made_of<ScanWork>({{1 << 16}, {1 << 24}});
  return made_of<ScanWork>({{1 << 20}, {1 << 24}, {1 << 28}});
}

}  // namespace

extern const FamilyBench scan_bench = {
    .family = "scan",
    .size_meaning = "floats",
    .default_size = 1 << 20,
    .largest_size = std::int64_t{1} << 31,
    .sized = of_size<ScanWork>,
    .problems = problems_on,
    .choices = [](std::span<const std::int64_t> size, Device device) {
      return std::vector<NamedChoice>{{"floats", kernels::scan_choice({size[0]}, device)}};
    }};

}  // namespace weft::measure
