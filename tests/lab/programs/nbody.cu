// SPDX-License-Identifier: MIT
// Gravity between all pairs of bodies, in tiles of float4; momentum stays what it was.
// prints: 128 bodies, 3 steps: momentum is kept
#include <cmath>
#include <cstdio>
#include <vector>

#define TILE 64
#define SOFTENING 0.01f

__device__ float3 operator+(const float3& a, const float3& b) {
  return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
__device__ float3 interaction(float4 me, float4 other) {
  const float3 r = make_float3(other.x - me.x, other.y - me.y, other.z - me.z);
  const float inverse = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING);
  const float s = other.w * inverse * inverse * inverse;
  return {r.x * s, r.y * s, r.z * s};
}

__global__ void accelerate(const float4* __restrict__ bodies, float3* velocity, int n, float dt) {
  __shared__ float4 tile[TILE];
  const int i = blockIdx.x * TILE + threadIdx.x;
  const float4 me = bodies[i];
  float3 sum = make_float3(0, 0, 0);
  for (int begin = 0; begin < n; begin += TILE) {
    tile[threadIdx.x] = bodies[begin + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum = sum + interaction(me, tile[j]);
    __syncthreads();
  }
  velocity[i].x += dt * sum.x;
  velocity[i].y += dt * sum.y;
  velocity[i].z += dt * sum.z;
}
__global__ void move(float4* bodies, const float3* velocity, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bodies[i].x += dt * velocity[i].x;
  bodies[i].y += dt * velocity[i].y;
  bodies[i].z += dt * velocity[i].z;
}

int main() {
  const int n = 128;
  std::vector<float4> bodies(n);
  for (int i = 0; i < n; ++i) {
    bodies[i] = make_float4(cosf(i), sinf(i * 2.0f), cosf(i * 3.0f), 1.0f + i % 3);
  }
  float4* d_bodies;
  float3* d_velocity;
  cudaMalloc(&d_bodies, n * sizeof(float4));
  cudaMalloc(&d_velocity, n * sizeof(float3));
  cudaMemcpy(d_bodies, bodies.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  cudaMemset(d_velocity, 0, n * sizeof(float3));
  for (int step = 0; step < 3; ++step) {
    accelerate<<<n / TILE, TILE>>>(d_bodies, d_velocity, n, 0.01f);
    move<<<n / TILE, TILE>>>(d_bodies, d_velocity, 0.01f);
  }
  std::vector<float3> velocity(n);
  cudaMemcpy(velocity.data(), d_velocity, n * sizeof(float3), cudaMemcpyDeviceToHost);
  double momentum = 0, speed = 0;
  for (int i = 0; i < n; ++i) {
    momentum += bodies[i].w * (velocity[i].x + velocity[i].y + velocity[i].z);
    speed += fabs(velocity[i].x);
  }
  const bool kept = fabs(momentum) < 1e-3 && speed > 1;
  printf("%d bodies, 3 steps: momentum is %s\n", n, kept ? "kept" : "lost");
  cudaFree(d_bodies);
  cudaFree(d_velocity);
  return !kept;
}
