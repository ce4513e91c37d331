// SPDX-License-Identifier: MIT
// This decides which blocks of a grid the workers get, and when it pays to have them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace weft::host_cuda {

// There is one for each grid of a kernel, made when its blocks begin to run.
class WorkerShare {
 public:
  explicit WorkerShare(const void* kernel) : kernel_(kernel), began_(Time::now()) {}

  // Runs some of the next blocks of [next, total) on workers, by calls of run(from, to), and
  // returns how many; 0 where none has run. `done` blocks have run in order before: by these it
  // judges how long the others take. Of a large memory the copies can cost more than the other
  // cores gain. Then the kernel stays on one from there on, as one does whose order of blocks
  // matters.
  std::uint64_t run(std::uint64_t done, std::uint64_t next, std::uint64_t total,
                    const std::function<bool(std::uint64_t, std::uint64_t)>& run);

 private:
  using Time = std::chrono::steady_clock;

  const void* kernel_;
  Time::time_point began_;
  Time::duration per_block_{};                             // on one core
  Time::duration piece_ = std::chrono::milliseconds(200);  // of each worker
};

}  // namespace weft::host_cuda
