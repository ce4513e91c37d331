// SPDX-License-Identifier: MIT
// Packed GEMM on the CPU: the register tile of register_tile.h between three levels of blocking.
//
//   for each block of kBlockK of k and kBlockColumns of the columns (the shared cache):
//     pack B into panels (k, kTileColumns), zero-padded: the vectors of the innermost loop
//     for each block of rows (the second-level cache) and each panel:
//       for each kPanelK of k (the first-level cache):
//         for each tile_rows() rows: one register tile
//
// A is not copied: the tile broadcasts single floats, which costs the same from any layout. Only B
// must be adjacent along a vector, so a B stored the other way is transposed while it is packed.
// When that is dear (the weights of a Linear layer, each used for a few rows only) the product is
// computed as C^T = B^T A^T instead: A is packed, B is broadcast in place and tiles are transposed
// when they are stored to C.
//
// Threads share the packed panels and own tiles of C, so results do not depend on their number.
// Nor does an element of C depend on the rows or columns beside it: whichever way the product is
// computed, its sum starts from the bias, or from C, and runs over k in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/extent.h"
#include "kernels/gemm/cpu/register_tile.h"
#include "kernels/gemm/gemm.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace packed {

constexpr std::int64_t kBlockK = 1024;
constexpr std::int64_t kBlockColumns = 2048;
constexpr std::int64_t kBlockRows = 8 * kTileRows;  // whole vectors of them
constexpr std::int64_t kPanelK = 256;

constexpr std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
// The product as the loops see it: rows are broadcast, columns lie along vectors.
struct Problem {
  std::int64_t rows, columns, k;
  const float* a;
  std::int64_t a_row, a_k;
  const float* b;
  std::int64_t b_k, b_column;
  bool swapped;  // rows are columns of C
};

// Estimated cycles of the product with `columns` along vectors.
inline std::int64_t cost(std::int64_t rows, std::int64_t columns, std::int64_t k,
                         bool pack_transposes, bool store_transposes) {
  const std::int64_t multiply = rows * round_up(columns, kLanes) / (2 * kLanes) * k;
  const std::int64_t pack = columns * k / (pack_transposes ? 2 : 6);
  const std::int64_t write = rows * columns / (store_transposes ? 2 : 4);
  return multiply + pack + write;
}

inline Problem plan(const float* a, const float* b, const GemmDims& d) {
  const std::int64_t a_row = d.transpose_a ? 1 : d.lda, a_k = d.transpose_a ? d.lda : 1;
  const std::int64_t b_k = d.transpose_b ? 1 : d.ldb, b_column = d.transpose_b ? d.ldb : 1;
  if (cost(d.n, d.m, d.k, !d.transpose_a, true) < cost(d.m, d.n, d.k, d.transpose_b, false)) {
    return {d.n, d.m, d.k, b, b_column, b_k, a, a_k, a_row, true};
  }
  return {d.m, d.n, d.k, a, a_row, a_k, b, b_k, b_column, false};
}

// Where and how a finished tile goes: C = epilogue(alpha * tile + beta * C + bias).
struct Target {
  float* c;
  std::int64_t ldc;
  const float* bias;
  float alpha, beta;
  Epilogue epilogue;
  bool swapped;  // tiles are transposed

  // Can the sums start from C or from the bias, and be C when they end?
  bool sums_are_c() const {
    return alpha == 1.0f && (beta == 0.0f || (beta == 1.0f && bias == nullptr));
  }
};

inline void write(const Target& target, float* c, FloatVector sum, const float* bias,
                  std::int64_t lanes) {
  FloatVector value = target.alpha * sum;
  if (bias != nullptr) value += simd::load_first(bias, lanes);
  if (target.beta != 0.0f) value += target.beta * simd::load_first(c, lanes);
  if (target.epilogue == Epilogue::relu) value = simd::relu(value);
  simd::store_first(c, value, lanes);
}

// Squares of kLanes that cover (rows, columns): calls visit(row, rows, column, columns).
template <class Visit>
inline void for_each_square(std::int64_t rows, std::int64_t columns, Visit visit) {
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    for (std::int64_t j = 0; j < columns; j += kLanes) {
      visit(i, least(kLanes, rows - i), j, least(kLanes, columns - j));
    }
  }
}
// square[j] is column j of rows of `ld` floats.
inline void load_transposed(FloatVector (&square)[kLanes], const float* from, std::int64_t ld) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) square[i] = simd::load(from + i * ld);
  simd::transpose(square);
}

// The first `columns` of k rows of B as a zero-padded panel (k, width).
inline void pack_panel(float* panel, std::int64_t width, const float* b, std::int64_t b_k,
                       std::int64_t b_column, std::int64_t columns, std::int64_t k) {
  for (std::int64_t j = 0; j < width; j += kLanes) {
    const std::int64_t lanes = least(kLanes, columns - j);
    if (b_column == 1) {
      for (std::int64_t p = 0; p < k; ++p) {
        const float* row = b + p * b_k + j;
        simd::store(panel + p * width + j,
                    lanes == kLanes ? simd::load(row) : simd::load_first(row, lanes));
      }
      continue;
    }
    std::int64_t p = 0;
    if (b_k == 1) {
      for (; p + kLanes <= k; p += kLanes) {
        FloatVector block[kLanes];
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) {
          block[lane] = lane < lanes ? simd::load(b + p + (j + lane) * b_column) : FloatVector{};
        }
        simd::transpose(block);
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) {
          simd::store(panel + (p + lane) * width + j, block[lane]);
        }
      }
    }
    for (; p < k; ++p) {
      for (int lane = 0; lane < kLanes; ++lane) {
        panel[p * width + j + lane] = lane < lanes ? b[p * b_k + (j + lane) * b_column] : 0.0f;
      }
    }
  }
}

// Columns of B in the panel at `column`, and the depth of a block of it.
struct Panel {
  const float* at;
  std::int64_t column, columns, width, p, k;
};

// One tile after the other, of rows [begin, end) and depth [p, p + k) of a panel; tile_of(row) says
// where its sums start and end.
template <class Result, class TileOf>
inline void multiply_rows(const Problem& problem, const Panel& panel, std::int64_t begin,
                          std::int64_t end, std::int64_t p, std::int64_t k, TileOf tile_of) {
  static constexpr TileKernels<kTileVectors, 0, 1, Unit, Linear, Linear, Result> kAdjacentRows;
  static constexpr TileKernels<kTileVectors, 3, 1, Stride, Linear, Linear, Result> kStridedRows;
  const std::int64_t vectors = panel.width / kLanes;
  const Linear a_step{problem.a_k}, b_step{panel.width};
  const float* b = panel.at + p * panel.width;
  const Split split(end - begin, tile_rows(static_cast<int>(vectors)));
  for (std::int64_t piece = 0; piece < split.pieces; ++piece) {
    const std::int64_t i = begin + split.begin(piece);
    const std::int64_t rows = begin + split.begin(piece + 1) - i;
    const float* a = problem.a + i * problem.a_row + (panel.p + p) * problem.a_k;
    if (problem.a_row == 1) {
      kAdjacentRows(rows, vectors)(tile_of(i), &a, Unit{}, a_step, b, b_step, k);
    } else {
      const float* spans[divide_up(tile_rows(1), 3)];
      for (std::int64_t s = 0; 3 * s < rows; ++s) spans[s] = a + 3 * s * problem.a_row;
      kStridedRows(rows, vectors)(tile_of(i), spans, problem.a_row, a_step, b, b_step, k);
    }
  }
}

// Rows [begin, end) of one panel, summed in C itself.
inline void multiply_in_place(const Problem& problem, Target target, const Panel& panel,
                              std::int64_t begin, std::int64_t end) {
  const Split blocks(panel.k > 0 ? panel.k : 1, kPanelK);
  for (std::int64_t block = 0; block < blocks.pieces; ++block) {
    const std::int64_t p = blocks.begin(block);
    const bool last = block + 1 == blocks.pieces;
    const bool reads_c = block > 0 || target.beta != 0.0f;
    const float* start = reads_c ? target.c : target.bias;
    Place place{.row = target.ldc,
                .last_lanes = panel.columns - (panel.width - kLanes),
                .relu = last && target.epilogue == Epilogue::relu,
                .start_kind = start == nullptr ? Place::Start::zero : Place::Start::vectors,
                .bias_row = reads_c ? target.ldc : 0};
    multiply_rows<Place>(
        problem, panel, begin, end, p, least(panel.k, blocks.begin(block + 1)) - p,
        [&](std::int64_t i) -> const Place& {
          place.at = target.c + i * target.ldc + panel.column;
          place.bias = reads_c ? place.at : start == nullptr ? nullptr : start + panel.column;
          return place;
        });
  }
}

// sums (rows, width) = rows [begin, begin + rows) of one panel in a C that is transposed.
inline void load_c(float* sums, const Target& target, const Panel& panel, std::int64_t begin,
                   std::int64_t rows) {
  for_each_square(rows, panel.columns,
                  [&](std::int64_t i, std::int64_t lanes, std::int64_t j, std::int64_t count) {
                    FloatVector square[kLanes] = {};
                    for (std::int64_t r = 0; r < count; ++r) {
                      const float* from =
                          target.c + (panel.column + j + r) * target.ldc + begin + i;
                      square[r] = simd::load_first(from, lanes);
                    }
                    simd::transpose(square);
                    for (std::int64_t row = 0; row < lanes; ++row) {
                      simd::store(sums + (i + row) * panel.width + j, square[row]);
                    }
                  });
}

// Rows [begin, end) of one panel, at most kBlockRows: summed aside, then written to C.
inline void multiply_aside(const Problem& problem, Target target, const Panel& panel,
                           std::int64_t begin, std::int64_t end) {
  alignas(64) float sums[kBlockRows * kTileColumns];
  const std::int64_t width = panel.width, rows = end - begin;
  Tile::Start start = Tile::Start::zero;
  const float* bias = nullptr;
  if (target.sums_are_c()) {  // and so swapped: a row has one value of the bias
    if (target.bias != nullptr) {
      start = Tile::Start::row_bias;
      bias = target.bias + begin;
    }
    if (target.beta != 0.0f) {
      load_c(sums, target, panel, begin, rows);
      start = Tile::Start::there;
    }
    target.bias = nullptr;
    target.beta = 0.0f;
  }
  const Split blocks(panel.k > 0 ? panel.k : 1, kPanelK);
  for (std::int64_t block = 0; block < blocks.pieces; ++block) {
    const std::int64_t p = blocks.begin(block);
    multiply_rows<Tile>(
        problem, panel, begin, end, p, least(panel.k, blocks.begin(block + 1)) - p,
        [&](std::int64_t i) {
          const std::int64_t row = i - begin;
          return Tile{sums + row * width, start, bias == nullptr ? nullptr : bias + row};
        });
    start = Tile::Start::there;
  }
  const auto bias_at = [&](std::int64_t column) {
    return target.bias == nullptr ? nullptr : target.bias + column;
  };
  if (!target.swapped) {
    for (std::int64_t j = 0; j < panel.columns; j += kLanes) {
      const std::int64_t column = panel.column + j;
      for (std::int64_t i = 0; i < rows; ++i) {
        write(target, target.c + (begin + i) * target.ldc + column,
              simd::load(sums + i * width + j), bias_at(column), least(kLanes, panel.columns - j));
      }
    }
    return;
  }
  const auto turn = [&](std::int64_t i, std::int64_t lanes, std::int64_t j, std::int64_t count) {
    FloatVector square[kLanes];
    load_transposed(square, sums + i * width + j, width);
    for (std::int64_t r = 0; r < count; ++r) {
      write(target, target.c + (panel.column + j + r) * target.ldc + begin + i, square[r],
            bias_at(begin + i), lanes);
    }
  };
  for_each_square(rows, panel.columns, turn);
}

}  // namespace packed

// Floats of scratch that gemm_packed needs.
inline std::size_t gemm_packed_scratch(const GemmDims& d) {
  using namespace packed;
  const std::int64_t columns = d.n > d.m ? d.n : d.m;
  return static_cast<std::size_t>(least(d.k, kBlockK) *
                                  round_up(least(columns, kBlockColumns), kTileColumns));
}

// Leading dimensions must be resolved and m, n > 0.
inline void gemm_packed(float* c, const float* a, const float* b, const float* bias,
                        const GemmDims& d, float alpha, float beta, Epilogue epilogue,
                        float* scratch) {
  using namespace packed;
  const Problem problem = plan(a, b, d);
  const Split k_blocks(d.k > 0 ? d.k : 1, kBlockK);
  const Split row_blocks(problem.rows, kBlockRows);
#pragma omp parallel if (2 * d.m * d.n * d.k > 1000000)
  for (std::int64_t column = 0; column < problem.columns; column += kBlockColumns) {
    const std::int64_t columns = least(kBlockColumns, problem.columns - column);
    const std::int64_t panels = divide_up(columns, kTileColumns);
    const auto width_of = [&](std::int64_t panel) {
      return least(kTileColumns, round_up(columns - panel * kTileColumns, kLanes));
    };
    for (std::int64_t block = 0; block < k_blocks.pieces; ++block) {
      const std::int64_t p = d.k > 0 ? k_blocks.begin(block) : 0;
      const std::int64_t k = d.k > 0 ? k_blocks.begin(block + 1) - p : 0;
      const bool first = block == 0, last = block + 1 == k_blocks.pieces;
      const Target target{c,
                          d.ldc,
                          first ? bias : nullptr,
                          alpha,
                          first ? beta : 1.0f,
                          last ? epilogue : Epilogue::none,
                          problem.swapped};
#pragma omp for schedule(static)
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        const std::int64_t j = column + panel * kTileColumns;
        pack_panel(scratch + panel * kTileColumns * k, width_of(panel),
                   problem.b + j * problem.b_column + p * problem.b_k, problem.b_k,
                   problem.b_column, problem.columns - j, k);
      }
#pragma omp for schedule(static)
      for (std::int64_t task = 0; task < row_blocks.pieces * panels; ++task) {
        const std::int64_t rows = task / panels, index = task % panels;
        const std::int64_t j = column + index * kTileColumns;
        const Panel panel{scratch + index * kTileColumns * k,
                          j,
                          least(kTileColumns, problem.columns - j),
                          width_of(index),
                          p,
                          k};
        const auto multiply =
            target.sums_are_c() && !problem.swapped ? multiply_in_place : multiply_aside;
        multiply(problem, target, panel, row_blocks.begin(rows), row_blocks.begin(rows + 1));
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
