// SPDX-License-Identifier: MIT
// The instruction sets that tests can run here, whatever WEFT_CPU_ISA says: baseline and all that
// the processor has. WEFT_CPU_TABLES(GemmCpu, gemm_cpu) defines gemm_cpu_tables().
#pragma once

#include <string_view>
#include <vector>

#include "kernels/isa.h"

namespace weft::test {

template <class Table>
struct IsaTable {
  std::string_view isa;
  const Table* table;
};

}  // namespace weft::test

#ifdef __x86_64__
#define WEFT_CPU_TABLES(Type, name)                                                         \
  namespace weft::kernels {                                                                 \
  namespace baseline {                                                                      \
  extern const Type name;                                                                   \
  }                                                                                         \
  namespace avx2 {                                                                          \
  extern const Type name;                                                                   \
  }                                                                                         \
  namespace avx512 {                                                                        \
  extern const Type name;                                                                   \
  }                                                                                         \
  }                                                                                         \
  namespace weft::test {                                                                    \
  inline std::vector<IsaTable<kernels::Type>> name##_tables() {                             \
    std::vector<IsaTable<kernels::Type>> tables = {{"baseline", &kernels::baseline::name}}; \
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {                  \
      tables.push_back({"avx2", &kernels::avx2::name});                                     \
    }                                                                                       \
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&          \
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {         \
      tables.push_back({"avx512", &kernels::avx512::name});                                 \
    }                                                                                       \
    return tables;                                                                          \
  }                                                                                         \
  }
#else
#define WEFT_CPU_TABLES(Type, name)                             \
  namespace weft::kernels::baseline {                           \
  extern const Type name;                                       \
  }                                                             \
  namespace weft::test {                                        \
  inline std::vector<IsaTable<kernels::Type>> name##_tables() { \
    return {{"baseline", &kernels::baseline::name}};            \
  }                                                             \
  }
#endif
