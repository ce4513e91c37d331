// SPDX-License-Identifier: MIT
// Moving memory: the small kernels by which the courses show what a GPU's memory likes.
//
//   vector_add      c[i] = a[i] + b[i]                                     12 n bytes
//   copy_strided    y[i] = x[offset + i * stride]                           8 n bytes of use
//   read_strided    sum of x[offset + i * stride], exact                    4 n bytes of use
//   shared_strided  reads of shared memory, a warp's lanes `stride` words apart
//   copy_rows       y[r][c] = x[r][c], rows `pitch` elements apart          8 rows cols bytes
//   transfer        host memory to a device and back, pageable or pinned
//
// "Bytes of use" are what the program asked for: a stride of 8 floats makes the memory move 8 times
// as much, and the bandwidth that is left over is the lesson. Everything is exact. Destinations
// must not overlap sources. On the CPU the same operations run on the host's memory.
#pragma once

#include <memory>

#include "engine/extent.h"
#include "kernels/ladder.h"

namespace weft::kernels {

enum class MemoryOperation { vector_add, copy, read, shared, rows, transfer };

void vector_add(float* c,        // (n,)
                const float* a,  // (n,)
                const float* b,  // (n,)
                std::int64_t n, std::string_view variant, const Stream& stream);

// Element i is at offset + i * stride; offset >= 0, stride >= 1.
struct Access {
  std::int64_t offset = 0;
  std::int64_t stride = 1;

  std::int64_t extent(std::int64_t n) const {  // elements of x that n accesses span
    return n == 0 ? 0 : offset + (n - 1) * stride + 1;
  }
};

void copy_strided(float* y,        // (n,)
                  const float* x,  // (access.extent(n),)
                  std::int64_t n, const Access& access, std::string_view variant,
                  const Stream& stream);
void read_strided(std::int64_t* sum,      // one value; written also for n == 0
                  const std::int32_t* x,  // (access.extent(n),)
                  std::int64_t n, const Access& access, std::string_view variant,
                  const Stream& stream);

// Every thread t of a block of kSharedThreads reads, in each round, kSharedReads words of a table
// of kSharedWords words of shared memory, in which word w holds w, from word
//   (t * stride + round * kSharedReads) % kSharedWords + 0, 1, ... kSharedReads - 1
// and stores the sum. The lanes of a warp hit 32 / gcd(stride, 32) banks. stride >= 1, rounds >= 0
// and at most 2^12, so that sums fit 32 bits.
constexpr int kSharedThreads = 256;
constexpr int kSharedWords = 8192;
constexpr int kSharedReads = 8;

void shared_strided(std::uint32_t* sums,  // (blocks, kSharedThreads)
                    std::int64_t blocks, int stride, int rounds, const Stream& stream);

// Elements from one row to the next. Rows at a pitch of a multiple of 32 floats all start at a
// boundary of 128 bytes, which is what a warp reads at once.
constexpr std::int64_t kPitchElements = 32;
inline std::int64_t pitch_for(std::int64_t cols) {
  return round_up(cols, kPitchElements);
}

void copy_rows(float* y,        // (rows, cols), y_pitch; what lies between rows is not touched
               const float* x,  // (rows, cols), x_pitch
               std::int64_t rows, std::int64_t cols, std::int64_t y_pitch, std::int64_t x_pitch,
               std::string_view variant, const Stream& stream);

// Host memory. Pinned memory is locked in place, so the GPU's copy engine reads it directly and
// copies overlap with work; pageable memory is copied through a pinned buffer of the driver first.
// On the CPU, where there is no GPU to lock it for, both are plain memory.
enum class HostMemory { pageable, pinned };

// With the function that frees it.
using HostAllocation = std::unique_ptr<void, void (*)(void*)>;

class HostBuffer {
 public:
  HostBuffer(std::size_t bytes, HostMemory kind, Device device);

  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  HostAllocation data_;
  std::size_t bytes_;
};

// In stream order. With pinned memory they return before the copy is done.
void transfer_to_device(void* device, const HostBuffer& host, std::size_t bytes,
                        const Stream& stream);
void transfer_to_host(const HostBuffer& host, const void* device, std::size_t bytes,
                      const Stream& stream);

// What a rung is beside the others of its operation.
struct MemoryTraits {
  std::optional<MemoryOperation> operation = {};  // empty: there is no such rung
  bool by_offset = false;                    // of accesses: it varies the offset, not the stride
  bool pitched = false;                      // of rows: they are pitch_for() apart
  HostMemory memory = HostMemory::pageable;  // of a transfer
};
MemoryTraits memory_traits(std::string_view rung);

Rungs memory_rungs();  // of all operations, in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool memory_takes(std::string_view variant, MemoryOperation operation, Device device);

}  // namespace weft::kernels
