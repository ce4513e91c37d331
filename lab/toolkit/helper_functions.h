// SPDX-License-Identifier: MIT
// What NVIDIA's samples include besides helper_cuda.h.
#pragma once

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "helper_string.h"
#include "helper_timer.h"

#include "host_cuda/language/macros_hidden.inc"

// Is the error of all elements together, relative to the reference, below epsilon?
inline bool sdkCompareL2fe(const float* reference, const float* data, unsigned count,
                           float epsilon) {
  double error = 0, norm = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double difference = static_cast<double>(reference[i]) - static_cast<double>(data[i]);
    error += difference * difference;
    norm += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
  }
  return norm > 0 && sqrt(error / norm) < static_cast<double>(epsilon);
}

#include "host_cuda/language/macros_shown.inc"
