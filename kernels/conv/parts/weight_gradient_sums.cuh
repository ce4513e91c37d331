// SPDX-License-Identifier: MIT
// The two-stage reduction of the weight gradient, shared by the convolution techniques.
//
// Images are cut into chunks whose number depends on the dimensions alone. A technique writes one
// row of partial sums for each chunk: the filters' gradient (oc, c, kh, kw), then the bias's (oc,).
// sum_partials() adds the rows in fixed order, so the result is the same bits every time.
#pragma once

#include "kernels/conv/launchers.h"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {

struct WeightChunks {
  std::int64_t weights = 0;  // oc c kh kw
  std::int64_t row = 0;      // floats in a row of partial sums: weights + oc
  std::int64_t images = 1;   // in a chunk; the last may have fewer
  std::int64_t count = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(count * row) * sizeof(float); }
};

// At most `most` chunks; fewer of many weights.
constexpr std::int64_t kMostWeightChunks = 512;
WeightChunks weight_chunks(const ConvDims& dims, std::int64_t most = kMostWeightChunks);

// first[i] (+)= sum over rows of partials[row * stride + i], and second[i] likewise from column
// first_count on. Each may be null. rows == 0 gives sums of 0.
void sum_partials(float* first, std::int64_t first_count, float* second, std::int64_t second_count,
                  const float* partials, std::int64_t rows, std::int64_t stride, GradientMode mode,
                  const Stream& stream);

// partials[chunk * chunks.row + o] = sum of dy[n, o, :, :] over the images of the chunk.
void bias_partials(float* partials, const float* dy, const ConvDims& dims,
                   const WeightChunks& chunks, const Stream& stream);

// db (+)= the sums of dy, by way of bias_gradient_bytes() of scratch.
void bias_gradient(float* db, const float* dy, const ConvDims& dims, GradientMode mode,
                   void* scratch, const Stream& stream);
std::size_t bias_gradient_bytes(const ConvDims& dims);

// dw (+)= the sums over slices of products on tensor cores, whose columns are in cells of channels:
// (kernel_height, groups, kernel_width, cell).
struct SliceSums {
  float* dw;
  const float* partials;  // (slices, oc, kh groups kw cell)
  std::int64_t slices;    // 0 gives sums of 0
  const ConvDims* dims;
  std::int64_t cell, groups;  // channels of a cell; cells for all channels
  GradientMode mode;
};
void sum_slices(const SliceSums& sums, const Stream& stream);

}  // namespace weft::kernels::cuda
