// SPDX-License-Identifier: MIT
// Pooling for the harness and for cuDNN: max forward without the argmax, and the other passes.
#pragma once

#include "kernels/pool/pool.h"
#include "measure/harness.h"

namespace weft::measure {

class PoolWork final : public Work {
 public:
  PoolWork(const kernels::PoolDims& dims, const Context& context);

  bool can_run(std::string_view variant) const override;
  void call(std::string_view variant, int set) override;
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

  const kernels::PoolDims dims;
  float* y(int set) { return y_[set]; }        // (n, c, oh, ow)
  const float* x(int set) { return x_[set]; }  // (n, c, h, w)

 private:
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

class PoolPassWork final : public Work {
 public:
  enum class Pass { max_backward, average_forward, average_backward };

  PoolPassWork(const kernels::PoolDims& dims, Pass pass, const Context& context);

  bool can_run(std::string_view variant) const override;
  void call(std::string_view variant, int set) override;
  void reset() override { out_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override { return {out_.bytes(set)}; }

  const kernels::PoolDims dims;
  const Pass pass;
  float* out(int set) { return out_[set]; }  // average forward: (n, c, oh, ow), else (n, c, h, w)
  const float* in(int set) {
    return in_[set];
  }  // average forward: (n, c, h, w), else (n, c, oh, ow)
  // What max pooling chose from, (n, c, h, w), and its outputs.
  const std::vector<float>& host_x() const { return host_x_; }
  const std::vector<float>& host_y() const { return host_y_; }

 private:
  std::vector<float> host_in_, host_x_, host_y_;
  std::vector<std::int32_t> host_argmax_;
  Rotated<float> in_, out_;
  Rotated<std::int32_t> argmax_;
};

}  // namespace weft::measure
