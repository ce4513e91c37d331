// SPDX-License-Identifier: MIT
#include "host_cuda/workers/changes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bitset>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

#include "host_cuda/checks/order.h"
#include "host_cuda/memory/device_memory.h"

namespace weft::host_cuda {
namespace {

// What the file of a process has: its head, the blocks of its segments, the places of accesses that
// are new, and the changes.
struct Head {
  std::uint64_t segments = 0, sites = 0, changes = 0;
};
struct Change {
  std::uintptr_t address = 0;
  std::uint32_t bytes = 0;  // 1 or 4
  std::uint32_t value = 0;  // of these bytes, where they were written
  Shadow::Cell cell;
};

bool write_all(int file, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(file, from, bytes);
    if (written <= 0) return false;
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

template <class T>
bool write_all(int file, const std::vector<T>& items) {
  return write_all(file, items.data(), items.size() * sizeof(T));
}

// A file of write_changes() in memory.
class Part {
 public:
  explicit Part(int file) {
    const off_t bytes = lseek(file, 0, SEEK_END);
    if (bytes < static_cast<off_t>(sizeof(Head))) return;
    void* data = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) return;
    whole_ = {static_cast<const char*>(data), static_cast<std::size_t>(bytes)};
    std::memcpy(&head_, data, sizeof head_);
    const char* at = whole_.data() + sizeof head_;
    changes = take<Change>(at, head_.changes);
    sites = take<const void*>(at, head_.sites);
    blocks = take<std::uint32_t>(at, head_.segments);
    is_whole = at == whole_.data() + whole_.size();
  }
  Part(Part&& other) noexcept
      : changes(other.changes),
        sites(other.sites),
        blocks(other.blocks),
        is_whole(other.is_whole),
        whole_(std::exchange(other.whole_, {})) {}
  Part& operator=(Part&&) = delete;
  ~Part() {
    if (!whole_.empty()) munmap(const_cast<char*>(whole_.data()), whole_.size());
  }

  std::span<const Change> changes;
  std::span<const void* const> sites;
  std::span<const std::uint32_t> blocks;
  bool is_whole = false;

 private:
  template <class T>
  static std::span<const T> take(const char*& at, std::uint64_t count) {
    const auto* const first = reinterpret_cast<const T*>(at);
    at += count * sizeof(T);
    return {first, count};
  }

  std::span<const char> whole_;
  Head head_;
};

// Has a process touched what another one has written?
bool overlap(const Parting& since, const std::vector<Part>& parts) {
  constexpr std::size_t kBytes = 256;
  struct Touched {
    std::bitset<kBytes> read, written;
  };
  std::unordered_map<std::uintptr_t, Touched> before;
  for (const Part& part : parts) {
    std::unordered_map<std::uintptr_t, Touched> own;
    std::uintptr_t number = UINTPTR_MAX;
    Touched* page = nullptr;
    for (const Change& one : part.changes) {
      if (one.address / kBytes != number) {
        number = one.address / kBytes;
        page = &own[number];
      }
      for (std::size_t i = 0; i < one.bytes; ++i) {
        const std::size_t at = one.address % kBytes + i;
        (one.cell.write.segment >= since.segment ? page->written : page->read).set(at);
      }
    }
    for (const auto& [at, touched] : own) {
      Touched& earlier = before[at];
      if ((touched.written & (earlier.read | earlier.written)).any() ||
          (touched.read & earlier.written).any()) {
        return true;
      }
      earlier.read |= touched.read;
      earlier.written |= touched.written;
    }
  }
  return false;
}

}  // namespace

Parting part() {
  return {next_segment(), site_count()};
}

bool write_changes(const Parting& since, int file) {
  std::vector<const void*> sites;
  for (std::size_t i = since.sites; i < site_count(); ++i) {
    sites.push_back(site_of(static_cast<std::uint32_t>(i)));
  }
  const std::vector<std::uint32_t> blocks(
      segments.blocks.begin() + static_cast<std::ptrdiff_t>(since.segment - segments.first),
      segments.blocks.end());
  std::vector<Change> changes;
  device_shadow.visit_noted(
      [&](std::uintptr_t address, std::size_t bytes, const Shadow::Cell& cell) {
        const bool is_written = cell.write.segment >= since.segment;
        if (!is_written && cell.read[0].segment < since.segment &&
            cell.read[1].segment < since.segment) {
          return;
        }
        Change one{address, static_cast<std::uint32_t>(bytes), 0, cell};
        if (is_written) std::memcpy(&one.value, reinterpret_cast<const void*>(address), bytes);
        changes.push_back(one);
      });
  const Head head{blocks.size(), sites.size(), changes.size()};
  return write_all(file, &head, sizeof head) && write_all(file, changes) &&
         write_all(file, sites) && write_all(file, blocks);
}

bool take_over(const Parting& since, const std::vector<int>& files) {
  std::vector<Part> parts;
  for (const int file : files) {
    parts.emplace_back(file);
    if (!parts.back().is_whole) return false;
  }
  if (overlap(since, parts)) return false;
  for (const Part& part : parts) {
    const Segment later = next_segment() - since.segment;
    const auto here = [&](Stamp stamp) {
      if (stamp.segment < since.segment) return stamp;
      const std::uint32_t site = stamp.site_number();
      return stamp.renumbered(
          stamp.segment + later,
          site < since.sites ? site : number_of_site(part.sites[site - since.sites]));
    };
    for (const Change& one : part.changes) {
      const bool is_written = one.cell.write.segment >= since.segment;
      if (is_written) std::memcpy(reinterpret_cast<void*>(one.address), &one.value, one.bytes);
      device_shadow.change(one.address, one.bytes, [&](Shadow::Cell& cell) {
        const bool has_reads =
            cell.read[0].segment >= since.segment || cell.read[1].segment >= since.segment;
        if (has_reads) {  // then nobody has written
          const bool has_second = one.cell.read[1].segment >= since.segment;
          cell.read[1] = here(one.cell.read[has_second ? 1 : 0]);
        } else {
          cell = {here(one.cell.write), {here(one.cell.read[0]), here(one.cell.read[1])}};
        }
      });
    }
    segments.blocks.insert(segments.blocks.end(), part.blocks.begin(), part.blocks.end());
  }
  return true;
}

}  // namespace weft::host_cuda
