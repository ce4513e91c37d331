// SPDX-License-Identifier: MIT
// Gathering batches from a data set of bytes on the device, plain and augmented. The set is as
// large as MNIST's, so that on a GPU with a large L2 cache it is read from there, as in training.
#include <algorithm>
#include <numeric>

#include "engine/extent.h"
#include "kernels/batch/cpu/templates.h"
#include "kernels/batch/problem.h"
#include "measure/problem_work.h"
#include "measure/problems/network_work.h"

namespace weft::measure {
namespace {

class GatherWork final : public ProblemWork<problems::Gather> {
 public:
  using ProblemWork::ProblemWork;

  void call(std::string_view variant, int set) override {
    kernels::gather_batch(x_[set], labels_[set], indices_[set], images_[set], image_labels_[set],
                          p.rows, p.kDims, steps_[0] + set, order_, p.augmentation(),
                          std::span(&kNormalization, 1), variant, context.stream);
  }

 private:
  // Each set of buffers gets another batch of the epoch.
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> values(static_cast<std::size_t>(sets));
    std::iota(values.begin(), values.end(), 0);
    return values;
  }
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::int64_t step = set;
    std::vector<double> x(static_cast<std::size_t>(x_.size()));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(p.rows));
    std::vector<std::int64_t> indices(labels.size());
    kernels::cpu::gather_batch<double>(x.data(), labels.data(), indices.data(), images_.host.data(),
                                       image_labels_.host.data(), p.rows, p.kDims, &step, order_,
                                       p.augmentation(),
                                       {{kernels::draw::line_of(kNormalization)}});
    compare_each(comparison, x_, set, [&](std::size_t i) { return Exact{x[i], p.bound()}; });
    compare_each(comparison, labels_, set,
                 [&](std::size_t i) { return Exact{static_cast<double>(labels[i])}; });
    compare_each(comparison, indices_, set,
                 [&](std::size_t i) { return Exact{static_cast<double>(indices[i])}; });
  }

  const kernels::BatchOrder order_{p.count, divide_up(p.count, p.rows), p.rows, true, seed()};
  Array<std::uint8_t>& images_ = input("images", random_bytes(p.count* p.kPixels, seed()), 1);
  Array<std::int32_t>& image_labels_ =
      input("image_labels", random_labels(p.count, seed() + 1, 10), 1);
  Array<std::int64_t>& steps_ = input("steps", steps(), 1);
  Array<float>& x_ = output("x", p.rows* p.kPixels);
  Array<std::int32_t>& labels_ = output<std::int32_t>("labels", p.rows);
  Array<std::int64_t>& indices_ = output<std::int64_t>("indices", p.rows);
};

constexpr std::int64_t kCount = 60000;

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return made<GatherWork>({size, std::max(size, kCount)})(context);
}
std::vector<MakeWork> problems_on(Device device) {
  std::vector<problems::Gather> all = {{256, kCount}, {256, kCount, true}};
  if (device.is_cuda()) {
    all.push_back({16384, kCount});
    all.push_back({16384, kCount, true});
  }
  return made_of<GatherWork>(all);
}

}  // namespace

extern const FamilyBench batch_bench = {
    "batch", "images of 28 x 28 in a batch", 256, std::int64_t{1} << 20, sized, problems_on};

}  // namespace weft::measure
