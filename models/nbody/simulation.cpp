// SPDX-License-Identifier: MIT
#include "models/nbody/simulation.h"

#include <algorithm>
#include <cmath>

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
      const double x = static_cast<double>(bodies.position[i + axis]);
      sum[axis] += x;
      squares += x * x;
    }
  }
  const double mean = length(sum) / n;
  return std::sqrt(std::max(0.0, squares / n - mean * mean));
}

// The bodies that this rank moves.
kernels::NbodyRange moved(kernels::NbodySplit split, const distributed::Communicator& ranks,
                          std::int64_t n) {
  if (split == kernels::NbodySplit::pairs) return {0, n};
  const distributed::Share share = ranks.share_of(n);
  return {share.first, share.count};
}

std::span<const float> quads(const std::vector<float>& values, const kernels::NbodyRange& range) {
  return std::span(values).subspan(static_cast<std::size_t>(4 * range.first),
                                   static_cast<std::size_t>(4 * range.count));
}

float in_float_range(double value, double low, double high) {
  return static_cast<float>(std::isfinite(value) ? std::clamp(value, low, high) : high);
}

}  // namespace

void check_step(const Bodies& bodies, const NbodyStep& step) {
  const std::size_t n = bodies.group.size();
  if (n == 0 || bodies.position.size() != 4 * n || bodies.velocity.size() != 4 * n) {
    throw Error(ErrorKind::usage,
                str("NbodySimulation: expected n > 0 bodies with 4 n positions and 4 n velocities, "
                    "found ",
                    n, ", ", bodies.position.size(), " and ", bodies.velocity.size()));
  }
  if (!std::isfinite(step.dt)) throw Error(ErrorKind::usage, "NbodySimulation: dt is not finite");
  float heaviest = 0;
  for (std::size_t i = 0; i < n; ++i) heaviest = std::max(heaviest, bodies.position[4 * i + 3]);
  const float eps = step.force.softening;
  if (!std::isfinite(heaviest / eps / eps / eps * std::max(1.0f, step.force.gravity))) {
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
      split_(kernels::nbody_split(step.force.variant, problem(), stream.device())),
      own_(moved(split_, ranks, count())),
      position_(tensor_from_host<float>(Shape{count(), 4}, bodies.position, stream)),
      velocity_(
          tensor_from_host<float>(Shape{own_.count, 4}, quads(bodies.velocity, own_), stream)),
      acceleration_(Shape{own_.count, 4}, DType::f32, stream),
      totals_(Shape{kernels::kNbodyTotals}, DType::f64, stream),
      workspace_(kernels::nbody_workspace_bytes(problem(), step.force.variant, stream.device()),
                 stream) {
  step_.force.variant = kernels::rung_name("nbody", step.force.variant);  // not the caller's view
  accelerate();
  one_step_.emplace(stream_, [this] {
    move(step_.dt / 2, step_.dt);
    accelerate();
    move(step_.dt / 2, 0);
  });
}

void NbodySimulation::move(float kick, float drift) {
  kernels::nbody_advance(position_.data<float>() + 4 * own_.first, velocity_.data<float>(),
                         acceleration_.data<float>(), own_.count, kick, drift, stream_);
}

// From the positions of the bodies that this rank moves.
void NbodySimulation::accelerate() {
  float *acceleration = acceleration_.data<float>(), *position = position_.data<float>();
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
  for (std::int64_t i = 0; i < steps; ++i) one_step_->launch();
}

kernels::NbodyTotals NbodySimulation::totals() {
  const distributed::Share share = ranks_.share_of(count());
  kernels::nbody_totals_part(totals_.data<double>(), position_.data<float>(),
                             velocity_.data<float>() + 4 * (share.first - own_.first), problem(),
                             {share.first, share.count}, step_.force, workspace(), stream_);
  std::vector<double> values = to_host(totals_.view<double>(), stream_);
  ranks_.all_reduce(std::span<double>(values));
  return {
      values[0], values[1], {values[2], values[3], values[4]}, {values[5], values[6], values[7]}};
}

Bodies NbodySimulation::bodies() const {
  Bodies bodies;
  bodies.position = to_host(position_.view<float>(), stream_);
  Tensor velocity(position_.shape(), DType::f32, stream_);
  float* own = velocity.data<float>() + 4 * own_.first;
  copy_bytes(own, velocity.device(), velocity_.raw(), velocity.device(), velocity_.bytes(),
             stream_);
  if (own_.count < count()) ranks_.all_gather(velocity.data<float>(), 4 * count(), 4, stream_);
  bodies.velocity = to_host(velocity.view<float>(), stream_);
  bodies.group = group_;
  return bodies;
}

float suggested_softening(const Bodies& bodies) {
  const double n = static_cast<double>(std::max<std::int64_t>(bodies.count(), 1));
  const double radius = extent(bodies);
  return in_float_range(radius > 0 ? 0.02 * radius / std::cbrt(n) : 0.01, 1e-12, 1e12);
}

float suggested_dt(const Bodies& bodies, const kernels::NbodyOptions& force, const Stream& stream) {
  const std::int64_t n = bodies.count();
  const Tensor position = tensor_from_host<float>(Shape{n, 4}, bodies.position, stream);
  Tensor acceleration(Shape{n, 4}, DType::f32, stream);
  const Buffer scratch(kernels::nbody_workspace_bytes(n, force.variant, stream.device()), stream);
  kernels::nbody_accelerations(acceleration.data<float>(), position.data<float>(), n, force,
                               {scratch.data(), scratch.bytes()}, stream);
  double largest = 0, fastest = 0;
  const std::vector<float> host = to_host(acceleration.view<float>(), stream);
  for (std::size_t i = 0; i < host.size(); i += 4) {
    const float* v = bodies.velocity.data() + i;
    const double a[3] = {double{host[i]}, double{host[i + 1]}, double{host[i + 2]}};
    const double speed[3] = {double{v[0]}, double{v[1]}, double{v[2]}};
    largest = std::max(largest, length(a));
    fastest = std::max(fastest, length(speed));
  }
  double dt = 0.01;
  if (largest > 0) {
    dt = std::sqrt(static_cast<double>(force.softening) / (20 * largest));
  } else if (fastest > 0 && n > 1) {
    dt = 0.01 * extent(bodies) / fastest;
  }
  return in_float_range(dt, 1e-30, 1e30);
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

bool is_finite(const kernels::NbodyTotals& totals) {
  double sum = totals.kinetic + totals.potential;
  for (int axis = 0; axis < 3; ++axis) {
    sum += totals.momentum[axis] + totals.angular_momentum[axis];
  }
  return std::isfinite(sum);
}

}  // namespace weft::models
