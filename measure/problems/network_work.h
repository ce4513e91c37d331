// SPDX-License-Identifier: MIT
// What the networks share that are trained as a whole.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/loss/loss.h"
#include "kernels/networks/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {

constexpr kernels::Normalization kNormalization = {0.1307f, 0.3081f};  // of the images

std::vector<std::uint8_t> random_bytes(std::int64_t n, std::uint64_t seed);
std::vector<std::int32_t> random_labels(std::int64_t n, std::uint64_t seed, std::int64_t classes);

class NetworkWork : public ProblemWork<problems::Training> {
 public:
  std::vector<Bytes> written(int set) override {
    return {parameters_.bytes(set), velocity_.bytes(set)};
  }

 protected:
  NetworkWork(const Problem& of, const Context& made_with, std::vector<std::uint8_t> images)
      : ProblemWork(of, made_with), images_(input("images", std::move(images))) {}

  static std::vector<float> parameters_of(const Problem& p, std::uint64_t seed) {
    return random_values(p.parameters, seed + 2, -p.spread, p.spread);
  }
  // Fills in the gradient of one step in double, and returns the sum of the losses.
  virtual double expected(std::vector<double>& gradient) const = 0;
  void compare(Comparison& comparison, int set, Arithmetic arithmetic) override;

  kernels::MetricTotals* totals() { return reinterpret_cast<kernels::MetricTotals*>(totals_[0]); }

  const kernels::BatchOrder order_{p.rows, 1, p.rows, true, seed()};
  Array<std::uint8_t>& images_;
  Array<std::int32_t>& labels_ = input("labels", random_labels(p.rows, seed() + 1, p.classes));
  Array<float>& parameters_ = updated("parameters", parameters_of(p, seed()));
  Array<float>& velocity_ = updated("velocity", std::vector<float>(parameters_.host.size()));
  Array<float>& rates_ = input("rates", std::vector<float>(static_cast<std::size_t>(p.steps)));
  Array<std::int64_t>& step_ = input("step", std::vector<std::int64_t>(1));
  Array<std::uint8_t>& totals_ =
      updated("totals", std::vector<std::uint8_t>(sizeof(kernels::MetricTotals)));
  double tolerance_ = p.tolerance;
  std::vector<double> gradient_;  // empty until it is needed

 private:
  double loss_ = 0;
};

}  // namespace weft::measure
