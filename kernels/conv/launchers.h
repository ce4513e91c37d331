// SPDX-License-Identifier: MIT
// The functions behind conv2d_*() on a GPU: those that the file of a rung in rungs/ defines.
#pragma once

#include <string>

#include "kernels/conv/conv.h"

namespace weft::kernels::cuda {

// One for each pass, as in conv.h. dims.n may be 0 only for backward weights; the other extents,
// outputs included, are positive. The workspace holds what the rung's ConvWorkspace says, aligned
// to 256 bytes.
using ConvForward = void(float* y, const float* x, const float* w, const float* bias,
                         const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                         Workspace workspace, const Stream& stream);
using ConvBackwardData = void(float* dx, const float* dy, const float* w, const ConvDims& dims,
                              GradientMode mode, const ConvOptions& options, Workspace workspace,
                              const Stream& stream);
using ConvBackwardWeights = void(float* dw, float* db, const float* dy, const float* x,
                                 const ConvDims& dims, GradientMode mode,
                                 const ConvOptions& options, Workspace workspace,
                                 const Stream& stream);
// Why the rung cannot take a shape; empty when it can.
using ConvTakes = std::string(const ConvProblem& problem);
using ConvWorkspace = std::size_t(const ConvProblem& problem);  // bytes

// Does `direct` keep the images of this pass and shape in shared memory? Otherwise it has a thread
// or a block for each result.
bool direct_fits(ConvPass pass, const ConvDims& dims);

// Partial sums of a weight gradient, for the rungs that state no workspace of their own.
std::size_t weight_gradient_bytes(const ConvDims& dims);

}  // namespace weft::kernels::cuda
