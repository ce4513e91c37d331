// SPDX-License-Identifier: MIT
// Wall-clock time. For time on a device, record Events (stream.h).
#pragma once

#include <chrono>

namespace weft {

class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace weft
