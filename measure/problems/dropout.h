// SPDX-License-Identifier: MIT
// Dropout for the harness and for cuDNN.
#pragma once

#include "kernels/dropout/dropout.h"
#include "measure/harness.h"

namespace weft::measure {

class DropoutWork final : public Work {
 public:
  static constexpr float kP = 0.5f;

  DropoutWork(std::int64_t n, const Context& context);

  bool can_run(std::string_view) const override { return true; }
  void call(std::string_view variant, int set) override;
  void reset() override;
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

  std::int64_t n() const { return y_.size(); }
  float* y(int set) { return y_[set]; }        // (n,)
  const float* x(int set) { return x_[set]; }  // (n,)
  // Until the next reset, check() takes any mask that keeps 1 - p of the values.
  void accept_any_mask() { any_mask_ = true; }

 private:
  Verdict check_any_mask(const std::vector<float>& found) const;

  bool any_mask_ = false;
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
  Rotated<std::int64_t> step_;
};

}  // namespace weft::measure
