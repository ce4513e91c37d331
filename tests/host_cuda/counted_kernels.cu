// SPDX-License-Identifier: MIT
// Kernels whose memory transactions are known by hand.
#include "tests/host_cuda/counted_kernels.h"

#include "engine/launch.h"

namespace weft::test {

namespace {

// One warp reads a column of a tile whose rows are kPitch floats apart.
template <int kPitch>
__global__ void read_column(float* out) {
  __shared__ float tile[32 * kPitch];
  const int lane = static_cast<int>(threadIdx.x);
  for (int row = 0; row < 32; ++row) tile[row * kPitch + lane] = 1.0f;
  __syncthreads();
  out[lane] = tile[lane * kPitch];
}

template <int kFirst>
__global__ void add_up(float* out) {
  alignas(16) __shared__ float tile[32];
  const int lane = static_cast<int>(threadIdx.x);
  tile[lane] = 1.0f;
  __syncthreads();
  float sum = 0;
  for (int i = kFirst; i < (kFirst == 0 ? 32 : 8); ++i) sum += tile[i];
  out[lane] = sum;
}

__global__ void read_strided(float* out, const float* x, int stride) {
  out[threadIdx.x] = x[threadIdx.x * stride];
}

__global__ void read_in_a_branch(float* out, const float* x) {
  if (threadIdx.x % 4 == 0) out[threadIdx.x] = x[0];
}

__global__ void add_to_bins(int* bins, int count) {
  atomicAdd(&bins[threadIdx.x % count], 1);
}

__global__ void add_one_to_vectors(float4* y, const float4* x) {
  const float4 v = x[threadIdx.x];
  y[threadIdx.x] = {v.x + 1, v.y + 1, v.z + 1, v.w + 1};
}

// Lane l reads vector l / kSharing * kStride of shared memory.
template <class T, int kSharing, int kStride>
__global__ void read_shared_vectors(float* out) {
  __shared__ T tile[32 * kStride];
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 32 * kStride; i += 32) tile[i] = T{};
  __syncwarp();
  const T mine = tile[lane / kSharing * kStride];
  out[lane] = mine.x + mine.y;
}

// The tree of Blelloch's scan on the way down, over 64 values.
__global__ void sweep_down(float* out) {
  __shared__ float values[64];
  const int t = static_cast<int>(threadIdx.x);
  values[t] = values[t + 32] = 1.0f;
  for (int pairs = 1, offset = 32; pairs < 64; pairs *= 2, offset /= 2) {
    __syncthreads();
    if (t < pairs) values[offset * (2 * t + 2) - 1] += values[offset * (2 * t + 1) - 1];
  }
  __syncthreads();
  out[t] = values[t];
}

// In trip i lane i does nothing.
__global__ void skip_a_trip_each(float* out, const float* x) {
  float sum = 0.0f;
  for (int i = 0; i < 32; ++i) {
    if (i == static_cast<int>(threadIdx.x)) continue;
    sum += x[i * 32 + static_cast<int>(threadIdx.x)];
  }
  out[threadIdx.x] = sum;
}

// Lane l makes l trips of the loop.
__global__ void as_many_trips_as_lanes(float* out, const float* x) {
  float sum = 0.0f;
  for (int i = 0; i < static_cast<int>(threadIdx.x); ++i) {
    sum += x[i * 32 + static_cast<int>(threadIdx.x)];
  }
  out[threadIdx.x] = sum;
}

// Lanes leave the loop in different trips, some of them the kernel, and meet behind it.
__global__ void leave_in_different_ways(float* out, const float* x) {
  const int lane = static_cast<int>(threadIdx.x);
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) {
    if (lane < 4 && i == lane) return;
    if (lane % 8 == i) break;
    sum += static_cast<float>(lane * i);
  }
  out[lane] = x[lane] + sum;
}

[[gnu::noinline]] __device__ float first_or_last(const float* x, bool first) {
  if (first) return x[threadIdx.x];
  return x[1024 + threadIdx.x];
}

// Half of the warp calls a function twice, all of it once.
__global__ void call_a_function(float* out, const float* x) {
  float sum = 0.0f;
  if (threadIdx.x < 16) sum = first_or_last(x, true);
  sum += first_or_last(x, threadIdx.x % 2 == 0);
  out[threadIdx.x] = sum;
}

__global__ void add_to_copies_of_bins(int* bins, int count) {
  __shared__ int copy[64];
  copy[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&copy[threadIdx.x % count], 1);
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < count) atomicAdd(&bins[threadIdx.x], copy[threadIdx.x]);
}

__global__ void square_or_cube(float* y, const float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  if (i % 2 == 0) {
    y[i] = x[i] * x[i];
  } else {
    y[i] = x[i] * x[i] * x[i];
  }
}

}  // namespace

void run_read_column(bool padded, float* out, const Stream& stream) {
  launch(padded ? read_column<33> : read_column<32>, Launch{1, 32, 0, stream}, out);
}
void run_add_up(bool from_the_second, float* out, const Stream& stream) {
  launch(from_the_second ? add_up<1> : add_up<0>, Launch{1, 32, 0, stream}, out);
}
void run_read_strided(float* out, const float* x, int stride, const Stream& stream) {
  launch(read_strided, Launch{1, 32, 0, stream}, out, x, stride);
}
void run_read_in_a_branch(float* out, const float* x, const Stream& stream) {
  launch(read_in_a_branch, Launch{1, 32, 0, stream}, out, x);
}
void run_add_to_bins(int* bins, int count, const Stream& stream) {
  launch(add_to_bins, Launch{1, 64, 0, stream}, bins, count);
}
void run_add_one_to_vectors(float* y, const float* x, const Stream& stream) {
  launch(add_one_to_vectors, Launch{1, 32, 0, stream}, reinterpret_cast<float4*>(y),
         reinterpret_cast<const float4*>(x));
}
void run_read_shared_vectors(int bytes, int sharing, int stride, float* out, const Stream& stream) {
  const auto kernel = bytes == 8 ? (sharing == 32  ? read_shared_vectors<float2, 32, 1>
                                    : sharing == 2 ? read_shared_vectors<float2, 2, 1>
                                    : stride == 2  ? read_shared_vectors<float2, 1, 2>
                                                   : read_shared_vectors<float2, 1, 1>)
                                 : (sharing == 32  ? read_shared_vectors<float4, 32, 1>
                                    : sharing == 2 ? read_shared_vectors<float4, 2, 1>
                                    : stride == 2  ? read_shared_vectors<float4, 1, 2>
                                                   : read_shared_vectors<float4, 1, 1>);
  launch(kernel, Launch{1, 32, 0, stream}, out);
}
void run_sweep_down(float* out, const Stream& stream) {
  launch(sweep_down, Launch{1, 32, 0, stream}, out);
}
void run_loop(Loop loop, float* out, const float* x, const Stream& stream) {
  const auto kernel = loop == Loop::skip_a_trip_each          ? skip_a_trip_each
                      : loop == Loop::as_many_trips_as_lanes  ? as_many_trips_as_lanes
                      : loop == Loop::leave_in_different_ways ? leave_in_different_ways
                                                              : call_a_function;
  launch(kernel, Launch{1, 32, 0, stream}, out, x);
}
void run_add_to_copies_of_bins(int* bins, int count, const Stream& stream) {
  launch(add_to_copies_of_bins, Launch{2, 64, 0, stream}, bins, count);
}
void run_square_or_cube(float* y, const float* x, int n, const Stream& stream) {
  launch(square_or_cube, Launch{static_cast<unsigned>((n + 63) / 64), 64, 0, stream}, y, x, n);
}

}  // namespace weft::test
