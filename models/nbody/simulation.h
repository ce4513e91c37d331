// SPDX-License-Identifier: MIT
// An n-body simulation on one device or several: leapfrog steps of a fixed length, and what they
// conserve.
//
//   const Stream stream(parse_device("auto"));
//   NbodySimulation simulation(plummer_sphere(4096, 1), {.dt = 0.01f}, stream);
//   simulation.advance(100);
//   const kernels::NbodyTotals totals = simulation.totals();
//
// Positions and velocities are double. Forces are fp32, from positions rounded to fp32. Up to
// kernels::kNbodyFew bodies have forces in double, unless the step names a rung.
//
// The same bodies, options and device give the same bits however the steps are divided over calls,
// and a simulation that starts from bodies() goes on as this one would.
//
// Ranks share a simulation in one of two ways (kernels::nbody_split()). By targets, a rank moves
// its share of the bodies, and positions are gathered before the forces of each step; a GPU
// meanwhile computes the forces between its own bodies. By pairs, a rank computes its share of the
// pairs, the accelerations are added over the ranks, and every rank moves all bodies. A few bodies
// with forces in double are not shared: every rank moves all of them. The trajectory is that of one
// rank to rounding; on CPUs with the same instructions it has the same bits.
#pragma once

#include <optional>

#include "distributed/communicator.h"
#include "engine/tensor.h"
#include "kernels/nbody/nbody.h"
#include "models/nbody/bodies.h"

namespace weft::models {

struct NbodyStep {
  double dt = 0.01;  // negative: back in time
  kernels::NbodyOptions force{};
};

// Are the forces between n bodies computed in double?
bool forces_in_double(const kernels::NbodyOptions& force, std::int64_t n);

// Error{usage} for no bodies, a step that is not finite, or a softening so small that the force
// between two bodies in one place would overflow.
void check_step(const Bodies& bodies, const NbodyStep& step);

class NbodySimulation {
 public:
  // As check_step(), and Error{usage} for a rung that does not share its work when there are
  // several ranks. These have attached the device of `stream`, outlive the simulation, have the
  // same bodies and call the same functions below.
  NbodySimulation(const Bodies& bodies, const NbodyStep& step, const Stream& stream,
                  distributed::Communicator& ranks = distributed::alone());
  NbodySimulation(const NbodySimulation&) = delete;  // the recorded step points to its members
  NbodySimulation& operator=(const NbodySimulation&) = delete;

  std::int64_t count() const { return static_cast<std::int64_t>(group_.size()); }
  void advance(std::int64_t steps);  // queued on the stream
  // Both wait for the stream, and are of all bodies on every rank.
  kernels::NbodyTotals totals();
  Bodies bodies();

 private:
  kernels::Workspace workspace() const { return {workspace_.data(), workspace_.bytes()}; }
  kernels::NbodyProblem problem() const { return {count(), ranks_.size()}; }
  void move(double kick, double drift);
  void accelerate();
  void gather_positions();

  distributed::Communicator& ranks_;
  NbodyStep step_;
  Stream stream_;
  Branch gathering_;
  std::vector<float> group_;
  bool few_;  // with forces in double
  kernels::NbodySplit split_;
  kernels::NbodyRange own_;  // the bodies that this rank moves
  Tensor position_;          // (n, 4), f64; those that others move are old
  Tensor velocity_;          // (own_.count, 4), f64
  Tensor rounded_;           // (n, 4): all positions in fp32, for the forces; empty for a few
  Tensor acceleration_;      // (own_.count, 4); likewise
  Tensor totals_;
  Buffer workspace_;
  std::optional<Graph> one_step_;
};

// Lengths and times that suit these bodies when nothing is known about them. The softening is 1/50
// of the mean distance between neighbours, from the root-mean-square radius. The step is dt =
// sqrt(eps / (20 a)) with the largest acceleration a of the start (Power et al. 2003, with 2 eta =
// 1/20), or a hundredth of the time in which a body crosses the radius when there is no force.
double suggested_softening(const Bodies& bodies);
double suggested_dt(const Bodies& bodies, const kernels::NbodyOptions& force, const Stream& stream);

// 2K / |U|: 1 for a system in equilibrium, below 1 for one that is about to collapse.
double virial_ratio(const kernels::NbodyTotals& totals);

// How far `now` has moved from `before`. Energy: relative to its value before. Momentum and angular
// momentum: the length of the difference over the largest value that bodies with this mass, kinetic
// energy and moment of inertia could have, sqrt(2 K M) and sqrt(2 K I).
struct NbodyDrift {
  double energy = 0, momentum = 0, angular_momentum = 0;
};
NbodyDrift drift(const kernels::NbodyTotals& before, const kernels::NbodyTotals& now,
                 const MassSums& sums);
bool is_finite(const kernels::NbodyTotals& totals);

// The centre of mass since a start with these sums: the length of its way, and the distance to
// where its first velocity leads it in this time. Without outer forces it moves in a straight line.
struct CentreMotion {
  double moved = 0, off = 0;
};
CentreMotion centre_motion(const MassSums& start, const double (&centre)[3], double time);

}  // namespace weft::models
