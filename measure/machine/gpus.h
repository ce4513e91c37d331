// SPDX-License-Identifier: MIT
// Public figures of GPUs, for questions that need no GPU: what fits on an SM, and where a kernel
// stands on the roofline.
//
// Sources: the limits of an SM are those of "Technical Specifications per Compute Capability" in
// the CUDA C++ Programming Guide; the units in which registers and shared memory are handed out are
// those of the occupancy calculator of the CUDA Toolkit. SMs, bandwidth and peaks are those of
// NVIDIA's datasheets and architecture whitepapers, without sparsity and at the boost clock. Peaks
// of tensor cores are with fp32 accumulation. A measured peak is lower.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/ladder.h"

namespace weft::measure {

// What one SM has, and the units in which it is handed out.
struct SmLimits {
  int threads = 2048, blocks = 32;   // resident at the same time
  std::int64_t registers = 65536;    // of 32 bits
  std::int64_t shared_bytes = 0;     // the largest share of the L1 cache's memory
  std::int64_t shared_of_block = 0;  // bytes; above 48 KiB a kernel has to ask for it
  std::int64_t shared_reserved = 0;  // bytes that CUDA takes for itself in each block
  int partitions = 4;                // each has its own registers; a warp stays in one
  int register_unit = 256;           // registers, handed out to a warp
  int shared_unit = 128;             // bytes, handed out to a block

  // The same limits without units, partitions and reserved bytes, as courses compute.
  SmLimits on_paper() const;
};

struct Gpu {
  std::string_view name, model;  // "a100", "NVIDIA A100 80 GB SXM"
  int compute_capability = 0;    // 80 for 8.0
  int multiprocessors = 0;
  double bandwidth = 0;                 // of device memory, bytes/s
  double fp32 = 0, tf32 = 0, bf16 = 0;  // FLOP/s; 0: it has no such instructions
  SmLimits sm = {};

  double peak(
      kernels::Arithmetic arithmetic) const;  // tf32x3, fp16x3: a third of tf32, bf16; 0: none
};

std::span<const Gpu> gpus();  // the oldest first

// Where work of `flops` and `bytes` stands on the roofline of a GPU.
struct RooflinePlace {
  double intensity = 0;  // FLOP per byte
  double balance = 0;    // of the GPU: below it the memory bounds, above it the arithmetic
  double bound = 0;      // seconds that the work takes at least
  bool by_memory = true;
  double flops_per_second = 0;  // reached at the bound
  double share_of_peak = 0;     // of the arithmetic
};
// peak must be positive.
RooflinePlace place_on_roofline(double flops, double bytes, double bandwidth, double peak);

}  // namespace weft::measure
