// SPDX-License-Identifier: MIT
#include "measure/families.h"

#include "engine/error.h"

namespace weft::measure {

extern const FamilyBench gemm_bench;
extern const FamilyBench conv_bench;
extern const FamilyBench conv_relu_pool_bench;
extern const FamilyBench pool_bench;
extern const FamilyBench softmax_bench;
extern const FamilyBench nbody_bench;
extern const FamilyBench reduce_bench;
extern const FamilyBench scan_bench;
extern const FamilyBench histogram_bench;
extern const FamilyBench signal_bench;
extern const FamilyBench memory_bench;
extern const FamilyBench transpose_bench;
extern const FamilyBench divergence_bench;
extern const FamilyBench activation_bench;
extern const FamilyBench batch_norm_bench;
extern const FamilyBench dropout_bench;
extern const FamilyBench loss_bench;
extern const FamilyBench image_bench;
extern const FamilyBench optimizer_bench;
extern const FamilyBench batch_bench;
extern const FamilyBench all_reduce_bench;
extern const FamilyBench fused_cnn_bench;
extern const FamilyBench fused_mlp_bench;

namespace {

const FamilyBench* const kBenches[] = {
    &gemm_bench,      &reduce_bench,    &scan_bench,       &conv_bench,       &conv_relu_pool_bench,
    &pool_bench,      &softmax_bench,   &nbody_bench,      &histogram_bench,  &signal_bench,
    &memory_bench,    &transpose_bench, &divergence_bench, &activation_bench, &batch_norm_bench,
    &dropout_bench,   &loss_bench,      &image_bench,      &optimizer_bench,  &batch_bench,
    &fused_cnn_bench, &fused_mlp_bench, &all_reduce_bench,
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

void check_size(const FamilyBench& family, std::span<const std::int64_t> size) {
  const auto several = static_cast<std::size_t>(family.shape_extents);
  const auto least = static_cast<std::size_t>(family.shape_extents_least);
  const bool fits =
      size.size() == several || (least > 0 && size.size() >= least && size.size() < several);
  if (size.size() > 1 && !fits) {
    const std::string numbers = least > 0 ? str(least, " to ", several) : str(several);
    throw Error(ErrorKind::usage, str("--size: ", family.family, " takes one number",
                                      several > 0 ? str(" or ", numbers, " joined by x") : "",
                                      ", found ", size.size()));
  }
  double elements = 1;
  for (const std::int64_t extent : size) {
    elements *= static_cast<double>(extent);
    if (least > 0 && elements > static_cast<double>(family.largest_size)) {
      throw Error(ErrorKind::usage, str("--size: expected at most ", family.largest_size,
                                        " elements in all, found more"));
    }
    if (extent <= family.largest_size) continue;
    throw Error(ErrorKind::usage, str("--size: expected at most ", family.largest_size, " ",
                                      family.size_meaning, ", found ", extent));
  }
}

std::unique_ptr<Work> make_problem(const FamilyBench& family, std::span<const std::int64_t> size,
                                   const Context& context) {
  check_size(family, size);
  if (size.size() > 1) return family.shaped(size, context);
  return family.sized(size.empty() ? family.default_size : size[0], context);
}

}  // namespace weft::measure
