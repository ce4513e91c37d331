// SPDX-License-Identifier: MIT
#include "measure/machine.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

#include "engine/timer.h"
#include "kernels/isa.h"
#include "measure/cpu/peak.h"

namespace weft::measure {
namespace {

std::string version(int number) {
  return number == 0 ? "" : str(number / 1000, ".", number % 1000 / 10);
}

// Dense tensor-core FLOPs of one SM in one clock, from NVIDIA's published figures.
double tensor_flops_per_clock(int compute_capability, Arithmetic arithmetic) {
  const bool bf16 = arithmetic == Arithmetic::bf16;
  switch (compute_capability) {
    case 80:
      return bf16 ? 2048 : 1024;
    case 86:
    case 89:
      return bf16 ? 512 : 256;
    case 90:
      return bf16 ? 4096 : 2048;
    default:
      return 0;
  }
}

// Keeps the sums of the CPU's peak loops alive.
volatile float sink = 0;

}  // namespace

#ifdef WEFT_WITH_CUDA
double cuda_fma_loop(const Stream& stream);
void cuda_sum_loop(float* out, const float* x, std::int64_t n, const Stream& stream);
#endif

double fma_loop(const Stream& stream) {
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda_fma_loop(stream);
#endif
  static_cast<void>(stream);
  const int threads = omp_get_max_threads();
#pragma omp parallel for schedule(static)
  for (int t = 0; t < threads; ++t) sink = cpu_peak().fma(static_cast<float>(t));
  return cpu_peak().flops * threads;
}

void sum_loop(float* out, const float* x, std::int64_t n, const Stream& stream) {
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda_sum_loop(out, x, n, stream);
#endif
  static_cast<void>(stream);
  const int threads = omp_get_max_threads();
  const std::int64_t part = n / threads;
#pragma omp parallel for schedule(static)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t first = t * part;
    sink = cpu_peak().sum(x + first, t + 1 == threads ? n - first : part);
  }
  *out = sink;
}

double Machine::peak(Arithmetic arithmetic) const {
  const double tensor = arithmetic == Arithmetic::tf32     ? tf32
                        : arithmetic == Arithmetic::bf16   ? bf16
                        : arithmetic == Arithmetic::tf32x3 ? tf32 / 3
                        : arithmetic == Arithmetic::fp16x3 ? bf16 / 3  // fp16 is as fast as bf16
                                                           : 0.0;
  return tensor > 0 ? tensor : fp32;
}

double Machine::bound(double bytes, double flops, Arithmetic arithmetic, Traffic traffic) const {
  const double rate = traffic == Traffic::device_memory   ? bandwidth
                      : traffic == Traffic::shared_memory ? shared
                                                          : 0.0;
  return std::max(rate > 0 ? bytes / rate : 0.0, fp32 > 0 ? flops / peak(arithmetic) : 0.0);
}

Machine measure_machine(const Stream& stream) {
  const Device device = stream.device();
  const DeviceProperties& properties = device_properties(device);
  Machine m;
  m.device = device;
  m.name = properties.name;
  m.driver = version(properties.driver_version);
  m.cuda = version(properties.runtime_version);
  m.architectures = device.is_cuda() ? built_cuda_architectures() : "";
  m.isa = kernels::name_of(kernels::cpu_isa());
  if (const char* commit = std::getenv("WEFT_COMMIT")) m.commit = commit;
  m.compute_capability = properties.compute_capability;
  m.multiprocessors = properties.multiprocessors;
  m.clock_mhz = properties.clock_mhz;
  m.threads = omp_get_max_threads();
  const double clocks = 1e6 * m.clock_mhz * m.multiprocessors;
  m.tf32 = clocks * tensor_flops_per_clock(m.compute_capability, Arithmetic::tf32);
  m.bf16 = clocks * tensor_flops_per_clock(m.compute_capability, Arithmetic::bf16);

  constexpr double kSharedBytesPerClock = 128;  // of one SM: 32 banks of 4 bytes
  m.shared = clocks * kSharedBytesPerClock;

  const TimingOptions quick = {0.05, 10};
  double flops = 0;
  const Timing fma = measure([&](int) { flops = fma_loop(stream); }, 1, quick, stream);
  m.fp32 = flops / fma.median;

  const std::int64_t n = device.is_cuda() ? std::int64_t{1} << 27 : std::int64_t{1} << 24;
  Tensor from(Shape{n}, DType::f32, stream), to(Shape{n}, DType::f32, stream);
  zero_bytes(from.raw(), from.bytes(), stream);
  zero_bytes(to.raw(), to.bytes(), stream);
  const Timing copy =
      measure([&](int) { copy_bytes(to.raw(), device, from.raw(), device, from.bytes(), stream); },
              1, quick, stream);
  m.copy = 2 * static_cast<double>(from.bytes()) / copy.median;
  const Timing sum = measure(
      [&](int) { sum_loop(to.data<float>(), from.data<float>(), n, stream); }, 1, quick, stream);
  m.bandwidth = std::max(m.copy, static_cast<double>(from.bytes()) / sum.median);
  return m;
}

}  // namespace weft::measure
