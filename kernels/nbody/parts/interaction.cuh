// SPDX-License-Identifier: MIT
// What one body does to another, and how accelerations are stored.
#pragma once

#include "kernels/device/reciprocal_sqrt.cuh"
#include "kernels/nbody/launchers.h"

namespace weft::kernels::cuda {

// The pull of a mass at (dx, dy, dz) is added to a: 3 subtractions by the caller, then 3
// multiply-adds with eps^2 as the start of the chain, the root, 3 products, 3 multiply-adds.
__device__ __forceinline__ void pull(float3& a, float dx, float dy, float dz, float mass,
                                     float softening2) {
  const float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, softening2)));
  const float inverse = device::reciprocal_sqrt(r2);  // r2 >= eps^2 >= 1e-24 is normal
  const float weight = (mass * inverse) * (inverse * inverse);
  a.x = fmaf(weight, dx, a.x);
  a.y = fmaf(weight, dy, a.y);
  a.z = fmaf(weight, dz, a.z);
}

// (y, x, mass, z) of (x, y, z, mass), and back. The registers of a warp lie in two banks, of even
// and of odd numbers, and a quad that is loaded at once begins with an even one. With the bodies j
// stored like this, a subtraction finds x[j] in one bank and x[i] in the other.
__device__ __forceinline__ float4 exchanged(float4 quad) {
  return make_float4(quad.y, quad.x, quad.w, quad.z);
}

// As in the courses: the library's root, and eps^2 added on its own.
__device__ __forceinline__ void pull_plain(float3& a, float dx, float dy, float dz, float mass,
                                           float softening2) {
  const float distance2 = dx * dx + dy * dy + dz * dz + softening2;
  const float inverse = rsqrtf(distance2);
  const float weight = mass * (inverse * inverse * inverse);
  a.x += weight * dx;
  a.y += weight * dy;
  a.z += weight * dz;
}

// The sum of pull(part, j) for j in [0, n). Runs of 1024 are added on their own, so that rounding
// errors do not grow with the number of bodies.
template <class Pull>
__device__ __forceinline__ float3 sum_of_pulls(std::int64_t n, const Pull& pull) {
  constexpr int kRun = 1024;
  float3 total = {0, 0, 0};
  for (std::int64_t first = 0; first < n; first += kRun) {
    const int count = static_cast<int>(min(std::int64_t{kRun}, n - first));
    float3 part = {0, 0, 0};
    for (int k = 0; k < count; ++k) pull(part, first + k);
    total = make_float3(total.x + part.x, total.y + part.y, total.z + part.z);
  }
  return total;
}

__device__ __forceinline__ float4 finished(const float3& a, float gravity) {
  return make_float4(gravity * a.x, gravity * a.y, gravity * a.z, 0.0f);
}

// acceleration = value, or += when `add`.
__device__ __forceinline__ void store(float4& acceleration, float4 value, bool add) {
  if (add) {
    const float4 before = acceleration;
    value.x += before.x, value.y += before.y, value.z += before.z;
  }
  acceleration = value;
}

}  // namespace weft::kernels::cuda
