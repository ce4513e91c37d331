// SPDX-License-Identifier: MIT
// Stands in for the driver's NVML: one GPU, whose clock falls from reading to reading.
#include <cstring>

namespace {
unsigned readings = 0;
}

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  *device = &readings;
  return std::strcmp(bus, "0000:1b:00.0") == 0 ? 0 : 6;  // not found
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &readings;
  return index == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = 1980 - 30 * readings++;
  return device == &readings && type == 1 ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 690500;
  return device == &readings ? 0 : 2;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* degrees) {
  *degrees = 61;
  return device == &readings && sensor == 0 ? 0 : 2;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = readings > 2 ? 0x4 : 0x1;  // the power limit; idle
  return device == &readings ? 0 : 2;
}
}
