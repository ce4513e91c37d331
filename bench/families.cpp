// SPDX-License-Identifier: MIT
#include "bench/families.h"

namespace weft::bench {

extern const FamilyBench gemm_bench;
extern const FamilyBench conv_bench;
extern const FamilyBench pool_bench;
extern const FamilyBench softmax_bench;
extern const FamilyBench nbody_bench;
extern const FamilyBench reduce_bench;
extern const FamilyBench scan_bench;
extern const FamilyBench histogram_bench;
extern const FamilyBench signal_bench;
extern const FamilyBench memory_bench;
extern const FamilyBench activation_bench;
extern const FamilyBench batch_norm_bench;
extern const FamilyBench dropout_bench;
extern const FamilyBench loss_bench;
extern const FamilyBench image_bench;
extern const FamilyBench optimizer_bench;
extern const FamilyBench batch_bench;
extern const FamilyBench fused_cnn_bench;
extern const FamilyBench fused_mlp_bench;

namespace {

const FamilyBench* const kBenches[] = {
    &gemm_bench,       &reduce_bench,     &scan_bench,      &conv_bench,      &pool_bench,
    &softmax_bench,    &nbody_bench,      &histogram_bench, &signal_bench,    &memory_bench,
    &activation_bench, &batch_norm_bench, &dropout_bench,   &loss_bench,      &image_bench,
    &optimizer_bench,  &batch_bench,      &fused_cnn_bench, &fused_mlp_bench,
};

}  // namespace

std::span<const FamilyBench* const> family_benches() {
  return kBenches;
}

const FamilyBench* find_family_bench(std::string_view family) {
  for (const FamilyBench* bench : kBenches) {
    if (bench->family == family) return bench;
  }
  return nullptr;
}

}  // namespace weft::bench
