// Memory of three dimensions, a part of which is copied, and what CUDA 13 says of places and pools.
// prints: 0 0 0 0 | 111 0 112 0 | 9 | 2 3 1 0
#include <cstdio>

__global__ void fill(cudaPitchedPtr volume, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  char* slice = (char*)volume.ptr + z * volume.pitch * height;
  ((int*)(slice + y * volume.pitch))[x] = 100 * z + 10 * y + x;
}

int main() {
  const int width = 4, height = 3, depth = 2;
  const cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
  cudaPitchedPtr volume;
  cudaMalloc3D(&volume, extent);
  cudaMemset3D(volume, 0, extent);
  fill<<<1, dim3(width, height, depth)>>>(volume, width, height);

  int host[2][2][2] = {};
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = volume;
  copy.srcPos = make_cudaPos(1 * sizeof(int), 1, 1);
  copy.dstPtr = make_cudaPitchedPtr(host, 2 * sizeof(int), 2 * sizeof(int), 2);
  copy.dstPos = make_cudaPos(0, 0, 1);
  copy.extent = make_cudaExtent(sizeof(int), 1, 1);
  copy.kind = cudaMemcpyDeviceToHost;
  cudaMemcpy3D(&copy);
  copy.srcPos.x = 2 * sizeof(int);
  copy.dstPos.y = 1;
  cudaMemcpy3D(&copy);
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 2; ++y) printf("%d %d ", host[z][y][0], host[z][y][1]);
    printf("| ");
  }

  cudaMemPool_t pool;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPoolCreate(&pool, &properties);
  int *data, *managed, nine = 9, result;
  cudaMallocFromPoolAsync(&data, sizeof(int), pool, 0);
  cudaMemcpy(data, &nine, sizeof nine, cudaMemcpyHostToDevice);
  cudaMallocManaged(&managed, sizeof(int));
  cudaMemPrefetchAsync(managed, sizeof(int), properties.location, 0, 0);
  cudaMemAdvise(managed, sizeof(int), cudaMemAdviseSetReadMostly, properties.location);
  cudaMemcpy(&result, data, sizeof result, cudaMemcpyDeviceToHost);
  printf("%d |", result);
  void* pinned;
  cudaMallocHost(&pinned, 4);
  for (const void* one : {(void*)data, (void*)managed, pinned, (void*)host}) {
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, one);
    printf(" %d", attributes.type);
  }
  printf("\n");
  cudaFreeAsync(data, 0);
  cudaMemPoolDestroy(pool);
}
