// The headers that NVIDIA's samples have beside them.
// prints: GPU Device 0: "Ampere" with compute capability 8.0
// prints: 
// prints: n is 7, name is unset, 5 s is 64 cores
// prints: n is 7, and it ends in cu
// prints: close: 1 0, time: 1, file: not found
#define N 4
#define T 1
#include <helper_cuda.h>
#include <helper_functions.h>
#include <helper_timer.h>
#include <nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

__global__ void fill(float* p) { p[threadIdx.x] = threadIdx.x; }

int main() {
  const char* words[] = {"program", "--n=7", "-quick"};
  findCudaDevice(3, words);
  char* name = nullptr;
  getCmdLineArgumentString(3, words, "name", &name);
  printf("n is %d, name is %s, %s is %d cores\n", getCmdLineArgumentInt(3, words, "n"), name == nullptr ? "unset" : name,
         checkCmdLineFlag(3, words, "quick") ? "5 s" : "?", _ConvertSMVer2Cores(8, 0));

  int value = 0;
  char program[] = "a.b.cu", *ending, text[40];
  getCmdLineArgumentValue(3, words, "n", &value);
  getFileExtension(program, &ending);
  SPRINTF(text, "n is %d, and it ends in %s", value, ending);
  printf("%s\n", text);

  StopWatchInterface* timer = nullptr;
  sdkCreateTimer(&timer);
  sdkStartTimer(&timer);
  float *data, host[N], right[N] = {0, 1, 2, 3}, wrong[N] = {0, 1, 2, 4};
  checkCudaErrors(cudaMalloc(&data, sizeof host));
  fill<<<1, N>>>(data);
  getLastCudaError("fill failed");
  checkCudaErrors(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  sdkStopTimer(&timer);
  const char* file = sdkFindFilePath("no such file", words[0]);
  printf("close: %d %d, time: %d, file: %s\n", sdkCompareL2fe(right, host, N, 1e-6f), sdkCompareL2fe(wrong, host, N, 1e-6f),
         sdkGetTimerValue(&timer) > 0, file == nullptr ? "not found" : file);
  sdkDeleteTimer(&timer);
  checkCudaErrors(cudaFree(data));
}
