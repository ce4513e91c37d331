// SPDX-License-Identifier: MIT
// A network trained as a whole on random images, at a rate of 0: parameters must then stay as they
// are, to the bit, and velocity becomes a sum of gradients that are all the same, since each step
// takes the whole data set in another order. So one gradient in double tells what any number of
// steps has to leave.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/loss/loss.h"
#include "kernels/optimizer/optimizer.h"
#include "measure/harness.h"

namespace weft::measure {

constexpr kernels::Normalization kNormalization = {0.1307f, 0.3081f};  // of the images

std::vector<std::uint8_t> random_bytes(std::int64_t n, std::uint64_t seed);
std::vector<std::int32_t> random_labels(std::int64_t n, std::uint64_t seed, std::int64_t classes);

struct NetworkProblem {
  std::string_view name;
  std::int64_t pixels, classes, parameters;
  double step_products;         // of one image, by the formula
  float spread;                 // parameters lie within, so that values neither grow nor vanish
  double tolerance;             // of a gradient, relative to the largest
  std::size_t workspace_bytes;  // for `rows` images on the device
};

class NetworkWork : public Work {
 public:
  void reset() override;
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override;

 protected:
  NetworkWork(const NetworkProblem& network, std::int64_t rows, int steps,
              const Context& made_with);

  // Fills in the gradient of one step in double, and returns the sum of the losses.
  virtual double expected(std::vector<double>& gradient) const = 0;

  kernels::MetricTotals* totals() { return reinterpret_cast<kernels::MetricTotals*>(totals_[0]); }

  int steps_;
  std::int64_t rows_;
  kernels::BatchOrder order_;
  kernels::SgdOptions sgd_ = {0.9f, 0, true};
  std::vector<std::uint8_t> host_images_;
  std::vector<std::int32_t> host_labels_;
  std::vector<float> host_parameters_;
  Rotated<std::uint8_t> images_;
  Rotated<std::int32_t> labels_;
  Rotated<float> parameters_, velocity_, rates_;
  Rotated<std::int64_t> step_;
  Rotated<std::uint8_t> totals_;
  Buffer scratch_;
  double tolerance_;
  std::vector<double> gradient_;  // empty until it is needed

 private:
  double loss_ = 0;
};

}  // namespace weft::measure
