// SPDX-License-Identifier: MIT
// Histograms of bytes (256 bins) and of floats (even bins) for the harness and for CUB.
#pragma once

#include <cstdint>

#include "kernels/histogram/histogram.h"
#include "measure/harness.h"

namespace weft::measure {

enum class HistogramInput { uniform, one_value, skewed };

class ByteHistogramWork final : public Work {
 public:
  ByteHistogramWork(std::int64_t n, HistogramInput input, const Context& made_with);

  bool can_run(std::string_view variant) const override;
  bool takes_block() const override { return context.stream.device().is_cuda(); }
  void call(std::string_view variant, int set) override;
  void reset() override { counts_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Fact> facts(std::string_view variant) const override;
  std::vector<Bytes> written(int set) override { return {counts_.bytes(set)}; }

  std::int64_t n() const { return x_.size(); }
  std::int64_t* counts(int set) { return counts_[set]; }  // (256,)
  const std::uint8_t* x(int set) { return x_[set]; }      // (n,)

 private:
  std::vector<std::uint8_t> host_x_;
  std::vector<std::int64_t> expected_;
  Rotated<std::uint8_t> x_;
  Rotated<std::int64_t> counts_;
};

class FloatHistogramWork final : public Work {
 public:
  FloatHistogramWork(std::int64_t n, std::int64_t bins, const Context& made_with);

  bool can_run(std::string_view variant) const override;
  bool takes_block() const override { return context.stream.device().is_cuda(); }
  void call(std::string_view variant, int set) override;
  void reset() override { counts_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Fact> facts(std::string_view variant) const override;
  std::vector<Bytes> written(int set) override { return {counts_.bytes(set)}; }

  std::int64_t n() const { return x_.size(); }
  std::int64_t bins() const { return counts_.size(); }
  std::int64_t* counts(int set) { return counts_[set]; }  // (bins,)
  const float* x(int set) { return x_[set]; }             // (n,), in [0, 1)

 private:
  std::vector<float> host_x_;
  std::vector<std::int64_t> expected_;
  Rotated<float> x_;
  Rotated<std::int64_t> counts_;
};

}  // namespace weft::measure
