// SPDX-License-Identifier: MIT
// Leapfrog steps of a few bodies on the CPU, all in double.
//
// A pair is computed once and moves both of its bodies, so the momentum is kept to rounding. The
// bodies lie in arrays of their own for each coordinate, which the compiler turns into vectors.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/isa.h"
#include "kernels/nbody/nbody.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// Up to kNbodyFew bodies: [axis][body].
struct FewBodies {
  double x[3][kNbodyFew], v[3][kNbodyFew], a[3][kNbodyFew];
  double pull[kNbodyFew];  // G times the mass
};

// The accelerations of the first n bodies.
inline void accelerate(FewBodies& bodies, std::int64_t n, double softening2) {
  double *ax = bodies.a[0], *ay = bodies.a[1], *az = bodies.a[2];
  const double *x = bodies.x[0], *y = bodies.x[1], *z = bodies.x[2], *pull = bodies.pull;
  for (std::int64_t i = 0; i < n; ++i) ax[i] = ay[i] = az[i] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum_x = 0, sum_y = 0, sum_z = 0;
#pragma omp simd reduction(+ : sum_x, sum_y, sum_z)
    for (std::int64_t j = i + 1; j < n; ++j) {
      const double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const double inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening2);
      const double weight = inverse * inverse * inverse;
      const double of_j = pull[j] * weight, of_i = pull[i] * weight;
      sum_x += of_j * dx, sum_y += of_j * dy, sum_z += of_j * dz;
      ax[j] -= of_i * dx, ay[j] -= of_i * dy, az[j] -= of_i * dz;
    }
    ax[i] += sum_x, ay[i] += sum_y, az[i] += sum_z;
  }
}

// v += kick * a, then x += drift * v.
inline void advance(FewBodies& bodies, std::int64_t n, double kick, double drift) {
  for (int axis = 0; axis < 3; ++axis) {
    double *x = bodies.x[axis], *v = bodies.v[axis];
    const double* a = bodies.a[axis];
    for (std::int64_t i = 0; i < n; ++i) {
      v[i] += kick * a[i];
      x[i] += drift * v[i];
    }
  }
}

}  // namespace detail

// 0 < n <= kNbodyFew.
inline void nbody_few_steps(double* position, double* velocity, std::int64_t n, std::int64_t steps,
                            double dt, double softening2, double gravity) {
  detail::FewBodies bodies;
  for (std::int64_t i = 0; i < n; ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      bodies.x[axis][i] = position[4 * i + axis];
      bodies.v[axis][i] = velocity[4 * i + axis];
    }
    bodies.pull[i] = gravity * position[4 * i + 3];
  }
  for (std::int64_t step = 0;; ++step) {
    detail::accelerate(bodies, n, softening2);
    if (step > 0) detail::advance(bodies, n, dt / 2, 0);
    if (step == steps) break;
    detail::advance(bodies, n, dt / 2, dt);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      position[4 * i + axis] = bodies.x[axis][i];
      velocity[4 * i + axis] = bodies.v[axis][i];
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
