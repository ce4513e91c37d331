// Graphs: made node by node, captured from two streams that wait for each other, cloned, and changed.
// prints: 5 nodes, 1 root, the first is a fill; 21 22 23
// prints: captured 4 nodes, nothing has run: 0; after three launches: 330
// prints: in a circle: cudaErrorInvalidValue; an unknown kernel: cudaErrorInvalidDeviceFunction
// prints: with 100 for 1: 400
#include <cstdio>

__global__ void add(int* p, int n) { p[threadIdx.x] += n; }
__global__ void scale(int* p, int n) { p[threadIdx.x] *= n; }
template <class T>
__global__ void number(T* p) {
  p[threadIdx.x] += threadIdx.x;
}

int main() {
  int *data, host[3], one = 1, seven = 7, three = 3;
  cudaMalloc(&data, sizeof host);

  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t fill, count, times, plus, copy;
  cudaMemsetParams zero = {};
  zero.dst = data, zero.elementSize = 4, zero.width = 3, zero.height = 1, zero.value = 5;
  cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero);
  void* with_seven[] = {&data, &seven};
  void* with_three[] = {&data, &three};
  cudaKernelNodeParams params = {};
  params.gridDim = dim3(1), params.blockDim = dim3(3);
  params.func = (void*)number<int>, params.kernelParams = with_seven;
  cudaGraphAddKernelNode(&count, graph, nullptr, 0, &params);  // behind `plus`, as said below
  params.func = (void*)scale, params.kernelParams = with_three;
  cudaGraphAddKernelNode(&times, graph, &fill, 1, &params);
  seven = 6;
  params.func = reinterpret_cast<void*>(add), params.kernelParams = with_seven;
  cudaGraphAddKernelNode(&plus, graph, &times, 1, &params);
  seven = 1000;
  cudaGraphAddMemcpyNode1D(&copy, graph, &count, 1, host, data, sizeof host, cudaMemcpyDeviceToHost);
  cudaGraphAddDependencies(graph, &plus, &count, 1);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  cudaGraphLaunch(exec, 0);
  cudaDeviceSynchronize();
  size_t nodes, roots;
  cudaGraphNodeType type;
  cudaGraphGetNodes(graph, nullptr, &nodes);
  cudaGraphGetRootNodes(graph, nullptr, &roots);
  cudaGraphNodeGetType(fill, &type);
  printf("%zu nodes, %zu root, the first is %s; %d %d %d\n", nodes, roots,
         type == cudaGraphNodeTypeMemset ? "a fill" : "something else", host[0], host[1], host[2]);

  cudaStream_t first, second;
  cudaStreamCreate(&first), cudaStreamCreate(&second);
  cudaEvent_t fork, join;
  cudaEventCreate(&fork), cudaEventCreate(&join);
  cudaMemset(data, 0, sizeof host);
  cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
  add<<<1, 3, 0, first>>>(data, 1);
  cudaEventRecord(fork, first);
  cudaStreamWaitEvent(second, fork, 0);
  add<<<1, 3, 0, second>>>(data, 9);
  add<<<1, 3, 0, second>>>(data, 100);
  cudaEventRecord(join, second);
  cudaStreamWaitEvent(first, join, 0);
  cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, first);
  cudaGraph_t captured, clone;
  cudaStreamEndCapture(first, &captured);
  cudaGraphGetNodes(captured, nullptr, &nodes);
  cudaMemcpy(&one, data, 4, cudaMemcpyDeviceToHost);
  cudaGraphExec_t again;
  cudaGraphClone(&clone, captured);
  cudaGraphInstantiate(&again, clone, 0);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(again, first);
  cudaStreamSynchronize(first);
  printf("captured %zu nodes, nothing has run: %d; after three launches: %d\n", nodes, one, host[0]);

  cudaGraphAddDependencies(graph, &copy, &fill, 1);
  cudaGraphExec_t circle;
  const char* text = cudaGetErrorName(cudaGraphInstantiateWithFlags(&circle, graph, 0));
  params.func = host;
  printf("in a circle: %s; an unknown kernel: %s\n", text,
         cudaGetErrorName(cudaGraphAddKernelNode(&plus, graph, nullptr, 0, &params)));

  cudaGraph_t single;
  cudaGraphCreate(&single, 0);
  one = 1;
  void* with_one[] = {&data, &one};
  params.func = (void*)add, params.kernelParams = with_one;
  cudaGraphAddKernelNode(&plus, single, nullptr, 0, &params);
  cudaGraphInstantiate(&exec, single, 0);
  one = 100;
  cudaGraphExecKernelNodeSetParams(exec, plus, &params);
  cudaMemset(data, 0, sizeof host);
  for (int i = 0; i < 4; ++i) cudaGraphLaunch(exec, 0);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  printf("with 100 for 1: %d\n", host[1]);
  cudaGraphDestroy(graph), cudaGraphDestroy(captured), cudaGraphExecDestroy(exec);
}
