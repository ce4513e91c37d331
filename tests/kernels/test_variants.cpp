// SPDX-License-Identifier: MIT
// The tables of variants are the same in every build and fit for printing.
#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>

#include "kernels/activation/activation.h"
#include "kernels/batch/batch.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/conv/conv.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/loss/loss.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"

namespace weft::kernels {
namespace {

TEST(Variants, EveryFamilyListsItsTechniques) {
  const std::span<const VariantInfo> tables[] = {
      activation_variants(), batch_variants(),  batch_norm_variants(), conv_variants(),
      dropout_variants(),    gemm_variants(),   loss_variants(),       optimizer_variants(),
      pool_variants(),       reduce_variants(), softmax_variants(),
  };
  for (const std::span<const VariantInfo> table : tables) {
    ASSERT_FALSE(table.empty());
    std::set<std::string> names;
    bool any_on_cpu = false, any_on_cuda = false;
    for (const VariantInfo& variant : table) {
      EXPECT_TRUE(names.insert(std::string(variant.name)).second) << variant.name << " twice";
      EXPECT_FALSE(variant.summary.empty()) << variant.name;
      EXPECT_TRUE(variant.on_cpu || variant.on_cuda) << variant.name << " runs nowhere";
      any_on_cpu = any_on_cpu || variant.on_cpu;
      any_on_cuda = any_on_cuda || variant.on_cuda;
    }
    EXPECT_TRUE(any_on_cpu && any_on_cuda) << table[0].name;
  }
}

}  // namespace
}  // namespace weft::kernels
