// SPDX-License-Identifier: MIT
#include "kernels/histogram/cpu/templates.h"

#include "kernels/histogram/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

namespace {

template <class Binning>
constexpr HistogramCpuOf<Binning> table_of() {
  return {cpu::histogram_global_atomics<Binning>, cpu::histogram_privatized<Binning>};
}

}  // namespace

extern const HistogramCpu histogram_cpu = {
    table_of<ByteBinning>(),
    table_of<IntegerBinning>(),
    table_of<EvenBinning<float>>(),
};

}  // namespace weft::kernels::WEFT_ISA
