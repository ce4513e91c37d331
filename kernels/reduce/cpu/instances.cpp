// SPDX-License-Identifier: MIT
#include "kernels/reduce/cpu/templates.h"

#include "kernels/reduce/cpu/table.h"

namespace weft::kernels::WEFT_ISA {
namespace {

void run(const ReduceCall& call) {
  with_type(call.type, [&](auto zero) {
    using T = decltype(zero);
    const T* x = static_cast<const T*>(call.x);
    if (call.index != nullptr) return cpu::argmax(call.index, x, call.n, call.workspace);
    cpu::reduce(static_cast<T*>(call.result), x, call.n, call.kind, call.workspace);
  });
}

}  // namespace

extern const ReduceCpu reduce_cpu = {run};

}  // namespace weft::kernels::WEFT_ISA
