// SPDX-License-Identifier: MIT
#include "kernels/softmax/softmax.h"

#include <array>
#include <cstdint>

#include "kernels/checks.h"
#include "kernels/softmax/cpu_table.h"

#ifdef WEFT_WITH_CUDA
#include "kernels/softmax/cuda.h"
#endif

namespace weft::kernels {

namespace {

// Throws when the rows have no columns; returns whether there is anything to compute.
bool check_shape(std::string_view where, std::int64_t rows, std::int64_t cols) {
  const std::int64_t elements = checked_elements(where, {rows, cols});
  if (rows > 0 && cols == 0) {
    throw Error(ErrorKind::usage, str(where, ": shape (", rows, ", 0) has rows without columns"));
  }
  if (cols > INT32_MAX) {
    throw Error(ErrorKind::usage, str(where, ": at most 2^31 - 1 columns, found ", cols));
  }
  return elements > 0;
}

}  // namespace

void softmax_forward(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                     const Stream& stream) {
  if (!check_shape("softmax_forward", rows, cols)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cols <= cuda::kWarpColumns ? cuda::softmax_forward_warp(y, x, rows, cols, stream)
                                      : cuda::softmax_forward_block(y, x, rows, cols, stream);
  }
#endif
  static_cast<void>(stream);
  select_softmax_cpu().forward(y, x, rows, cols);
}

void softmax_backward(float* dx, const float* dy, const float* y, std::int64_t rows,
                      std::int64_t cols, GradientMode mode, const Stream& stream) {
  if (!check_shape("softmax_backward", rows, cols)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cols <= cuda::kWarpColumns
               ? cuda::softmax_backward_warp(dx, dy, y, rows, cols, mode, stream)
               : cuda::softmax_backward_block(dx, dy, y, rows, cols, mode, stream);
  }
#endif
  static_cast<void>(stream);
  select_softmax_cpu().backward(dx, dy, y, rows, cols, mode);
}

void softmax_cross_entropy(float* loss, float* dx, std::int32_t* prediction, const float* x,
                           const std::int32_t* labels, float scale, std::int64_t rows,
                           std::int64_t cols, const Stream& stream) {
  if (!check_shape("softmax_cross_entropy", rows, cols)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cols <= cuda::kWarpColumns
               ? cuda::softmax_cross_entropy_warp(loss, dx, prediction, x, labels, scale, rows,
                                                  cols, stream)
               : cuda::softmax_cross_entropy_block(loss, dx, prediction, x, labels, scale, rows,
                                                   cols, stream);
  }
#endif
  static_cast<void>(stream);
  select_softmax_cpu().cross_entropy(loss, dx, prediction, x, labels, scale, rows, cols);
}

namespace {

constexpr std::array kVariants = {
    VariantInfo{"warp_per_row",
                "one warp keeps a row of up to 1024 columns in registers: one read, one write, "
                "sums by shuffles",
                true, true, 0, ""},
    VariantInfo{
        "block_per_row",
        "one block walks a longer row: maximum, sum and output in passes that hit the L2 cache",
        false, true, 0, ""},
};

}  // namespace

std::span<const VariantInfo> softmax_variants() {
  return kVariants;
}

}  // namespace weft::kernels
