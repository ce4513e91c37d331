// SPDX-License-Identifier: MIT
// What threads have done to a piece of memory, word by word: who wrote it last, who read it, and
// whether two accesses are ordered (order.h). Finds races, reads of bytes that nobody has written,
// and uses of bytes that an asynchronous copy has yet to bring. Each block has a shadow of its
// shared memory, and all grids have one of device memory.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::host_cuda {

struct Thread;

enum class Access : std::uint8_t {
  read,
  write,
  atomic,
  matrix_row,   // a read for ldmatrix: numbers only, where a struct may have padding
  async_write,  // by cp.async
  atomic_load,
  volatile_read,
  volatile_write,
  volatile_flag,     // a volatile write right behind a fence: it publishes
  compare_and_swap,  // an atomic operation too
  atomic_block,      // these are of the scope of the block
  compare_and_swap_block,
};
template <Access... kList>
constexpr bool is_one_of(Access access) {
  constexpr unsigned kBits = ((1u << static_cast<unsigned>(kList)) | ...);
  return (kBits >> static_cast<unsigned>(access) & 1u) != 0;
}
constexpr bool is_read(Access access) {
  return is_one_of<Access::read, Access::matrix_row, Access::atomic_load, Access::volatile_read>(
      access);
}
constexpr bool is_write(Access access) {
  return is_one_of<Access::write, Access::async_write, Access::volatile_write,
                   Access::volatile_flag>(access);
}
// Two of these are no race where their scopes include both threads. (Of shared memory volatile
// accesses are recorded as plain ones.)
constexpr bool is_strong(Access access) {
  return !is_one_of<Access::read, Access::write, Access::matrix_row, Access::async_write>(access);
}
constexpr bool is_of_block(Access access) {
  return is_one_of<Access::atomic_block, Access::compare_and_swap_block>(access);
}
constexpr bool is_compare_and_swap(Access access) {
  return is_one_of<Access::compare_and_swap, Access::compare_and_swap_block>(access);
}
constexpr bool is_volatile(Access access) {
  return is_one_of<Access::volatile_read, Access::volatile_write, Access::volatile_flag>(access);
}

// A stretch of time in which one block runs and no two of its threads become ordered. Numbers grow
// over all grids; 0 stands for none.
using Segment = std::uint32_t;

// An access that an earlier one is remembered by.
struct Stamp {
  Segment segment = 0;
  std::uint32_t packed = 0;  // number of the site: 18 bits, thread: 10, access: 4

  Stamp() = default;
  Stamp(Segment segment_, std::uint32_t site, int thread_, Access access_)
      : segment(segment_),
        packed(site << 14 | static_cast<std::uint32_t>(thread_) << 4 |
               static_cast<std::uint32_t>(access_)) {}

  // The same access where segments and sites have other numbers.
  Stamp renumbered(Segment to, std::uint32_t site) const {
    Stamp other = *this;
    other.segment = to;
    other.packed = site << 14 | (packed & 0x3fff);
    return other;
  }
  std::uint32_t site_number() const { return packed >> 14; }
  int thread() const { return static_cast<int>(packed >> 4 & 1023); }
  Access access() const { return static_cast<Access>(packed & 15); }
  const void* site() const;  // a return address
};

// Plain reads there are no race with atomic operations: the reading thread's next access to that
// word was atomicCAS, right behind. So begins the loop about it, which notices an old value by
// itself.
void forgive_reads_at(const void* site);

struct Finding {
  // 64 bits: written as fewer and returned as 64, they would wait for each other in the CPU.
  enum class Kind : std::uint64_t {
    nothing,
    race,
    out_of_scope,  // a race of two strong accesses, one of them of the scope of another block
    unordered,     // no race, because both are strong, but seldom meant
    uninitialised,
    too_early,
  } kind = Kind::nothing;
  Stamp other{};  // of two accesses: the earlier one; of too_early: the copy
};

// The places of accesses by their numbers, of which 0 stands for all that got none.
std::size_t site_count();
const void* site_of(std::uint32_t number);
std::uint32_t new_number_of_site(const void* site);
// The numbers that were asked for of late are kept by the place. Each access asks, so this is
// inlined.
using NumberedSite = std::pair<const void*, std::uint32_t>;
inline constinit std::array<NumberedSite, 1024> recent_sites{};
[[gnu::always_inline]] inline NumberedSite& recent_site(const void* site) {
  return recent_sites[reinterpret_cast<std::uintptr_t>(site) / 4 % recent_sites.size()];
}
[[gnu::always_inline]] inline std::uint32_t number_of_site(const void* site) {
  auto& [known, number] = recent_site(site);
  if (known != site) {
    number = new_number_of_site(site);
    known = site;
  }
  return number;
}

class Shadow {
 public:
  // Two readers are remembered: a third replaces one that it is ordered behind, else the second.
  struct Cell {
    Stamp write, read[2];
  };

  // `written` tells of bytes that no thread has written whether the host has. Null: it cannot.
  explicit Shadow(bool (*written)(std::uintptr_t address, std::size_t bytes) = nullptr)
      : written_(written) {}

  // Stamps of segments before `first` are of earlier grids. They race with nothing, but from
  // `oldest` on where the launches are not ordered (stream_order.h).
  void begin(Segment first, Segment oldest) {
    first_ = first;
    oldest_ = oldest;
  }

  // Records the access of the running thread, and tells what is wrong with it.
  Finding access(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                 const void* site);

  // The same of a plain access of whole words, where it can tell at once that nothing is wrong
  // (quick.h). Else false, and access() has to judge.
  template <bool kReads, std::size_t kBytes>
  bool quick(std::uintptr_t address, const Thread& by, const void* site);

  // The asynchronous copy of the thread to these bytes is complete.
  void arrived(std::uintptr_t address, std::size_t bytes, int thread);

  // Forgets the pages of [begin, end), and calls visit(begin, end) for each stretch of them that
  // threads have written.
  template <class Visit>
  void forget(std::uintptr_t begin, std::uintptr_t end, Visit visit);

  std::size_t cells() const { return cells_; }  // of 24 bytes each

  // Notes from here on which pages are touched.
  void note_pages() {
    views_.fill({});
    noting_ = true;
  }
  // Calls visit(address, bytes, cell) for each word or byte of the pages that were noted.
  template <class Visit>
  void visit_noted(Visit visit) const;
  // Calls change(cell) for the cells of a word or byte.
  template <class Change>
  void change(std::uintptr_t address, std::size_t bytes, Change change);

 private:
  // A page remembers words of 4 bytes, or single bytes from the first access on that is not one of
  // whole words.
  static constexpr std::uintptr_t kPageBytes = 256;
  struct Page {
    std::vector<Cell> cells;
    std::size_t granule = 4;
    bool noted = false;
  };
  // A page that was in use of late.
  struct View {
    std::uintptr_t number = UINTPTR_MAX;
    Cell* cells = nullptr;
    std::size_t granule = 4;

    Cell& cell(std::uintptr_t address) const {
      const std::uintptr_t at = address % kPageBytes;
      return cells[granule == 4 ? at / 4 : at];
    }
  };

  Finding record(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                 const void* site);
  View& view_of(std::uintptr_t address) {
    const std::uintptr_t number = address / kPageBytes;
    View& view = views_[number % views_.size()];
    if (view.number != number) find(view, number);
    return view;
  }
  void find(View& view, std::uintptr_t number);
  void split(View& view);

  bool (*written_)(std::uintptr_t, std::size_t);
  Segment first_ = 1, oldest_ = 1;
  std::size_t cells_ = 0;
  std::unordered_map<std::uintptr_t, Page> pages_;  // by the address over kPageBytes
  std::array<View, 1024> views_{};
  bool noting_ = false;
  std::vector<std::uintptr_t> noted_;  // numbers of pages
};

template <class Visit>
void Shadow::visit_noted(Visit visit) const {
  for (const std::uintptr_t number : noted_) {
    const Page& page = pages_.at(number);
    for (std::size_t i = 0; i < page.cells.size(); ++i) {
      visit(number * kPageBytes + i * page.granule, page.granule, page.cells[i]);
    }
  }
}

template <class Change>
void Shadow::change(std::uintptr_t address, std::size_t bytes, Change change) {
  View& page = view_of(address);
  if (page.granule > bytes) split(page);
  for (std::size_t done = 0; done < bytes; done += page.granule) change(page.cell(address + done));
}

template <class Visit>
void Shadow::forget(std::uintptr_t begin, std::uintptr_t end, Visit visit) {
  views_.fill({});
  const auto take = [&](auto page) {
    const std::vector<Cell>& cells = page->second.cells;
    const std::uintptr_t at = page->first * kPageBytes, granule = page->second.granule;
    for (std::size_t i = 0; i < cells.size();) {
      const std::size_t from = i;
      while (i < cells.size() && cells[i].write.segment != 0) ++i;
      if (i > from) visit(at + from * granule, at + i * granule);
      if (i < cells.size()) ++i;
    }
    cells_ -= cells.size();
    return pages_.erase(page);
  };
  if ((end - begin) / kPageBytes < pages_.size()) {
    for (std::uintptr_t number = begin / kPageBytes; number * kPageBytes < end; ++number) {
      if (const auto page = pages_.find(number); page != pages_.end()) take(page);
    }
  } else {
    for (auto page = pages_.begin(); page != pages_.end();) {
      const bool inside = page->first >= begin / kPageBytes && page->first * kPageBytes < end;
      page = inside ? take(page) : std::next(page);
    }
  }
}

}  // namespace weft::host_cuda
