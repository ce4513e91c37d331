// SPDX-License-Identifier: MIT
// The functions behind scan(): the launcher of a rung, which its file in rungs/ defines for the
// types and operators of scan.h. For other operators include rungs/NAME.cuh in a .cu file and call
// its run().
#pragma once

#include "kernels/operators.h"
#include "kernels/scan/scan.h"

namespace weft::kernels {

// A call after validation.
struct ScanCall {
  ElementType type;
  void* y;
  const void* x;
  std::int64_t n;  // > 0
  ScanOp op;
  bool exclusive;
  void* workspace;
};

// Calls run(op, y, x) with the type and the operator of a call.
template <class Run>
void with_operator(const ScanCall& call, Run run) {
  with_type(call.type, [&](auto zero) {
    using T = decltype(zero);
    T* y = static_cast<T*>(call.y);
    const T* x = static_cast<const T*>(call.x);
    switch (call.op) {
      case ScanOp::sum:
        return run(Sum<T>(), y, x);
      case ScanOp::min:
        return run(Min<T>(), y, x);
      case ScanOp::max:
        return run(Max<T>(), y, x);
      case ScanOp::product:
        return run(Product<T>(), y, x);
    }
  });
}

namespace cuda {

using ScanLauncher = void(const ScanCall& call, const Stream& stream);

template <class Technique>
void run_scan(const ScanCall& call, const Stream& stream) {
  with_operator(call, [&](auto op, auto* y, const auto* x) {
    Technique::run(y, x, call.n, call.exclusive, op, call.workspace, stream);
  });
}

}  // namespace cuda
}  // namespace weft::kernels
