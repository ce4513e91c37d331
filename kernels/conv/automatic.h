// SPDX-License-Identifier: MIT
// What `automatic` takes for a convolution.
#pragma once

#include "kernels/conv/conv.h"

namespace weft::kernels {

Choice conv_automatic(const ConvProblem& problem, Device device);

}  // namespace weft::kernels
