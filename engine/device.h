// SPDX-License-Identifier: MIT
// Devices: where memory lives and kernels run, discovered at run time.
//
// A program built with CUDA starts and works on a machine with no GPU, no driver or a driver that
// is too old: cuda_status() then says why, and only asking for a CUDA device by name is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace weft {

struct Device {
  enum class Type : std::uint8_t { cpu, cuda };

  Type type = Type::cpu;
  int index = 0;  // 0 for the CPU, the CUDA ordinal otherwise

  static constexpr Device cpu() { return {Type::cpu, 0}; }
  static constexpr Device cuda(int index = 0) { return {Type::cuda, index}; }

  constexpr bool is_cpu() const { return type == Type::cpu; }
  constexpr bool is_cuda() const { return type == Type::cuda; }
  friend constexpr bool operator==(Device, Device) = default;
};

std::string to_string(Device device);  // "cpu", "cuda:0", "host-cuda"
std::ostream& operator<<(std::ostream& out, Device device);

// "cpu", "cuda", "cuda:1", "host-cuda", or "auto": the first usable GPU, else the CPU.
// Throws usage for other text, device when the named GPU is not usable here (with the reason).
Device parse_device(std::string_view text);

struct CudaStatus {
  int device_count = 0;  // usable devices; 0 when reason is not empty
  std::string reason;    // why no GPU can be used: "no CUDA driver", "built without CUDA", ...
};

// Asked of the driver once, on first use; a CPU-only run never loads the driver.
const CudaStatus& cuda_status();

struct DeviceProperties {
  std::string name;
  int compute_capability = 0;              // 10 * major + minor: 90 is sm_90; 0 for the CPU
  int multiprocessors = 0;                 // SMs, or hardware threads of the CPU
  std::size_t memory_bytes = 0;            // device memory; 0 when unknown
  std::size_t l2_bytes = 0;                // L2 cache; 0 when unknown
  std::size_t shared_bytes_per_block = 0;  // opt-in limit of shared memory
  int clock_mhz = 0;                       // boost clock of the SMs; 0 when unknown
  int driver_version = 0;                  // as CUDA counts: 13000 is 13.0; 0 for the CPU
  int runtime_version = 0;
};

// Cached per device after the first call.
const DeviceProperties& device_properties(Device device);

bool built_with_cuda();
// Is Device::cuda() the CPU, which runs CUDA kernels thread by thread (host_cuda)?
bool built_for_host_cuda();
std::string_view built_cuda_architectures();  // "80-real;90a-real"; empty without CUDA

}  // namespace weft
