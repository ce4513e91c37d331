// SPDX-License-Identifier: MIT
// Holds the catalogue against the list of techniques that the project wants: every name is either a
// row of its family's table or listed here as missing, and a name must leave the list of missing
// ones when its row arrives.
#include "kernels/catalogue.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace weft::kernels {
namespace {

struct Wanted {
  std::string family;
  std::vector<std::string> there, missing;
};

const std::vector<Wanted>& wanted() {
  static const std::vector<Wanted> list = {
      {"gemm",
       {"naive", "strip_k1", "strip_k2", "strip_k3", "strip_k4", "strip_k3k4", "tiled",
        "register_tiled", "vectorized", "warp_tiled", "pipelined", "operand_reuse", "split_k",
        "wmma_tf32", "mma_tf32", "mma_bf16", "tf32x3", "wgmma_tf32", "wgmma_bf16"},
       {}},
      {"reduce",
       {"interleaved_divergent", "interleaved", "sequential", "first_add", "unrolled",
        "warp_shuffle", "cooperative_groups", "two_stage_warp", "coarsened", "vectorized",
        "single_pass"},
       {}},
      {"scan",
       {"kogge_stone", "kogge_stone_double_buffered", "warp_scan", "brent_kung", "three_kernel",
        "grid_sync", "decoupled_lookback", "lookahead"},
       {}},
      {"histogram",
       {"global_atomics", "privatized", "privatized_coarsened", "vectorized", "lane_private",
        "multi_pass"},
       {}},
      {"nbody",
       {"array_of_structs", "struct_of_arrays", "naive", "shared_tiles", "register_tiled",
        "constant_memory", "pair_symmetric"},
       {}},
      {"conv",
       {"direct", "direct_constant", "tiled", "im2col_gemm", "implicit_gemm",
        "implicit_gemm_tensor_core", "implicit_gemm_wgmma", "direct_tensor_core",
        "fused_relu_pool"},
       {}},
      {"softmax", {"three_pass", "online", "warp_per_row", "block_per_row", "cluster_per_row"}, {}},
      {"signal",
       {"naive", "constant_memory", "tiled_halo_internal", "tiled_input", "tiled_cached_halo",
        "tiled"},
       {}},
      {"image",
       {"rgb_to_grey_naive", "rgb_to_grey_vectorized", "box_blur_naive", "box_blur_tiled"},
       {}},
      {"memory",
       {"vector_add", "copy_by_offset", "copy_by_stride", "shared_by_stride", "pitched_rows",
        "pageable_transfer", "pinned_transfer"},
       {}},
      {"activation", {"vectorized"}, {}},
      {"fused_cnn", {"two_kernels", "persistent", "resident_weights"}, {}},
      {"fused_mlp", {"four_kernels_bf16"}, {}},
  };
  return list;
}

TEST(Catalogue, EveryWantedTechniqueIsARowOrListedAsMissing) {
  for (const Wanted& family : wanted()) {
    const Family* entry = find_family(family.family);
    ASSERT_NE(entry, nullptr) << family.family;
    for (const std::string& name : family.there) {
      EXPECT_NE(find_variant(*entry, name), nullptr) << family.family << "/" << name << " is gone";
    }
    for (const std::string& name : family.missing) {
      EXPECT_EQ(find_variant(*entry, name), nullptr)
          << family.family << "/" << name << " has arrived: take it off the list of missing ones";
    }
  }
}

TEST(Catalogue, EveryFamilyIsThere) {
  for (const char* name : {"gemm", "reduce", "scan", "histogram", "nbody", "signal", "conv", "pool",
                           "activation", "softmax", "image", "memory", "optimizer"}) {
    EXPECT_NE(find_family(name), nullptr) << name;
  }
}

TEST(Catalogue, NamesAreUniqueAndSentencesThere) {
  std::set<std::string> families;
  for (const Family& family : catalogue()) {
    EXPECT_TRUE(families.insert(std::string(family.name)).second) << family.name << " twice";
    EXPECT_FALSE(family.summary.empty()) << family.name;
    EXPECT_EQ(find_family(family.name), &family);
    std::set<std::string> names;
    ASSERT_FALSE(family.variants().empty()) << family.name;
    for (const VariantInfo& info : family.variants()) {
      EXPECT_TRUE(names.insert(std::string(info.name)).second) << family.name << "/" << info.name;
      EXPECT_FALSE(info.summary.empty()) << family.name << "/" << info.name;
      EXPECT_TRUE(info.on_cpu || info.on_cuda) << family.name << "/" << info.name;
      EXPECT_EQ(find_variant(family, info.name), &info);
    }
  }
  EXPECT_GE(families.size(), 17u);
  EXPECT_EQ(find_family("frobnicate"), nullptr);
  EXPECT_EQ(find_variant(catalogue()[0], "frobnicate"), nullptr);
}

}  // namespace
}  // namespace weft::kernels
