// SPDX-License-Identifier: MIT
// mma.sync, ldmatrix and cp.async by themselves: fragments as the PTX ISA lays them out,
// arithmetic, and the mistakes that host-cuda finds in their use.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/tensor.h"
#include "tests/host_cuda/tensor_core_kernels.h"
#include "tests/support/random.h"

namespace weft::test {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

Tensor on_device(const std::vector<std::uint32_t>& words, const Stream& stream) {
  std::vector<std::int32_t> values(words.begin(), words.end());
  return tensor_from_host<std::int32_t>({static_cast<std::int64_t>(values.size())}, values, stream);
}
std::uint32_t* words_of(Tensor& tensor) {
  return reinterpret_cast<std::uint32_t*>(tensor.data<std::int32_t>());
}
std::vector<std::uint32_t> to_host_words(const Tensor& tensor, const Stream& stream) {
  const std::vector<std::int32_t> values = to_host(tensor.view<std::int32_t>(), stream);
  return {values.begin(), values.end()};
}

struct Place {
  int row, column;
};
// Element i of a lane's fragment, as in the figures of the PTX ISA.
Place place_of_d(int lane, int i) {
  return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)};
}
Place place_of_tf32_a(int lane, int i) {
  return {i == 0 || i == 2 ? lane / 4 : lane / 4 + 8, i < 2 ? lane % 4 : lane % 4 + 4};
}
Place place_of_tf32_b(int lane, int i) {
  return {i == 0 ? lane % 4 : lane % 4 + 4, lane / 4};
}
Place place_of_bf16_a(int lane, int i) {
  const bool above = i < 2 || (i >= 4 && i < 6);
  return {above ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Place place_of_bf16_b(int lane, int i) {
  return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4};
}

// A product of matrices (16, k) and (k, 8) by one mma.
struct Product {
  Mma which;
  int k;
  std::vector<float> a, b, d;

  Product(Mma which_, std::vector<float> a_, std::vector<float> b_, std::vector<float> d_)
      : which(which_), k(which_ == Mma::bf16_k16 ? 16 : 8), a(a_), b(b_), d(d_) {}

  std::vector<float> run() const {
    std::vector<std::uint32_t> left(4 * 32), right(2 * 32);
    std::vector<float> sum(4 * 32);
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = [&](int count, int i) { return static_cast<std::size_t>(count * lane + i); };
      const auto a_at = [&](Place p) {
        return std::bit_cast<std::uint32_t>(a[static_cast<std::size_t>(p.row * k + p.column)]);
      };
      const auto b_at = [&](Place p) {
        return std::bit_cast<std::uint32_t>(b[static_cast<std::size_t>(p.row * 8 + p.column)]);
      };
      for (int i = 0; i < 4; ++i) {
        const Place p = place_of_d(lane, i);
        sum[at(4, i)] = d[static_cast<std::size_t>(p.row * 8 + p.column)];
      }
      if (which == Mma::tf32_k8) {
        for (int i = 0; i < 4; ++i) left[at(4, i)] = a_at(place_of_tf32_a(lane, i));
        for (int i = 0; i < 2; ++i) right[at(2, i)] = b_at(place_of_tf32_b(lane, i));
        continue;
      }
      for (int i = 0; i < k / 2; ++i) {
        left[at(4, i / 2)] |= a_at(place_of_bf16_a(lane, i)) >> 16 << 16 * (i & 1);
      }
      for (int i = 0; i < k / 4; ++i) {
        right[at(2, i / 2)] |= b_at(place_of_bf16_b(lane, i)) >> 16 << 16 * (i & 1);
      }
    }
    const Stream stream(Device::cuda());
    Tensor a_device = on_device(left, stream), b_device = on_device(right, stream);
    Tensor d_device = tensor_from_host<float>({128}, sum, stream);
    run_mma(which, d_device.data<float>(), words_of(a_device), words_of(b_device), stream);
    sum = to_host(d_device.view<float>(), stream);
    std::vector<float> result(16 * 8);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const Place p = place_of_d(lane, i);
        result[static_cast<std::size_t>(p.row * 8 + p.column)] =
            sum[static_cast<std::size_t>(4 * lane + i)];
      }
    }
    return result;
  }
};

// One element of D: a[0] b[0] + a[1] b[1] + ... + d.
float dot(const std::vector<float>& a, const std::vector<float>& b, float d) {
  std::vector<float> left(16 * 8), right(8 * 8), sum(16 * 8);
  for (std::size_t i = 0; i < a.size(); ++i) left[i] = a[i], right[8 * i] = b[i];
  sum[0] = d;
  return Product(Mma::tf32_k8, left, right, sum).run()[0];
}

TEST(TensorCore, MultipliesIntegersExactly) {
  for (const Mma which : {Mma::tf32_k8, Mma::bf16_k8, Mma::bf16_k16}) {
    const int k = which == Mma::bf16_k16 ? 16 : 8;
    const Product p(which, random_integers(16 * k, 1, -9, 9), random_integers(k * 8, 2, -9, 9),
                    random_integers(16 * 8, 3, -99, 99));
    const std::vector<float> found = p.run();
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        const auto at = static_cast<std::size_t>(row * 8 + column);
        float expected = p.d[at];
        for (int i = 0; i < k; ++i) {
          expected += p.a[static_cast<std::size_t>(row * k + i)] *
                      p.b[static_cast<std::size_t>(i * 8 + column)];
        }
        EXPECT_EQ(found[at], expected) << "k" << k << " (" << row << ", " << column << ")";
      }
    }
  }
}

TEST(TensorCore, ReadsTenMantissaBitsOfTf32) {
  const float unit = std::ldexp(1.0f, -10);
  EXPECT_EQ(dot({1 + unit}, {1}, 0), 1 + unit);
  EXPECT_EQ(dot({1 + 1.875f * unit}, {1}, 0), 1 + unit);
  EXPECT_EQ(dot({1}, {-1 - 1.875f * unit}, 0), -1 - unit);
}

TEST(TensorCore, CutsSumsTowardsZero) {
  const float unit = std::ldexp(1.0f, -23);
  EXPECT_EQ(dot({0.875f}, {unit}, 1), 1.0f);
  EXPECT_EQ(dot({-0.875f}, {unit}, -1), -1.0f);
  EXPECT_EQ(dot({0.875f, 0.875f}, {unit, unit}, 1), 1 + unit) << "cut once, behind the sum";
  EXPECT_EQ(dot({std::ldexp(1.0f, 64)}, {std::ldexp(1.0f, 64)}, 1), INFINITY);
  EXPECT_TRUE(std::isnan(dot({INFINITY}, {0}, 1)));
}

TEST(TensorCore, LoadsMatrices) {
  const Stream stream(Device::cuda());
  std::vector<std::uint32_t> rows(4 * 32);  // half h of row r is 8 r + h
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = 2 * i | (2 * i + 1) << 16;
  Tensor from = on_device(rows, stream), to = on_device(rows, stream);
  for (const bool transposed : {false, true}) {
    run_load_matrices(transposed, words_of(to), reinterpret_cast<std::uint16_t*>(words_of(from)),
                      stream);
    const std::vector<std::uint32_t> words = to_host_words(to, stream);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      for (std::uint32_t matrix = 0; matrix < 4; ++matrix) {
        const std::uint32_t i = lane / 4, j = lane % 4 * 2;  // row, column of the lower half
        const std::uint32_t row0 = 8 * matrix;
        const std::uint32_t low = transposed ? 8 * (row0 + j) + i : 8 * (row0 + i) + j;
        const std::uint32_t high = transposed ? 8 * (row0 + j + 1) + i : low + 1;
        EXPECT_EQ(words[4 * lane + matrix], low | high << 16)
            << "lane " << lane << ", matrix " << matrix << (transposed ? ", transposed" : "");
      }
    }
  }
}

void expect_caught(MatrixMistake which, const std::vector<std::string>& parts) {
  const Stream stream(Device::cuda());
  Tensor x = on_device(std::vector<std::uint32_t>(64), stream);
  std::string message = "nothing was found";
  try {
    run_mistake(which, words_of(x), stream);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::check_failed);
    message = error.what();
  }
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
  }
}

TEST(TensorCoreMistakes, LanesAreMissing) {
  expect_caught(MatrixMistake::mma_in_a_branch,
                {"missing lane: kernel mma_in_a_branch", "mma.sync of ", "waits for lane 16",
                 "tests/host_cuda/tensor_core_kernels.cu:", "thread (16, 0, 0) has returned"});
  expect_caught(MatrixMistake::mma_of_half_a_warp,
                {"missing lane: kernel mma_of_half_a_warp", "names lane 16",
                 "which the block does not have"});
}

TEST(TensorCoreMistakes, LanesAreAtDifferentPlaces) {
  expect_caught(MatrixMistake::mma_of_two_branches,
                {"divergent mma.sync: kernel mma_of_two_branches", "but thread (1, 0, 0)"});
}

TEST(TensorCoreMistakes, RowsOfMatrices) {
  expect_caught(MatrixMistake::row_between_quads, {"misaligned: kernel row_between_quads",
                                                   "reads 16 bytes", "8 bytes past a multiple"});
  if (kSanitized) GTEST_SKIP() << "checks of the ordinary build";
  expect_caught(MatrixMistake::rows_of_another_warp,
                {"race: kernel rows_of_another_warp", "shared rows", "no barrier between"});
  expect_caught(MatrixMistake::row_half_written,
                {"uninitialised read: kernel row_half_written", "shared rows"});
  expect_caught(MatrixMistake::row_beyond_the_array,
                {"out of bounds: kernel row_beyond_the_array", "thread (63, 0, 0)",
                 "at byte 1024 of shared rows, which has 1024"});
  expect_caught(MatrixMistake::row_in_global_memory,
                {"out of bounds: kernel row_in_global_memory", "of a device allocation"});
}

TEST(TensorCoreMistakes, AsynchronousCopies) {
  expect_caught(MatrixMistake::copy_between_quads,
                {"misaligned: kernel copy_between_quads", "reads 16 bytes"});
  if (kSanitized) GTEST_SKIP() << "checks of the ordinary build";
  expect_caught(MatrixMistake::no_wait_for_a_copy,
                {"too early: kernel no_wait_for_a_copy", "reads shared values",
                 "has started a copy to it at kernels/device/async_copy.cuh:", "not waited for"});
  expect_caught(MatrixMistake::no_commit_of_a_copy, {"too early: kernel no_commit_of_a_copy"});
  expect_caught(
      MatrixMistake::copy_over_what_is_read,
      {"race: kernel copy_over_what_is_read", "writes it at kernels/device/async_copy.cuh:"});
}

}  // namespace
}  // namespace weft::test
