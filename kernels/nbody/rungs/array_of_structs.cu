// SPDX-License-Identifier: MIT
// N-body, rung "array_of_structs": bodies as a program without a GPU in mind keeps them.
//
// A record holds position, velocity and mass, 28 bytes. Only every fourth record starts on a
// 16-byte boundary, so the compiler must load float by float: four loads for each interaction. 12
// of the 28 bytes of a record are not used. Records are made from the quads first.
#include "engine/launch.h"
#include "kernels/nbody/parts/interaction.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

struct Body {
  float x, y, z;
  float vx, vy, vz;
  float mass;
};

__global__ void __launch_bounds__(kThreads)
    to_structs_kernel(Body* __restrict__ structs, const float4* __restrict__ bodies,
                      std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float4 body = bodies[i];
  structs[i] = {body.x, body.y, body.z, 0.0f, 0.0f, 0.0f, body.w};
}

__global__ void __launch_bounds__(kThreads)
    nbody_structs_kernel(float4* __restrict__ acceleration, const Body* __restrict__ bodies,
                         std::int64_t n, NbodyForce force) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float x = bodies[i].x, y = bodies[i].y, z = bodies[i].z;
  const float3 a = sum_of_pulls(n, [&](float3& part, std::int64_t j) {
    pull_plain(part, bodies[j].x - x, bodies[j].y - y, bodies[j].z - z, bodies[j].mass,
               force.softening2);
  });
  acceleration[i] = finished(a, force.gravity);
}

}  // namespace

void nbody_array_of_structs(float* acceleration, const float* bodies, std::int64_t n,
                            const NbodyForce& force, void* workspace, const Stream& stream) {
  Body* structs = static_cast<Body*>(workspace);  // (n,)
  const Launch config{blocks_for(n, kThreads), kThreads, 0, stream};
  launch(to_structs_kernel, config, structs, reinterpret_cast<const float4*>(bodies), n);
  launch(nbody_structs_kernel, config, reinterpret_cast<float4*>(acceleration), structs, n, force);
}

}  // namespace weft::kernels::cuda
