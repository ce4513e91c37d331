// SPDX-License-Identifier: MIT
#include "measure/machine/gpus.h"

#include <algorithm>

namespace weft::measure {
namespace {

constexpr std::int64_t kKiB = 1024;

constexpr SmLimits kVolta = {
    .shared_bytes = 96 * kKiB, .shared_of_block = 96 * kKiB, .shared_unit = 256};
constexpr SmLimits kTuring = {.threads = 1024,
                              .blocks = 16,
                              .shared_bytes = 64 * kKiB,
                              .shared_of_block = 64 * kKiB,
                              .shared_unit = 256};
constexpr SmLimits kAmpere = {
    .shared_bytes = 164 * kKiB, .shared_of_block = 163 * kKiB, .shared_reserved = kKiB};
constexpr SmLimits with_1536_threads(int blocks) {  // of compute capabilities 8.6, 8.9 and 12.0
  return {.threads = 1536,
          .blocks = blocks,
          .shared_bytes = 100 * kKiB,
          .shared_of_block = 99 * kKiB,
          .shared_reserved = kKiB};
}
constexpr SmLimits kHopper = {
    .shared_bytes = 228 * kKiB, .shared_of_block = 227 * kKiB, .shared_reserved = kKiB};

// name, model, compute capability, SMs, bytes/s, FLOP/s of fp32, tf32, bf16
constexpr Gpu kGpus[] = {
    {"v100", "NVIDIA V100 SXM2", 70, 80, 900e9, 15.7e12, 0, 0, kVolta},
    {"t4", "NVIDIA T4", 75, 40, 320e9, 8.1e12, 0, 0, kTuring},
    {"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", 75, 68, 616e9, 13.4e12, 0, 0, kTuring},
    {"a100", "NVIDIA A100 80 GB SXM", 80, 108, 2039e9, 19.5e12, 156e12, 312e12, kAmpere},
    {"a10", "NVIDIA A10", 86, 72, 600e9, 31.2e12, 62.5e12, 125e12, with_1536_threads(16)},
    {"a40", "NVIDIA A40", 86, 84, 696e9, 37.4e12, 74.8e12, 149.7e12, with_1536_threads(16)},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, 936e9, 35.6e12, 35.6e12, 71e12,
     with_1536_threads(16)},
    {"l4", "NVIDIA L4", 89, 58, 300e9, 30.3e12, 60e12, 121e12, with_1536_threads(24)},
    {"l40s", "NVIDIA L40S", 89, 142, 864e9, 91.6e12, 183e12, 362e12, with_1536_threads(24)},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 1008e9, 82.6e12, 82.6e12, 165.2e12,
     with_1536_threads(24)},
    {"h100-pcie", "NVIDIA H100 PCIe", 90, 114, 2000e9, 51e12, 378e12, 756e12, kHopper},
    {"h100", "NVIDIA H100 SXM", 90, 132, 3350e9, 67e12, 494.5e12, 989e12, kHopper},
    {"h200", "NVIDIA H200 SXM", 90, 132, 4800e9, 67e12, 494.5e12, 989e12, kHopper},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 120, 170, 1792e9, 104.8e12, 104.8e12, 209.5e12,
     with_1536_threads(24)},
};

}  // namespace

SmLimits SmLimits::on_paper() const {
  SmLimits paper = *this;
  paper.shared_reserved = 0;
  paper.partitions = paper.register_unit = paper.shared_unit = 1;
  return paper;
}

double Gpu::peak(kernels::Arithmetic arithmetic) const {
  switch (arithmetic) {
    case kernels::Arithmetic::tf32:
      return tf32;
    case kernels::Arithmetic::tf32x3:
      return tf32 / 3;
    case kernels::Arithmetic::fp16x3:
      return bf16 / 3;  // fp16 is as fast as bf16
    case kernels::Arithmetic::bf16:
      return bf16;
    default:
      return fp32;
  }
}

std::span<const Gpu> gpus() {
  return kGpus;
}

RooflinePlace place_on_roofline(double flops, double bytes, double bandwidth, double peak) {
  RooflinePlace place;
  place.intensity = flops / bytes;
  place.balance = peak / bandwidth;
  place.by_memory = place.intensity < place.balance;
  place.bound = std::max(bytes / bandwidth, flops / peak);
  place.flops_per_second = flops / place.bound;
  place.share_of_peak = place.flops_per_second / peak;
  return place;
}

}  // namespace weft::measure
