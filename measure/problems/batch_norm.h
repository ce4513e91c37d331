// SPDX-License-Identifier: MIT
// Batch normalisation for the harness and for cuDNN.
#pragma once

#include "kernels/batch_norm/batch_norm.h"
#include "measure/harness.h"

namespace weft::measure {

class BatchNormWork final : public Work {
 public:
  enum class Pass { forward, inference, backward };
  static constexpr float kEps = 1e-5f, kMomentum = 0.1f;

  BatchNormWork(const kernels::BatchNormDims& dims, Pass pass, const Context& context);

  bool can_run(std::string_view variant) const override;
  void call(std::string_view variant, int set) override;
  void reset() override;
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override;

  const kernels::BatchNormDims dims;
  const Pass pass;
  float* out(int set) { return out_[set]; }      // (n, c, inner): y, or dx
  const float* x(int set) { return x_[set]; }    // (n, c, inner)
  const float* dy(int set) { return dy_[set]; }  // (n, c, inner), backward only
  const float* gamma() { return gamma_[0]; }     // this and all below: (c,)
  const float* beta() { return beta_[0]; }
  float* mean(int set) { return mean_[set]; }        // forward writes them, backward reads them;
  float* inv_std(int set) { return inv_std_[set]; }  // inference: the running mean and variance
  float* running_mean() { return running_[0]; }
  float* running_var() { return running_[1]; }
  float* dgamma(int set) { return dgamma_[set]; }
  float* dbeta(int set) { return dbeta_[set]; }

 private:
  // One channel by itself, in double.
  std::vector<double> channel_of(const std::vector<float>& values, std::int64_t channel) const;

  std::vector<float> host_x_, host_dy_, host_gamma_, host_beta_, host_mean_, host_inv_std_;
  Rotated<float> x_, dy_, gamma_, beta_, mean_, inv_std_, running_, dgamma_, dbeta_, out_;
  Tensor scratch_;
};

}  // namespace weft::measure
