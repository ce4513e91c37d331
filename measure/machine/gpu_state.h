// SPDX-License-Identifier: MIT
// What a GPU does while it is measured: its clock, power, temperature, and what holds the clock
// down. NVML tells it, which comes with the driver and is loaded at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device.h"

namespace weft::measure {

struct GpuState {
  double sm_clock_mhz = 0, power_watts = 0, temperature = 0;  // degrees Celsius
  std::uint64_t throttle = 0;  // NVML's reasons for a lower clock, as bits
};

// What several readings come to: medians, and every reason that was seen.
struct GpuStates {
  std::vector<GpuState> readings;

  GpuState median() const;  // of each figure; throws usage without a reading
  std::vector<std::string_view> throttled_by() const;  // without "idle"
};

class GpuMonitor {
 public:
  // Watches this device. It knows nothing on a CPU, and where NVML is absent or does not know the
  // device. `library` is for tests.
  explicit GpuMonitor(Device device, const std::string& library = "libnvidia-ml.so.1");
  // The GPU of a PCI bus, "0000:1b:00.0".
  GpuMonitor(const std::string& bus, const std::string& library);
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  bool knows() const;
  // Adds a reading where it knows one. It takes about a millisecond, while the GPU goes on.
  void read(GpuStates& states) const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
};

}  // namespace weft::measure
