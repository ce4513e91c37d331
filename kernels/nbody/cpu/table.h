// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "engine/extent.h"
#include "kernels/isa.h"
#include "kernels/nbody/nbody.h"

namespace weft::kernels {

// n > 0; softening2 is eps^2.
struct NbodyCpu {
  void (*naive)(float* acceleration, const float* bodies, std::int64_t n, float softening2,
                float gravity);
  void (*struct_of_arrays)(float* acceleration, const float* bodies, std::int64_t n,
                           const NbodyPart& part, float softening2, float gravity, float* scratch);
  std::int64_t (*struct_of_arrays_scratch)(std::int64_t sources);  // floats
  void (*advance)(float* bodies, float* velocity, const float* acceleration, std::int64_t n,
                  float kick, float drift);
  void (*advance_wide)(double* position, double* velocity, float* bodies, const float* acceleration,
                       std::int64_t n, double kick, double drift);
  void (*few_steps)(double* position, double* velocity, std::int64_t n, std::int64_t steps,
                    double dt, double softening2, double gravity);
  void (*totals)(double* totals, const float* bodies, const float* velocity, std::int64_t n,
                 const NbodyRange& range, double softening2, double gravity, double* scratch);
  void (*totals_wide)(double* totals, const double* bodies, const double* velocity, std::int64_t n,
                      const NbodyRange& range, double softening2, double gravity, double* scratch);
};

// Bodies that one partial sum of totals() covers; its scratch is 8 doubles for each such chunk.
constexpr std::int64_t kNbodyChunk = 64;
constexpr std::int64_t nbody_totals_scratch(std::int64_t n) {
  return divide_up(n, kNbodyChunk) * kNbodyTotals;
}

WEFT_DECLARE_CPU_TABLE(NbodyCpu, nbody_cpu)

}  // namespace weft::kernels
