// SPDX-License-Identifier: MIT
#include "engine/device.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/cuda/driver.h"
#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"
#include "engine/timings.h"

#ifdef WEFT_WITH_CUDA
#include "engine/cuda/cuda_check.h"
#endif

namespace weft {
namespace {

// In this build Device::cuda() is the CPU, running CUDA kernels thread by thread.
#ifdef WEFT_HOST_CUDA
constexpr bool kHostCuda = true;
#else
constexpr bool kHostCuda = false;
#endif

}  // namespace

std::string to_string(Device device) {
  if (device.is_cpu()) return "cpu";
  return kHostCuda ? "host-cuda" : "cuda:" + std::to_string(device.index);
}

std::ostream& operator<<(std::ostream& out, Device device) {
  return out << to_string(device);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "host-cuda") {
    if (kHostCuda) return Device::cuda();
    throw Error(ErrorKind::device,
                "device host-cuda needs the program weft-host-cuda, which is built where "
                "Boost.Context is found (Debian: libboost-context-dev)");
  }
  if (text == "auto") {
    return cuda_status().device_count > 0 ? Device::cuda() : Device::cpu();
  }
  int index = 0;
  bool valid = text == "cuda";
  if (text.starts_with("cuda:") && text.size() > 5) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 5, end, index);
    valid = error == std::errc{} && stop == end && index >= 0;
  }
  if (!valid) {
    throw Error(ErrorKind::usage, str("unknown device ", shown(text),
                                      ": expected auto, cpu, cuda, cuda:N or host-cuda"));
  }
  const CudaStatus& status = cuda_status();
  if (status.device_count == 0) {
    throw Error(ErrorKind::device, str("no usable GPU for device '", text, "': ", status.reason));
  }
  if (index >= status.device_count) {
    throw Error(ErrorKind::device, str("device '", text, "' does not exist: this machine has ",
                                       status.device_count, " usable GPU(s)"));
  }
  return Device::cuda(index);
}

namespace {

DeviceProperties cpu_properties() {
  DeviceProperties properties;
  properties.multiprocessors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string::npos) properties.name = line.substr(colon + 2);
      break;
    }
  }
  if (properties.name.empty()) properties.name = "CPU";
  return properties;
}

#ifdef WEFT_WITH_CUDA

DeviceProperties cuda_properties(int index) {
  cudaDeviceProp raw;
  cuda_check(cudaGetDeviceProperties(&raw, index), "read the properties of the GPU");
  DeviceProperties properties;
  properties.name = raw.name;
  properties.compute_capability = 10 * raw.major + raw.minor;
  properties.multiprocessors = raw.multiProcessorCount;
  properties.memory_bytes = raw.totalGlobalMem;
  properties.l2_bytes = static_cast<std::size_t>(raw.l2CacheSize);
  properties.shared_bytes_per_block = raw.sharedMemPerBlockOptin;
  int clock_khz = 0;
  cuda_check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, index), "read the clock");
  properties.clock_mhz = clock_khz / 1000;
  cuda_check(cudaDriverGetVersion(&properties.driver_version), "read the driver version");
  cuda_check(cudaRuntimeGetVersion(&properties.runtime_version), "read the runtime version");
  return properties;
}

#endif

}  // namespace

std::string detail::old_driver(int driver, int runtime) {
  if (driver == 0) return "no NVIDIA driver found";
  return str("the NVIDIA driver supports CUDA ", driver / 1000, ".", driver % 1000 / 10,
             ", this program needs ", runtime / 1000, ".", runtime % 1000 / 10);
}

#ifdef WEFT_WITH_CUDA

namespace detail {
cudaError_t probe_kernel_image();  // engine/launch.cu: can this binary's machine code run here?
}

const CudaStatus& cuda_status() {
  static const CudaStatus status = [] {
    const TimedScope timed("find a GPU, and open it");
    CudaStatus found;
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count == 0) code = cudaErrorNoDevice;
    if (code == cudaSuccess) code = detail::probe_kernel_image();
    if (code == cudaSuccess) {
      found.device_count = count;
    } else if (code == cudaErrorNoDevice) {
      found.reason = "no NVIDIA GPU found";
    } else if (code == cudaErrorInsufficientDriver) {
      int driver = 0;
      static_cast<void>(cudaDriverGetVersion(&driver));
      found.reason = detail::old_driver(driver, CUDART_VERSION);
    } else if (code == cudaErrorNoKernelImageForDevice) {
      found.reason = str("this program was built for ", built_cuda_architectures(),
                         ", which the GPU cannot run");
    } else {
      found.reason = cudaGetErrorString(code);
    }
    static_cast<void>(cudaGetLastError());  // a machine without a GPU is not an error
    return found;
  }();
  return status;
}

bool built_with_cuda() {
  return true;
}
bool built_for_host_cuda() {
  return kHostCuda;
}
std::string_view built_cuda_architectures() {
  return WEFT_CUDA_ARCHITECTURES;
}

#else

const CudaStatus& cuda_status() {
  static const CudaStatus status{0, "built without CUDA"};
  return status;
}

bool built_with_cuda() {
  return false;
}
bool built_for_host_cuda() {
  return false;
}
std::string_view built_cuda_architectures() {
  return "";
}

#endif

const DeviceProperties& device_properties(Device device) {
  static const DeviceProperties cpu = cpu_properties();
  if (device.is_cpu()) return cpu;
#ifdef WEFT_WITH_CUDA
  static const std::vector<DeviceProperties> gpus = [] {
    std::vector<DeviceProperties> all;
    for (int i = 0; i < cuda_status().device_count; ++i) all.push_back(cuda_properties(i));
    return all;
  }();
  if (static_cast<std::size_t>(device.index) < gpus.size()) {
    return gpus[static_cast<std::size_t>(device.index)];
  }
#endif
  throw Error(ErrorKind::device, str("device '", device, "' is not usable here"));
}

}  // namespace weft
