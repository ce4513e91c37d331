// SPDX-License-Identifier: MIT
// Operators of constants, computed.
#pragma once

#include <optional>
#include <vector>

#include "models/onnx/simplify/graph_edit.h"

namespace weft::models::simplify {

// What a node makes of these inputs, null for one that it does not have. Nothing where Weft does
// not compute this operator, or not on such inputs. What it makes is bounded before it is made.
std::optional<Array> folded(const onnx::NodeProto& node, const std::vector<const Array*>& inputs,
                            Graph& graph);

// The extents that a Reshape to `shape` makes of `from`: 0 copies one, and -1 is the rest. Nothing
// where they do not fit.
std::optional<Extents> reshaped(const Extents& from, const Extents& shape, bool zero_copies);

// `axis` of so many, from the front; nothing where there is none.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

}  // namespace weft::models::simplify
