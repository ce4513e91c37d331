// SPDX-License-Identifier: MIT
// Running sums; and a scan with an operator of one's own, on the CPU (scan_operator.cu has the same
// for a GPU): all states of a random number generator at once, though each follows from the last.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/scan/cpu/templates.h"
#include "kernels/scan/scan.h"

namespace {

// The map x -> a x + b modulo 2^32. One after the other: associative, but the order matters.
struct Affine {
  std::uint32_t a, b;
};
struct Then {
  static Affine identity() { return {1, 0}; }
  Affine operator()(Affine first, Affine next) const {
    return {first.a * next.a, next.a * first.b + next.b};
  }
};

}  // namespace

bool example(const weft::Stream& stream) {
  const std::vector<float> lengths = {3, 1, 4, 1, 5};
  const weft::Tensor x = weft::tensor_from_host<float>({5}, lengths, stream);
  weft::Tensor y({5}, weft::DType::f32, stream);
  const weft::kernels::ScanOptions options{.kind = weft::kernels::ScanKind::exclusive};
  const std::size_t bytes = weft::kernels::scan_workspace_bytes<float>(5, options, stream.device());
  const weft::Buffer scratch(bytes, stream);
  weft::kernels::scan(y.data<float>(), x.data<float>(), 5, options, {scratch.data(), bytes},
                      stream);
  const std::vector<float> offsets = weft::to_host(y.view<float>(), stream);
  for (const float offset : offsets) std::printf("%g ", offset);

  constexpr std::int64_t kCount = 1 << 20, kPiece = 1 << 14;
  std::vector<Affine> steps(kCount, Affine{1664525, 1013904223}), totals(kCount / kPiece);
  weft::kernels::cpu::scan_threaded(steps.data(), steps.data(), kCount, false, Then(),
                                    totals.data(), kPiece);
  std::uint32_t state = 1;
  bool right = offsets == std::vector<float>{0, 3, 4, 8, 9};
  for (const Affine& step : steps) {
    state = state * 1664525 + 1013904223;
    right = right && step.a + step.b == state;
  }
  std::printf("\nstate %u after %lld steps\n", state, static_cast<long long>(kCount));
  return right;
}
