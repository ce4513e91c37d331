// SPDX-License-Identifier: MIT
// Convolution of bytes, for inference on the CPU: images of unsigned bytes, filters of signed ones,
// exact sums in 32-bit integers, and ReLU and max pooling before the sums are rounded again.
//
//   z[n,p,q,o]       bias[o] + sum of x[n, p sh + r - ph, q sw + s - pw, c] filter[o,r,s,c] over
//                    r, s and c; in the padding x is the bytes `padding`
//   pooled[n,u,v,o]  the largest z of a window, times factor[o] in fp32
//   y as bytes       zero + the integer nearest to pooled, cut to 0..255
//   y as reals       pooled
//
// A byte of x stands for (x - zero point) scale, and a filter for its bytes times a scale of its
// own. The caller puts both into bias and factor. Images lie with their channels last:
// (n, h, w, c).
//
// Filters take values of -63 to 63. Processors without VNNI add two products in 16 bits, and
// 2 * 255 * 63 fits. All instruction sets give the same bits.
//
// The scheme is that of Jacob et al., Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference, CVPR 2018. A scale for each filter is from Krishnamoorthi,
// Quantizing deep convolutional networks for efficient inference, 2018.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/conv_relu_pool/conv_relu_pool.h"

namespace weft::kernels {

inline constexpr int kInt8FilterMost = 63;
inline constexpr std::int64_t kInt8MostTaps = 65536;  // of a filter, c kh kw: sums fit
inline constexpr std::int32_t kInt8MostBias = 1 << 30;
inline constexpr std::int64_t kInt8Slack = 8;  // readable bytes behind x, whatever they are

// The filters of one convolution as the kernel reads them.
class Int8Filters {
 public:
  // `filters` is (oc, c, kh, kw), each value within +- kInt8FilterMost; bias, within
  // +- kInt8MostBias, and factor are (oc,). Throws usage for other sizes or values.
  Int8Filters(std::span<const std::int8_t> filters, std::span<const std::int32_t> bias,
              std::span<const float> factor, const ConvDims& dims);

  // Images of one pixel each that are multiplied together.
  static constexpr std::int64_t kRowsAtOnce = 32;

  const ConvDims& dims() const { return dims_; }  // without n
  // Output channels that lie side by side, a block, and bytes of one row of a filter, (kw, c), that
  // lie together: 16 and 4, or 8 and 8 where there are at most 8 channels.
  std::int64_t channels() const { return dims_.oc <= 8 ? 8 : 16; }
  std::int64_t bytes() const { return 64 / channels(); }
  std::int64_t blocks() const;
  std::int64_t groups() const;  // of so many bytes, of a row
  // (kh, groups(), channels(), bytes()) of a block; zeros beyond the filters.
  const std::int8_t* block(std::int64_t index) const;
  const std::int32_t* bias() const { return bias_.data(); }  // (16 blocks(),)
  const float* factor() const { return factor_.data(); }

 private:
  ConvDims dims_;
  std::vector<std::int8_t> packed_;
  std::vector<std::int32_t> bias_;
  std::vector<float> factor_;
};

struct Int8Call {
  const std::uint8_t* x = nullptr;  // (n, h, w, c), and kInt8Slack bytes more
  std::int64_t n = 0;
  const Int8Filters* filters = nullptr;
  const std::uint8_t* padding = nullptr;  // (c,): the bytes of padding
  std::int64_t ph = 1, pw = 1;            // the window of max pooling, which is also its stride
  int zero = 0;                           // of y, where it is bytes
  bool relu = false;                      // pooled = max(0, pooled)
};

// Bytes that a call needs besides its operands, at an address that 8 divides.
std::size_t int8_conv_workspace_bytes(const Int8Call& call);

// y is (n, rows, columns, oc). One thread computes it: callers share images out.
void int8_conv(std::uint8_t* y, const Int8Call& call, void* workspace);
void int8_conv(float* y, const Int8Call& call, void* workspace);

}  // namespace weft::kernels
