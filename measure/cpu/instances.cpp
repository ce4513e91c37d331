// SPDX-License-Identifier: MIT
#include "kernels/simd.h"
#include "measure/cpu/peak.h"

namespace weft::measure::WEFT_ISA {
namespace {

using kernels::cpu::FloatVector;
using kernels::cpu::kLanes;

constexpr int kRounds = 100000;
constexpr int kChains = 10;  // two multiply-adds a clock, each ready after five

float total_of(const FloatVector* sums, int count) {
  float total = 0;
  for (int i = 0; i < count; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) total += sums[i][lane];
  }
  return total;
}

float fma(float start) {
  FloatVector sum[kChains];
  for (int c = 0; c < kChains; ++c) {
    sum[c] = kernels::cpu::simd::broadcast(start + static_cast<float>(c));
  }
  for (int i = 0; i < kRounds; ++i) {
    for (int c = 0; c < kChains; ++c) sum[c] = sum[c] * 0.999f + 0.5f;
  }
  return total_of(sum, kChains);
}

float sum(const float* x, std::int64_t n) {
  FloatVector part[8] = {};
  std::int64_t i = 0;
  for (; i + 8 * kLanes <= n; i += 8 * kLanes) {
    for (int v = 0; v < 8; ++v) part[v] += kernels::cpu::simd::load(x + i + kLanes * v);
  }
  float total = total_of(part, 8);
  for (; i < n; ++i) total += x[i];
  return total;
}

}  // namespace

extern const CpuPeak peak = {2.0 * kLanes * kChains * kRounds, fma, sum};

}  // namespace weft::measure::WEFT_ISA
