// SPDX-License-Identifier: MIT
// Max pooling forward, without the argmax, for the harness and for cuDNN.
#pragma once

#include "bench/harness.h"
#include "kernels/pool/pool.h"

namespace weft::bench {

class PoolWork final : public Work {
 public:
  PoolWork(const kernels::PoolDims& dims, const Context& context);

  bool can_run(std::string_view) const override { return true; }
  void call(std::string_view variant, int set) override;
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;

  const kernels::PoolDims dims;
  float* y(int set) { return y_[set]; }        // (n, c, oh, ow)
  const float* x(int set) { return x_[set]; }  // (n, c, h, w)

 private:
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

}  // namespace weft::bench
