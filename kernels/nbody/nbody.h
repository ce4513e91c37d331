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
// Several ranks can share the work, each on a device of its own with the positions of all bodies:
// nbody_split() says how, and the functions that take an NbodyPart or a range do a rank's share.
//
// Forces are computed in fp32. fp32 is too narrow for the state of a long run: a short step
// vanishes in a large position. nbody_advance_wide() keeps positions and velocities in double, and
// nbody_few_steps() computes forces in double as well. Energies and momenta are computed in double.
// Every order of summation is fixed by n, the variant and the device. By convention an interaction
// counts as 20 operations; the kernels execute 12 instructions on floats (18 operations, a
// multiply-add being two) and one reciprocal square root.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct NbodyOptions {
  std::string_view variant = kAutomatic;
  double softening = 0.01;  // eps, a length in [1e-12, 1e12]
  double gravity = 1;       // G
};

// What the choice of a rung depends on.
struct NbodyProblem {
  std::int64_t n = 0;
  int ranks = 1;  // that share the work
};

// Scratch memory for the functions below with this variant, from any alignment of 16 bytes.
std::size_t nbody_workspace_bytes(const NbodyProblem& problem, std::string_view variant,
                                  Device device);
inline std::size_t nbody_workspace_bytes(std::int64_t n, std::string_view variant, Device device) {
  return nbody_workspace_bytes(NbodyProblem{n}, variant, device);
}

void nbody_accelerations(float* acceleration,  // (n, 4)
                         const float* bodies,  // (n, 4): x, y, z, mass
                         std::int64_t n, const NbodyOptions& options, Workspace workspace,
                         const Stream& stream);

// velocity += kick * acceleration, then position += drift * velocity. In place.
void nbody_advance(float* bodies,              // (n, 4)
                   float* velocity,            // (n, 4)
                   const float* acceleration,  // (n, 4)
                   std::int64_t n, float kick, float drift, const Stream& stream);

// The same for a state in double. `bodies`, which the forces are computed from, becomes `position`
// in fp32, unless drift is 0.
void nbody_advance_wide(double* position,           // (n, 4): x, y, z, mass
                        double* velocity,           // (n, 4)
                        float* bodies,              // (n, 4)
                        const float* acceleration,  // (n, 4)
                        std::int64_t n, double kick, double drift, const Stream& stream);

// `steps` leapfrog steps with forces in double, whatever options.variant says. On a GPU one kernel
// takes them all. The same bits however the steps are divided over calls. Error{usage} for more
// than kNbodyFew bodies.
constexpr std::int64_t kNbodyFew = 64;
void nbody_few_steps(double* position,  // (n, 4): x, y, z, mass
                     double* velocity,  // (n, 4)
                     std::int64_t n, std::int64_t steps, double dt, const NbodyOptions& options,
                     const Stream& stream);

// One leapfrog step in fp32. `acceleration` belongs to `bodies` before the call and after it: fill
// it with nbody_accelerations() once.
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

// How a rung shares the work with other ranks.
enum class NbodySplit {
  none,     // not at all
  targets,  // nbody_part(): each rank computes the accelerations of some bodies
  pairs,    // nbody_pairs(): each rank computes some pairs, and the ranks' sums are added
};
NbodySplit nbody_split(std::string_view variant, const NbodyProblem& problem, Device device);

// The bodies first, first + 1, ..., first + count - 1.
struct NbodyRange {
  std::int64_t first = 0, count = 0;
};

// What the bodies `sources` do to the bodies `targets`. The range of the sources may go on with
// body 0 after body n - 1.
struct NbodyPart {
  NbodyRange targets, sources;
  GradientMode mode = GradientMode::overwrite;
};

// Accelerations of the targets, which are n / ranks bodies at most, rounded up, where nbody_split()
// is `targets`. On a CPU, when the sources are all bodies from the first on, the accelerations have
// the bits of nbody_accelerations().
void nbody_part(float* acceleration,  // (targets.count, 4): = or +=
                const float* bodies,  // (n, 4)
                const NbodyProblem& problem, const NbodyPart& part, const NbodyOptions& options,
                Workspace workspace, const Stream& stream);

// The share of a rank in all pairs: what they add to the accelerations of all bodies, where
// nbody_split() is `pairs`. The sum over the ranks, whatever their GPUs are, is
// nbody_accelerations().
void nbody_pairs(float* acceleration,  // (n, 4)
                 const float* bodies,  // (n, 4)
                 const NbodyProblem& problem, int rank, const NbodyOptions& options,
                 Workspace workspace, const Stream& stream);

// The totals of a share of the bodies: sums over shares are those of nbody_totals(). The second
// function takes a state in double.
void nbody_totals_part(double* totals,         // (8,), zeros when range.count == 0
                       const float* bodies,    // (n, 4)
                       const float* velocity,  // (range.count, 4)
                       const NbodyProblem& problem, const NbodyRange& range,
                       const NbodyOptions& options, Workspace workspace, const Stream& stream);
void nbody_totals_wide(double* totals,          // (8,), zeros when range.count == 0
                       const double* position,  // (n, 4): x, y, z, mass
                       const double* velocity,  // (range.count, 4)
                       const NbodyProblem& problem, const NbodyRange& range,
                       const NbodyOptions& options, Workspace workspace, const Stream& stream);

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

// Bodies that one load of another body from global memory serves; 0: it is not worked out by hand.
int nbody_bodies_of_load(std::string_view rung);

Rungs nbody_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool nbody_takes(std::string_view variant, const NbodyProblem& problem, Device device);
Choice nbody_choice(const NbodyProblem& problem, Device device);

}  // namespace weft::kernels
