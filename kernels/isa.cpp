// SPDX-License-Identifier: MIT
#include "kernels/isa.h"

#include <cstdlib>

#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"

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
    const char* wanted = std::getenv("WEFT_CPU_ISA");
    if (wanted == nullptr || *wanted == '\0') return widest;
    for (const Isa choice : {Isa::baseline, Isa::avx2, Isa::avx512}) {
      if (wanted != name_of(choice)) continue;
      if (choice <= widest) return choice;
      throw Error(ErrorKind::usage, str("WEFT_CPU_ISA is ", wanted, ", but this processor has ",
                                        name_of(widest), " at most"));
    }
    throw Error(ErrorKind::usage,
                str("WEFT_CPU_ISA: expected baseline, avx2 or avx512, found ", shown(wanted)));
  }();
  return isa;
}

}  // namespace weft::kernels
