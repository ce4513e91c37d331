// SPDX-License-Identifier: MIT
// A network of two layers learns exclusive or: forward, backward and the step, all in kernels.
// prints: after training: 0 0 -> 0, 0 1 -> 1, 1 0 -> 1, 1 1 -> 0
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int kIn = 2, kHidden = 8, kSamples = 4;

__device__ float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

struct Net {
  float *w1, *b1, *w2, *b2;  // [hidden][in], [hidden], [hidden], [1]
};

__global__ void forward(Net net, const float* x, float* hidden, float* y) {
  const int sample = blockIdx.x, h = threadIdx.x;
  float sum = net.b1[h];
  for (int i = 0; i < kIn; ++i) sum += net.w1[h * kIn + i] * x[sample * kIn + i];
  hidden[sample * kHidden + h] = tanhf(sum);
  __syncthreads();
  if (h == 0) {
    float out = net.b2[0];
    for (int j = 0; j < kHidden; ++j) out += net.w2[j] * hidden[sample * kHidden + j];
    y[sample] = sigmoid(out);
  }
}

// One thread for a hidden unit goes through all samples.
__global__ void train(Net net, const float* x, const float* hidden, const float* y,
                      const float* target, float rate) {
  const int h = threadIdx.x;
  float d_w2 = 0, d_b2 = 0, d_b1 = 0, d_w1[kIn] = {};
  for (int s = 0; s < kSamples; ++s) {
    const float delta = y[s] - target[s], activation = hidden[s * kHidden + h];
    d_w2 += delta * activation;
    d_b2 += delta;
    const float back = delta * net.w2[h] * (1 - activation * activation);
    d_b1 += back;
    for (int i = 0; i < kIn; ++i) d_w1[i] += back * x[s * kIn + i];
  }
  net.w2[h] -= rate * d_w2;
  net.b1[h] -= rate * d_b1;
  for (int i = 0; i < kIn; ++i) net.w1[h * kIn + i] -= rate * d_w1[i];
  if (h == 0) net.b2[0] -= rate * d_b2;
}

static float* upload(const std::vector<float>& v) {
  float* d;
  cudaMalloc(&d, v.size() * sizeof(float));
  cudaMemcpy(d, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice);
  return d;
}

int main() {
  std::vector<float> w1(kHidden * kIn), b1(kHidden, 0), w2(kHidden), b2(1, 0);
  unsigned seed = 7;
  auto next = [&seed] {
    seed = seed * 1103515245u + 12345u;
    return ((seed >> 16) & 1023) / 512.0f - 1.0f;
  };
  for (float& w : w1) w = 2 * next();
  for (float& w : w2) w = next();
  Net net{upload(w1), upload(b1), upload(w2), upload(b2)};
  float* x = upload({0, 0, 0, 1, 1, 0, 1, 1});
  float* target = upload({0, 1, 1, 0});
  float *hidden, *y, out[kSamples];
  cudaMalloc(&hidden, kSamples * kHidden * sizeof(float));
  cudaMalloc(&y, kSamples * sizeof(float));
  for (int epoch = 0; epoch < 400; ++epoch) {
    forward<<<kSamples, kHidden>>>(net, x, hidden, y);
    train<<<1, kHidden>>>(net, x, hidden, y, target, 0.5f);
  }
  forward<<<kSamples, kHidden>>>(net, x, hidden, y);
  cudaMemcpy(out, y, sizeof out, cudaMemcpyDeviceToHost);
  printf("after training:");
  for (int s = 0; s < kSamples; ++s) {
    printf(" %d %d -> %.0f%s", s / 2, s % 2, round(out[s]), s < 3 ? "," : "\n");
  }
  for (float* p : {net.w1, net.b1, net.w2, net.b2, x, target, hidden, y}) cudaFree(p);
  return 0;
}
