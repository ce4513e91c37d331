// Two of many launches are checked. The others do the same with barriers, operations of a warp, atomics, locks, fences,
// shared memory, a barrier of the grid, the heap and printf.
// flags: --check 0
// note: unchecked 0 4
// note: unchecked 0 4
// exit: 0
// prints: step 5 of block 0
// prints: step 5 of block 1
// prints: 63040 192 192 6144 6
// flags: --check all
// exit: 0
// prints: step 5 of block 0
// prints: step 5 of block 1
// prints: 63040 192 192 6144 6
// flags: --check 0 --schedules 2
// exit: 0
// prints: step 5 of block 0
// prints: step 5 of block 1
// prints: 63040 192 192 6144 6
// flags: --check 0 --strict
// finding: unchecked 0 1
#include <cooperative_groups.h>
#include <cstdio>

const int n = 64, blocks = 2;
struct State {
  int sums, lanes, locked, lock, turns, flag;
};
extern __shared__ int dynamic[];

__global__ void step(State* s, int* x, int number) {
  __shared__ int tile[n];
  const int t = threadIdx.x, at = blockIdx.x * n + t;
  tile[t] = x[at];
  dynamic[n - 1 - t] = number;
  __syncthreads();
  x[at] = tile[n - 1 - t] + dynamic[t] + t;
  int sum = tile[t];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (t % 32 == 0) atomicAdd(&s->sums, sum);
  atomicAdd(&s->lanes, __popc(__ballot_sync(~0u, t % 2)) / 32 + (t % 4 == 0));
  if (t == 0) {
    while (atomicCAS(&s->lock, 0, 1) != 0) {
    }
    __threadfence();
    s->locked += n / 4;
    __threadfence();
    atomicExch(&s->lock, 0);
    int* one = new int(number);
    if (*one == 5) printf("step %d of block %d\n", number, blockIdx.x);
    delete one;
  }
  if (t == 63) atomicExch(&s->flag, number);
  while (t < 32 && atomicAdd(&s->flag, 0) != number) {
  }
}

__global__ void together(State* s, int* x) {
  auto grid = cooperative_groups::this_grid();
  x[grid.thread_rank()] = 8;
  grid.sync();
  atomicAdd(&s->turns, x[grid.size() - 1 - grid.thread_rank()]);
  if (grid.thread_rank() == 0) s->flag += 1;
}

int main() {
  State *s, host;
  int* x;
  cudaMalloc(&s, sizeof(State));
  cudaMalloc(&x, n * blocks * sizeof(int));
  cudaMemset(s, 0, sizeof(State));
  cudaMemset(x, 0, n * blocks * sizeof(int));
  for (int i = 0; i < 6; ++i) step<<<blocks, n, n * sizeof(int)>>>(s, x, i);
  cudaMemset(&s->flag, 0, sizeof(int));
  void* arguments[] = {&s, &x};
  for (int i = 0; i < 6; ++i) cudaLaunchCooperativeKernel((void*)together, blocks, n, arguments, 0, 0);
  cudaMemcpy(&host, s, sizeof(State), cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d %d\n", host.sums, host.lanes, host.locked, host.turns, host.flag);
}
