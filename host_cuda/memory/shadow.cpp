// SPDX-License-Identifier: MIT
#include "host_cuda/memory/shadow.h"

#include "host_cuda/checks/order.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/grid.h"

namespace weft::host_cuda {
namespace {

constexpr std::uint32_t kMostSites = 1u << 18;
std::vector<bool> forgiven;                  // by number of the site
std::vector<const void*> sites = {nullptr};  // 0: more sites than there are numbers

bool ordered(Stamp earlier, const Thread& later) {
  const Block& block = *later.block;
  const Segment at = earlier.segment;
  const std::uint32_t other = block_of(at);
  if (at < grid_barrier_at) return true;
  if (other == block.number) {
    if (earlier.thread() == later.id || at < block.ordered) return true;
    if (earlier.thread() / 32 == later.id / 32 &&
        at < later.seen[static_cast<unsigned>(earlier.thread()) % 32]) {
      return true;
    }
  }
  return block.acquired.covers(other, earlier.thread(), at) ||
         (later.knowledge != nullptr &&
          later.knowledge->acquired.covers(other, earlier.thread(), at));
}

bool forgives(Stamp read, Stamp atomic) {
  const std::size_t site = read.site_number();
  return read.access() == Access::read && !is_read(atomic.access()) && is_strong(atomic.access()) &&
         !is_volatile(atomic.access()) && site < forgiven.size() && forgiven[site];
}

// Nothing orders two strong accesses: is the block's scope of one of them too small?
bool out_of_scope(Stamp now, Stamp earlier, Segment first) {
  if (!is_of_block(now.access()) && !is_of_block(earlier.access())) return false;
  return earlier.segment < first || block_of(earlier.segment) != block_of(now.segment);
}

// Is one of them data rather than a flag: a volatile write beside an atomic operation, or, where
// the kernel orders by fences or in one warp, beside another volatile access? Lanes of a warp may
// use atomics in turns, and a thread that has read the word knows what it overwrites.
bool seldom_meant(Stamp now, Stamp earlier, Segment first) {
  const Access a = now.access(), b = earlier.access();
  if (earlier.segment < first || (a != Access::volatile_write && b != Access::volatile_write)) {
    return false;
  }
  if (a == Access::volatile_flag || b == Access::volatile_flag) return false;
  if (block_of(earlier.segment) == block_of(now.segment) &&
      earlier.thread() / 32 == now.thread() / 32) {
    return is_volatile(a) && is_volatile(b);
  }
  if (is_volatile(a) && is_volatile(b)) return grid_has_fences;
  return !is_read(a) && !is_read(b);
}

}  // namespace

void forgive_reads_at(const void* site) {
  const std::uint32_t number = number_of_site(site);
  if (number >= forgiven.size()) forgiven.resize(number + 1);
  forgiven[number] = number != 0;
}

const void* Stamp::site() const {
  return sites[site_number()];
}
std::size_t site_count() {
  return sites.size();
}
const void* site_of(std::uint32_t number) {
  return sites[number];
}
std::uint32_t new_number_of_site(const void* site) {
  static std::unordered_map<const void*, std::uint32_t> numbers;
  const auto [found, is_new] = numbers.try_emplace(site, 0);
  if (is_new && sites.size() < kMostSites) {
    found->second = static_cast<std::uint32_t>(sites.size());
    sites.push_back(site);
  }
  return found->second;
}

void Shadow::find(View& view, std::uintptr_t number) {
  Page& page = pages_[number];
  if (page.cells.empty()) {
    page.cells.resize(kPageBytes / 4);
    cells_ += page.cells.size();
  }
  if (noting_ && !std::exchange(page.noted, true)) noted_.push_back(number);
  view = {number, page.cells.data(), page.granule};
}

void Shadow::split(View& view) {
  Page& page = pages_[view.number];
  std::vector<Cell> bytes(kPageBytes);
  for (std::size_t i = 0; i < kPageBytes; ++i) bytes[i] = page.cells[i / 4];
  cells_ += bytes.size() - page.cells.size();
  page.cells = std::move(bytes);
  page.granule = 1;
  view = {view.number, page.cells.data(), page.granule};
}

void Shadow::arrived(std::uintptr_t address, std::size_t bytes, int thread) {
  for (std::size_t done = 0; done < bytes;) {
    View& page = view_of(address + done);
    Stamp& write = page.cell(address + done).write;
    if (write.access() == Access::async_write && write.thread() == thread) {
      write.packed = (write.packed & ~15u) | static_cast<std::uint32_t>(Access::write);
    }
    done += page.granule;
  }
}

// For a constant `access` the compiler leaves out what cannot be.
[[gnu::always_inline]] inline Finding Shadow::record(std::uintptr_t address, std::size_t bytes,
                                                     Access access, const Thread& by,
                                                     const void* site) {
  const Stamp stamp(current_segment(), number_of_site(site), by.id, access);
  Finding::Kind kind = Finding::Kind::nothing;
  Stamp other;
  const Block& block = *by.block;
  const auto settled = [&](Stamp earlier) __attribute__((always_inline)) {
    if (earlier.segment >= block.alone_since) [[likely]] {
      if (earlier.segment < block.ordered || earlier.thread() == by.id) return true;
      return !block.only_barriers && ordered(earlier, by);
    }
    if (earlier.segment < first_) {
      return earlier.segment < oldest_ || !at_the_same_time(earlier.segment);
    }
    if (earlier.segment == stamp.segment && earlier.thread() == by.id) return true;
    return ordered(earlier, by);
  };
  const auto conflicts = [&](Stamp earlier) __attribute__((always_inline)) {
    if (settled(earlier)) return;
    if (is_strong(access) && is_strong(earlier.access())) {
      if (out_of_scope(stamp, earlier, first_)) {
        kind = Finding::Kind::out_of_scope;
      } else if (kind == Finding::Kind::nothing && seldom_meant(stamp, earlier, first_) &&
                 (is_read(access) || !by.has_looked_at(address))) {
        kind = Finding::Kind::unordered;
      } else {
        return;
      }
      other = earlier;
      return;
    }
    if (forgives(stamp, earlier) || forgives(earlier, stamp)) return;
    kind = Finding::Kind::race;
    other = earlier;
  };
  const bool reads = is_read(access);
  std::size_t unwritten = 0;
  for (std::size_t done = 0; done < bytes;) {
    const std::uintptr_t at = address + done;
    View& page = view_of(at);
    if (page.granule == 4 && (at % 4 != 0 || bytes - done < 4)) split(page);
    const std::size_t granule = page.granule;
    Cell& cell = page.cell(at);
    done += granule;
    if (cell.write.segment >= oldest_) conflicts(cell.write);
    if (cell.write.segment >= first_) {
      if (cell.write.access() == Access::async_write) {
        kind = Finding::Kind::too_early;
        other = cell.write;
      }
    } else if (written_ == nullptr ||
               (cell.write.segment == 0 && !is_write(access) && !written_(at, granule))) {
      unwritten += granule;
    }
    if (reads) {
      cell.read[settled(cell.read[0]) ? 0 : 1] = stamp;
    } else {
      conflicts(cell.read[0]);
      conflicts(cell.read[1]);
      cell.write = stamp;
    }
  }
  // A struct is copied as a whole, and its padding may be unwritten: less than a word, or the word
  // beside one of 4 bytes where another member has 8.
  const std::size_t padding = bytes >= 16 ? 4 : bytes > 4 ? 3 : 0;
  const std::size_t tolerated = access == Access::matrix_row ? 0 : padding;
  if (!is_write(access) && unwritten > tolerated &&
      (kind == Finding::Kind::nothing || kind == Finding::Kind::unordered)) {
    kind = Finding::Kind::uninitialised;
  }
  return {kind, other};
}

Finding Shadow::access(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                       const void* site) {
  const bool is_word = bytes == 4;  // most accesses are one
  if (access == Access::read && is_word) return record(address, 4, Access::read, by, site);
  if (access == Access::write && is_word) return record(address, 4, Access::write, by, site);
  return record(address, bytes, access, by, site);
}

}  // namespace weft::host_cuda
