// SPDX-License-Identifier: MIT
// What tests and benchmarks move in memory. Bytes are those that the program asks for, and not what
// the memory has to move.
#pragma once

#include <cmath>

#include "kernels/memory/memory.h"
#include "kernels/problem.h"

namespace weft::problems {

struct VectorAdd {
  std::int64_t n;

  std::string text() const { return str("vector add, ", n, " floats"); }
  double bytes() const { return 12.0 * static_cast<double>(n); }
  double flops() const { return static_cast<double>(n); }
};

// copy_strided() of floats, or read_strided() of integers, in a table by offset or by stride.
struct Strided {
  std::int64_t n;
  kernels::Access access;
  bool by_offset;
  bool copies = true;

  std::string text() const {
    const auto& [offset, stride] = access;
    std::string text = str(copies ? "copy" : "read", " of ", n, " words, ",
                           by_offset ? "offset " : "stride ", by_offset ? offset : stride);
    if (by_offset && stride > 1) text += str(", stride ", stride);
    if (!by_offset && offset > 0) text += str(", offset ", offset);
    return text;
  }
  std::string table() const {
    return str("bandwidth by ", by_offset ? "offset" : "stride",
               " in words of 4 bytes: GB/s of use, ", n, " words");
  }
  std::string column() const { return str(by_offset ? access.offset : access.stride); }
  double bytes() const { return (copies ? 8.0 : 4.0) * static_cast<double>(n); }
  double footprint() const {
    return 4.0 * static_cast<double>((copies ? n : 0) + access.extent(n));
  }
  std::int64_t source(std::int64_t i) const { return access.offset + i * access.stride; }
};

// shared_strided(). On the CPU there are no banks: it computes the same sums.
struct SharedStrided {
  std::int64_t blocks;
  int stride, rounds;

  std::string text() const {
    return str("shared memory, ", blocks, " blocks, ", rounds, " rounds, stride ", stride);
  }
  std::string table() const {
    return str("shared memory by stride in words of 4 bytes: GB/s, ", blocks, " blocks");
  }
  std::string column() const { return str(stride); }
  double bytes() const {
    return 4.0 * kernels::kSharedThreads * kernels::kSharedReads * static_cast<double>(blocks) *
           rounds;
  }
  double footprint() const { return HUGE_VAL; }  // one set of buffers: it reads no other memory
  std::uint32_t expected(std::int64_t at) const {
    const std::int64_t thread = at % kernels::kSharedThreads;
    std::uint32_t sum = 0;
    for (int round = 0; round < rounds; ++round) {
      const std::int64_t first =
          (thread * stride + round * kernels::kSharedReads) % kernels::kSharedWords;
      for (int k = 0; k < kernels::kSharedReads; ++k) sum += static_cast<std::uint32_t>(first + k);
    }
    return sum;
  }
};

struct CopyRows {
  std::int64_t rows, cols;

  std::string text() const { return str("copy of ", rows, " rows of ", cols, " floats"); }
  double bytes() const { return 8.0 * static_cast<double>(rows * cols); }
};

// To the device, and from there to another place.
struct Transfer {
  std::int64_t n;  // floats

  std::string text() const { return str("transfer of ", 4 * n, " bytes to the device and back"); }
  double bytes() const { return 8.0 * static_cast<double>(n); }
  double footprint() const { return HUGE_VAL; }  // one set of buffers: no cache serves it
};

}  // namespace weft::problems
