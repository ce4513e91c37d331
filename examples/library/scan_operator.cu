// SPDX-License-Identifier: MIT
// A scan on a GPU with an operator of one's own: all states of a random number generator at once,
// though each follows from the last. scan.cpp has the same for the CPU.
#include <cstdio>
#include <vector>

#include "engine/error.h"
#include "kernels/operators.h"
#include "kernels/scan/rungs/decoupled_lookback.cuh"
#include "kernels/scan/scan.h"

namespace {

// The map x -> a x + b modulo 2^32. One after the other: associative, but the order matters.
struct Affine {
  std::uint32_t a, b;
};
struct Then {
  static WEFT_OPERATOR Affine identity() { return {1, 0}; }
  WEFT_OPERATOR Affine operator()(const Affine& first, const Affine& next) const {
    return {first.a * next.a, next.a * first.b + next.b};
  }
};

}  // namespace

int main() try {
  if (weft::cuda_status().device_count == 0) {
    return std::printf("skipped, no GPU: %s\n", weft::cuda_status().reason.c_str()), 77;
  }
  const weft::Stream stream(weft::Device::cuda());
  constexpr std::int64_t kCount = 1 << 20;
  std::vector<Affine> steps(kCount, Affine{1664525, 1013904223});
  const weft::Buffer x(kCount * sizeof(Affine), stream);
  const weft::Buffer scratch(weft::kernels::scan_workspace_bytes("decoupled_lookback", kCount,
                                                                 sizeof(Affine), stream.device()),
                             stream);
  weft::copy_bytes(x.data(), stream.device(), steps.data(), weft::Device::cpu(), x.bytes(), stream);
  Affine* const values = static_cast<Affine*>(x.data());
  weft::kernels::cuda::DecoupledLookback::run(values, static_cast<const Affine*>(values), kCount,
                                              false, Then(), scratch.data(), stream);
  weft::copy_bytes(steps.data(), weft::Device::cpu(), x.data(), stream.device(), x.bytes(), stream);
  stream.synchronize();

  std::uint32_t state = 1;
  bool right = true;
  for (const Affine& step : steps) {
    state = state * 1664525 + 1013904223;
    right = right && step.a + step.b == state;
  }
  std::printf("state %u after %lld steps\n", state, static_cast<long long>(kCount));
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
