// SPDX-License-Identifier: MIT
// RGB to grey and the box blur. Integers throughout, so no FLOPs: memory is the bound.
#include "kernels/image/image.h"
#include "engine/random.h"
#include "measure/families.h"

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

class GreyWork final : public Work {
 public:
  GreyWork(std::int64_t pixels, const Context& made_with)
      : Work(made_with),
        host_rgb_(random_picture(3 * pixels, made_with.seed)),
        rgb_(host_rgb_, sets_of(pixels, made_with), made_with.stream),
        grey_(pixels, sets_of(pixels, made_with), made_with.stream) {
    problem = str("RGB to grey, ", pixels, " pixels");
    bytes = kernels::rgb_to_grey_bytes_moved(pixels);
    sets = sets_of(pixels, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::image_takes(variant, kernels::ImageOperation::rgb_to_grey,
                                context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::rgb_to_grey(grey_[set], rgb_[set], grey_.size(), variant, context.stream);
  }
  void reset() override { grey_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<std::uint8_t> found = grey_.host(set);
    Comparison comparison;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::uint8_t* pixel = host_rgb_.data() + 3 * i;
      comparison.add(found[i],
                     (19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + 32768) >> 16, 0);
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {grey_.bytes(set)}; }

 private:
  static int sets_of(std::int64_t pixels, const Context& c) {
    return sets_for(kernels::rgb_to_grey_bytes_moved(pixels), c.stream.device());
  }

  std::vector<std::uint8_t> host_rgb_;
  Rotated<std::uint8_t> rgb_, grey_;
};

class BlurWork final : public Work {
 public:
  BlurWork(const kernels::ImageDims& dims, std::int64_t radius, const Context& made_with)
      : Work(made_with),
        dims_(dims),
        radius_(radius),
        host_x_(random_picture(dims.elements(), made_with.seed)),
        x_(host_x_, sets_of(dims, made_with), made_with.stream),
        y_(dims.elements(), sets_of(dims, made_with), made_with.stream) {
    problem = str("box blur of ", dims.height, " x ", dims.width, ", window ", 2 * radius + 1,
                  " x ", 2 * radius + 1);
    bytes = kernels::box_blur_bytes_moved(dims);
    sets = sets_of(dims, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::image_takes(variant, kernels::ImageOperation::box_blur,
                                context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::box_blur(y_[set], x_[set], dims_, radius_, variant, context.stream);
  }
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<std::uint8_t> found = y_.host(set);
    Comparison comparison;
    for (const std::int64_t at : sample_indices(dims_.elements(), 1 << 16, context.seed)) {
      const std::int64_t channel = at % dims_.channels, x = at / dims_.channels % dims_.width;
      const std::int64_t row = at / (dims_.channels * dims_.width);
      std::int64_t sum = 0, count = 0;
      for (std::int64_t i = row - radius_; i <= row + radius_; ++i) {
        for (std::int64_t j = x - radius_; j <= x + radius_; ++j) {
          if (i < 0 || i >= dims_.height || j < 0 || j >= dims_.width) continue;
          sum +=
              host_x_[static_cast<std::size_t>((i * dims_.width + j) * dims_.channels + channel)];
          ++count;
        }
      }
      const auto rounded = (2 * sum + count) / (2 * count);
      comparison.add(found[static_cast<std::size_t>(at)], static_cast<double>(rounded), 0);
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

 private:
  static int sets_of(const kernels::ImageDims& dims, const Context& c) {
    return sets_for(kernels::box_blur_bytes_moved(dims), c.stream.device());
  }

  kernels::ImageDims dims_;
  std::int64_t radius_;
  std::vector<std::uint8_t> host_x_;
  Rotated<std::uint8_t> x_, y_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::image_operation(context.variant) == kernels::ImageOperation::box_blur) {
    return std::make_unique<BlurWork>(kernels::ImageDims{size, size}, 2, context);
  }
  return std::make_unique<GreyWork>(size * size, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const std::int64_t side = device.is_cpu() ? 512 : 4096;
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  all.push_back([=](const Context& c) { return std::make_unique<GreyWork>(side * side, c); });
  for (const std::int64_t radius : {2, 8}) {
    all.push_back([=](const Context& c) {
      return std::make_unique<BlurWork>(kernels::ImageDims{side, side}, radius, c);
    });
  }
  return all;
}

}  // namespace

extern const FamilyBench image_bench = {
    "image", "rows and columns of a picture", 1024, 32768, sized, problems};

}  // namespace weft::measure
