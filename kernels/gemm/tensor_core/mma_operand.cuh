// SPDX-License-Identifier: MIT
// One operand of a tensor-core GEMM: from memory to shared memory, and from there to fragments.
//
// A chunk is what a block multiplies at a time: kX rows or columns of C by 128 bytes along k (32
// floats or 64 bfloat16). It keeps the order it has in memory, rows along k or rows along x, and is
// copied in pieces of 16 bytes. Each row permutes its pieces (by an exclusive or), so that the
// reads below touch every bank once, without padding:
//
//   bfloat16           ldmatrix, transposed where rows run along x: 8 rows, one piece of each
//   float, along k     ldmatrix moves a float as a pair of halves: the same
//   float, along x     ldmatrix cannot transpose floats. A lane reads a piece of two rows instead:
//                      4 neighbours along x, which belong to 4 different groups of 8
//
// So that both kinds of floats agree, the columns (and rows) of float fragments are taken in that
// order: float_place() says which is where. It also lets a lane store 4 neighbours of C at once.
//
// A fragment is 16 along x by 32 bytes along k, four words in a lane: 8 low or high along x, 16
// bytes low or high along k, in the order in which mma wants them in consecutive registers.
#pragma once

#include "kernels/bfloat16.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/mma.cuh"

namespace weft::kernels::cuda {

constexpr int kChunkBytes = 128;  // along k
constexpr int kChunkSteps = 4;    // fragments along k

template <class Element, int kX, bool kAlongK>
struct MmaChunk {
  static constexpr int kK = kChunkBytes / static_cast<int>(sizeof(Element));
  static constexpr int kPiece = 16 / static_cast<int>(sizeof(Element));  // elements
  static constexpr int kRows = kAlongK ? kX : kK;
  static constexpr int kPieces = (kAlongK ? kK : kX) / kPiece;  // of a row
  static constexpr int kRowBytes = 16 * kPieces;
  static constexpr int kBytes = kX * kChunkBytes;
  static_assert(kPieces % 8 == 0, "a row has all banks");

  // What the pieces of a row are turned by: (a ^ b) turns by turn(a) ^ turn(b).
  __host__ __device__ static constexpr int turn(int row) {
    return sizeof(Element) == 2 ? row % 8 : kAlongK ? row / 4 % 8 : row % 4;
  }
  // Bytes from the start of the chunk.
  __host__ __device__ static constexpr int at(int row, int piece) {
    return row * kRowBytes + (piece ^ turn(row)) * 16;
  }
};

// Copies an operand of a block to shared memory, chunk after chunk along k, with zeros outside. A
// chunk is begun and then copied in four parts, without a branch when kAligned, so that the parts
// find their place between other instructions.
template <class Element, int kX, bool kAlongK, int kThreads, bool kAligned>
struct MmaCopy {
  using Chunk = MmaChunk<Element, kX, kAlongK>;
  static constexpr int kRowStep = kThreads / Chunk::kPieces;
  static constexpr int kCount = Chunk::kRows / kRowStep;  // pieces of a thread
  static constexpr int kParts = kChunkSteps;
  static_assert(kRowStep * Chunk::kPieces == kThreads && kCount * kRowStep == Chunk::kRows &&
                    kCount % kParts == 0,
                "every thread copies as much in each part");

  int rows;             // that this chunk has, from the thread's first piece on
  int inside;           // elements of a piece that this chunk has
  int place;            // along k, of the thread's first piece
  bool vector;          // rows are whole pieces
  int to;               // place of the first piece in shared memory, in bytes
  const Element* from;  // the next piece
  std::int64_t row_step, chunk_step;

  __device__ MmaCopy(const Element* operand, std::int64_t x0, std::int64_t x_extent,
                     std::int64_t ld, bool whole) {
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / Chunk::kPieces, piece = thread % Chunk::kPieces;
    const int column = piece * Chunk::kPiece;
    const int extent = static_cast<int>(min(x_extent - x0, std::int64_t{kX}));
    rows = extent - row;
    inside = max(0, min(extent - column, Chunk::kPiece));
    place = kAlongK ? column : row;
    vector = whole;
    to = Chunk::at(row, piece);
    from = operand + (kAlongK ? (x0 + row) * ld + column : row * ld + x0 + column);
    row_step = kRowStep * ld;
    chunk_step = (kAlongK ? Chunk::kK : Chunk::kK * ld) - kCount * row_step;
  }

  // k_left: what is left of k from this chunk on; nothing but zeros are copied when it is not
  // above 0.
  __device__ __forceinline__ void begin(std::int64_t k_left) {
    const int left = static_cast<int>(min(k_left, std::int64_t{Chunk::kK})) - place;
    if constexpr (kAlongK) {
      inside = max(0, min(left, Chunk::kPiece));
    } else {
      rows = left;
    }
  }

  // `part` is known where this is compiled: i then is.
  __device__ __forceinline__ void copy(char* chunk, int part) {
#pragma unroll
    for (int e = 0; e < kCount / kParts; ++e) {
      const int i = part * (kCount / kParts) + e;
      // Rows i * kRowStep and `row` share no bits, so this is Chunk::at() of their sum.
      char* piece = chunk + (to ^ Chunk::turn(i * kRowStep) * 16) + i * kRowStep * Chunk::kRowBytes;
      const int elements = i * kRowStep < rows ? inside : 0;
      if (kAligned || vector) {
        device::async_copy_16(piece, from, elements > 0);
      } else {
        copy_elements(piece, from, elements);
      }
      from += row_step;
    }
    if (part == kParts - 1) from += chunk_step;
  }

 private:
  __device__ __forceinline__ static void copy_elements(char* piece, const Element* source,
                                                       int elements) {
    Element* target = reinterpret_cast<Element*>(piece);
#pragma unroll
    for (int j = 0; j < Chunk::kPiece; ++j) {
      if constexpr (sizeof(Element) == 4) {
        device::async_copy_float(target + j, source + (j < elements ? j : 0), j < elements);
      } else {  // too short to be copied asynchronously
        target[j] = j < elements ? source[j] : Element{};
      }
    }
  }
};

// The element of a warp's tile that is in fragment f, half h (low or high along x), group g. Groups
// 0 to 7 own pieces 0, 4, 1, 5, 2, 6, 3, 7 of a run of 32. A lane holds the columns of two groups,
// so lanes that store together then write 64 contiguous bytes.
__device__ __forceinline__ int piece_of(int group) {
  return group / 2 + group % 2 * 4;
}
__device__ __forceinline__ int float_place(int f, int h, int g) {
  return f / 2 * 32 + piece_of(g) * 4 + f % 2 * 2 + h;
}
__device__ __forceinline__ int bfloat16_place(int f, int h, int g) {
  return f * 16 + h * 8 + g;
}

// The word for half h along x (of 8) and half q along k. kLeft: of A, else of B.
template <bool kLeft>
__device__ __forceinline__ constexpr int fragment_word(int h, int q) {
  return kLeft ? h + 2 * q : 2 * h + q;
}

// The lane's place in the chunks of floats of one operand; x0 is the first of its warp's tile.
template <int kX, bool kAlongK, bool kLeft>
struct FloatFragments {
  using Chunk = MmaChunk<float, kX, kAlongK>;
  int place;

  __device__ FloatFragments(int x0, int lane) {
    const int first = lane / 8 % 2, second = lane / 16;  // lanes 8 i and on name the rows of word i
    const int h = kLeft ? first : second, q = kLeft ? second : first;
    place = kAlongK ? Chunk::at(x0 + float_place(0, h, lane % 8), q)
                    : Chunk::at(lane % 4, x0 / 4 + piece_of(lane / 4));
  }

  template <int kCount>
  __device__ __forceinline__ void load(std::uint32_t (&words)[kCount][4], const char* chunk,
                                       int step) const {
    static_assert(kCount % 2 == 0, "fragments come in pairs");
#pragma unroll
    for (int f = 0; f < kCount; f += 2) {
      if constexpr (kAlongK) {
        const char* row = chunk + (place ^ step * 32) + f * 16 * Chunk::kRowBytes;
        device::load_matrices(words[f], row);
        device::load_matrices(words[f + 1], row + 2 * Chunk::kRowBytes);
      } else {
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          const uint4 piece = *reinterpret_cast<const uint4*>(
              chunk + place + (step * 8 + q * 4) * Chunk::kRowBytes + f * 64);
          words[f][fragment_word<kLeft>(0, q)] = piece.x;
          words[f][fragment_word<kLeft>(1, q)] = piece.y;
          words[f + 1][fragment_word<kLeft>(0, q)] = piece.z;
          words[f + 1][fragment_word<kLeft>(1, q)] = piece.w;
        }
      }
    }
  }
};

// The same for bfloat16, where fragments lie in order.
template <int kX, bool kAlongK, bool kLeft>
struct Bfloat16Fragments {
  using Chunk = MmaChunk<Bfloat16, kX, kAlongK>;
  int place;

  __device__ Bfloat16Fragments(int x0, int lane) {
    const int first = lane / 8 % 2, second = lane / 16;
    const int h = kLeft ? first : second, q = kLeft ? second : first;
    place = kAlongK ? Chunk::at(x0 + bfloat16_place(0, h, lane % 8), q)
                    : Chunk::at(q * 8 + lane % 8, x0 / 8 + h);
  }

  template <int kCount>
  __device__ __forceinline__ void load(std::uint32_t (&words)[kCount][4], const char* chunk,
                                       int step) const {
    static_assert(kCount <= 4, "the fragments of a warp differ in two bits of their piece");
#pragma unroll
    for (int f = 0; f < kCount; ++f) {
      if constexpr (kAlongK) {
        device::load_matrices(words[f], chunk + (place ^ step * 32) + f * 16 * Chunk::kRowBytes);
      } else {
        device::load_matrices_transposed(words[f],
                                         chunk + (place ^ f * 32) + step * 16 * Chunk::kRowBytes);
      }
    }
  }
};

}  // namespace weft::kernels::cuda
