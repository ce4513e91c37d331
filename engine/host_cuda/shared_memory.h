// SPDX-License-Identifier: MIT
// What one block has done to its shared memory, word by word: who wrote it last, who read it, and
// whether two accesses are ordered. Finds races, reads of bytes that nobody has written, and uses
// of bytes that an asynchronous copy has yet to bring.
//
// Accesses are ordered by a barrier of the block between them, and within a warp by __syncwarp,
// which a clock per lane keeps track of. Shuffles and votes order no memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::host_cuda {

enum class Access : std::uint8_t {
  read,
  write,
  atomic,
  matrix_row,   // a read for ldmatrix: numbers only, where a struct may have padding
  async_write,  // by cp.async
};
inline bool is_read(Access access) {
  return access == Access::read || access == Access::matrix_row;
}
inline bool is_write(Access access) {
  return access == Access::write || access == Access::async_write;
}

// own counts this lane's __syncwarps; seen[l] is the count up to which lane l is known to be done.
struct WarpClock {
  std::uint32_t own = 1;
  std::array<std::uint32_t, 32> seen{};
};

struct Accessor {
  int thread = 0;
  std::uint32_t phase = 0;
  const WarpClock* clock = nullptr;
  const void* site = nullptr;  // return address of the access
  std::uint32_t group = 0;     // of an asynchronous copy
};

// An access that an earlier one is remembered by.
struct Stamp {
  std::uint32_t block = 0;  // serial number; a stamp of another block says nothing
  std::uint32_t phase = 0;
  std::uint32_t clock = 0;
  std::uint16_t thread = 0;
  Access access = Access::read;
  const void* site = nullptr;
};

struct Finding {
  enum class Kind : std::uint8_t { nothing, race, uninitialised, too_early } kind = Kind::nothing;
  Stamp other{};  // of a race: the earlier access; of too_early: the copy
};

class SharedMemory {
 public:
  void begin_block(std::uint32_t serial) {
    serial_ = serial;
    arrived_.clear();
  }

  // The thread's asynchronous copies of its first `groups` groups are complete.
  void arrived(int thread, std::uint32_t groups);

  // Records the access, and tells what is wrong with it.
  Finding access(std::uintptr_t address, std::size_t bytes, Access access, const Accessor& by);

 private:
  // Two readers are remembered: a third replaces one that it is ordered behind, else the second.
  struct Cell {
    Stamp write, read[2];
    std::uint32_t group = 0;  // of the write, if that is an asynchronous copy
  };
  // A page remembers words of 4 bytes, or single bytes from the first access on that is not one of
  // whole words.
  static constexpr std::uintptr_t kPageBytes = 256;
  struct Page {
    std::uintptr_t granule = 4;
    std::vector<Cell> cells = std::vector<Cell>(kPageBytes / 4);
  };

  Page& page_of(std::uintptr_t address);
  static void split(Page& page);

  bool pending(const Cell& cell) const;

  std::uint32_t serial_ = 0;
  std::vector<std::uint32_t> arrived_;  // groups of copies, by thread
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<std::uintptr_t, Page*>, 512> recent_{};
};

}  // namespace weft::host_cuda
