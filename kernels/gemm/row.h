// SPDX-License-Identifier: MIT
// A row of the table of GEMM.
#pragma once

#include <string>

#include "kernels/gemm/launchers.h"

namespace weft::kernels::cuda {

struct GemmRow {
  using Problem = GemmProblem;

  Rung rung;
  Launcher<GemmLauncher> floats = {};            // on a GPU, for matrices of floats
  Launcher<GemmBfloat16Launcher> bfloat16 = {};  // and of bfloat16; CPU rungs take both
  bool copy_engine = false;    // reads A and B by tensor maps: k > 0 and extents below 2^31
  bool aligned = false;        // and reads them as they lie: rows on 16-byte boundaries
  bool packs = false;          // on a CPU: cpu/packed.h instead of three loops
  bool adds_row_sums = false;  // GemmOptions::row_sums on the way; for others it is a kernel more
  GemmTraits traits = {};

  constexpr bool complete() const {
    return rung.on_cuda == (floats || bfloat16) && floats.belongs_to("gemm_", rung.name) &&
           bfloat16.belongs_to("gemm_", rung.name);
  }
  std::string takes(const GemmProblem& problem, Device device) const;
};

}  // namespace weft::kernels::cuda
