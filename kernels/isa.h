// SPDX-License-Identifier: MIT
// Run-time choice of the x86 instruction set for the CPU kernels.
//
// kernels/FAMILY/cpu/templates.h holds templates on the scalar type inside
//   namespace weft::kernels::cpu { inline namespace WEFT_ISA { ... } }
// kernels/FAMILY/cpu/instances.cpp instantiates them for float and puts them in a table of function
// pointers, declared in kernels/FAMILY/cpu/table.h. The build compiles instances.cpp once per
// instruction set, each time with another WEFT_ISA and other machine flags, and select_isa() picks
// the table at run time. The namespace keeps the linker from merging code for different machines,
// so templates.h must not call non-trivial inline functions of the standard library (use plain
// loops and its own helpers). Elsewhere (the tests' double oracle) templates.h is compiled with
// WEFT_ISA = baseline.
#pragma once

#include <string_view>

#ifndef WEFT_ISA
#define WEFT_ISA baseline
#endif

namespace weft::kernels {

enum class Isa { baseline, avx2, avx512 };  // baseline is SSE2 on x86-64

// The widest that this processor and its operating system support, or the one that the environment
// variable WEFT_CPU_ISA names: baseline, avx2 or avx512. Throws usage for another name, and where
// the processor lacks what is named. Results differ between instruction sets, in rounding.
Isa cpu_isa();
std::string_view name_of(Isa isa);

#ifdef WEFT_X86_DISPATCH
#define WEFT_DECLARE_CPU_TABLE(Type, name)                                                     \
  namespace baseline {                                                                         \
  extern const Type name;                                                                      \
  }                                                                                            \
  namespace avx2 {                                                                             \
  extern const Type name;                                                                      \
  }                                                                                            \
  namespace avx512 {                                                                           \
  extern const Type name;                                                                      \
  }                                                                                            \
  inline const Type& select_##name() {                                                         \
    const Isa isa = cpu_isa();                                                                 \
    return isa == Isa::avx512 ? avx512::name : isa == Isa::avx2 ? avx2::name : baseline::name; \
  }
#else
#define WEFT_DECLARE_CPU_TABLE(Type, name) \
  namespace baseline {                     \
  extern const Type name;                  \
  }                                        \
  inline const Type& select_##name() {     \
    static_cast<void>(cpu_isa());          \
    return baseline::name;                 \
  }
#endif

}  // namespace weft::kernels
