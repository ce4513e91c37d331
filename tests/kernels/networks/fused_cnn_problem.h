// SPDX-License-Identifier: MIT
// A network of kernels/fused_cnn with random parameters and images, on a device and in double.
//
// Max pooling, ReLU and the prediction decide by comparing, and where two values are closer than
// rounding, float and double may decide differently. So images are drawn until every decision is
// clear by kMargin; then results differ by rounding only.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/networks/cnn/cpu/templates.h"
#include "kernels/networks/cnn/fused_cnn.h"
#include "kernels/networks/cnn/parts/timed.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {

using kernels::FusedCnnDims;
using kernels::FusedCnnOptions;
using kernels::MetricTotals;

constexpr FusedCnnDims kSmallCnn = {13, 12, 4, 5, 1, 8, 3, 1, 20, 12, 7};
constexpr double kMargin = 2e-5;

inline std::vector<std::uint8_t> random_pixels(std::int64_t n, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(philox(seed, RandomStream::data, 6, i).value[0]);
  }
  return bytes;
}

// PyTorch's bounds, so that values neither vanish nor grow on their way.
inline std::vector<float> initial_parameters(const FusedCnnDims& d, std::uint64_t seed) {
  std::vector<float> values;
  const auto draw = [&](std::int64_t outputs, std::int64_t inputs) {
    const float bound = 1 / std::sqrt(static_cast<float>(inputs));
    const std::vector<float> layer =
        random_floats(outputs * (inputs + 1), seed + values.size(), -bound, bound);
    values.insert(values.end(), layer.begin(), layer.end());
  };
  draw(d.filters1, d.kernel1 * d.kernel1);
  draw(d.filters2, d.filters1 * d.kernel2 * d.kernel2);
  draw(d.hidden1, d.features());
  draw(d.hidden2, d.hidden1);
  draw(d.classes, d.hidden2);
  return values;
}

// The network in double.
class FusedCnnOracle {
 public:
  FusedCnnOracle(const FusedCnnDims& dims, std::int64_t rows)
      : dims_(dims), rows_(rows), bytes_(memory_.cut(nullptr, dims, rows)) {
    memory_.cut(bytes_.data(), dims, rows);
  }

  // Forward of x in memory(); the smallest distance of two values that are compared.
  double margin(const std::vector<double>& parameters) {
    kernels::cpu::fused_cnn_forward(memory_, parameters.data(), dims_, rows_);
    const kernels::cpu::FusedCnnSlices<const double> p(parameters.data(), dims_);
    double least = std::min(pooling_margin(memory_.x, p.conv1, p.conv1_bias,
                                           kernels::cpu::detail::fused_cnn_conv1(dims_, rows_)),
                            pooling_margin(memory_.y1, p.conv2, p.conv2_bias,
                                           kernels::cpu::detail::fused_cnn_conv2(dims_, rows_)));
    least = std::min(least,
                     linear_margin(memory_.y2, p.fc1, p.fc1_bias, dims_.hidden1, dims_.features()));
    least =
        std::min(least, linear_margin(memory_.h1, p.fc2, p.fc2_bias, dims_.hidden2, dims_.hidden1));
    for (std::int64_t r = 0; r < rows_; ++r) {
      std::vector<double> logits(memory_.logits + r * dims_.classes,
                                 memory_.logits + (r + 1) * dims_.classes);
      std::sort(logits.begin(), logits.end());
      if (logits.size() > 1) {
        least = std::min(least, logits[logits.size() - 1] - logits[logits.size() - 2]);
      }
    }
    return least;
  }

  kernels::cpu::FusedCnnMemory<double>& memory() { return memory_; }
  void* workspace() { return bytes_.data(); }

 private:
  // Between the largest two of a window, and between the largest and zero.
  static double pooling_margin(const double* x, const double* w, const double* bias,
                               const kernels::ReluPoolDims& dims) {
    const kernels::ConvDims& d = dims.conv;
    double least = 1;
    for (std::int64_t plane = 0; plane < d.n * d.oc; ++plane) {
      for (std::int64_t at = 0; at < dims.rows() * dims.columns(); ++at) {
        double first = -1e300, second = -1e300;
        for (std::int64_t index = 0; index < 4; ++index) {
          double sum = bias[plane % d.oc];
          const double* image = x + plane / d.oc * d.c * d.h * d.w;
          const double* filter = w + plane % d.oc * d.c * d.kh * d.kw;
          for (std::int64_t c = 0; c < d.c; ++c) {
            kernels::cpu::relu_pool::visit_window(
                d, c, at / dims.columns() * 2 + index / 2, at % dims.columns() * 2 + index % 2,
                [&](std::int64_t from, std::int64_t tap) { sum += image[from] * filter[tap]; });
          }
          second = std::max(second, std::min(first, sum));
          first = std::max(first, sum);
        }
        least = std::min(least, std::fabs(first));
        if (first > 0) least = std::min(least, first - second);
      }
    }
    return least;
  }

  // Between zero and what goes into a ReLU.
  double linear_margin(const double* x, const double* w, const double* bias, std::int64_t out,
                       std::int64_t in) const {
    double least = 1;
    for (std::int64_t i = 0; i < rows_ * out; ++i) {
      double sum = bias[i % out];
      for (std::int64_t k = 0; k < in; ++k) sum += x[i / out * in + k] * w[i % out * in + k];
      least = std::min(least, std::fabs(sum));
    }
    return least;
  }

  FusedCnnDims dims_;
  std::int64_t rows_;
  kernels::cpu::FusedCnnMemory<double> memory_;
  std::vector<std::uint8_t> bytes_;
};

// A data set, and a network in training on a device.
class FusedCnnProblem {
 public:
  FusedCnnProblem(const FusedCnnDims& dims, const FusedCnnOptions& options,
                  const std::vector<float>& lr, const Stream& stream)
      : dims_(dims),
        options_(options),
        lr_(lr),
        stream_(stream),
        pixels_(random_pixels(options.order.count * dims.height * dims.width, 1)),
        labels_(as_labels(random_pixels(options.order.count, 2), dims.classes)),
        parameters_(initial_parameters(dims, 3), stream),
        velocity_(std::vector<float>(static_cast<std::size_t>(dims.parameters())), stream),
        rates_(lr, stream),
        images_(pixels_, stream),
        image_labels_(labels_, stream),
        step_(std::vector<std::int64_t>{0}, stream),
        totals_(std::vector<std::uint8_t>(sizeof(MetricTotals)), stream) {}

  // Redraws the images of step *step until all decisions are clear for the present parameters.
  void clear_up(std::int64_t rows) {
    const std::vector<double> parameters = to_double(parameters_.get());
    const std::int64_t step = step_.get()[0], pixels = dims_.height * dims_.width;
    FusedCnnOracle one(dims_, 1);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t index = kernels::draw::place_of(row, step, options_.order).index;
      for (std::uint64_t seed = 100;; ++seed) {
        // The row alone: the same draws, since they follow from row and step.
        gather_row(one, row, step);
        if (one.margin(parameters) > kMargin) break;
        const std::vector<std::uint8_t> other =
            random_pixels(pixels, seed * 1000003 + static_cast<std::uint64_t>(index));
        std::copy(other.begin(), other.end(), pixels_.begin() + index * pixels);
      }
    }
    images_.set(pixels_);
  }

  void train(std::int64_t rows, std::int64_t steps) {
    Guarded<std::uint8_t> scratch = workspace(rows);
    queue(rows, steps, scratch);
    static_cast<void>(scratch.get());  // nothing beside it was written
  }
  // The same on a GPU, with the cycles that each part takes.
  std::vector<std::int64_t> train_timed(std::int64_t rows, std::int64_t steps) {
    Guarded<std::uint8_t> scratch = workspace(rows);
    Guarded<std::int64_t> cycles(std::vector<std::int64_t>(kernels::fused_cnn_parts().size()),
                                 stream_);
    kernels::fused_cnn_train_timed(
        reinterpret_cast<long long*>(cycles.data()), parameters_.data(), velocity_.data(),
        reinterpret_cast<MetricTotals*>(totals_.data()), step_.data(), images_.data(),
        image_labels_.data(), rates_.data(), rows, steps, dims_, options_,
        {scratch.data(), static_cast<std::size_t>(scratch.size())}, stream_);
    return cycles.get();
  }
  // The same, to be replayed. The workspace lives as long as this problem.
  Graph record(std::int64_t rows, std::int64_t steps) {
    recorded_ = std::make_unique<Guarded<std::uint8_t>>(workspace(rows));
    if (stream_.device().is_cuda()) {  // a kernel is loaded by its first launch, not in a capture
      const std::vector<float> parameters = parameters_.get();
      queue(rows, 1, *recorded_);
      parameters_.set(parameters);
      velocity_.set(std::vector<float>(parameters.size()));
      step_.set({0});
      totals_.set(std::vector<std::uint8_t>(sizeof(MetricTotals)));
    }
    return Graph(stream_, [this, rows, steps] { queue(rows, steps, *recorded_); });
  }

  // One step on the device and one in double from the same state; compares what they leave.
  void expect_step(std::int64_t rows, const std::string& what) {
    std::vector<double> parameters = to_double(parameters_.get());
    std::vector<double> velocity = to_double(velocity_.get());
    const std::vector<double> rates = to_double(lr_);
    std::int64_t step = step_.get()[0];
    MetricTotals expected = totals();
    const double rate = rates[static_cast<std::size_t>(step)];
    FusedCnnOracle oracle(dims_, rows);
    kernels::cpu::fused_cnn_train<double>(
        parameters.data(), velocity.data(), &expected, &step, pixels_.data(), labels_.data(),
        rates.data(), rows, 1, dims_, options_.order, options_.augmentation,
        kernels::draw::line_of(options_.normalization), options_.sgd, options_.label_smoothing,
        oracle.workspace());
    train(rows, 1);
    // The gradient passes seven layers, the longest sums have `length` terms, and their errors grow
    // like its root.
    const double eps = std::numeric_limits<float>::epsilon();
    const double length = static_cast<double>(std::max(dims_.features(), rows * 25));
    const double relative = 8 * eps * std::sqrt(length);
    const std::vector<float> found = parameters_.get(), found_velocity = velocity_.get();
    std::size_t at = 0;
    for (const std::int64_t size : slices()) {
      const std::size_t n = static_cast<std::size_t>(size);
      const double* gradient = oracle.memory().gradients + at;
      double largest = 0;
      for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(gradient[i]));
      const std::string where = str(what, ", parameters from ", at);
      const Bound bound{2 * rate * relative * largest, 2 * eps, false};
      EXPECT_TRUE(compare(std::span(found).subspan(at, n),
                          std::span<const double>(parameters).subspan(at, n), bound, where));
      if (options_.sgd.momentum != 0) {
        EXPECT_TRUE(compare(std::span<const float>(found_velocity).subspan(at, n),
                            std::span<const double>(velocity).subspan(at, n),
                            Bound{relative * largest, 4 * eps, false}, where + ", velocity"));
      }
      at += n;
    }
    EXPECT_EQ(at, found.size());
    EXPECT_EQ(step_.get()[0], step) << what;
    const MetricTotals got = totals();
    EXPECT_EQ(got.hits, expected.hits) << what;
    EXPECT_EQ(got.rows, expected.rows) << what;
    EXPECT_TRUE(std::fabs(got.loss_sum - expected.loss_sum) <= relative * expected.loss_sum)
        << what << ": loss " << got.loss_sum << ", expected " << expected.loss_sum;
  }

  MetricTotals totals() const {
    const std::vector<std::uint8_t> bytes = totals_.get();
    MetricTotals result;
    std::memcpy(&result, bytes.data(), sizeof(result));
    return result;
  }
  std::vector<float> parameters() const { return parameters_.get(); }
  std::vector<float> velocity() const { return velocity_.get(); }
  std::int64_t step() const { return step_.get()[0]; }
  void set_state(const std::vector<float>& parameters, const std::vector<float>& velocity,
                 std::int64_t step) {
    parameters_.set(parameters);
    velocity_.set(velocity);
    step_.set({step});
  }
  FusedCnnOptions& options() { return options_; }
  void set_pixels(const std::vector<std::uint8_t>& pixels) { images_.set(pixels_ = pixels); }
  void set_label(std::int64_t index, std::int32_t label) {
    labels_[static_cast<std::size_t>(index)] = label;
    image_labels_.set(labels_);
  }

 private:
  Guarded<std::uint8_t> workspace(std::int64_t rows) const {
    const std::size_t bytes = kernels::fused_cnn_workspace_bytes(dims_, rows, stream_.device());
    return Guarded<std::uint8_t>(static_cast<std::int64_t>(bytes), stream_);
  }
  void queue(std::int64_t rows, std::int64_t steps, Guarded<std::uint8_t>& scratch) {
    kernels::fused_cnn_train(
        parameters_.data(), options_.sgd.momentum == 0 ? nullptr : velocity_.data(),
        reinterpret_cast<MetricTotals*>(totals_.data()), step_.data(), images_.data(),
        image_labels_.data(), rates_.data(), rows, steps, dims_, options_,
        {scratch.data(), static_cast<std::size_t>(scratch.size())}, stream_);
  }
  std::vector<std::int64_t> slices() const {
    const FusedCnnDims& d = dims_;
    return {d.filters1 * d.kernel1 * d.kernel1,
            d.filters1,
            d.filters2 * d.filters1 * d.kernel2 * d.kernel2,
            d.filters2,
            d.hidden1 * d.features(),
            d.hidden1,
            d.hidden2 * d.hidden1,
            d.hidden2,
            d.classes * d.hidden2,
            d.classes};
  }
  void gather_row(FusedCnnOracle& one, std::int64_t row, std::int64_t step) {
    std::vector<double> x(static_cast<std::size_t>((row + 1) * dims_.height * dims_.width));
    kernels::cpu::gather_batch<double>(x.data(), nullptr, nullptr, pixels_.data(), labels_.data(),
                                       row + 1, {1, dims_.height, dims_.width}, &step,
                                       options_.order, options_.augmentation,
                                       {{kernels::draw::line_of(options_.normalization)}});
    std::copy(x.end() - dims_.height * dims_.width, x.end(), one.memory().x);
  }

  FusedCnnDims dims_;
  FusedCnnOptions options_;
  std::vector<float> lr_;
  Stream stream_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::int32_t> labels_;
  Guarded<float> parameters_, velocity_, rates_;
  Guarded<std::uint8_t> images_;
  Guarded<std::int32_t> image_labels_;
  Guarded<std::int64_t> step_;
  Guarded<std::uint8_t> totals_;
  std::unique_ptr<Guarded<std::uint8_t>> recorded_;
};

}  // namespace weft::test
