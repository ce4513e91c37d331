// SPDX-License-Identifier: MIT
// Gravity on the CPU: the two loops, on any scalar type. In double it is the tests' oracle.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/extent.h"
#include "kernels/isa.h"
#include "kernels/nbody/cpu/table.h"
#include "kernels/nbody/nbody.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

template <class T>
void nbody_naive(T* acceleration, const T* bodies, std::int64_t n, T softening2, T gravity) {
#pragma omp parallel for schedule(static) if (n >= 128)
  for (std::int64_t i = 0; i < n; ++i) {
    const T* self = bodies + 4 * i;
    T ax = 0, ay = 0, az = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const T* other = bodies + 4 * j;
      const T dx = other[0] - self[0], dy = other[1] - self[1], dz = other[2] - self[2];
      const T inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening2);
      const T weight = (other[3] * inverse) * (inverse * inverse);
      ax += weight * dx, ay += weight * dy, az += weight * dz;
    }
    T* out = acceleration + 4 * i;
    out[0] = gravity * ax, out[1] = gravity * ay, out[2] = gravity * az, out[3] = 0;
  }
}

template <class T>
void nbody_advance(T* bodies, T* velocity, const T* acceleration, std::int64_t n, T kick, T drift) {
#pragma omp parallel for schedule(static) if (n >= 16384)
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t axis = 4 * i; axis < 4 * i + 3; ++axis) {
      velocity[axis] += kick * acceleration[axis];
      bodies[axis] += drift * velocity[axis];
    }
  }
}

inline void nbody_advance_wide(double* position, double* velocity, float* bodies,
                               const float* acceleration, std::int64_t n, double kick,
                               double drift) {
#pragma omp parallel for schedule(static) if (n >= 16384)
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t axis = 4 * i; axis < 4 * i + 3; ++axis) {
      velocity[axis] += kick * static_cast<double>(acceleration[axis]);
      position[axis] += drift * velocity[axis];
    }
    if (drift == 0) continue;
    for (std::int64_t k = 4 * i; k < 4 * i + 4; ++k) bodies[k] = static_cast<float>(position[k]);
  }
}

namespace detail {

// How many pairs count as body i's: those with as many bodies after it, on the ring of n bodies, so
// that each pair counts once and all bodies have the same work.
inline std::int64_t pairs_of(std::int64_t i, std::int64_t n) {
  return (n - 1) / 2 + (n % 2 == 0 && i < n / 2 ? 1 : 0);
}

// pairs[i - begin] += the sum of mass[j] / sqrt(distance^2 + eps^2) over the pairs of the bodies i
// in [begin, end), for j in [first, first + kNbodyChunk), where body 0 is n too. One transposed
// copy of the bodies j serves the whole chunk with vectors of loads.
template <class T>
void add_potentials(double* pairs, const T* bodies, std::int64_t n, std::int64_t begin,
                    std::int64_t end, std::int64_t first, double softening2) {
  double xs[kNbodyChunk], ys[kNbodyChunk], zs[kNbodyChunk], masses[kNbodyChunk];
  const std::int64_t past = end + n / 2 - first, count = past < kNbodyChunk ? past : kNbodyChunk;
  for (std::int64_t k = 0; k < count; ++k) {
    const T* other = bodies + 4 * (first + k < n ? first + k : first + k - n);
    xs[k] = other[0], ys[k] = other[1], zs[k] = other[2], masses[k] = other[3];
  }
  for (std::int64_t i = begin; i < end; ++i) {
    const double x = bodies[4 * i], y = bodies[4 * i + 1], z = bodies[4 * i + 2];
    const std::int64_t next = i + 1 - first, last = next + pairs_of(i, n);
    const std::int64_t low = next < 0 ? 0 : next, high = last < count ? last : count;
    double part = 0;
#pragma omp simd reduction(+ : part)
    for (std::int64_t k = low; k < high; ++k) {
      const double dx = xs[k] - x, dy = ys[k] - y, dz = zs[k] - z;
      part += masses[k] / std::sqrt(dx * dx + dy * dy + dz * dz + softening2);
    }
    pairs[i - begin] += part;
  }
}

}  // namespace detail

// All is computed in double. Sums over chunks of kNbodyChunk bodies are added in order: the number
// of threads does not matter. `velocity` is that of the range.
template <class T>  // float or double: how the bodies are stored
void nbody_totals(double* totals, const T* bodies, const T* velocity, std::int64_t n,
                  const NbodyRange& range, double softening2, double gravity, double* scratch) {
  const std::int64_t chunks = divide_up(range.count, kNbodyChunk), last = range.first + range.count;
#pragma omp parallel for schedule(dynamic) if (n >= 128)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    double sums[kNbodyTotals] = {}, potentials[kNbodyChunk] = {};
    const std::int64_t begin = range.first + chunk * kNbodyChunk;
    const std::int64_t end = last - begin < kNbodyChunk ? last : begin + kNbodyChunk;
    for (std::int64_t first = begin + 1; first < end + n / 2; first += kNbodyChunk) {
      detail::add_potentials(potentials, bodies, n, begin, end, first, softening2);
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const double x = bodies[4 * i], y = bodies[4 * i + 1], z = bodies[4 * i + 2];
      const double mass = bodies[4 * i + 3];
      const T* speed = velocity + 4 * (i - range.first);
      const double vx = speed[0], vy = speed[1], vz = speed[2];
      const double terms[kNbodyTotals] = {0.5 * mass * (vx * vx + vy * vy + vz * vz),
                                          -gravity * mass * potentials[i - begin],
                                          mass * vx,
                                          mass * vy,
                                          mass * vz,
                                          mass * (y * vz - z * vy),
                                          mass * (z * vx - x * vz),
                                          mass * (x * vy - y * vx)};
      for (std::int64_t k = 0; k < kNbodyTotals; ++k) sums[k] += terms[k];
    }
    for (std::int64_t k = 0; k < kNbodyTotals; ++k) scratch[chunk * kNbodyTotals + k] = sums[k];
  }
  for (std::int64_t k = 0; k < kNbodyTotals; ++k) {
    totals[k] = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      totals[k] += scratch[chunk * kNbodyTotals + k];
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
