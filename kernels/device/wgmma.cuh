// SPDX-License-Identifier: MIT
// Tensor-core multiply-add of a warpgroup, asynchronous, operands in shared memory (PTX ISA,
// "Asynchronous warpgroup level matrix instructions"). Needs sm_90a.
//
// A warpgroup is four consecutive warps from a multiple of four. It computes D (64, n) += A B with
// A (64, k) and B (k, n); k spans 32 bytes. Warp w holds rows 16 w to 16 w + 15 of D: with group =
// lane / 4 and member = lane % 4, a lane has
//   d[4 j + 0], d[4 j + 1]   at row group, columns 8 j + 2 member and 8 j + 2 member + 1
//   d[4 j + 2], d[4 j + 3]   the same columns at row group + 8
//
// An operand lies in shared memory as TMA writes it with the 128-byte swizzle, from an address that
// is a multiple of 1024 bytes:
//   K-major   rows of 128 bytes along k, one for each m (or n)
//   MN-major  panels of rows of 128 bytes along m (or n), one row for each k; bf16 only
// or as quads of 16 bytes without swizzle, any address a multiple of 16 (wgmma_quads_descriptor).
#pragma once

#include <cstdint>

#include "kernels/device/tma.cuh"

namespace weft::kernels::device {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Describes an operand to the tensor core. Eight rows are 1024 bytes; `panel_bytes` is the distance
// between panels of an MN-major operand.
__device__ __forceinline__ std::uint64_t wgmma_descriptor(const void* shared,
                                                          std::uint32_t panel_bytes) {
  constexpr std::uint64_t kSwizzle128 = 1ull << 62, kEightRows = 1024 >> 4;
  return kSwizzle128 | kEightRows << 32 | std::uint64_t{panel_bytes >> 4} << 16 |
         (shared_address(shared) & 0x3ffff) >> 4;
}

// The same for an operand of quads, 16 bytes each along k (K-major) or along m or n (MN-major, bf16
// only). Eight quads lie in a row:
//   K-major   those of 8 neighbours along m (or n); the next eight are `across_bytes` away, and
//             the second quad along k `k_bytes`
//   MN-major  those of 8 neighbours along k; the next eight are `k_bytes` away, and the next quad
//             along m (or n) `across_bytes`
__device__ __forceinline__ std::uint64_t wgmma_quads_descriptor(std::uint32_t shared,
                                                                std::uint32_t across_bytes,
                                                                std::uint32_t k_bytes) {
  return std::uint64_t{across_bytes >> 4} << 32 | std::uint64_t{k_bytes >> 4} << 16 |
         (shared & 0x3ffff) >> 4;
}

// Orders what this thread stored to shared memory before products that read it, or copies of the
// copy engine.
__device__ __forceinline__ void wgmma_fence_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Orders this thread's accesses to registers of D before the products that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes the group of products issued since the last commit.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most kPending of the newest groups are unfinished.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// What products left in d was not known before wgmma_wait: reads of d stay behind this line.
template <int kCount>
__device__ __forceinline__ void wgmma_results(float (&d)[kCount]) {
#pragma unroll
  for (float& value : d) asm volatile("" : "+f"(value)::"memory");
}
// What products read from registers is no longer needed: these hold it up to this line.
template <int kCount>
__device__ __forceinline__ void wgmma_used(std::uint32_t (&a)[kCount]) {
#pragma unroll
  for (std::uint32_t& word : a) asm volatile("" : "+r"(word)::"memory");
}

// Gives registers back to, or takes them from, the pool of the block; all warps of a warpgroup.
template <int kRegisters>
__device__ __forceinline__ void registers_release() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Lists of the registers of D, for the assembler and for the compiler.
// clang-format off
#define WEFT_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WEFT_NAMES_32 WEFT_NAMES_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WEFT_NAMES_48 WEFT_NAMES_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define WEFT_NAMES_64 WEFT_NAMES_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WEFT_NAMES_96 WEFT_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WEFT_NAMES_100 WEFT_NAMES_96 ", %96, %97, %98, %99"
#define WEFT_NAMES_128 WEFT_NAMES_96 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WEFT_FLOATS_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WEFT_FLOATS_16(d, i) \
  WEFT_FLOATS_4(d, i), WEFT_FLOATS_4(d, i + 4), WEFT_FLOATS_4(d, i + 8), WEFT_FLOATS_4(d, i + 12)
#define WEFT_FLOATS_32(d, i) WEFT_FLOATS_16(d, i), WEFT_FLOATS_16(d, i + 16)
#define WEFT_FLOATS_48(d, i) WEFT_FLOATS_32(d, i), WEFT_FLOATS_16(d, i + 32)
#define WEFT_FLOATS_64(d, i) WEFT_FLOATS_32(d, i), WEFT_FLOATS_32(d, i + 32)
#define WEFT_FLOATS_96(d, i) WEFT_FLOATS_64(d, i), WEFT_FLOATS_32(d, i + 64)
#define WEFT_FLOATS_100(d, i) WEFT_FLOATS_96(d, i), WEFT_FLOATS_4(d, i + 96)
#define WEFT_FLOATS_128(d, i) WEFT_FLOATS_64(d, i), WEFT_FLOATS_64(d, i + 64)
// clang-format on

// D (64, kN) = A B, or D += A B when `accumulate`. A transposed operand is MN-major.
template <int kN, bool kTransposeA, bool kTransposeB>
__device__ __forceinline__ void wgmma_bf16(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b,
                                           bool accumulate) {
  const int add = accumulate ? 1 : 0;
  if constexpr (kN == 64) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WEFT_NAMES_32
        "}, %32, %33, add, 1, 1, %35, %36;\n}"
        : WEFT_FLOATS_32(d, 0)
        : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB));
  } else if constexpr (kN == 96) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %50, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 {" WEFT_NAMES_48
        "}, %48, %49, add, 1, 1, %51, %52;\n}"
        : WEFT_FLOATS_48(d, 0)
        : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB));
  } else if constexpr (kN == 128) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WEFT_NAMES_64
        "}, %64, %65, add, 1, 1, %67, %68;\n}"
        : WEFT_FLOATS_64(d, 0)
        : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB));
  } else if constexpr (kN == 192) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %98, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {" WEFT_NAMES_96
        "}, %96, %97, add, 1, 1, %99, %100;\n}"
        : WEFT_FLOATS_96(d, 0)
        : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB));
  } else if constexpr (kN == 200) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %102, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n200k16.f32.bf16.bf16 {" WEFT_NAMES_100
        "}, %100, %101, add, 1, 1, %103, %104;\n}"
        : WEFT_FLOATS_100(d, 0)
        : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB));
  } else {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WEFT_NAMES_128
        "}, %128, %129, add, 1, 1, %131, %132;\n}"
        : WEFT_FLOATS_128(d, 0)
        : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB));
    static_assert(kN == 256, "widths of D in use");
  }
}

// The same with fp16 operands.
template <int kN, bool kTransposeA = false, bool kTransposeB = false>
__device__ __forceinline__ void wgmma_fp16(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b,
                                           bool accumulate) {
  static_assert(kN == 64 || !(kTransposeA || kTransposeB), "forms in use");
  const int add = accumulate ? 1 : 0;
  if constexpr (kN == 64) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" WEFT_NAMES_32
        "}, %32, %33, add, 1, 1, %35, %36;\n}"
        : WEFT_FLOATS_32(d, 0)
        : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB));
  } else if constexpr (kN == 96) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %50, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {" WEFT_NAMES_48
        "}, %48, %49, add, 1, 1, 0, 0;\n}"
        : WEFT_FLOATS_48(d, 0)
        : "l"(a), "l"(b), "r"(add));
  } else if constexpr (kN == 128) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" WEFT_NAMES_64
        "}, %64, %65, add, 1, 1, 0, 0;\n}"
        : WEFT_FLOATS_64(d, 0)
        : "l"(a), "l"(b), "r"(add));
  } else {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %102, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n200k16.f32.f16.f16 {" WEFT_NAMES_100
        "}, %100, %101, add, 1, 1, 0, 0;\n}"
        : WEFT_FLOATS_100(d, 0)
        : "l"(a), "l"(b), "r"(add));
    static_assert(kN == 200, "widths of D in use");
  }
}

// The same with fp32 operands; the tensor core reads their upper 19 bits (tf32). Both are
// K-major.
template <int kN>
__device__ __forceinline__ void wgmma_tf32(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b,
                                           bool accumulate) {
  const int add = accumulate ? 1 : 0;
  if constexpr (kN == 96) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %50, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n96k8.f32.tf32.tf32 {" WEFT_NAMES_48
        "}, %48, %49, add, 1, 1;\n}"
        : WEFT_FLOATS_48(d, 0)
        : "l"(a), "l"(b), "r"(add));
  } else if constexpr (kN == 128) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" WEFT_NAMES_64
        "}, %64, %65, add, 1, 1;\n}"
        : WEFT_FLOATS_64(d, 0)
        : "l"(a), "l"(b), "r"(add));
  } else if constexpr (kN == 192) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %98, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n192k8.f32.tf32.tf32 {" WEFT_NAMES_96
        "}, %96, %97, add, 1, 1;\n}"
        : WEFT_FLOATS_96(d, 0)
        : "l"(a), "l"(b), "r"(add));
  } else if constexpr (kN == 200) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %102, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n200k8.f32.tf32.tf32 {" WEFT_NAMES_100
        "}, %100, %101, add, 1, 1;\n}"
        : WEFT_FLOATS_100(d, 0)
        : "l"(a), "l"(b), "r"(add));
  } else {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" WEFT_NAMES_128
        "}, %128, %129, add, 1, 1;\n}"
        : WEFT_FLOATS_128(d, 0)
        : "l"(a), "l"(b), "r"(add));
    static_assert(kN == 256, "widths of D in use");
  }
}

// The products of 128 bytes along k, in tf32 or bf16, of K-major operands.
template <bool kBf16, int kN>
__device__ __forceinline__ void wgmma_rows(float (&d)[kN / 2], const void* a, const void* b,
                                           bool accumulate) {
  constexpr int kNoPanels = 16;  // nothing reads it
  const std::uint64_t rows_a = wgmma_descriptor(a, kNoPanels);
  const std::uint64_t rows_b = wgmma_descriptor(b, kNoPanels);
#pragma unroll
  for (int step = 0; step < 4; ++step) {  // 32 bytes along the rows
    const bool add = accumulate || step > 0;
    if constexpr (kBf16) {
      wgmma_bf16<kN, false, false>(d, rows_a + 2 * step, rows_b + 2 * step, add);
    } else {
      wgmma_tf32<kN>(d, rows_a + 2 * step, rows_b + 2 * step, add);
    }
  }
}

// The same in fp16, of the first kSteps times 32 bytes.
template <int kN, int kSteps>
__device__ __forceinline__ void wgmma_fp16_rows(float (&d)[kN / 2], const void* a, const void* b,
                                                bool accumulate) {
  constexpr int kNoPanels = 16;  // nothing reads it
  const std::uint64_t rows_a = wgmma_descriptor(a, kNoPanels);
  const std::uint64_t rows_b = wgmma_descriptor(b, kNoPanels);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    wgmma_fp16<kN>(d, rows_a + 2 * step, rows_b + 2 * step, accumulate || step > 0);
  }
}

// wgmma_tf32() with A in registers, laid out as of mma.sync: a[0] is k = member of row group, a[1]
// of row group + 8, a[2] and a[3] are those at k + 4. A must stay as it is until wgmma_wait.
template <int kN>
__device__ __forceinline__ void wgmma_tf32_registers(float (&d)[kN / 2],
                                                     const std::uint32_t (&a)[4], std::uint64_t b,
                                                     bool accumulate) {
  const int add = accumulate ? 1 : 0;
  if constexpr (kN == 128) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" WEFT_NAMES_64
        "}, {%64, %65, %66, %67}, %68, add, 1, 1;\n}"
        : WEFT_FLOATS_64(d, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
  } else {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %133, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" WEFT_NAMES_128
        "}, {%128, %129, %130, %131}, %132, add, 1, 1;\n}"
        : WEFT_FLOATS_128(d, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
    static_assert(kN == 256, "widths of D in use");
  }
}

// D (64, 32) = A B, or D += A B, in bf16 or fp16. A is in registers, laid out as of mma.sync, and
// must stay as it is until wgmma_wait. B is MN-major. With group and member as above, a lane has
//   a[0]         of row group, k = 2 member and 2 member + 1
//   a[1]         the same k of row group + 8
//   a[2], a[3]   what a[0] and a[1] have, at k + 8
#define WEFT_WGMMA_REGISTERS(name, type)                                                           \
  __device__ __forceinline__ void name(float(&d)[16], const std::uint32_t(&a)[4], std::uint64_t b, \
                                       bool accumulate) {                                          \
    const int add = accumulate ? 1 : 0;                                                            \
    asm volatile(                                                                                  \
        "{\n.reg .pred add;\nsetp.ne.b32 add, %21, 0;\n"                                           \
        "wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type " {" WEFT_NAMES_16             \
        "}, {%16, %17, %18, %19}, %20, add, 1, 1, 1;\n}"                                           \
        : WEFT_FLOATS_16(d, 0)                                                                     \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));                           \
  }
WEFT_WGMMA_REGISTERS(wgmma_bf16_registers, "bf16")
WEFT_WGMMA_REGISTERS(wgmma_fp16_registers, "f16")
#undef WEFT_WGMMA_REGISTERS

#undef WEFT_NAMES_16
#undef WEFT_NAMES_32
#undef WEFT_NAMES_48
#undef WEFT_NAMES_64
#undef WEFT_NAMES_96
#undef WEFT_NAMES_100
#undef WEFT_NAMES_128
#undef WEFT_FLOATS_4
#undef WEFT_FLOATS_16
#undef WEFT_FLOATS_32
#undef WEFT_FLOATS_48
#undef WEFT_FLOATS_64
#undef WEFT_FLOATS_96
#undef WEFT_FLOATS_100
#undef WEFT_FLOATS_128

#endif

}  // namespace weft::kernels::device
