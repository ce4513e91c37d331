// SPDX-License-Identifier: MIT
// Activations and the bias, forward and backward, for the harness and for cuDNN.
#pragma once

#include "kernels/activation/activation.h"
#include "measure/harness.h"

namespace weft::measure {

enum class Pass { forward, backward };

class ActivationWork final : public Work {
 public:
  ActivationWork(kernels::Activation kind, Pass pass, std::int64_t n, const Context& context);

  bool can_run(std::string_view) const override { return true; }
  void call(std::string_view variant, int set) override;
  void reset() override { out_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override { return {out_.bytes(set)}; }

  const kernels::Activation kind;
  const Pass pass;
  std::int64_t n() const { return out_.size(); }
  float* out(int set) { return out_[set]; }                     // (n,): y, or dx
  const float* in(int set) { return in_[set]; }                 // (n,): x, or dy
  const float* y(int set) { return y_[set]; }                   // (n,), backward only
  const std::vector<float>& host_x() const { return host_x_; }  // what y came from

 private:
  std::vector<float> host_x_, host_in_, host_y_;
  Rotated<float> in_, y_, out_;
};

class BiasWork final : public Work {
 public:
  // Over (outer, channels, inner).
  BiasWork(Pass pass, std::int64_t outer, std::int64_t channels, std::int64_t inner,
           const Context& context);

  bool can_run(std::string_view) const override { return true; }
  void call(std::string_view variant, int set) override;
  void reset() override { out_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override { return {out_.bytes(set)}; }

  const Pass pass;
  const std::int64_t outer, channels, inner;
  float* out(int set) { return out_[set]; }      // y (outer, channels, inner), or db (channels,)
  const float* in(int set) { return in_[set]; }  // x or dy (outer, channels, inner)
  const float* bias() { return bias_[0]; }       // (channels,)

 private:
  std::vector<float> host_in_, host_bias_;
  Rotated<float> in_, bias_, out_;
};

}  // namespace weft::measure
