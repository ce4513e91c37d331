// note: 5: unread error: the call at .* failed: invalid argument
// The address of the pointer has to be given. cudaMalloc says so, as on a GPU, and nobody asks.
int main() {
  int** data = nullptr;
  cudaMalloc(data, 400);
}
