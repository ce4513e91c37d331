// SPDX-License-Identifier: MIT
// The stop watch of NVIDIA's samples. Times are milliseconds of this computer.
#pragma once

#include <chrono>

#include "host_cuda/language/macros_hidden.inc"

class StopWatchInterface {
 public:
  void start() {
    runs_ = true;
    started_ = std::chrono::steady_clock::now();
  }
  void stop() {
    total_ += since_start();
    ++sessions_;
    runs_ = false;
  }
  void reset() {
    total_ = 0;
    sessions_ = 0;
    started_ = std::chrono::steady_clock::now();
  }
  float getTime() const { return static_cast<float>(total_ + (runs_ ? since_start() : 0)); }
  float getAverageTime() const {
    return sessions_ > 0 ? static_cast<float>(total_ / sessions_) : 0;
  }

 private:
  double since_start() const {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - started_).count();
  }
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  double total_ = 0;
  int sessions_ = 0;
  bool runs_ = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) {
  *timer = new StopWatchInterface;
  return true;
}
inline bool sdkDeleteTimer(StopWatchInterface** timer) {
  delete *timer;
  *timer = nullptr;
  return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->start();
  return true;
}
inline bool sdkStopTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->stop();
  return true;
}
inline bool sdkResetTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->reset();
  return true;
}
inline float sdkGetTimerValue(StopWatchInterface** timer) {
  return *timer != nullptr ? (*timer)->getTime() : 0;
}
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) {
  return *timer != nullptr ? (*timer)->getAverageTime() : 0;
}

#include "host_cuda/language/macros_shown.inc"
