// SPDX-License-Identifier: MIT
// What the gradients of the convolution under ReLU and max pooling have in common on the CPU. Only
// the argmax of a window has a gradient dz, so they cost at most 1 / (ph pw) of a convolution's.
//
// Images lie with the channels last, so what one dz touches is kh runs of kw * c adjacent floats.
// The runs are cut into pieces, blocks of runs by vectors whose sums fill the registers.
//
// Included by instances.cpp only: see kernels/isa.h.
#pragma once

#include <cstdint>

#include "engine/extent.h"
#include "kernels/conv/cpu/channels_last.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace relu_pool {

using packed::least;

constexpr int kPieceVectors = 12;  // sums in registers
constexpr std::int64_t kArgmaxValues = 256;

// Runs [row, row + rows) of a window, vectors [vector, vector + vectors) of each. The pieces before
// it have `before` vectors.
struct Piece {
  std::int64_t row, rows, vector, vectors, before;
  std::int64_t floats() const { return rows * vectors * kLanes; }
};

struct Job {
  ReluPoolDims dims;
  ConvDims d;
  ChannelsLast layout;
  std::int64_t columns, windows, positions;  // positions in a window
  std::int64_t run, run_vectors;             // floats of a run, and vectors that cover them

  explicit Job(const ReluPoolDims& dims_)
      : dims(dims_),
        d(dims_.conv),
        layout(dims_.conv),
        columns(dims_.columns()),
        windows(dims_.rows() * dims_.columns()),
        positions(dims_.ph * dims_.pw),
        run(d.kw * d.c),
        run_vectors(divide_up(run, kLanes)) {}

  std::int64_t filter_floats() const { return d.kh * run_vectors * kLanes; }
  std::int64_t position_floats() const { return round_up(2 * (windows + kArgmaxValues), 16); }
  bool worth_threads() const { return 2 * d.n * d.oc * windows * run * d.kh > 1000000; }

  template <class Visit>
  void for_each_piece(Visit visit) const {
    std::int64_t before = 0;
    const Split across(run_vectors, kPieceVectors);
    for (std::int64_t part = 0; part < across.pieces; ++part) {
      const std::int64_t vector = across.begin(part), vectors = across.begin(part + 1) - vector;
      const Split down(d.kh, kPieceVectors / vectors);
      for (std::int64_t group = 0; group < down.pieces; ++group) {
        const std::int64_t row = down.begin(group), rows = down.begin(group + 1) - row;
        visit(Piece{row, rows, vector, vectors, before});
        before += rows * vectors;
      }
    }
  }

  // Calls visit(float of the piece, weight of the filter (c, kh, kw), or -1 past a run's end).
  template <class Visit>
  void for_each_weight(const Piece& piece, Visit visit) const {
    for (std::int64_t r = 0; r < piece.rows; ++r) {
      for (std::int64_t e = 0; e < piece.vectors * kLanes; ++e) {
        const std::int64_t at = piece.vector * kLanes + e, s = at / d.c, c = at % d.c;
        visit(r * piece.vectors * kLanes + e,
              at < run ? (c * d.kh + piece.row + r) * d.kw + s : std::int64_t{-1});
      }
    }
  }

  // Where the first position of each window lies in an image and, from there, what an argmax names.
  void tabulate(std::int64_t* window_at, std::int64_t* position_at) const {
    const std::int64_t down = d.stride_h * layout.line(), right = d.stride_w * d.c;
    for (std::int64_t i = 0; i < windows; ++i) {
      window_at[i] = i / columns * dims.ph * down + i % columns * dims.pw * right;
    }
    for (std::int64_t i = 0; i < kArgmaxValues; ++i) {
      position_at[i] = i < positions ? i / dims.pw * down + i % dims.pw * right : 0;
    }
  }
};

// Calls Function<rows, vectors>::run(arguments...) for a piece of this shape.
template <template <int, int> class Function>
struct PieceKernels {
  using Kernel = decltype(&Function<1, 1>::run);
  Kernel of[kPieceVectors][kPieceVectors] = {};

  constexpr PieceKernels() {
    fill(std::make_integer_sequence<int, kPieceVectors * kPieceVectors>{});
  }
  Kernel operator()(const Piece& piece) const { return of[piece.rows - 1][piece.vectors - 1]; }

 private:
  template <int... kIndex>
  constexpr void fill(std::integer_sequence<int, kIndex...>) {
    (fill_one<kIndex / kPieceVectors, kIndex % kPieceVectors>(), ...);
  }
  template <int kRow, int kVector>
  constexpr void fill_one() {
    if constexpr ((kRow + 1) * (kVector + 1) <= kPieceVectors) {
      of[kRow][kVector] = Function<kRow + 1, kVector + 1>::run;
    }
  }
};

}  // namespace relu_pool

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
