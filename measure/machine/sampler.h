// SPDX-License-Identifier: MIT
// Samples of one call. A sample is many calls that are queued at once, as a CUDA graph where they
// can be captured, so that it is a time on the device and not of the host.
#pragma once

#include <memory>

#include "measure/harness.h"

namespace weft::measure {

class Sampler {
 public:
  // Makes a few calls: they load code, and tell how many calls a sample should have.
  Sampler(const Call& call, int sets, const TimingOptions& options, const Stream& stream);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) = delete;

  // Takes samples that are not kept: one, and more for so many seconds.
  void warm_up(double seconds);
  // Queues so many samples, runs `meanwhile` on the host, and waits: seconds per call of each.
  std::vector<double> take(int samples, const std::function<void()>& meanwhile = {});
  double once() const { return once_; }  // seconds of one call that the host queued
  int calls() const { return calls_; }   // of a sample
  bool graph() const;
  int last_set() const;               // of the last call: what to verify
  std::int64_t runs_of_last() const;  // calls on that set since the start

 private:
  struct Queue;
  Stream stream_;
  std::vector<std::int64_t> before_;  // calls on each set before the first sample
  double once_ = 0;
  int calls_ = 1;
  std::int64_t samples_ = 0;
  std::unique_ptr<Queue> queue_;
};

}  // namespace weft::measure
