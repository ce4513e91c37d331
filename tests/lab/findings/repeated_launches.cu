// A launch that would do again what an earlier one did is left out when the time of checks is used up. So no kernel may here
// whose launches find something else in memory, print, or ask for the time. The results are those of all launches.
// flags: --check 0 --jobs 2
// note: unchecked 0 20
// note: unchecked 0 18
// note: unchecked 0 18
// note: unchecked 0 18
// note: unchecked 0 18
// note: unchecked 0 18
// note: unchecked 0 18
// note: unchecked 0 1
// note: unchecked 0 2
// exit: 0
// says: kernel doubled: 2 of 22 launches ran with checks; the rest without, since checks had taken 0 s; 18 launches did not run
// says: kernel summed: 2 of 20 launches ran with checks; 18 launches did not run
// says: kernel added: 2 of 20 launches ran with checks; the rest without, since checks had taken 0 s: --check all checks the rest
// says: kernel counted: 2 of 20 launches ran with checks; the rest without, since checks had taken 0 s: --check all checks the rest
// says: kernel scaled: 2 of 20 launches ran with checks; the rest without, since checks had taken 0 s: --check all checks the rest
// says: kernel scaled_by_managed: 2 of 20 launches ran with checks; the rest without, since checks had taken 0 s; 10 launches did
// says: kernel shifted: 2 of 20 launches ran with checks; the rest without, since checks had taken 0 s: --check all checks the rest
// says: kernel timed: 2 of 4 launches ran with checks; the rest without, since checks had taken 0 s: --check all checks the rest
// prints: doubled: 14 in time
// prints: doubled: 16
// prints: doubled: 16
// prints: added: 20
// prints: summed: 32641
// prints: counted: 20
// prints: scaled: 40
// prints: managed: 4
// prints: a step
// prints: a step
// prints: a step
// prints: timed: 4
// flags: --check all
// exit: 0
// says: not unchecked
// prints: doubled: 14 in time
// prints: doubled: 16
// prints: doubled: 16
// prints: added: 20
// prints: summed: 32641
// prints: counted: 20
// prints: scaled: 40
// prints: managed: 4
// prints: a step
// prints: a step
// prints: a step
// prints: timed: 4
#include <cstdio>

constexpr int n = 256, blocks = 32, times = 20, steps = 2000;

__device__ int device_calls;
__constant__ int factor;
__managed__ int managed_factor;

// Work of some milliseconds, in which a look at memory takes no time.
__device__ int worked(int value) {
  unsigned x = value;
  for (int i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
  return x == 1 ? 1 : value;
}
__global__ void doubled(const int* in, int* out) {
  out[threadIdx.x] = 2 * worked(in[threadIdx.x]);
}
__global__ void added(int* x) {
  x[threadIdx.x] += worked(1);
}
__global__ void summed(const int* in, int* sum) {
  atomicAdd(sum, worked(in[threadIdx.x]));
}
__global__ void counted() {
  if (worked(threadIdx.x) == 0) ++device_calls;
}
__global__ void scaled(const int* in, int* out) {
  out[threadIdx.x] = factor * worked(in[threadIdx.x]);
}
__global__ void scaled_by_managed(const int* in, int* out) {
  out[threadIdx.x] = managed_factor * worked(in[threadIdx.x]);
}
__global__ void printing(const int* in) {
  if (worked(in[threadIdx.x]) == 255) printf("a step\n");
}
__global__ void timed(const int* in, long long* out) {
  if (worked(in[threadIdx.x]) == 255) out[blockIdx.x] = clock64();
}
__global__ void shifted(const int* in, int* out, int by) {
  out[threadIdx.x] = worked(in[threadIdx.x]) + by;
}
int host[n];
int at(const int* x, int i) {
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  return host[i];
}

int main() {
  int *in, *out, *sum, values[n];
  long long* time;
  cudaMalloc(&in, sizeof values);
  cudaMalloc(&out, sizeof values);
  cudaMalloc(&sum, sizeof values);
  cudaMalloc(&time, blocks * sizeof *time);
  cudaMemset(sum, 0, sizeof values);
  for (int i = 0; i < n; ++i) values[i] = i;
  cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);

  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  for (int i = 0; i < times / 2; ++i) doubled<<<1, n>>>(in, out);
  cudaEventRecord(begin);
  for (int i = 0; i < times / 2; ++i) doubled<<<1, n>>>(in, out);
  cudaEventRecord(end);
  float milliseconds = 0;  // each launch has 512000 steps
  cudaEventElapsedTime(&milliseconds, begin, end);
  std::printf("doubled: %d in%s time\n", at(out, 7), milliseconds > 2 ? "" : " no");
  values[7] = 8;  // what it reads
  cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);
  doubled<<<1, n>>>(in, out);
  std::printf("doubled: %d\n", at(out, 7));
  cudaMemset(out, 0, sizeof values);  // what it writes
  doubled<<<1, n>>>(in, out);
  std::printf("doubled: %d\n", at(out, 7));

  for (int i = 0; i < times; ++i) added<<<1, n>>>(sum);
  std::printf("added: %d\n", at(sum, 7));
  for (int i = 0; i < times; ++i) {
    cudaMemset(sum, 0, sizeof *sum);
    summed<<<1, n>>>(in, sum);
  }
  std::printf("summed: %d\n", at(sum, 0));
  int calls = 0;
  for (int i = 0; i < times; ++i) counted<<<1, n>>>();
  cudaMemcpyFromSymbol(&calls, device_calls, sizeof calls);
  std::printf("counted: %d\n", calls);
  int scales = 0;
  for (int i = 0; i < times; ++i) {
    cudaMemcpyToSymbol(factor, &i, sizeof i);
    cudaMemset(out, 0, sizeof values);
    scaled<<<1, n>>>(in, out);
    scales += at(out, 1) == i;
    cudaMemset(out, 0, sizeof values);
    shifted<<<1, n>>>(in, out, i);
    scales += at(out, 1) == 1 + i;
  }
  std::printf("scaled: %d\n", scales);
  for (int i = 0; i < times; ++i) {  // nothing but the host's own write is between launches
    managed_factor = i / 4;
    scaled_by_managed<<<1, n>>>(in, out);
    cudaDeviceSynchronize();
  }
  std::printf("managed: %d\n", at(out, 1));
  for (int i = 0; i < 3; ++i) printing<<<1, n>>>(in);
  cudaDeviceSynchronize();
  long long then = 0, now = 0;
  int later = 0;
  for (int i = 0; i < 4; ++i) {
    cudaMemset(time, 0, blocks * sizeof *time);
    timed<<<blocks, n>>>(in, time);
    cudaMemcpy(&now, time, sizeof now, cudaMemcpyDeviceToHost);
    later += now > then;
    then = now;
  }
  std::printf("timed: %d\n", later);
}
