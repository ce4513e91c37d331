// note: 9: unread error: the call at .* failed: out of memory
// cudaMalloc fails, and nobody asks.
#include <cstdio>
#include <cstdlib>
#include <vector>

int main() {
  int* x = nullptr;
  cudaMalloc(&x, size_t(1) << 60);
  std::printf("done\n");
}
