// SPDX-License-Identifier: MIT
// What flows through a network in 8-bit integers: values as bytes, as real numbers or as both, and
// the calls that make them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/int8/product.h"

namespace weft::models::int8 {

// What a layer makes, or the pixels: of each image (c, h, w), as real numbers, or as bytes with the
// channels last, or as both.
struct Value {
  Shape shape;  // (c, h, w)
  Steps steps;
  bool as_bytes = false, as_reals = false;
  bool as_reals_first = false;             // its bytes are made of its real numbers
  std::size_t bytes_at = 0, reals_at = 0;  // of an image, among those of all values

  std::size_t size() const { return static_cast<std::size_t>(shape.elements()); }
};

// A call: a product, a layer that is a table of its bytes, or one in fp32.
struct Step {
  std::optional<Product> product = {};
  std::vector<std::uint8_t> table = {};  // (c, 256): what each byte of a channel becomes
  const layers::Layer* layer = nullptr;
  layers::LayerContext context = {};
  Shape input_shape = {}, output_shape = {}, other_shape = {};  // of a layer, for a batch of 1
  std::size_t in = 0, other = 0, out = 0;  // values; `other`: 0 where there is none
  bool makes_bytes = false;
};

// How an image of shape (1, features) or (1, c, h, w) is kept: (c, h, w).
Shape kept_shape(const Shape& shape);
Shape with_rows(const Shape& shape, std::int64_t rows);  // (rows, ...) for (1, ...)

// The values of so many images: (rows, c, h, w) as real numbers, (rows, h, w, c) as bytes.
void to_reals(float* out, const std::uint8_t* bytes, const Value& value, std::int64_t rows);
void to_bytes(std::uint8_t* out, const float* reals, const Value& value, std::int64_t rows);

// Does a value that the layer makes depend on one value and its channel alone?
bool is_elementwise(const layers::Layer& layer, const Shape& input, const Shape& kept);
// The layer's outputs for every byte of every channel, (c, 256), by its own kernel.
std::vector<std::uint8_t> table_of(const Step& step, const Value& in, const Value& out);

}  // namespace weft::models::int8
