// SPDX-License-Identifier: MIT
// Gathering batches from a data set of bytes on the device, plain and augmented. The set is as
// large as MNIST's, so that on a GPU with a large L2 cache it is read from there, as in training.
#include <algorithm>
#include <cmath>

#include "engine/extent.h"
#include "kernels/batch/cpu/templates.h"
#include "measure/families.h"
#include "measure/problems/network_work.h"

namespace weft::measure {
namespace {

constexpr std::int64_t kSide = 28, kPixels = kSide * kSide;
constexpr kernels::Augmentation kDistorted = {10, 0.1f, 0.1f, 2};

class GatherWork final : public Work {
 public:
  GatherWork(std::int64_t rows, std::int64_t count, bool augmented, const Context& made_with)
      : Work(made_with),
        augmentation_(augmented ? kDistorted : kernels::Augmentation{}),
        order_{count, divide_up(count, rows), rows, true, made_with.seed},
        host_images_(random_bytes(count * kPixels, made_with.seed)),
        host_labels_(random_labels(count, made_with.seed + 1, 10)),
        images_(host_images_, 1, made_with.stream),
        image_labels_(host_labels_, 1, made_with.stream),
        steps_(steps(rows, made_with), 1, made_with.stream),
        x_(rows * kPixels, sets_of(rows, made_with), made_with.stream),
        labels_(rows, sets_of(rows, made_with), made_with.stream),
        indices_(rows, sets_of(rows, made_with), made_with.stream) {
    problem =
        str(rows, " of ", count, " images of 28 x 28, shuffled", augmented ? " and augmented" : "");
    bytes = footprint(rows);
    // Normalising; augmented, also the place of a pixel and the mean of four.
    flops = (augmented ? 16.0 : 2.0) * static_cast<double>(rows * kPixels);
    sets = sets_of(rows, made_with);
  }

  bool can_run(std::string_view) const override { return true; }
  void call(std::string_view variant, int set) override {
    kernels::gather_batch(x_[set], labels_[set], indices_[set], images_[0], image_labels_[0],
                          order_.batch, kDims, steps_[0] + set, order_, augmentation_,
                          std::span(&kNormalization, 1), variant, context.stream);
  }
  void reset() override { x_.clear(), labels_.clear(), indices_.clear(); }

  Verdict check(int set, Arithmetic) override {
    const std::int64_t rows = order_.batch, step = set;
    const std::vector<float> x = x_.host(set);
    const std::vector<std::int32_t> labels = labels_.host(set);
    const std::vector<std::int64_t> indices = indices_.host(set);
    std::vector<double> expected(x.size());
    std::vector<std::int32_t> expected_labels(labels.size());
    std::vector<std::int64_t> expected_indices(indices.size());
    kernels::cpu::gather_batch<double>(expected.data(), expected_labels.data(),
                                       expected_indices.data(), host_images_.data(),
                                       host_labels_.data(), rows, kDims, &step, order_,
                                       augmentation_, {{kernels::draw::line_of(kNormalization)}});
    // Places are rounded to about 28 * 2^-23 pixels, and a pixel may differ from the next by 3.2.
    const double bound = augmentation_.any() ? 2e-4 : std::ldexp(1.0, -21);
    Comparison comparison;
    for (std::size_t i = 0; i < x.size(); ++i) comparison.add(x[i], expected[i], bound);
    for (std::size_t row = 0; row < labels.size(); ++row) {
      comparison.add(labels[row], expected_labels[row], 0);
      comparison.add(static_cast<double>(indices[row]), static_cast<double>(expected_indices[row]),
                     0);
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override {
    return {x_.bytes(set), labels_.bytes(set), indices_.bytes(set)};
  }

 private:
  static constexpr kernels::BatchDims kDims = {1, kSide, kSide};

  static double footprint(std::int64_t rows) {  // a byte in, a float out; label and index
    return static_cast<double>(rows) * (5.0 * kPixels + 4 + 4 + 8);
  }
  static int sets_of(std::int64_t rows, const Context& c) {
    return sets_for(footprint(rows), c.stream.device());
  }
  // Each set of buffers gets another batch of the epoch.
  static std::vector<std::int64_t> steps(std::int64_t rows, const Context& c) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(sets_of(rows, c)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
    return values;
  }

  kernels::Augmentation augmentation_;
  kernels::BatchOrder order_;
  std::vector<std::uint8_t> host_images_;
  std::vector<std::int32_t> host_labels_;
  Rotated<std::uint8_t> images_;
  Rotated<std::int32_t> image_labels_;
  Rotated<std::int64_t> steps_;
  Rotated<float> x_;
  Rotated<std::int32_t> labels_;
  Rotated<std::int64_t> indices_;
};

constexpr std::int64_t kCount = 60000;

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<GatherWork>(size, std::max(size, kCount), false, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto problem = [](std::int64_t rows, bool augmented) {
    return
        [=](const Context& c) { return std::make_unique<GatherWork>(rows, kCount, augmented, c); };
  };
  if (device.is_cpu()) return {problem(256, false), problem(256, true)};
  return {problem(256, false), problem(256, true), problem(16384, false), problem(16384, true)};
}

}  // namespace

extern const FamilyBench batch_bench = {
    "batch", "images of 28 x 28 in a batch", 256, std::int64_t{1} << 20, sized, problems};

}  // namespace weft::measure
