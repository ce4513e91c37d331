// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/signal/cpu/templates.h"

#include "kernels/signal/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const SignalCpu signal_cpu = {cpu::signal_convolve<float>};

}  // namespace weft::kernels::WEFT_ISA
