// SPDX-License-Identifier: MIT
// Metric totals in device memory.
#pragma once

#include "engine/tensor.h"
#include "kernels/loss/loss.h"

namespace weft::models {

class DeviceTotals {
 public:
  explicit DeviceTotals(const Stream& stream)
      : memory_(Shape{sizeof(kernels::MetricTotals)}, DType::u8, stream) {}

  kernels::MetricTotals* data() { return static_cast<kernels::MetricTotals*>(memory_.raw()); }

  // Both block until the copy is done.
  void write(const kernels::MetricTotals& totals, const Stream& stream) {
    copy_bytes(memory_.raw(), memory_.device(), &totals, Device::cpu(), sizeof(totals), stream);
    stream.synchronize();
  }
  kernels::MetricTotals read(const Stream& stream) const {
    kernels::MetricTotals totals;
    copy_bytes(&totals, Device::cpu(), memory_.raw(), memory_.device(), sizeof(totals), stream);
    stream.synchronize();
    return totals;
  }

 private:
  Tensor memory_;
};

}  // namespace weft::models
