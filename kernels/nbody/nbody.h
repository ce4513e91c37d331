// SPDX-License-Identifier: MIT
// All-pairs gravity with softening, leapfrog integration, energy and momentum.
//
//   acceleration   a[i] = G * sum over j of m[j] (x[j] - x[i]) / (|x[j] - x[i]|^2 + eps^2)^(3/2)
//   potential      U    = -G * sum over pairs i < j of m[i] m[j] / sqrt(|x[j] - x[i]|^2 + eps^2)
//   step           v += dt/2 a(x);  x += dt v;  v += dt/2 a(x)        (kick, drift, kick)
//
// Bodies are quads (x, y, z, mass); velocities and accelerations are quads whose fourth value is
// carried along, and written as 0 in accelerations. Arrays of quads are aligned to 16 bytes.
// eps > 0 keeps a body's force on itself, and between bodies in one place, at 0 / eps^3 = 0, so no
// kernel has to leave pairs out; mass / eps^3 must not overflow. A mass of 0 makes a test particle.
//
// Arithmetic is fp32, energies and momenta are sums in double. Every order of summation is fixed by
// n, the variant and the device. By convention an interaction counts as 20 operations; the kernels
// execute 12 instructions on floats (18 operations, a multiply-add being two) and one reciprocal
// square root.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct NbodyOptions {
  std::string_view variant = kAutomatic;
  float softening = 0.01f;  // eps, a length in [1e-12, 1e12]
  float gravity = 1;        // G
};

// Scratch memory for the functions below with this variant, from any alignment of 16 bytes.
std::size_t nbody_workspace_bytes(std::int64_t n, std::string_view variant, Device device);

void nbody_accelerations(float* acceleration,  // (n, 4)
                         const float* bodies,  // (n, 4): x, y, z, mass
                         std::int64_t n, const NbodyOptions& options, Workspace workspace,
                         const Stream& stream);

// velocity += kick * acceleration, then position += drift * velocity. In place.
void nbody_advance(float* bodies,              // (n, 4)
                   float* velocity,            // (n, 4)
                   const float* acceleration,  // (n, 4)
                   std::int64_t n, float kick, float drift, const Stream& stream);

// One leapfrog step. `acceleration` belongs to `bodies` before the call and after it: fill it with
// nbody_accelerations() once.
void nbody_step(float* bodies, float* velocity, float* acceleration, std::int64_t n, float dt,
                const NbodyOptions& options, Workspace workspace, const Stream& stream);

// What the motion conserves, in the layout of `totals` below.
struct NbodyTotals {
  double kinetic = 0, potential = 0;
  double momentum[3] = {};
  double angular_momentum[3] = {};

  double energy() const { return kinetic + potential; }
};
constexpr std::int64_t kNbodyTotals = 8;  // doubles in an NbodyTotals

void nbody_totals(double* totals,         // (8,): the members of NbodyTotals, zeros when n == 0
                  const float* bodies,    // (n, 4)
                  const float* velocity,  // (n, 4)
                  std::int64_t n, const NbodyOptions& options, Workspace workspace,
                  const Stream& stream);

// For benchmarks: interactions of one evaluation, operations by the convention above, least
// traffic.
inline double nbody_interactions(std::int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n);
}
inline double nbody_flops(std::int64_t n) {
  return 20 * nbody_interactions(n);
}
inline double nbody_bytes(std::int64_t n) {
  return 32.0 * static_cast<double>(n);
}

// What the choice of a rung depends on.
struct NbodyProblem {
  std::int64_t n = 0;
};

Rungs nbody_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool nbody_takes(std::string_view variant, const NbodyProblem& problem, Device device);
Choice nbody_choice(const NbodyProblem& problem, Device device);

}  // namespace weft::kernels
