// SPDX-License-Identifier: MIT
#include "measure/cpu/peak.h"

#include "kernels/isa.h"

namespace weft::measure {

using kernels::cpu_isa;
using kernels::Isa;
WEFT_DECLARE_CPU_TABLE(CpuPeak, peak)

const CpuPeak& cpu_peak() {
  return select_peak();
}

}  // namespace weft::measure
