// SPDX-License-Identifier: MIT
// The table of the rungs of the memory kernels, and the validation and dispatch of a call.
#include "kernels/memory/memory.h"

#include <cstdlib>
#include <string>

#include "engine/error.h"
#include "engine/stream.h"
#include "kernels/checks.h"
#include "kernels/memory/cpu/table.h"
#include "kernels/memory/launchers.h"

namespace weft::kernels {
namespace cuda {

// In the order of MemoryOperation.
constexpr std::string_view kOperations[] = {"vector_add",     "copy_strided", "read_strided",
                                            "shared_strided", "copy_rows",    "transfer"};

// All run on the CPU but vector_add, of which one is enough there.
struct MemoryRow {
  using Problem = MemoryOperation;

  Rung rung;
  // The one of its operation.
  Launcher<VectorAddLauncher> vector_add = {};
  Launcher<CopyLauncher> copy = {};
  Launcher<ReadLauncher> read = {};
  Launcher<SharedLauncher> shared = {};
  Launcher<RowsLauncher> rows = {};
  Launcher<HostAllocator> transfer = {};
  MemoryTraits traits = {};

  constexpr bool has(MemoryOperation operation) const {
    const bool there[] = {static_cast<bool>(vector_add), static_cast<bool>(copy),
                          static_cast<bool>(read),       static_cast<bool>(shared),
                          static_cast<bool>(rows),       static_cast<bool>(transfer)};
    return there[static_cast<int>(operation)];
  }
  constexpr bool has_its_own() const {
    for (int i = 0; i < 6; ++i) {
      if (kOperations[i] == rung.operation) return has(static_cast<MemoryOperation>(i));
    }
    return false;
  }
  constexpr bool complete() const {
    int operations = 0;
    for (int i = 0; i < 6; ++i) operations += has(static_cast<MemoryOperation>(i));
    const auto named = [&](const auto&... launchers) {
      return (launchers.belongs_to("memory_", rung.name) && ...);
    };
    return operations == 1 && has_its_own() &&
           named(vector_add, copy, read, shared, rows, transfer);
  }
  std::string takes(MemoryOperation operation, Device) const {
    return other_operation(rung, kOperations[static_cast<int>(operation)]);
  }
};

constexpr MemoryRow kMemoryRows[] = {
    {.rung = {.name = "vector_add",
              .summary = "c = a + b, one element per thread: the first kernel of every course",
              .prefer = "to read first",
              .operation = "vector_add"},
     .vector_add = WEFT_LAUNCHER(VectorAddLauncher, memory_vector_add)},
    {.rung = {.name = "vector_add_vectorized",
              .summary = "the same with loads and stores of 16 bytes, two of each in flight per "
                         "thread",
              .prefer = "always",
              .operation = "vector_add",
              .on_cpu = true},
     .vector_add = WEFT_LAUNCHER(VectorAddLauncher, memory_vector_add_vectorized)},
    {.rung = {.name = "copy_by_offset",
              .summary = "a copy that starts off a boundary: each warp touches one sector more",
              .prefer = "to see what an offset costs",
              .operation = "copy_strided",
              .on_cpu = true},
     .copy = WEFT_LAUNCHER(CopyLauncher, memory_copy_by_offset),
     .traits = {.by_offset = true}},
    {.rung = {.name = "copy_by_stride",
              .summary = "a copy of every s-th element: of each sector moved, 1/s is used, at "
                         "least 1/8",
              .prefer = "to see what a stride costs",
              .operation = "copy_strided",
              .on_cpu = true},
     .copy = WEFT_LAUNCHER(CopyLauncher, memory_copy_by_stride)},
    {.rung = {.name = "read_by_offset",
              .summary = "reads only, summed exactly, from an offset",
              .prefer = "to see what an offset costs a read",
              .operation = "read_strided",
              .on_cpu = true},
     .read = WEFT_LAUNCHER(ReadLauncher, memory_read_by_offset),
     .traits = {.by_offset = true}},
    {.rung = {.name = "read_by_stride",
              .summary = "reads only, summed exactly, every s-th element",
              .prefer = "to see what a stride costs a read",
              .operation = "read_strided",
              .on_cpu = true},
     .read = WEFT_LAUNCHER(ReadLauncher, memory_read_by_stride)},
    {.rung = {.name = "shared_by_stride",
              .summary = "reads of shared memory with lanes s words apart: gcd(s, 32) lanes share "
                         "a bank and wait for each other",
              .prefer = "to see what bank conflicts cost",
              .operation = "shared_strided",
              .on_cpu = true},
     .shared = WEFT_LAUNCHER(SharedLauncher, memory_shared_by_stride)},
    {.rung = {.name = "dense_rows",
              .summary = "a copy of rows of any length one behind the other",
              .prefer = "to save memory",
              .operation = "copy_rows",
              .on_cpu = true},
     .rows = WEFT_LAUNCHER(RowsLauncher, memory_dense_rows)},
    {.rung = {.name = "pitched_rows",
              .summary = "the same with each row at a boundary of 128 bytes",
              .prefer = "to save time",
              .operation = "copy_rows",
              .on_cpu = true},
     .rows = WEFT_LAUNCHER(RowsLauncher, memory_pitched_rows),
     .traits = {.pitched = true}},
    {.rung = {.name = "pageable_transfer",
              .summary = "host to device and back, from ordinary memory: through a buffer of the "
                         "driver",
              .prefer = "for memory that others have allocated",
              .operation = "transfer",
              .on_cpu = true},
     .transfer = WEFT_LAUNCHER(HostAllocator, memory_pageable_transfer)},
    {.rung = {.name = "pinned_transfer",
              .summary = "the same from memory locked in place, which the copy engine reads "
                         "directly",
              .prefer = "for buffers that are used again",
              .operation = "transfer",
              .on_cpu = true},
     .transfer = WEFT_LAUNCHER(HostAllocator, memory_pinned_transfer),
     .traits = {.memory = HostMemory::pinned}},
};

}  // namespace cuda

namespace {

Choice automatic(const MemoryOperation& operation, Device) {
  constexpr Choice kChoices[] = {{"vector_add_vectorized", "loads and stores of 16 bytes"},
                                 {"copy_by_stride", "any access"},
                                 {"read_by_stride", "any access"},
                                 {"shared_by_stride", "any stride"},
                                 {"dense_rows", "any pitch"},
                                 {"pinned_transfer", "no copy more"}};
  return kChoices[static_cast<int>(operation)];
}

constexpr Ladder kLadder("memory", cuda::kMemoryRows, automatic);

void check_access(std::string_view where, std::int64_t n, const Access& access) {
  static_cast<void>(checked_elements(where, {n}));
  std::int64_t last = 0;
  if (access.offset < 0 || access.stride < 1 || __builtin_mul_overflow(n, access.stride, &last) ||
      __builtin_add_overflow(last, access.offset, &last)) {
    throw Error(ErrorKind::usage,
                str(where, ": expected offset >= 0, stride >= 1 and an extent below 2^63, found ",
                    access.offset, ", ", access.stride, " and n = ", n));
  }
}

// What n accesses read of x; a null pointer stays one.
template <class T>
Argument accessed(const T* x, std::int64_t n, const Access& access) {
  const T* first = x == nullptr || n == 0 ? x : x + access.offset;
  return reads_rows("x", first, n, 1, access.stride);
}

// The memory of the device that a transfer reads or writes.
Argument transferred(const void* device, const HostBuffer& host, std::size_t bytes) {
  static_cast<void>(host);
  return reads("device", device, static_cast<std::int64_t>(bytes), 1);
}

void check_fits(const char* where, const HostBuffer& host, std::size_t bytes) {
  if (bytes > host.bytes()) {
    throw Error(ErrorKind::usage,
                str(where, ": ", bytes, " bytes, but the host buffer has ", host.bytes()));
  }
}

}  // namespace

void vector_add(float* c, const float* a, const float* b, std::int64_t n, std::string_view variant,
                const Stream& stream) {
  const auto& row = kLadder.select(variant, MemoryOperation::vector_add, stream.device());
  if (checked_elements("vector_add", {n}) == 0) return;
  check_call("vector_add", stream, {writes("c", c, n), reads("a", a, n), reads("b", b, n)});
  if (stream.device().is_cpu()) return select_memory_cpu().vector_add(c, a, b, n);
  row.vector_add.run(c, a, b, n, stream);
}

void copy_strided(float* y, const float* x, std::int64_t n, const Access& access,
                  std::string_view variant, const Stream& stream) {
  const auto& row = kLadder.select(variant, MemoryOperation::copy, stream.device());
  check_access("copy_strided", n, access);
  if (n == 0) return;
  check_call("copy_strided", stream, {writes("y", y, n), accessed(x, n, access)});
  if (stream.device().is_cpu()) return select_memory_cpu().copy_strided(y, x, n, access);
  row.copy.run(y, x, n, access, stream);
}

void read_strided(std::int64_t* sum, const std::int32_t* x, std::int64_t n, const Access& access,
                  std::string_view variant, const Stream& stream) {
  const auto& row = kLadder.select(variant, MemoryOperation::read, stream.device());
  check_access("read_strided", n, access);
  check_call("read_strided", stream, {writes("sum", sum, 1), accessed(x, n, access)});
  if (stream.device().is_cpu()) return select_memory_cpu().read_strided(sum, x, n, access);
  zero_bytes(sum, sizeof(std::int64_t), stream);
  if (n > 0) row.read.run(sum, x, n, access, stream);
}

void shared_strided(std::uint32_t* sums, std::int64_t blocks, int stride, int rounds,
                    const Stream& stream) {
  if (stride < 1 || rounds < 0 || rounds > 4096) {
    throw Error(ErrorKind::usage,
                str("shared_strided: expected stride >= 1 and 0 to 4096 rounds, found ", stride,
                    " and ", rounds));
  }
  if (blocks > 0x7fffffff) {
    throw Error(ErrorKind::usage, str("shared_strided: at most 2^31 - 1 blocks, found ", blocks));
  }
  const std::int64_t n = checked_elements("shared_strided", {blocks, kSharedThreads});
  if (n == 0) return;
  check_call("shared_strided", stream, {writes("sums", sums, n)});
  if (stream.device().is_cpu()) {
    return select_memory_cpu().shared_strided(sums, blocks, stride, rounds);
  }
  const auto& row = kLadder.select(kAutomatic, MemoryOperation::shared, stream.device());
  row.shared.run(sums, blocks, stride, rounds, stream);
}

void copy_rows(float* y, const float* x, std::int64_t rows, std::int64_t cols, std::int64_t y_pitch,
               std::int64_t x_pitch, std::string_view variant, const Stream& stream) {
  const auto& row = kLadder.select(variant, MemoryOperation::rows, stream.device());
  if (y_pitch < cols || x_pitch < cols) {
    throw Error(ErrorKind::usage, str("copy_rows: pitches ", y_pitch, " and ", x_pitch,
                                      " must not be shorter than a row of ", cols));
  }
  static_cast<void>(checked_elements("copy_rows", {rows, y_pitch}));
  static_cast<void>(checked_elements("copy_rows", {rows, x_pitch}));
  if (checked_elements("copy_rows", {rows, cols}) == 0) return;
  check_call("copy_rows", stream,
             {writes_rows("y", y, rows, cols, y_pitch), reads_rows("x", x, rows, cols, x_pitch)});
  if (stream.device().is_cpu()) {
    return select_memory_cpu().copy_rows(y, x, rows, cols, y_pitch, x_pitch);
  }
  row.rows.run(y, x, rows, cols, y_pitch, x_pitch, stream);
}

HostBuffer::HostBuffer(std::size_t bytes, HostMemory kind, Device device)
    : data_(nullptr, std::free), bytes_(bytes) {
  check_enumerator("HostBuffer", "kind", kind, HostMemory::pinned);
  if (bytes == 0) return;
  const char* variant = kind == HostMemory::pinned ? "pinned_transfer" : "pageable_transfer";
  const auto& row = kLadder.select(variant, MemoryOperation::transfer, device);
  data_ = device.is_cpu() ? HostAllocation(std::malloc(bytes), std::free)
                          : row.transfer.run(bytes, device);
  if (data_ == nullptr) {
    throw Error(ErrorKind::device, str("out of memory: could not allocate ", bytes, " bytes"));
  }
}

void transfer_to_device(void* device, const HostBuffer& host, std::size_t bytes,
                        const Stream& stream) {
  check_fits("transfer_to_device", host, bytes);
  check_call("transfer_to_device", stream, {transferred(device, host, bytes)});
  copy_bytes(device, stream.device(), host.data(), Device::cpu(), bytes, stream);
}

void transfer_to_host(const HostBuffer& host, const void* device, std::size_t bytes,
                      const Stream& stream) {
  check_fits("transfer_to_host", host, bytes);
  check_call("transfer_to_host", stream, {transferred(device, host, bytes)});
  copy_bytes(host.data(), Device::cpu(), device, stream.device(), bytes, stream);
}

MemoryTraits memory_traits(std::string_view rung) {
  MemoryTraits traits = kLadder.of(rung, &cuda::MemoryRow::traits);
  traits.operation = operation_of<MemoryOperation>(memory_rungs().find(rung), cuda::kOperations);
  return traits;
}

Rungs memory_rungs() {
  return kLadder.rungs();
}

bool memory_takes(std::string_view variant, MemoryOperation operation, Device device) {
  check_enumerator("memory_takes", "operation", operation, MemoryOperation::transfer);
  return kLadder.takes(variant, operation, device);
}

}  // namespace weft::kernels
