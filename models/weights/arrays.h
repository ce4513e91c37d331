// SPDX-License-Identifier: MIT
// NumPy's arrays as tensors. Internal to the readers of weights.
#pragma once

#include <string>

#include "data/arrays/npy.h"
#include "engine/error.h"
#include "engine/text.h"
#include "models/files/safetensors.h"

namespace weft::models {

// The shape of a tensor with these extents, which are not negative. Throws data where there are
// more of them than Weft's tensors have.
inline Shape shape_of(const std::vector<std::int64_t>& extents, const std::string& where) {
  if (extents.size() > static_cast<std::size_t>(Shape::kMaxRank)) {
    throw Error(ErrorKind::data, str(where, ": a tensor of ", extents.size(),
                                     " dimensions, expected at most ", Shape::kMaxRank));
  }
  return Shape(std::span<const std::int64_t>(extents));
}

inline NamedTensor tensor_of(const std::string& name, const data::NpyArray& array,
                             const std::string& where) {
  NamedTensor tensor{name, shape_of(array.shape, where), {}};
  const data::NpyElement at = data::element_of(array);
  const auto count = static_cast<std::size_t>(array.elements());
  tensor.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    tensor.values.push_back(static_cast<float>(at(array, i)));
  }
  return tensor;
}

}  // namespace weft::models
