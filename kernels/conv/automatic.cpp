// SPDX-License-Identifier: MIT
// The thresholds were measured on an H200 (bench/results).
#include "kernels/conv/automatic.h"

#include "engine/extent.h"
#include "kernels/conv/launchers.h"
#include "kernels/conv/parts/validate.h"

namespace weft::kernels {
namespace {

// Above some thousand weights the tiles of a product reuse more than a direct thread can. Tensor
// cores pay when channels and filters fill their tiles (a chunk is 16 channels, a tile 64 filters)
// and the work outlasts packing the operands, which is some 10 us of launches.
bool fills_tensor_cores(const ConvDims& d) {
  const double flops = 2.0 * static_cast<double>(d.n) * static_cast<double>(d.oh() * d.ow()) *
                       static_cast<double>(d.oc * d.c * d.kh * d.kw);
  return d.c >= 16 && d.oc >= 16 && d.c * d.oc >= 512 && flops >= 1e8;
}

// A tile is 16 filters, or 16 channels at a column of taps, and 8 of what is left.
bool fills_small_tiles(const ConvDims& d) {
  return d.c >= 4 && d.oc >= 8;
}

// Stride 1, and channels that fill a copy of 128 bytes. Weight gradients have images side by side
// instead, and a fifth of a copy may be empty. Three products in fp32 are too many for tiles that
// are half empty.
bool fills_copies(const ConvProblem& problem) {
  const auto& [pass, d, mode] = problem;
  const std::int64_t copied = mode == ComputeMode::bf16 ? 64 : 32;
  if (pass == ConvPass::backward_weights) {
    const std::int64_t with_missing = round_up(d.n, copied);
    return 5 * d.n >= 4 * with_missing;
  }
  const bool forward = pass == ConvPass::forward;
  if (mode == ComputeMode::fp32 && (forward ? d.oc : d.c) <= 32) return false;
  return (forward ? d.c : d.oc) >= copied;
}

}  // namespace

Choice conv_automatic(const ConvProblem& problem, Device device) {
  const auto& [pass, dims, mode] = problem;
  if (device.is_cuda()) {
    if (!image_size_refusal(dims).empty()) return {"direct", "an image of 2^30 elements or more"};
    const int capability = device_properties(device).compute_capability;
    if (capability >= 80 && fills_tensor_cores(dims)) {
      if (fills_copies(problem) && conv_takes("implicit_gemm_wgmma", problem, device)) {
        return {"implicit_gemm_wgmma", pass == ConvPass::backward_weights
                                           ? "images fill the copies of a pixel, side by side"
                                           : "channels fill the copies of whole boxes of pixels"};
      }
      return {"implicit_gemm_tensor_core", "channels and filters fill tiles of tensor cores"};
    }
    const std::int64_t weights = dims.oc * dims.c * dims.kh * dims.kw;
    const bool few_weights = pass != ConvPass::backward_weights || weights <= 4096;
    if (few_weights && WEFT_CUDA(cuda::direct_fits)(pass, dims)) {
      if (fills_small_tiles(dims) && conv_takes("direct_tensor_core", problem, device)) {
        return {"direct_tensor_core",
                "an image and all filters fit in shared memory and fill small tiles"};
      }
      return {"direct", "an image and all filters fit in shared memory"};
    }
    return {"implicit_gemm", "too many weights for shared memory, or an odd shape"};
  }
  return {"implicit_gemm", "the one for any shape on a CPU"};
}

}  // namespace weft::kernels
