// SPDX-License-Identifier: MIT
#include "models/nbody/starts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "engine/random.h"

namespace weft::models {
namespace {

constexpr double kPi = std::numbers::pi;
using Vector = std::array<double, 3>;

// The random numbers of one body, as many as it wants.
class Draw {
 public:
  Draw(std::uint64_t seed, std::int64_t body)
      : seed_(seed), index_(static_cast<std::uint64_t>(body) << 20) {}

  double uniform() {  // in (0, 1)
    if (used_ == 2) {
      bits_ = philox(seed_, RandomStream::data, kSubstream, index_++);
      used_ = 0;
    }
    const std::uint64_t high = bits_.value[2 * used_] >> 6, low = bits_.value[2 * used_ + 1] >> 6;
    ++used_;
    return (static_cast<double>((high << 26) | low) + 0.5) * 0x1p-52;
  }
  double normal() {  // Box and Muller
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * kPi * uniform());
  }
  Vector direction() {
    const double z = 1 - 2 * uniform(), angle = 2 * kPi * uniform();
    const double radius = std::sqrt(1 - z * z);
    return {radius * std::cos(angle), radius * std::sin(angle), z};
  }

 private:
  static constexpr std::uint32_t kSubstream = 0x424f4459;  // no other user of the seed draws here

  std::uint64_t seed_, index_;
  Random4 bits_{};
  int used_ = 2;
};

struct Body {
  Vector x{}, v{};
};

void check_count(const char* where, std::int64_t n) {
  if (n >= 1 && n <= kMaxBodies) return;
  throw Error(ErrorKind::usage, str(where, ": expected 1 to ", kMaxBodies, " bodies, found ", n));
}

void store(Bodies& bodies, std::int64_t index, const Body& body, double mass, int group) {
  const std::size_t i = static_cast<std::size_t>(index);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    bodies.position[4 * i + axis] = body.x[axis];
    bodies.velocity[4 * i + axis] = body.v[axis];
  }
  bodies.position[4 * i + 3] = mass;
  bodies.group[i] = static_cast<float>(group);
}

// A body of the Plummer sphere with G = M = a = 1.
Body plummer_body(Draw& draw) {
  constexpr double kMassKept = 0.999;
  const double radius = 1 / std::sqrt(std::pow(kMassKept * draw.uniform(), -2.0 / 3) - 1);
  // q is the speed over the escape speed; its density q^2 (1 - q^2)^(7/2) stays below 0.1.
  double q = 0;
  do {
    q = draw.uniform();
  } while (0.1 * draw.uniform() > q * q * std::pow(1 - q * q, 3.5));
  const double speed = q * std::numbers::sqrt2 * std::pow(1 + radius * radius, -0.25);
  Body body{draw.direction(), draw.direction()};
  for (std::size_t axis = 0; axis < 3; ++axis) body.x[axis] *= radius, body.v[axis] *= speed;
  return body;
}

double length_of(const Vector& x) {
  return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

// Mass, speed and frequencies of a galaxy as functions of the radius; see GalaxyOptions.
class Galaxy {
 public:
  Galaxy(const GalaxyOptions& options, double gravity)
      : options_(options),
        gravity_(gravity),
        bulge_(options.mass * options.bulge_share),
        disc_(options.mass - bulge_) {}

  Body draw_body(Draw& draw) const {
    Body body = draw.uniform() < options_.bulge_share ? bulge_body(draw) : disc_body(draw);
    turn(body.x);
    turn(body.v);
    return body;
  }

 private:
  static constexpr double kEdge = 5;  // lengths

  // Part of an exponential disc within `x` lengths.
  static double disc_part(double x) { return 1 - std::exp(-x) * (1 + x); }

  double bulge_within(double r) const {
    const double a = options_.bulge_radius;
    return bulge_ * std::pow(r * r / (r * r + a * a), 1.5);
  }
  double within(double r) const {
    const double part = disc_part(std::min(r / options_.length, kEdge)) / disc_part(kEdge);
    return bulge_within(r) + disc_ * part;
  }
  double circular_speed(double r) const { return std::sqrt(gravity_ * within(r) / r); }

  Body bulge_body(Draw& draw) const {
    Body body = plummer_body(draw);
    const double a = options_.bulge_radius, r = a * length_of(body.x);
    const double speed = std::sqrt(gravity_ * bulge_ / a * within(r) / bulge_within(r));
    for (std::size_t axis = 0; axis < 3; ++axis) body.x[axis] *= a, body.v[axis] *= speed;
    return body;
  }

  Body disc_body(Draw& draw) const {
    const double h = options_.length, r = h * disc_radius(draw.uniform() * disc_part(kEdge));
    const double angle = 2 * kPi * draw.uniform();
    const double z = options_.height * std::atanh(2 * draw.uniform() - 1);
    const double surface = disc_ / (2 * kPi * h * h * disc_part(kEdge)) * std::exp(-r / h);
    const double speed = circular_speed(r), omega = speed / r;
    const double slope = (circular_speed(1.01 * r) - circular_speed(0.99 * r)) / (0.02 * r);
    const double kappa = std::sqrt(2 * omega * (omega + slope));
    const double sigma = options_.toomre * 3.36 * gravity_ * surface / kappa;
    const double out = sigma * draw.normal();
    const double around = speed + sigma * kappa / (2 * omega) * draw.normal();
    const double up = std::sqrt(kPi * gravity_ * surface * options_.height) * draw.normal();
    const double c = std::cos(angle), s = std::sin(angle);
    return {{r * c, r * s, z}, {out * c - around * s, out * s + around * c, up}};
  }

  // Inverse of disc_part(), by bisection.
  static double disc_radius(double part) {
    double low = 0, high = kEdge;
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      (disc_part(middle) < part ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  // Tips the disc about the x axis, then turns that axis in the plane.
  void turn(Vector& v) const {
    const double i = options_.inclination * kPi / 180, node = options_.node * kPi / 180;
    const double y = v[1] * std::cos(i) - v[2] * std::sin(i);
    const double z = v[1] * std::sin(i) + v[2] * std::cos(i), x = v[0];
    v = {x * std::cos(node) - y * std::sin(node), x * std::sin(node) + y * std::cos(node), z};
  }

  GalaxyOptions options_;
  double gravity_, bulge_, disc_;
};

// Where the second body of a Kepler orbit is, seen from the first, at `distance` on its way in.
Body orbit(const CollisionOptions& options, double mass) {
  const double e = options.eccentricity, p = options.pericentre * (1 + e);  // semi-latus rectum
  const double cosine = std::clamp((p / options.distance - 1) / e, -1.0, 1.0);
  const double sine = -std::sqrt(1 - cosine * cosine), r = p / (1 + e * cosine);
  const double speed = std::sqrt(options.gravity * mass / p);
  return {{r * cosine, r * sine, 0}, {-speed * sine, speed * (e + cosine), 0}};
}

}  // namespace

Bodies plummer_sphere(std::int64_t n, std::uint64_t seed, const PlummerOptions& options) {
  check_count("plummer_sphere", n);
  const double speed = std::sqrt(options.gravity * options.mass / options.radius);
  Bodies bodies(n);
  for (std::int64_t i = 0; i < n; ++i) {
    Draw draw(seed, i);
    Body body = plummer_body(draw);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      body.x[axis] *= options.radius;
      body.v[axis] *= speed;
    }
    store(bodies, i, body, options.mass / static_cast<double>(n), 0);
  }
  centre(bodies);
  return bodies;
}

// The smaller galaxy's lengths are those of the first times the root of the mass ratio, so that
// both have the same surface density.
CollisionOptions default_collision() {
  CollisionOptions options;
  options.first.inclination = 25;
  options.first.node = 40;
  const double mass = 0.5, scale = std::sqrt(mass);
  GalaxyOptions& second = options.second;
  second.mass = mass;
  second.bulge_radius *= scale;
  second.length *= scale;
  second.height *= scale;
  second.inclination = 60;
  second.node = -30;
  return options;
}

Bodies colliding_galaxies(std::int64_t n, std::uint64_t seed, const CollisionOptions& options) {
  check_count("colliding_galaxies", n);
  const double mass = options.first.mass + options.second.mass;
  const bool is_orbit = options.distance > 0 && options.pericentre > 0 &&
                        options.eccentricity > 0 && options.eccentricity <= 1 &&
                        options.distance >= options.pericentre;
  if (!is_orbit || !(mass > 0)) {
    throw Error(ErrorKind::usage,
                "colliding_galaxies: expected masses above 0, an eccentricity in "
                "(0, 1] and a distance not below the pericentre");
  }
  const Galaxy galaxies[] = {{options.first, options.gravity}, {options.second, options.gravity}};
  const Body apart = orbit(options, mass);
  const std::int64_t of_first = std::llround(static_cast<double>(n) * options.first.mass / mass);
  Bodies bodies(n);
  for (std::int64_t i = 0; i < n; ++i) {
    Draw draw(seed, i);
    const int group = i < of_first ? 0 : 1;
    Body body = galaxies[group].draw_body(draw);
    const double share = (group == 0 ? -options.second.mass : options.first.mass) / mass;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      body.x[axis] += share * apart.x[axis];
      body.v[axis] += share * apart.v[axis];
    }
    store(bodies, i, body, mass / static_cast<double>(n), group);
  }
  centre(bodies);
  return bodies;
}

}  // namespace weft::models
