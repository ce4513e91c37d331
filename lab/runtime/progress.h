// SPDX-License-Identifier: MIT
// A line on stderr when kernels take long: how far the launch is, and how long it will take.
#pragma once

#include <cstdint>
#include <string>

namespace weft::host_cuda::lab {

// The time of a launch, while it lives. When the kernels of the program have run for 5 s together,
// then 15 s, 45 s and so on, a line says so. A timer tells of that by SIGURG, which does nothing
// else, and is set only while a grid runs.
class TimedLaunch {
 public:
  // `what`: "kernel k, launched at f.cu:20"
  TimedLaunch(const std::string& what, std::uint64_t blocks);
  TimedLaunch(const TimedLaunch&) = delete;
  TimedLaunch& operator=(const TimedLaunch&) = delete;
  ~TimedLaunch();
};

}  // namespace weft::host_cuda::lab
