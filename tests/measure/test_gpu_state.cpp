// SPDX-License-Identifier: MIT
// Clock, power and temperature from NVML, by a library of the test's own that stands in for it.
#include "measure/machine/gpu_state.h"

#include <gtest/gtest.h>

#include "engine/error.h"

namespace weft::measure {
namespace {

TEST(GpuMonitor, ReadsWhatNvmlSays) {
  const GpuMonitor monitor("0000:1b:00.0", FAKE_NVML);
  ASSERT_TRUE(monitor.knows());
  GpuStates states;
  for (int i = 0; i < 5; ++i) monitor.read(states);
  ASSERT_EQ(states.readings.size(), 5u);
  const GpuState state = states.median();
  EXPECT_EQ(state.sm_clock_mhz, 1920);
  EXPECT_DOUBLE_EQ(state.power_watts, 690.5);
  EXPECT_EQ(state.temperature, 61);
  EXPECT_EQ(states.throttled_by(), std::vector<std::string_view>{"power limit"}) << "idle is none";
}

TEST(GpuMonitor, KnowsNothingWithoutNvmlOrWithoutTheGpu) {
  const GpuMonitor of_a_cpu(Device::cpu()), no_library("0000:1b:00.0", "libno-such.so"),
      other_gpu("0000:ff:00.0", FAKE_NVML);
  for (const GpuMonitor* monitor : {&of_a_cpu, &no_library, &other_gpu}) {
    EXPECT_FALSE(monitor->knows());
    GpuStates states;
    monitor->read(states);
    EXPECT_TRUE(states.readings.empty());
    EXPECT_THROW(states.median(), Error);
    EXPECT_TRUE(states.throttled_by().empty());
  }
}

}  // namespace
}  // namespace weft::measure
