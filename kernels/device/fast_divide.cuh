// SPDX-License-Identifier: MIT
// Division by a number known before the launch: a multiplication and a shift.
//
// Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
#pragma once

#include <cstdint>

namespace weft::kernels::device {

class FastDivide {
 public:
  FastDivide() = default;
  // divisor in [1, 2^31)
  explicit FastDivide(std::int64_t divisor) : divisor_(static_cast<std::uint32_t>(divisor)) {
    while ((std::uint64_t{1} << shift_) < divisor_) ++shift_;
    const std::uint64_t power = std::uint64_t{1} << shift_;
    factor_ = static_cast<std::uint32_t>(((power - divisor_) << 32) / divisor_ + 1);
  }

  // quotient and remainder of value in [0, 2^31)
  __device__ __forceinline__ int divide(int value) const {
    const auto n = static_cast<std::uint32_t>(value);
    return static_cast<int>((__umulhi(n, factor_) + n) >> shift_);
  }
  __device__ __forceinline__ int divide(int value, int& remainder) const {
    const int quotient = divide(value);
    remainder = value - quotient * static_cast<int>(divisor_);
    return quotient;
  }
  __device__ __forceinline__ int divisor() const { return static_cast<int>(divisor_); }

 private:
  std::uint32_t divisor_ = 1, factor_ = 1, shift_ = 0;
};

}  // namespace weft::kernels::device
