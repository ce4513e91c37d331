// SPDX-License-Identifier: MIT
// A hash table with open addressing, by atomicCAS; and atomics of other kinds.
// prints: 100 keys, 0 missing, min 3, max 993, or 1023, xor 0
#include <cstdint>
#include <cstdio>

struct Entry {
  uint32_t key, count;
};
constexpr uint32_t kEmpty = 0xffffffffu, kCapacity = 256;

__device__ uint32_t slot_of(uint32_t k) {
  k ^= k >> 16;
  k *= 0x85ebca6b;
  k ^= k >> 13;
  return k & (kCapacity - 1);
}

__global__ void insert(Entry* table, const uint32_t* keys, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t slot = slot_of(keys[i]);
  while (true) {
    const uint32_t before = atomicCAS(&table[slot].key, kEmpty, keys[i]);
    if (before == kEmpty || before == keys[i]) {
      atomicAdd(&table[slot].count, 1u);
      return;
    }
    slot = (slot + 1) & (kCapacity - 1);
  }
}

__global__ void summary(const uint32_t* keys, int n, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(&out[0], keys[i]);
  atomicMax(&out[1], keys[i]);
  atomicOr(&out[2], keys[i]);
  atomicXor(&out[3], keys[i]);
  atomicInc(&out[4], 1000000u);
}

int main() {
  const int n = 400;
  uint32_t keys[n], *d_keys;
  unsigned out[5] = {~0u, 0, 0, 0, 0}, *d_out;
  for (int i = 0; i < n; ++i) keys[i] = (i % 100) * 10 + 3;
  Entry table[kCapacity], *d_table;
  cudaMalloc(&d_keys, sizeof keys);
  cudaMalloc(&d_table, sizeof table);
  cudaMalloc(&d_out, sizeof out);
  for (Entry& e : table) e = Entry{kEmpty, 0};
  cudaMemcpy(d_keys, keys, sizeof keys, cudaMemcpyHostToDevice);
  cudaMemcpy(d_table, table, sizeof table, cudaMemcpyHostToDevice);
  cudaMemcpy(d_out, out, sizeof out, cudaMemcpyHostToDevice);
  insert<<<(n + 127) / 128, 128>>>(d_table, d_keys, n);
  summary<<<(n + 127) / 128, 128>>>(d_keys, n, d_out);
  cudaMemcpy(table, d_table, sizeof table, cudaMemcpyDeviceToHost);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  int found = 0, missing = 0;
  for (const Entry& e : table) {
    if (e.key == kEmpty) continue;
    ++found;
    if (e.count != 4) ++missing;
  }
  printf("%d keys, %d missing, min %u, max %u, or %u, xor %u\n", found, missing, out[0], out[1],
         out[2], out[3]);
  cudaFree(d_keys);
  cudaFree(d_table);
  cudaFree(d_out);
  return found != 100 || missing != 0 || out[4] != n;
}
