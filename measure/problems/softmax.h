// SPDX-License-Identifier: MIT
// Softmax over rows, forward and backward, for the harness and for cuDNN.
#pragma once

#include "measure/harness.h"

namespace weft::measure {

enum class SoftmaxPass { forward, backward };

class SoftmaxWork final : public Work {
 public:
  SoftmaxWork(std::int64_t rows, std::int64_t cols, SoftmaxPass pass, const Context& made_with);

  bool can_run(std::string_view variant) const override;
  void call(std::string_view variant, int set) override;
  void reset() override { out_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override { return {out_.bytes(set)}; }

  const std::int64_t rows, cols;
  const SoftmaxPass pass;
  float* out(int set) { return out_[set]; }  // y, or dx: (rows, cols)
  float* in(int set) { return in_[set]; }    // x, or dy: (rows, cols)
  float* y(int set) { return y_[set]; }      // (rows, cols), backward only

 private:
  void expect_row(std::vector<double>& expected, std::vector<double>& bound,
                  std::int64_t row) const;

  std::vector<float> host_in_, host_y_;
  Rotated<float> in_, y_, out_;
};

}  // namespace weft::measure
