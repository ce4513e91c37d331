// SPDX-License-Identifier: MIT
// The transpose. It computes nothing: a copy of the same bytes is its yardstick.
#include "kernels/transpose/transpose.h"

#include "measure/families.h"

namespace weft::measure {
namespace {

using kernels::TransposeDims;

class TransposeWork final : public Work {
 public:
  TransposeWork(const TransposeDims& dims, const Context& made_with)
      : Work(made_with),
        dims_(dims),
        host_x_(random_values(dims.elements(), made_with.seed)),
        x_(host_x_, sets_of(dims, made_with), made_with.stream),
        y_(dims.elements(), sets_of(dims, made_with), made_with.stream) {
    problem = str(dims.rows, " x ", dims.cols);
    bytes = kernels::transpose_bytes_moved(dims);
    sets = sets_of(dims, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::transpose_takes(variant, dims_, context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::transpose(y_[set], x_[set], dims_, variant, context.stream);
  }
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = y_.host(set);
    Comparison comparison;
    for (std::int64_t at = 0; at < dims_.elements(); ++at) {
      const std::int64_t from_column = at / dims_.rows, from_row = at % dims_.rows;
      comparison.add(found[static_cast<std::size_t>(at)],
                     host_x_[static_cast<std::size_t>(from_row * dims_.cols + from_column)], 0);
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

 private:
  static int sets_of(const TransposeDims& dims, const Context& c) {
    return sets_for(kernels::transpose_bytes_moved(dims), c.stream.device());
  }

  TransposeDims dims_;
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<TransposeWork>(TransposeDims{size, size}, context);
}

std::unique_ptr<Work> shaped(std::span<const std::int64_t> extents, const Context& context) {
  return std::make_unique<TransposeWork>(TransposeDims{extents[0], extents[1]}, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const std::int64_t side = device.is_cpu() ? 1024 : 8192;
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  for (const TransposeDims& dims : {TransposeDims{side, side}, {side - 1, side + 1}}) {
    all.push_back([=](const Context& c) { return std::make_unique<TransposeWork>(dims, c); });
  }
  return all;
}

std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  const TransposeDims dims{size[0], size[size.size() - 1]};
  return {{"floats", kernels::transpose_choice(dims, device)}};
}

}  // namespace

extern const FamilyBench transpose_bench = {
    .family = "transpose",
    .size_meaning = "rows and columns of the matrix",
    .default_size = 1024,
    .largest_size = 1 << 16,
    .sized = sized,
    .problems = problems,
    .shape_extents = 2,
    .shaped = shaped,
    .choices = choices,
};

}  // namespace weft::measure
