// SPDX-License-Identifier: MIT
// Sum of floats for the harness and for CUB.
#pragma once

#include "kernels/reduce/reduce.h"
#include "measure/harness.h"

namespace weft::measure {

class ReduceWork final : public Work {
 public:
  // threads: of one block; 0 for the contract's own choice.
  ReduceWork(std::int64_t n, int threads, const Context& made_with, bool queued_one_by_one = false);

  // One by one, those of one launch and of two; the host takes longer than the rest differ.
  bool can_run(std::string_view variant) const override {
    return !one_by_one || kernels::reduce_is_queued_alone(variant);
  }
  bool takes_block() const override { return context.stream.device().is_cuda(); }
  void call(std::string_view variant, int set) override;
  void reset() override { result_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Fact> facts(std::string_view variant) const override {
    const int threads = threads_ > 0 ? threads_ : kernels::ReduceOptions().threads;
    return reduce_facts(x_.size(), threads, variant);
  }
  std::vector<Bytes> written(int set) override { return {result_.bytes(set)}; }

  std::int64_t n() const { return x_.size(); }
  int threads() const { return threads_; }
  float* result(int set) { return result_[set]; }  // one value
  const float* x(int set) { return x_[set]; }      // (n,)

 private:
  int threads_;
  std::vector<float> host_x_;
  Rotated<float> x_, result_;
  Tensor scratch_;
};

}  // namespace weft::measure
