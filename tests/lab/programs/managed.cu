// SPDX-License-Identifier: MIT
// Managed memory: a linked structure and a variable that host and device share.
// prints: sum 5050, launches 2
#include <iostream>

struct Numbers {
  int count;
  int* values;
};

__device__ __managed__ int launches = 0;

__global__ void increment(Numbers* numbers) {
  int i = threadIdx.x;
  if (i < numbers->count) numbers->values[i] += 1;
  if (i == 0) launches++;
}

__global__ void total(const Numbers* numbers, int* result) {
  if (threadIdx.x == 0) launches += 1;
  atomicAdd(result, numbers->values[threadIdx.x]);
}

int main() {
  Numbers* numbers;
  int* result;
  cudaMallocManaged(&numbers, sizeof(Numbers));
  cudaMallocManaged(&result, sizeof(int));
  numbers->count = 100;
  cudaMallocManaged(&numbers->values, 100 * sizeof(int));
  for (int i = 0; i < numbers->count; ++i) numbers->values[i] = i;
  *result = 0;
  increment<<<1, 128>>>(numbers);
  cudaDeviceSynchronize();
  total<<<1, 100>>>(numbers, result);
  cudaDeviceSynchronize();
  std::cout << "sum " << *result << ", launches " << launches << "\n";
  int code = *result != 5050;
  cudaFree(numbers->values);
  cudaFree(numbers);
  cudaFree(result);
  return code;
}
