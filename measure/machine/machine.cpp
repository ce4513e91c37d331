// SPDX-License-Identifier: MIT
#include "measure/machine/machine.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "data/versions/build_info.h"
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

// Units that all threads do in a second: the best of `attempts` of each thread, added up. Other
// programs only make an attempt longer, and a bound is what could be reached without them.
template <class Loop>
double rate_of_threads(int attempts, double units, Loop loop) {
  double all = 0;
#pragma omp parallel reduction(+ : all)
  {
    double best = 0;
    for (int i = 0; i < attempts; ++i) {
#pragma omp barrier
      const Timer timer;
      loop(omp_get_thread_num());
      best = std::max(best, units / std::max(timer.seconds(), 1e-9));
    }
    all += best;
  }
  return all;
}

// The faster of reading and copying `bytes` by all threads, each its own part of them.
double cpu_bandwidth(double bytes, int threads, int attempts) {
  // Through a pointer that the compiler does not see through, so that no copy is dead.
  static void* (*volatile const copy)(void*, const void*, std::size_t) = std::memcpy;
  constexpr double kLeast = 2 << 20;  // bytes of an attempt of a thread
  const auto floats = static_cast<std::size_t>(bytes / threads / sizeof(float)) / 64 * 64;
  const std::size_t half = floats / 2;
  const double part = static_cast<double>(floats * sizeof(float));
  const int sweeps = std::max(1, static_cast<int>(kLeast / part));
  std::vector<float> memory(floats * static_cast<std::size_t>(threads));
  const auto of_thread = [&](int t) {
    return memory.data() + floats * static_cast<std::size_t>(t);
  };
  const auto rate = [&](auto sweep) {
    return rate_of_threads(attempts, sweeps * part, [&](int t) {
      for (int i = 0; i < sweeps; ++i) sweep(of_thread(t));
    });
  };
  const double sum =
      rate([&](float* x) { sink = cpu_peak().sum(x, static_cast<std::int64_t>(floats)); });
  return std::max(sum, rate([&](float* x) { copy(x + half, x, half * sizeof(float)); }));
}

void measure_cpu(Machine& m) {
  m.fp32 = rate_of_threads(10, cpu_peak().flops,
                           [](int t) { sink = cpu_peak().fma(static_cast<float>(t)); });
  // Bytes of a thread.
  constexpr double kParts[] = {8 << 10, 64 << 10, 512 << 10, 2 << 20, 8 << 20};
  for (const double part : kParts) {
    m.caches.push_back({part * m.threads, cpu_bandwidth(part * m.threads, m.threads, 10)});
  }
  constexpr double kMemory = 64 << 20;
  m.caches.push_back({std::max(kMemory, 4 * m.caches.back().bytes), 0});
  m.caches.back().bandwidth = cpu_bandwidth(m.caches.back().bytes, m.threads, 3);
  m.bandwidth = m.caches.back().bandwidth;
  // What a smaller cache holds, it can also get from a larger one.
  for (std::size_t i = m.caches.size() - 1; i > 0; --i) {
    m.caches[i - 1].bandwidth = std::max(m.caches[i - 1].bandwidth, m.caches[i].bandwidth);
  }
}

}  // namespace

#ifdef WEFT_WITH_CUDA
double cuda_fma_loop(const Stream& stream);  // FLOPs that one call does
void cuda_sum_loop(float* out, const float* x, std::int64_t n, const Stream& stream);
#endif

double Machine::peak(Arithmetic arithmetic) const {
  const double tensor = arithmetic == Arithmetic::tf32     ? tf32
                        : arithmetic == Arithmetic::bf16   ? bf16
                        : arithmetic == Arithmetic::tf32x3 ? tf32 / 3
                        : arithmetic == Arithmetic::fp16x3 ? bf16 / 3  // fp16 is as fast as bf16
                                                           : 0.0;
  return tensor > 0 ? tensor : fp32;
}

double Machine::bandwidth_of(double touched) const {
  double found = caches.empty() ? bandwidth : caches.front().bandwidth;
  for (const CacheLevel& level : caches) {
    if (level.bytes <= touched) found = level.bandwidth;
  }
  return found;
}

double Machine::bound(double bytes, double flops, Arithmetic arithmetic, Traffic traffic,
                      double touched) const {
  const double rate = traffic == Traffic::device_memory   ? bandwidth_of(touched)
                      : traffic == Traffic::shared_memory ? shared
                                                          : 0.0;
  return std::max(rate > 0 ? bytes / rate : 0.0, fp32 > 0 ? flops / peak(arithmetic) : 0.0);
}

std::string measured_commit() {
  const char* commit = std::getenv("WEFT_COMMIT");
  return commit != nullptr ? commit : build_info().commit;
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
  m.commit = measured_commit();
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
  const std::int64_t n = device.is_cuda() ? std::int64_t{1} << 27 : std::int64_t{1} << 24;
  Tensor from(Shape{n}, DType::f32, stream), to(Shape{n}, DType::f32, stream);
  zero_bytes(from.raw(), from.bytes(), stream);
  zero_bytes(to.raw(), to.bytes(), stream);
  const Timing copy =
      measure([&](int) { copy_bytes(to.raw(), device, from.raw(), device, from.bytes(), stream); },
              1, quick, stream);
  m.copy = 2 * static_cast<double>(from.bytes()) / copy.median;
  if (device.is_cpu()) {
    measure_cpu(m);
    return m;
  }
#ifdef WEFT_WITH_CUDA
  // The fastest sample of a ceiling counts: what disturbs a sample only makes it longer.
  double flops = 0;
  const Timing fma = measure([&](int) { flops = cuda_fma_loop(stream); }, 1, quick, stream);
  m.fp32 = flops / fma.least;
  const Timing sum =
      measure([&](int) { cuda_sum_loop(to.data<float>(), from.data<float>(), n, stream); }, 1,
              quick, stream);
  const double bytes = static_cast<double>(from.bytes());
  m.bandwidth = std::max(2 * bytes / copy.least, bytes / sum.least);
#endif
  return m;
}

}  // namespace weft::measure
