// SPDX-License-Identifier: MIT
// From the contract to a technique: the operator by name becomes a type.
#pragma once

#include "kernels/operators.h"
#include "kernels/scan/cuda.h"

namespace weft::kernels::cuda {

// Technique::run(y, x, n, exclusive, op, workspace, stream) with the operator of the arguments.
template <class Technique, class T>
void run_scan(const ScanArguments<T>& a, const Stream& stream) {
  switch (a.op) {
    case ScanOp::sum:
      return Technique::run(a.y, a.x, a.n, a.exclusive, Sum<T>(), a.workspace, stream);
    case ScanOp::min:
      return Technique::run(a.y, a.x, a.n, a.exclusive, Min<T>(), a.workspace, stream);
    case ScanOp::max:
      return Technique::run(a.y, a.x, a.n, a.exclusive, Max<T>(), a.workspace, stream);
    case ScanOp::product:
      return Technique::run(a.y, a.x, a.n, a.exclusive, Product<T>(), a.workspace, stream);
  }
}

}  // namespace weft::kernels::cuda
