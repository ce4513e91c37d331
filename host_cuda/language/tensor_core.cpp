// SPDX-License-Identifier: MIT
// A lane brings the address of what it has, on its stack, as the value of a warp operation; when
// all lanes have come, warp_matrix() computes for them.
#include "host_cuda/language/tensor_core.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "host_cuda/checks/checks.h"
#include "host_cuda/grid.h"

namespace weft::host_cuda {
namespace {

using Lanes = std::array<void*, 32>;

constexpr unsigned kAllLanes = 0xffffffffu;

// What a lane brings to an mma, and its part of the result.
struct Fragments {
  float d[4];
  std::uint32_t a[4], b[2];
};

// The row that a lane has read for ldmatrix, and the words that it receives.
struct MatrixRow {
  std::uint32_t row[4], words[4];
};

// What a lane brings to warp_function().
struct WarpFunction {
  void (*compute)(void* const* lanes);
  void* mine;
};

// A (16, kK) and B (kK, 8). Products of two are exact.
template <int kK>
struct Operands {
  double a[16][kK], b[kK][8];
};

double tf32(std::uint32_t word) {
  return std::bit_cast<float>(word & 0xffffe000u);
}
double lower_bf16(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}
double upper_bf16(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000u);
}

// To fp32, towards zero.
float cut(double value) {
  const auto nearest = static_cast<float>(value);
  const bool away = std::abs(static_cast<double>(nearest)) > std::abs(value);
  if (!away || std::isinf(nearest)) return nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1);
}

// Gathers the operands; place(operands, fragments, group, member) puts those of one lane.
template <int kK, class Place>
void multiply(const Lanes& lanes, const Place& place) {
  Operands<kK> from;
  for (int lane = 0; lane < 32; ++lane) {
    place(from, *static_cast<const Fragments*>(lanes[static_cast<std::size_t>(lane)]), lane / 4,
          lane % 4);
  }
  double sum[16][8] = {};
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < kK; ++k) {
      for (int column = 0; column < 8; ++column) {
        sum[row][column] += from.a[row][k] * from.b[k][column];
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    float(&d)[4] = static_cast<Fragments*>(lanes[static_cast<std::size_t>(lane)])->d;
    for (int i = 0; i < 4; ++i) {
      d[i] = cut(sum[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] + static_cast<double>(d[i]));
    }
  }
}

void place_tf32(Operands<8>& to, const Fragments& from, int group, int member) {
  for (int i = 0; i < 4; ++i) {
    to.a[group + i % 2 * 8][member + i / 2 * 4] = tf32(from.a[i]);
  }
  for (int i = 0; i < 2; ++i) to.b[member + i * 4][group] = tf32(from.b[i]);
}

template <int kK>
void place_bf16(Operands<kK>& to, const Fragments& from, int group, int member) {
  for (int i = 0; i < kK / 4; ++i) {
    double* pair = &to.a[group + i % 2 * 8][2 * member + i / 2 * 8];
    pair[0] = lower_bf16(from.a[i]);
    pair[1] = upper_bf16(from.a[i]);
  }
  for (int i = 0; i < kK / 8; ++i) {
    to.b[2 * member + i * 8][group] = lower_bf16(from.b[i]);
    to.b[2 * member + 1 + i * 8][group] = upper_bf16(from.b[i]);
  }
}

// Lane 8 i + r has row r of matrix i.
const std::uint32_t* row_of(const Lanes& lanes, int matrix, int row) {
  return static_cast<const MatrixRow*>(lanes[static_cast<std::size_t>(8 * matrix + row)])->row;
}
std::uint32_t half_of(const std::uint32_t* row, int i) {
  return row[i / 2] >> (16 * (i % 2)) & 0xffffu;
}

void distribute(const Lanes& lanes, bool transposed) {
  for (int lane = 0; lane < 32; ++lane) {
    auto& words = static_cast<MatrixRow*>(lanes[static_cast<std::size_t>(lane)])->words;
    const int group = lane / 4, member = lane % 4;
    for (int matrix = 0; matrix < 4; ++matrix) {
      words[matrix] = transposed ? half_of(row_of(lanes, matrix, 2 * member), group) |
                                       half_of(row_of(lanes, matrix, 2 * member + 1), group) << 16
                                 : row_of(lanes, matrix, group)[member];
    }
  }
}

void all_lanes(WarpOp op, void* brought, const char* name, const void* site) {
  warp_operation({op, kAllLanes, reinterpret_cast<std::uintptr_t>(brought), 0, name, site});
}

uint4 read_rows(WarpOp op, const void* row, const char* name, const void* site) {
  MatrixRow mine{};
  aligned_access(row, sizeof mine.row, sizeof mine.row, Access::matrix_row, site);
  std::memcpy(mine.row, row, sizeof mine.row);
  all_lanes(op, &mine, name, site);
  return {mine.words[0], mine.words[1], mine.words[2], mine.words[3]};
}

float4 product(WarpOp op, Fragments mine, const void* site) {
  if (recording()) {
    const Unchecked here;
    record_product(*running, static_cast<std::uintptr_t>(op), site);
  }
  all_lanes(op, &mine, "mma.sync", site);
  return {mine.d[0], mine.d[1], mine.d[2], mine.d[3]};
}

}  // namespace

void warp_matrix(WarpOp op, const std::array<void*, 32>& lanes) {
  switch (op) {
    case WarpOp::mma_tf32_k8:
      return multiply<8>(lanes, place_tf32);
    case WarpOp::mma_bf16_k8:
      return multiply<8>(lanes, place_bf16<8>);
    case WarpOp::mma_bf16_k16:
      return multiply<16>(lanes, place_bf16<16>);
    case WarpOp::matrix_function: {
      std::array<void*, 32> brought;
      for (std::size_t lane = 0; lane < 32; ++lane) {
        brought[lane] = static_cast<const WarpFunction*>(lanes[lane])->mine;
      }
      return static_cast<const WarpFunction*>(lanes[0])->compute(brought.data());
    }
    default:
      return distribute(lanes, op == WarpOp::load_matrices_transposed);
  }
}

float4 mma_m16n8k8_tf32(float4 d, uint4 a, uint2 b) {
  return product(WarpOp::mma_tf32_k8, {{d.x, d.y, d.z, d.w}, {a.x, a.y, a.z, a.w}, {b.x, b.y}},
                 __builtin_return_address(0));
}
float4 mma_m16n8k8_bf16(float4 d, uint2 a, std::uint32_t b) {
  return product(WarpOp::mma_bf16_k8, {{d.x, d.y, d.z, d.w}, {a.x, a.y}, {b}},
                 __builtin_return_address(0));
}
float4 mma_m16n8k16_bf16(float4 d, uint4 a, uint2 b) {
  return product(WarpOp::mma_bf16_k16, {{d.x, d.y, d.z, d.w}, {a.x, a.y, a.z, a.w}, {b.x, b.y}},
                 __builtin_return_address(0));
}

void warp_function(void (*compute)(void* const* lanes), void* mine, const char* name,
                   const void* site) {
  WarpFunction call{compute, mine};
  all_lanes(WarpOp::matrix_function, &call, name, site);
}

uint4 load_matrices(const void* row) {
  return read_rows(WarpOp::load_matrices, row, "ldmatrix", __builtin_return_address(0));
}
uint4 load_matrices_transposed(const void* row) {
  return read_rows(WarpOp::load_matrices_transposed, row, "ldmatrix.trans",
                   __builtin_return_address(0));
}

}  // namespace weft::host_cuda
