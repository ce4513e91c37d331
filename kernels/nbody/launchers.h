// SPDX-License-Identifier: MIT
// The functions behind nbody.h on a GPU: the launcher of a rung, which its file in rungs/ defines,
// and what all rungs share.
#pragma once

#include "kernels/nbody/nbody.h"

namespace weft::kernels::cuda {

struct NbodyForce {
  float softening2;  // eps^2
  float gravity;
};

struct NbodyForceWide {
  double softening2;
  double gravity;
};

// n is positive; the workspace is that of the rung's row.
using NbodyLauncher = void(float* acceleration, const float* bodies, std::int64_t n,
                           const NbodyForce& force, void* workspace, const Stream& stream);
using NbodyWorkspace = std::size_t(const NbodyProblem& problem, Device device);

// The share of one of several ranks.
using NbodyPartLauncher = void(float* acceleration, const float* bodies,
                               const NbodyProblem& problem, const NbodyPart& part,
                               const NbodyForce& force, void* workspace, const Stream& stream);
using NbodyPairsLauncher = void(float* acceleration, const float* bodies,
                                const NbodyProblem& problem, int rank, const NbodyForce& force,
                                void* workspace, const Stream& stream);

void nbody_advance(float* bodies, float* velocity, const float* acceleration, std::int64_t n,
                   float kick, float drift, const Stream& stream);
void nbody_advance_wide(double* position, double* velocity, float* bodies,
                        const float* acceleration, std::int64_t n, double kick, double drift,
                        const Stream& stream);
void nbody_few_steps(double* position, double* velocity, std::int64_t n, std::int64_t steps,
                     double dt, const NbodyForceWide& force, const Stream& stream);
// T is float or double.
template <class T>
void nbody_totals(double* totals, const T* bodies, const T* velocity, std::int64_t n,
                  const NbodyRange& range, const NbodyForceWide& force, void* workspace,
                  const Stream& stream);
std::size_t nbody_totals_bytes(std::int64_t n);

}  // namespace weft::kernels::cuda
