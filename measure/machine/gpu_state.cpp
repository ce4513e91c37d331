// SPDX-License-Identifier: MIT
#include "measure/machine/gpu_state.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "engine/error.h"
#if defined(WEFT_WITH_CUDA) && !defined(WEFT_HOST_CUDA)
#include <cuda_runtime.h>
#endif

namespace weft::measure {
namespace {

// nvmlClocksThrottleReasons of nvml.h, whose numbers are part of its ABI.
struct Reason {
  std::uint64_t bit;
  std::string_view name;
};
constexpr Reason kReasons[] = {
    {0x2, "the clock was set"},
    {0x4, "power limit"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "temperature, by software"},
    {0x40, "temperature, by hardware"},
    {0x80, "power brake"},
    {0x100, "display clock"},
};
constexpr int kClockSm = 1, kTemperatureGpu = 0;

std::string bus_of(Device device) {
#if defined(WEFT_WITH_CUDA) && !defined(WEFT_HOST_CUDA)
  char bus[32] = "";
  if (device.is_cuda() && cudaDeviceGetPCIBusId(bus, sizeof(bus), device.index) == cudaSuccess) {
    return bus;
  }
#endif
  static_cast<void>(device);
  return "";
}

}  // namespace

struct GpuMonitor::Nvml {
  void* library = nullptr;
  void* device = nullptr;
  int (*shutdown)() = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*throttle)(void*, unsigned long long*) = nullptr;

  template <class Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }

  bool open(const std::string& bus, const std::string& name) {
    int (*init)() = nullptr;
    int (*by_bus)(const char*, void**) = nullptr;
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr || !find(init, "nvmlInit_v2") || init() != 0) return false;
    return find(shutdown, "nvmlShutdown") && find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") &&
           find(clock, "nvmlDeviceGetClockInfo") && find(power, "nvmlDeviceGetPowerUsage") &&
           find(temperature, "nvmlDeviceGetTemperature") &&
           find(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons") &&
           by_bus(bus.c_str(), &device) == 0;
  }

  ~Nvml() {
    if (shutdown != nullptr) shutdown();
    if (library != nullptr) dlclose(library);
  }
};

GpuState GpuStates::median() const {
  if (readings.empty()) throw Error(ErrorKind::usage, "the state of the GPU was never read");
  const auto middle = [&](double GpuState::*figure) {
    std::vector<double> values;
    for (const GpuState& one : readings) values.push_back(one.*figure);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  GpuState state{middle(&GpuState::sm_clock_mhz), middle(&GpuState::power_watts),
                 middle(&GpuState::temperature), 0};
  for (const GpuState& one : readings) state.throttle |= one.throttle;
  return state;
}

std::vector<std::string_view> GpuStates::throttled_by() const {
  std::uint64_t bits = 0;
  for (const GpuState& one : readings) bits |= one.throttle;
  std::vector<std::string_view> names;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) != 0) names.push_back(reason.name);
  }
  return names;
}

GpuMonitor::GpuMonitor(Device device, const std::string& library)
    : GpuMonitor(bus_of(device), library) {}

GpuMonitor::GpuMonitor(const std::string& bus, const std::string& library) {
  if (bus.empty()) return;
  auto nvml = std::make_unique<Nvml>();
  if (nvml->open(bus, library)) nvml_ = std::move(nvml);
}

GpuMonitor::~GpuMonitor() = default;

bool GpuMonitor::knows() const {
  return nvml_ != nullptr;
}

void GpuMonitor::read(GpuStates& states) const {
  if (nvml_ == nullptr) return;
  unsigned clock = 0, milliwatts = 0, temperature = 0;
  unsigned long long throttle = 0;
  if (nvml_->clock(nvml_->device, kClockSm, &clock) != 0 ||
      nvml_->power(nvml_->device, &milliwatts) != 0 ||
      nvml_->temperature(nvml_->device, kTemperatureGpu, &temperature) != 0 ||
      nvml_->throttle(nvml_->device, &throttle) != 0) {
    return;  // a figure that this GPU does not have
  }
  states.readings.push_back(
      {static_cast<double>(clock), milliwatts * 1e-3, static_cast<double>(temperature), throttle});
}

}  // namespace weft::measure
