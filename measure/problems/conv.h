// SPDX-License-Identifier: MIT
// What the convolutions share.
#pragma once

#include "kernels/conv/problem.h"
#include "measure/families.h"

namespace weft::measure {

MakeWork conv_work(const problems::Conv& p);
// The layer of a --size: images, or images, channels, height, width, filters and the side of their
// kernels.
kernels::ConvDims layer_of(std::span<const std::int64_t> size);
// What `choice` says for each mode and pass.
std::vector<NamedChoice> choices_by_mode_and_pass(
    const std::function<kernels::Choice(kernels::ConvPass, kernels::ComputeMode)>& choice);

}  // namespace weft::measure
