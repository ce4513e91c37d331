// SPDX-License-Identifier: MIT
// One operand of a tensor-core GEMM that the copy engine (TMA) brings to shared memory, chunk by
// chunk. A chunk is 32 floats along k of 64 rows of C, or of 64 or 32 columns. It arrives in one or
// two boxes of 32 rows of 128 bytes. The engine turns the 16-byte pieces of a row by an exclusive
// or with the row's number. sm_90 and later.
//
//   rows along k   (32 x, 32 k)   ldmatrix reads eight rows of a box at once
//   rows along x   (32 k, 32 x)   a lane reads a piece of two rows: 4 neighbours along x, which
//                                 belong to 4 groups of 8
//
// The engine also rounds to tf32. A chunk is four steps of 8 along k. Storage row s of a tile is
// where fragment s / 16, half s / 8 % 2, group s % 8 are; stored_at() says which x that is.
#pragma once

#include "kernels/device/mma.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/gemm/tensor_core/mma_operand.cuh"

namespace weft::kernels::cuda {

constexpr int kTmaSide = 64;                  // along x
constexpr int kTmaDepth = 32;                 // along k
constexpr int kTmaBox = 32;                   // rows of a box
constexpr int kTmaBoxBytes = kTmaBox * 128;   // half of an operand's chunk
constexpr int kTmaFragments = kTmaSide / 16;  // of 16 along x by 8 along k

template <bool kAlongK>
__device__ __forceinline__ int stored_at(int s) {
  return kAlongK ? s : float_place(s / 16, s / 8 % 2, s % 8);
}

// This lane's words of one step of every chunk.
template <bool kAlongK, bool kLeft>
struct TmaFragments {
  int place;

  __device__ TmaFragments(int step, int lane) {
    if constexpr (kAlongK) {
      const int first = lane / 8 % 2, second = lane / 16;  // lanes 8 i and on name word i's rows
      const int h = kLeft ? first : second, q = kLeft ? second : first;
      place = (h * 8 + lane % 8) * 128 + ((2 * step + q) ^ lane % 8) * 16;
    } else {
      const int member = lane % 4;
      place = (8 * step + member) * 128 + (piece_of(lane / 4) ^ member) * 16;
    }
  }

  template <int kFragments>
  __device__ __forceinline__ void load(std::uint32_t (&words)[kFragments][4],
                                       const char* chunk) const {
#pragma unroll
    for (int f = 0; f < kFragments; ++f) {
      if constexpr (kAlongK) {
        device::load_matrices(words[f], chunk + place + f * 16 * 128);
      } else if (f % 2 == 0) {
#pragma unroll
        for (int q = 0; q < 2; ++q) {  // four rows on, pieces are turned by 4 more
          const uint4 piece = *reinterpret_cast<const uint4*>(chunk + f / 2 * kTmaBoxBytes +
                                                              (place ^ q * 64) + q * 4 * 128);
          words[f][fragment_word<kLeft>(0, q)] = piece.x;
          words[f][fragment_word<kLeft>(1, q)] = piece.y;
          words[f + 1][fragment_word<kLeft>(0, q)] = piece.z;
          words[f + 1][fragment_word<kLeft>(1, q)] = piece.w;
        }
      }
    }
  }
};

#if __CUDA_ARCH__ >= 900

// Starts the copies of the boxes of a chunk of (x0, k0).
template <bool kAlongK, int kBoxes>
__device__ __forceinline__ void copy_chunk(char* chunk, const CUtensorMap& map, int x0, int k0,
                                           std::uint64_t* full) {
#pragma unroll
  for (int box = 0; box < kBoxes; ++box, x0 += kTmaBox) {
    device::tma_load(chunk + box * kTmaBoxBytes, map, kAlongK ? k0 : x0, kAlongK ? x0 : k0, full);
  }
}

#endif

}  // namespace weft::kernels::cuda
