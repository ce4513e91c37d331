// SPDX-License-Identifier: MIT
// Softmax over rows, forward, for the harness and for cuDNN.
#pragma once

#include "bench/harness.h"

namespace weft::bench {

class SoftmaxWork final : public Work {
 public:
  SoftmaxWork(std::int64_t rows, std::int64_t cols, const Context& made_with);

  bool can_run(std::string_view variant) const override;
  void call(std::string_view variant, int set) override;
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;

  const std::int64_t rows, cols;
  float* y(int set) { return y_[set]; }        // (rows, cols)
  const float* x(int set) { return x_[set]; }  // (rows, cols)

 private:
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

}  // namespace weft::bench
