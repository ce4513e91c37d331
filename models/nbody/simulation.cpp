// SPDX-License-Identifier: MIT
#include "models/nbody/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "kernels/catalogue.h"

namespace weft::models {
namespace {

// For a constructor that must not allocate before it has checked.
const Bodies& checked(const Bodies& bodies, const NbodyStep& step) {
  check_step(bodies, step);
  return bodies;
}

double length(const double* v) {
  return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

double change(const double* before, const double* now) {
  const double difference[3] = {now[0] - before[0], now[1] - before[1], now[2] - before[2]};
  return length(difference);
}

double ratio(double value, double scale) {
  return value == 0 ? 0 : value / scale;
}

// Root of the mean squared distance from the mean position: masses do not matter.
double extent(const Bodies& bodies) {
  const double n = static_cast<double>(bodies.count());
  double sum[3] = {}, squares = 0;
  for (std::size_t i = 0; i < bodies.position.size(); i += 4) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double x = bodies.position[i + axis];
      sum[axis] += x;
      squares += x * x;
    }
  }
  const double mean = length(sum) / n;
  return std::sqrt(std::max(0.0, squares / n - mean * mean));
}

// The bodies that this rank moves.
kernels::NbodyRange moved(kernels::NbodySplit split, const distributed::Communicator& ranks,
                          std::int64_t n, bool few) {
  if (few || split == kernels::NbodySplit::pairs) return {0, n};
  const distributed::Share share = ranks.share_of(n);
  return {share.first, share.count};
}

std::span<const double> quads(const std::vector<double>& values, const kernels::NbodyRange& range) {
  return std::span(values).subspan(static_cast<std::size_t>(4 * range.first),
                                   static_cast<std::size_t>(4 * range.count));
}

double in_range(double value, double low, double high) {
  return std::isfinite(value) ? std::clamp(value, low, high) : high;
}

// Positions and masses as the forces read them.
std::vector<float> rounded(const std::vector<double>& values) {
  std::vector<float> floats;
  floats.reserve(values.size());
  for (const double value : values) floats.push_back(static_cast<float>(value));
  return floats;
}

}  // namespace

bool forces_in_double(const kernels::NbodyOptions& force, std::int64_t n) {
  return force.variant == kernels::kAutomatic && n <= kernels::kNbodyFew;
}

void check_step(const Bodies& bodies, const NbodyStep& step) {
  const std::size_t n = bodies.group.size();
  if (n == 0 || bodies.position.size() != 4 * n || bodies.velocity.size() != 4 * n) {
    throw Error(ErrorKind::usage,
                str("NbodySimulation: expected n > 0 bodies with 4 n positions and 4 n velocities, "
                    "found ",
                    n, ", ", bodies.position.size(), " and ", bodies.velocity.size()));
  }
  if (!std::isfinite(step.dt)) throw Error(ErrorKind::usage, "NbodySimulation: dt is not finite");
  double heaviest = 0;
  for (std::size_t i = 0; i < n; ++i) heaviest = std::max(heaviest, bodies.position[4 * i + 3]);
  const double eps = step.force.softening;
  const double largest = heaviest / eps / eps / eps * std::max(1.0, step.force.gravity);
  if (!(largest <= static_cast<double>(std::numeric_limits<float>::max()))) {
    throw Error(ErrorKind::usage, str("the softening ", eps, " is too small for a body of mass ",
                                      heaviest, ": mass / softening^3 overflows"));
  }
}

NbodySimulation::NbodySimulation(const Bodies& bodies, const NbodyStep& step, const Stream& stream,
                                 distributed::Communicator& ranks)
    : ranks_(ranks),
      step_(step),
      stream_(stream),
      gathering_(stream),
      group_(checked(bodies, step).group),
      few_(forces_in_double(step.force, count())),
      split_(kernels::nbody_split(step.force.variant, problem(), stream.device())),
      own_(moved(split_, ranks, count(), few_)),
      position_(tensor_from_host<double>(Shape{count(), 4}, bodies.position, stream)),
      velocity_(
          tensor_from_host<double>(Shape{own_.count, 4}, quads(bodies.velocity, own_), stream)),
      rounded_(Shape{few_ ? 0 : count(), 4}, DType::f32, stream),
      acceleration_(Shape{few_ ? 0 : own_.count, 4}, DType::f32, stream),
      totals_(Shape{kernels::kNbodyTotals}, DType::f64, stream),
      workspace_(kernels::nbody_workspace_bytes(problem(), step.force.variant, stream.device()),
                 stream) {
  step_.force.variant = kernels::rung_name("nbody", step.force.variant);  // not the caller's view
  if (few_) return;
  copy_from_host(rounded_.view<float>(), rounded(bodies.position), stream);
  accelerate();
  one_step_.emplace(stream_, [this] {
    move(step_.dt / 2, step_.dt);
    accelerate();
    move(step_.dt / 2, 0);
  });
}

void NbodySimulation::move(double kick, double drift) {
  kernels::nbody_advance_wide(position_.data<double>() + 4 * own_.first, velocity_.data<double>(),
                              rounded_.data<float>() + 4 * own_.first, acceleration_.data<float>(),
                              own_.count, kick, drift, stream_);
}

// From the rounded positions of the bodies that this rank moves.
void NbodySimulation::accelerate() {
  float *acceleration = acceleration_.data<float>(), *position = rounded_.data<float>();
  const std::int64_t n = count();
  if (ranks_.size() == 1) {
    return kernels::nbody_accelerations(acceleration, position, n, step_.force, workspace(),
                                        stream_);
  }
  if (split_ == kernels::NbodySplit::pairs) {
    kernels::nbody_pairs(acceleration, position, problem(), ranks_.rank(), step_.force, workspace(),
                         stream_);
    return ranks_.all_reduce(acceleration, 4 * n, stream_);
  }
  const auto pulls_of = [&](const kernels::NbodyRange& sources, kernels::GradientMode mode) {
    kernels::nbody_part(acceleration, position, problem(), {own_, sources, mode}, step_.force,
                        workspace(), stream_);
  };
  ranks_.all_gather(position, 4 * n, 4, gathering_.fork());
  if (stream_.device().is_cpu()) {  // nothing overlaps, and one sum has the bits of one rank
    return pulls_of({0, n}, kernels::GradientMode::overwrite);
  }
  pulls_of(own_, kernels::GradientMode::overwrite);
  gathering_.join();
  pulls_of({own_.first + own_.count, n - own_.count}, kernels::GradientMode::accumulate);
}

void NbodySimulation::advance(std::int64_t steps) {
  if (few_) {
    return kernels::nbody_few_steps(position_.data<double>(), velocity_.data<double>(), count(),
                                    steps, step_.dt, step_.force, stream_);
  }
  for (std::int64_t i = 0; i < steps; ++i) one_step_->launch();
}

void NbodySimulation::gather_positions() {
  if (own_.count < count()) ranks_.all_gather(position_.data<double>(), 4 * count(), 4, stream_);
}

// A few bodies are those of the first rank, whatever the processors of the others are.
kernels::NbodyTotals NbodySimulation::totals() {
  gather_positions();
  const distributed::Share share = ranks_.share_of(count());
  const kernels::NbodyRange part = !few_ ? kernels::NbodyRange{share.first, share.count}
                                   : ranks_.is_first() ? kernels::NbodyRange{0, count()}
                                                       : kernels::NbodyRange{};
  kernels::nbody_totals_wide(totals_.data<double>(), position_.data<double>(),
                             velocity_.data<double>() + 4 * (part.first - own_.first), problem(),
                             part, step_.force, workspace(), stream_);
  std::vector<double> values = to_host(totals_.view<double>(), stream_);
  ranks_.all_reduce(std::span<double>(values));
  return {
      values[0], values[1], {values[2], values[3], values[4]}, {values[5], values[6], values[7]}};
}

Bodies NbodySimulation::bodies() {
  gather_positions();
  Bodies bodies;
  bodies.position = to_host(position_.view<double>(), stream_);
  Tensor velocity(position_.shape(), DType::f64, stream_);
  double* own = velocity.data<double>() + 4 * own_.first;
  copy_bytes(own, velocity.device(), velocity_.raw(), velocity.device(), velocity_.bytes(),
             stream_);
  if (own_.count < count()) ranks_.all_gather(velocity.data<double>(), 4 * count(), 4, stream_);
  bodies.velocity = to_host(velocity.view<double>(), stream_);
  bodies.group = group_;
  return bodies;
}

double suggested_softening(const Bodies& bodies) {
  const double n = static_cast<double>(std::max<std::int64_t>(bodies.count(), 1));
  const double radius = extent(bodies);
  return in_range(radius > 0 ? 0.02 * radius / std::cbrt(n) : 0.01, 1e-12, 1e12);
}

double suggested_dt(const Bodies& bodies, const kernels::NbodyOptions& force,
                    const Stream& stream) {
  const std::int64_t n = bodies.count();
  const Tensor position = tensor_from_host<float>(Shape{n, 4}, rounded(bodies.position), stream);
  Tensor acceleration(Shape{n, 4}, DType::f32, stream);
  const Buffer scratch(kernels::nbody_workspace_bytes(n, force.variant, stream.device()), stream);
  kernels::nbody_accelerations(acceleration.data<float>(), position.data<float>(), n, force,
                               {scratch.data(), scratch.bytes()}, stream);
  double largest = 0, fastest = 0;
  const std::vector<float> host = to_host(acceleration.view<float>(), stream);
  for (std::size_t i = 0; i < host.size(); i += 4) {
    const double a[3] = {double{host[i]}, double{host[i + 1]}, double{host[i + 2]}};
    largest = std::max(largest, length(a));
    fastest = std::max(fastest, length(bodies.velocity.data() + i));
  }
  double dt = 0.01;
  if (largest > 0) {
    dt = std::sqrt(force.softening / (20 * largest));
  } else if (fastest > 0 && n > 1) {
    dt = 0.01 * extent(bodies) / fastest;
  }
  return in_range(dt, 1e-30, 1e30);
}

double virial_ratio(const kernels::NbodyTotals& totals) {
  return ratio(2 * totals.kinetic, std::fabs(totals.potential));
}

NbodyDrift drift(const kernels::NbodyTotals& before, const kernels::NbodyTotals& now,
                 const MassSums& sums) {
  const double kinetic = std::max(before.kinetic, now.kinetic);
  const double energy = before.energy() == 0 ? kinetic : std::fabs(before.energy());
  return {ratio(now.energy() - before.energy(), energy),
          ratio(change(before.momentum, now.momentum), std::sqrt(2 * kinetic * sums.mass)),
          ratio(change(before.angular_momentum, now.angular_momentum),
                std::sqrt(2 * kinetic * sums.inertia))};
}

CentreMotion centre_motion(const MassSums& start, const double (&centre)[3], double time) {
  double expected[3];
  for (int axis = 0; axis < 3; ++axis) {
    expected[axis] = start.centre[axis] + time * start.velocity[axis];
  }
  return {change(start.centre, centre), change(expected, centre)};
}

bool is_finite(const kernels::NbodyTotals& totals) {
  double sum = totals.kinetic + totals.potential;
  for (int axis = 0; axis < 3; ++axis) {
    sum += totals.momentum[axis] + totals.angular_momentum[axis];
  }
  return std::isfinite(sum);
}

}  // namespace weft::models
