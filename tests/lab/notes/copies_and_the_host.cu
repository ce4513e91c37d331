// clean
// While asynchronous copies may still run, the host may read what they read, and use what they leave alone: the rest of
// an allocation, what a callback finds behind a copy, and all of it where the copy is captured for later or has waited.
#include <cstdio>

__constant__ int table[4];

void CUDART_CB check(void* data) {
  if (static_cast<int*>(data)[3] != 3) std::fprintf(stderr, "the callback ran before the copy\n");
}

int main() {
  int *from, *to, *device;
  cudaStream_t stream;
  cudaMallocHost(&from, 400);
  cudaHostAlloc(&to, 400, cudaHostAllocDefault);
  cudaMalloc(&device, 400);
  cudaStreamCreate(&stream);
  for (int i = 0; i < 100; ++i) from[i] = i;

  cudaMemcpyAsync(device, from, 200, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(to, device, 200, cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(stream, check, to);
  to[50] = from[49] + 1;
  from[50] = 7;
  cudaStreamSynchronize(stream);
  from[0] = to[1];

  cudaMemcpy2D(to, 40, device, 40, 20, 5, cudaMemcpyDeviceToHost);
  to[0] = to[2];
  cudaMemcpyToSymbol(table, from, sizeof table);
  cudaMemcpyFromSymbol(to, table, sizeof table);
  std::printf("%d %d %d\n", to[0], to[3], to[50]);

  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(device, from, 200, cudaMemcpyHostToDevice, stream);
  cudaStreamEndCapture(stream, &graph);
  from[0] = 5;
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(device);
  cudaFreeHost(to);
  cudaFreeHost(from);
}
