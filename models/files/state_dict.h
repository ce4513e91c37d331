// SPDX-License-Identifier: MIT
// Between the flat arrays of a network and the named tensors of a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layers/network/sequential.h"
#include "models/files/safetensors.h"

namespace weft::models {

// The slices of a network that a flat array holds: the trainable parameters or the buffers.
enum class SliceKind { parameters, buffers };

// Appends the slices of `flat`, each named prefix + slice name.
void add_tensors(SafeTensors& content, const std::string& prefix, const layers::Sequential& net,
                 SliceKind kind, std::span<const float> flat);

// The reverse. Error{data}, prefixed by `where`, for a tensor that is missing, has another shape
// than the network expects, or holds a NaN or an infinity; memory is taken only after that.
std::vector<float> flat_values(const SafeTensors& content, const std::string& prefix,
                               const layers::Sequential& net, SliceKind kind,
                               const std::string& where);

// Error{data} naming the first tensor that is none of prefix + slice name for these prefixes.
void check_no_others(const SafeTensors& content, std::span<const std::string> prefixes,
                     const layers::Sequential& net, const std::string& where);

bool all_finite(std::span<const float> values);

}  // namespace weft::models
