// SPDX-License-Identifier: MIT
// What `automatic` means for a call, and why, in the families that choose by size; each function
// lies with its family.
#pragma once

#include <string_view>

#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"

namespace weft::kernels {

struct Choice {
  std::string_view variant;  // a row of the family's table
  std::string_view reason;   // a clause for a reader
};

// For dense matrices, A and B aligned to 16 bytes.
Choice gemm_choice(const GemmDims& dims, GemmStorage storage, ComputeMode mode, Device device);
// The same on an H200, wherever this runs.
Choice gemm_choice_on_h200(const GemmDims& dims, GemmStorage storage, ComputeMode mode);

Choice conv_choice(ConvPass pass, const ConvDims& dims, ComputeMode mode, Device device);
Choice histogram_choice(std::int64_t n, Device device);  // of bytes
Choice scan_choice(std::int64_t n, Device device);
Choice softmax_choice(std::int64_t cols, Device device);
Choice nbody_choice(std::int64_t n, Device device);

// How a family decides, and that choice by the name in its table.
template <class Variant>
struct Chosen {
  Variant variant;
  std::string_view reason;
};
template <class Rows, class Variant>
constexpr Choice named(const Rows& rows, const Chosen<Variant>& chosen) {
  for (const auto& row : rows) {
    if (row.variant == chosen.variant) return {row.info.name, chosen.reason};
  }
  return {};
}

}  // namespace weft::kernels
