// SPDX-License-Identifier: MIT
// Gravity on the CPU, rung "struct_of_arrays": vectors of bodies.
//
// With x, y, z and mass in arrays of their own, one load brings a vector of any of them. A pass
// over all j serves kBodies bodies i, each with three vectors of partial sums; lanes are added at
// the end, in order. Included by cpu/instances.cpp only (see kernels/simd.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/extent.h"
#include "kernels/simd.h"
#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// 1 / sqrt(v) for normal v. The hardware's estimate is good to 2^-14 (AVX-512) or 1.5 * 2^-12; a
// Newton step squares that, times 1.5: relative error below 2e-7 with AVX-512, 4e-7 otherwise.
inline FloatVector reciprocal_sqrt(FloatVector v) {
#if defined(__AVX512F__)
  const FloatVector y = _mm512_maskz_rsqrt14_ps(0xffff, v);  // plain form: false alarm of GCC 12
#elif defined(__AVX__)
  const FloatVector y = _mm256_rsqrt_ps(v);
#elif defined(__SSE__)
  const FloatVector y = _mm_rsqrt_ps(v);
#else
  FloatVector exact;
  for (int lane = 0; lane < kLanes; ++lane) exact[lane] = 1.0f / std::sqrt(v[lane]);
  return exact;
#endif
#if defined(__SSE__)
  const FloatVector error = 1.0f - (v * y) * y;
  return y + (0.5f * y) * error;
#endif
}

inline float sum_of_lanes(FloatVector v) {
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += v[lane];
  return sum;
}

// Accelerations of kBodies targets. `arrays`: x, y, z and mass of the sources, `stride` floats
// each.
template <int kBodies>
inline void accelerate(float* acceleration,   // (kBodies, 4)
                       const float* targets,  // (kBodies, 4)
                       const float* arrays, std::int64_t stride, float softening2, float gravity,
                       bool add) {
  const float *xs = arrays, *ys = xs + stride, *zs = ys + stride, *masses = zs + stride;
  FloatVector x[kBodies], y[kBodies], z[kBodies];
  FloatVector ax[kBodies] = {}, ay[kBodies] = {}, az[kBodies] = {};
  for (int b = 0; b < kBodies; ++b) {
    x[b] = simd::broadcast(targets[4 * b]);
    y[b] = simd::broadcast(targets[4 * b + 1]);
    z[b] = simd::broadcast(targets[4 * b + 2]);
  }
  const FloatVector epsilon2 = simd::broadcast(softening2);
  for (std::int64_t j = 0; j < stride; j += kLanes) {
    const FloatVector xj = simd::load(xs + j), yj = simd::load(ys + j), zj = simd::load(zs + j);
    const FloatVector mass = simd::load(masses + j);
#pragma GCC unroll 4
    for (int b = 0; b < kBodies; ++b) {
      const FloatVector dx = xj - x[b], dy = yj - y[b], dz = zj - z[b];
      const FloatVector inverse = reciprocal_sqrt(dx * dx + (dy * dy + (dz * dz + epsilon2)));
      const FloatVector weight = (mass * inverse) * (inverse * inverse);
      ax[b] += weight * dx;
      ay[b] += weight * dy;
      az[b] += weight * dz;
    }
  }
  for (int b = 0; b < kBodies; ++b) {
    float* out = acceleration + 4 * b;
    const float sums[3] = {sum_of_lanes(ax[b]), sum_of_lanes(ay[b]), sum_of_lanes(az[b])};
    for (int axis = 0; axis < 3; ++axis) {
      const float value = gravity * sums[axis];
      out[axis] = add ? out[axis] + value : value;
    }
    out[3] = 0;
  }
}

inline std::int64_t padded(std::int64_t n) {
  return round_up(n, kLanes);
}

}  // namespace detail

inline std::int64_t nbody_struct_of_arrays_scratch(std::int64_t sources) {
  return 4 * detail::padded(sources);
}

// `scratch` holds nbody_struct_of_arrays_scratch(sources) floats. Lanes past the sources are bodies
// without mass.
inline void nbody_struct_of_arrays(float* acceleration, const float* bodies, std::int64_t n,
                                   const NbodyPart& part, float softening2, float gravity,
                                   float* scratch) {
  constexpr int kBodies = kLanes == 16 ? 4 : 2;  // what the 32 or 16 vector registers hold
  const std::int64_t sources = part.sources.count, stride = detail::padded(sources);
  for (std::int64_t k = 0; k < stride; ++k) {
    const std::int64_t past = part.sources.first + k, j = past < n ? past : past - n;
    for (int axis = 0; axis < 4; ++axis) {
      scratch[axis * stride + k] = k < sources ? bodies[4 * j + axis] : 0.0f;
    }
  }
  const float* targets = bodies + 4 * part.targets.first;
  const std::int64_t count = part.targets.count, groups = count / kBodies;
  const bool add = part.mode == GradientMode::accumulate;
#pragma omp parallel if (count >= 256)
  {
#pragma omp for schedule(static) nowait
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t i = 4 * group * kBodies;
      detail::accelerate<kBodies>(acceleration + i, targets + i, scratch, stride, softening2,
                                  gravity, add);
    }
#pragma omp for schedule(static) nowait
    for (std::int64_t i = groups * kBodies; i < count; ++i) {
      detail::accelerate<1>(acceleration + 4 * i, targets + 4 * i, scratch, stride, softening2,
                            gravity, add);
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
