// SPDX-License-Identifier: MIT
// The transpose. It computes nothing: a copy of the same bytes is its yardstick.
#include "kernels/transpose/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

class TransposeWork final : public ProblemWork<problems::Transpose> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::transpose_takes(variant, p.dims, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::transpose(y_[set], x_[set], p.dims, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    compare_each(comparison, y_, set, [&](std::int64_t i) { return Exact{x_(p.source(i))}; });
  }

  Array<float>& x_ = input("x", random_values(p.dims.elements(), seed()));
  Array<float>& y_ = output("y", p.dims.elements());
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<TransposeWork>(problems::Transpose{{size, size}}, context);
}
std::unique_ptr<Work> shaped(std::span<const std::int64_t> extents, const Context& context) {
  return std::make_unique<TransposeWork>(problems::Transpose{{extents[0], extents[1]}}, context);
}
std::vector<MakeWork> problems_on(Device device) {
  const std::int64_t side = device.is_cpu() ? 1024 : 8192;
  return made_of<TransposeWork>({{{side, side}}, {{side - 1, side + 1}}});
}

std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  const kernels::TransposeDims dims{size[0], size[size.size() - 1]};
  return {{"floats", kernels::transpose_choice(dims, device)}};
}

}  // namespace

extern const FamilyBench transpose_bench = {
    .family = "transpose",
    .size_meaning = "rows and columns of the matrix",
    .default_size = 1024,
    .largest_size = 1 << 16,
    .sized = sized,
    .problems = problems_on,
    .shape_extents = 2,
    .shaped = shaped,
    .choices = choices,
};

}  // namespace weft::measure
