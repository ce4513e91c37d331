// SPDX-License-Identifier: MIT
// A yardstick that is built apart: n-body on the CPU. It takes 2,048 bodies only, and is off by
// WRONG_BY, which is a factor.
#include <cmath>

#include "bench/peers/apart.h"

extern "C" {

const char* weft_yardstick_name(void) {
  return "a naive loop";
}

int weft_yardstick_nbody(float* accelerations, const float* bodies, int64_t n, float softening,
                         weft_stream) {
  if (n != 2048) return 1;
  for (int64_t i = 0; i < n; ++i) {
    float* sum = accelerations + 4 * i;
    sum[0] = sum[1] = sum[2] = sum[3] = 0;
    for (int64_t j = 0; j < n; ++j) {
      const float d[3] = {bodies[4 * j] - bodies[4 * i], bodies[4 * j + 1] - bodies[4 * i + 1],
                          bodies[4 * j + 2] - bodies[4 * i + 2]};
      const float square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening * softening;
      const float factor = WRONG_BY * bodies[4 * j + 3] / (square * std::sqrt(square));
      for (int k = 0; k < 3; ++k) sum[k] += factor * d[k];
    }
  }
  return 0;
}
}
