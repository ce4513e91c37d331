// SPDX-License-Identifier: MIT
// A lock of atomicCAS, and a ticket lock; each block adds to a counter under the lock.
// prints: counter 64, tickets 64
#include <cstdio>

struct Lock {
  int* mutex;
  __device__ void lock() {
    while (atomicCAS(mutex, 0, 1) != 0) {
    }
    __threadfence();
  }
  __device__ void unlock() {
    __threadfence();
    atomicExch(mutex, 0);
  }
};

__global__ void count(Lock lock, volatile int* counter) {
  if (threadIdx.x == 0) {
    lock.lock();
    *counter = *counter + 1;
    lock.unlock();
  }
}

__global__ void count_by_ticket(unsigned* next, volatile unsigned* serving, volatile int* counter) {
  if (threadIdx.x != 0) return;
  const unsigned mine = atomicAdd(next, 1u);
  while (*serving != mine) {
  }
  __threadfence();
  *counter = *counter + 1;
  __threadfence();
  *serving = mine + 1;
}

int main() {
  int *d, counters[2];
  cudaMalloc(&d, 5 * sizeof(int));
  cudaMemset(d, 0, 5 * sizeof(int));
  count<<<64, 32>>>(Lock{d}, d + 1);
  count_by_ticket<<<64, 32>>>((unsigned*)d + 3, (unsigned*)d + 4, d + 2);
  cudaMemcpy(counters, d + 1, sizeof counters, cudaMemcpyDeviceToHost);
  printf("counter %d, tickets %d\n", counters[0], counters[1]);
  cudaFree(d);
  return counters[0] != 64 || counters[1] != 64;
}
