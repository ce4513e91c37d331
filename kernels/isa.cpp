// SPDX-License-Identifier: MIT
#include "kernels/isa.h"

#include <cstdlib>

namespace weft::kernels {

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

namespace {

Isa widest_isa() {
#ifdef WEFT_X86_DISPATCH
  // These read CPUID and the registers that the operating system saves.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::baseline;
}

}  // namespace

Isa cpu_isa() {
  static const Isa isa = [] {
    const Isa widest = widest_isa();
    if (const char* wanted = std::getenv("WEFT_CPU_ISA")) {
      for (const Isa choice : {Isa::baseline, Isa::avx2, Isa::avx512}) {
        if (wanted == name_of(choice) && choice <= widest) return choice;
      }
    }
    return widest;
  }();
  return isa;
}

}  // namespace weft::kernels
