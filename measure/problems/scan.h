// SPDX-License-Identifier: MIT
// Inclusive scan of floats with + for the harness and for CUB.
#pragma once

#include "kernels/scan/scan.h"
#include "measure/harness.h"

namespace weft::measure {

class ScanWork final : public Work {
 public:
  ScanWork(std::int64_t n, const Context& made_with);

  bool can_run(std::string_view) const override { return true; }
  void call(std::string_view variant, int set) override;
  bool takes_flag(std::string_view flag, std::string_view variant) const override {
    return flag == "--tile" && !scan_facts(variant).empty();  // the section, for the arithmetic
  }
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Fact> facts(std::string_view variant) const override {
    const std::vector<std::int64_t>& tile = context.parameters.tile;
    return scan_facts(variant, tile.empty() ? 1024 : tile[0]);
  }
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

  std::int64_t n() const { return x_.size(); }
  float* y(int set) { return y_[set]; }        // (n,)
  const float* x(int set) { return x_[set]; }  // (n,)

 private:
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
  Tensor scratch_;
};

}  // namespace weft::measure
