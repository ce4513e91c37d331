// SPDX-License-Identifier: MIT
// RGB to grey and the box blur.
#include "engine/random.h"
#include "kernels/image/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

std::vector<std::uint8_t> random_picture(std::int64_t bytes, std::uint64_t seed) {
  std::vector<std::uint8_t> picture(static_cast<std::size_t>(bytes));
#pragma omp parallel for schedule(static) if (bytes > 65536)
  for (std::int64_t i = 0; i < bytes; ++i) {
    const Random4 bits = philox(seed, RandomStream::data, 6, static_cast<std::uint64_t>(i / 16));
    picture[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(bits.value[i % 16 / 4] >> (8 * (i % 4)));
  }
  return picture;
}

class GreyWork final : public ProblemWork<problems::Grey> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::image_takes(variant, kernels::ImageOperation::rgb_to_grey, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::rgb_to_grey(grey_[set], rgb_[set], p.pixels, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    compare_each(comparison, grey_, set, [&](std::int64_t i) {
      return Exact{static_cast<double>(p.expected(rgb_.host.data() + 3 * i))};
    });
  }

  Array<std::uint8_t>& rgb_ = input("rgb", random_picture(3 * p.pixels, seed()));
  Array<std::uint8_t>& grey_ = output<std::uint8_t>("grey", p.pixels);
};

class BlurWork final : public ProblemWork<problems::Blur> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::image_takes(variant, kernels::ImageOperation::box_blur, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::box_blur(y_[set], x_[set], p.dims, p.radius, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const auto expect = [&](std::int64_t i) {
      return Exact{static_cast<double>(p.expected(i, x_.host.data()))};
    };
    compare_each(comparison, y_, set, expect, 1 << 16);
  }

  Array<std::uint8_t>& x_ = input("x", random_picture(p.dims.elements(), seed()));
  Array<std::uint8_t>& y_ = output<std::uint8_t>("y", p.dims.elements());
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::image_operation(context.variant) == kernels::ImageOperation::box_blur) {
    return made<BlurWork>({{size, size}, 2})(context);
  }
  return made<GreyWork>({size * size})(context);
}
std::vector<MakeWork> problems_on(Device device) {
  const std::int64_t side = device.is_cpu() ? 512 : 4096;
  return {made<GreyWork>({side * side}), made<BlurWork>({{side, side}, 2}),
          made<BlurWork>({{side, side}, 8})};
}

}  // namespace

extern const FamilyBench image_bench = {
    "image", "rows and columns of a picture", 1024, 32768, sized, problems_on};

}  // namespace weft::measure
