float sum_of(const float* numbers, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += numbers[i];
  return sum;
}
