// SPDX-License-Identifier: MIT
#include "host_cuda/checks/shadow.h"

#include "host_cuda/checks/order.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/grid.h"

namespace weft::host_cuda {
namespace {

constexpr std::uint32_t kMostSites = 1u << 19;
std::vector<bool> forgiven;                  // by number of the site
std::vector<const void*> sites = {nullptr};  // 0: more sites than there are numbers

std::uint32_t number_of_site(const void* site) {
  static std::array<std::pair<const void*, std::uint32_t>, 1024> recent;
  static std::unordered_map<const void*, std::uint32_t> numbers;
  auto& [known, number] = recent[reinterpret_cast<std::uintptr_t>(site) / 4 % recent.size()];
  if (known != site) {
    const auto [found, is_new] = numbers.try_emplace(site, 0);
    if (is_new && sites.size() < kMostSites) {
      found->second = static_cast<std::uint32_t>(sites.size());
      sites.push_back(site);
    }
    known = site;
    number = found->second;
  }
  return number;
}

bool forgives(Stamp read, Stamp atomic) {
  const std::size_t site = read.packed >> 13;
  return read.access() == Access::read && atomic.access() == Access::atomic &&
         site < forgiven.size() && forgiven[site];
}

}  // namespace

void forgive_reads_at(const void* site) {
  const std::uint32_t number = number_of_site(site);
  if (number >= forgiven.size()) forgiven.resize(number + 1);
  forgiven[number] = number != 0;
}

const void* Stamp::site() const {
  return sites[packed >> 13];
}

Shadow::Page& Shadow::page_of(std::uintptr_t address) {
  const std::uintptr_t number = address / kPageBytes;
  auto& [recent, page] = recent_[number % recent_.size()];
  if (recent != number || page == nullptr) {
    std::unique_ptr<Page>& found = pages_[number];
    if (found == nullptr) {
      found = std::make_unique<Page>();
      cells_ += found->cells.size();
    }
    recent = number;
    page = found.get();
  }
  return *page;
}

void Shadow::split(Page& page) {
  std::vector<Cell> bytes(kPageBytes);
  for (std::size_t i = 0; i < kPageBytes; ++i) bytes[i] = page.cells[i / 4];
  cells_ += bytes.size() - page.cells.size();
  page.cells = std::move(bytes);
  page.granule = 1;
}

void Shadow::arrived(std::uintptr_t address, std::size_t bytes, int thread) {
  for (std::size_t done = 0; done < bytes;) {
    Page& page = page_of(address + done);
    Stamp& write = page.cells[(address + done) % kPageBytes / page.granule].write;
    if (write.access() == Access::async_write && write.thread() == thread) {
      write.packed = (write.packed & ~7u) | static_cast<std::uint32_t>(Access::write);
    }
    done += page.granule;
  }
}

Finding Shadow::access(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                       const void* site) {
  const Stamp stamp(current_segment(), number_of_site(site), by.id, access);
  Finding finding;
  const auto settled = [&](Stamp earlier) {
    if (earlier.segment < first_) {
      return earlier.segment < oldest_ || !at_the_same_time(earlier.segment);
    }
    if (earlier.segment == stamp.segment && earlier.thread() == by.id) return true;
    return ordered(earlier, by);
  };
  const auto conflicts = [&](Stamp earlier) {
    if (settled(earlier) || (is_strong(access) && is_strong(earlier.access()))) return;
    if (forgives(stamp, earlier) || forgives(earlier, stamp)) return;
    finding = {Finding::Kind::race, earlier};
  };
  const bool reads = is_read(access);
  std::size_t unwritten = 0;
  for (std::size_t done = 0; done < bytes;) {
    const std::uintptr_t at = address + done;
    Page& page = page_of(at);
    if (page.granule == 4 && (at % 4 != 0 || bytes - done < 4)) split(page);
    Cell& cell = page.cells[at % kPageBytes / page.granule];
    done += page.granule;
    if (cell.write.segment >= oldest_) conflicts(cell.write);
    if (cell.write.segment >= first_) {
      if (cell.write.access() == Access::async_write) {
        finding = {Finding::Kind::too_early, cell.write};
      }
    } else if (written_ == nullptr ||
               (cell.write.segment == 0 && !is_write(access) && !written_(at, page.granule))) {
      unwritten += page.granule;
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
  if (!is_write(access) && unwritten > tolerated && finding.kind == Finding::Kind::nothing) {
    finding.kind = Finding::Kind::uninitialised;
  }
  return finding;
}

}  // namespace weft::host_cuda
