// SPDX-License-Identifier: MIT
// One convolution or linear layer of a network as a convolution of bytes, with the layers behind it
// that cost nothing there: batch normalisation, which becomes part of the filters, ReLU and max
// pooling.
#pragma once

#include <optional>

#include "kernels/int8/int8.h"
#include "layers/network/sequential.h"
#include "models/model.h"

namespace weft::models::int8 {

// Values as bytes: real = byte * step[c] + offset[c] in channel c.
struct Steps {
  std::vector<float> step, offset;  // (c,)
  std::vector<std::uint8_t> zero;   // (c,): the byte that is nearest to 0

  // The steps of pixels, normalised as the model wants them.
  static Steps of_pixels(const ModelInfo& info);
  // The bytes go from the least to the largest value, and 0 is one of them.
  static Steps of_range(const ValueRange& range, std::int64_t channels);
};

// A layer with parameters and what stands behind it, in double.
struct Chain {
  std::size_t first = 0, last = 0;   // the layers of the network that it is
  std::vector<double> weight, bias;  // (oc, c, kh, kw) and (oc,)
  kernels::ConvDims dims;            // without n
  std::int64_t ph = 1, pw = 1;       // of max pooling
  bool relu = false;
};

// The chain that begins with layer `first`, whose input as it is kept, without the batch, has the
// shape `kept`: a Flatten between keeps (c, h, w). Nothing where the layer is no convolution or
// linear layer that the kernel takes.
std::optional<Chain> chain_at(const Model& model, std::size_t first, const Shape& kept);

struct Product {
  kernels::Int8Filters filters;
  std::vector<std::uint8_t> padding;
  std::int64_t ph, pw;
  int zero;
  bool relu;

  kernels::Int8Call call(const std::uint8_t* x, std::int64_t n) const;
};

// `out`: the steps of the output, or none where it is real numbers. Throws data for weights that
// are not numbers.
Product quantized(const Chain& chain, const Steps& in, const Steps* out);

}  // namespace weft::models::int8
