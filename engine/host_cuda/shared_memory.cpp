// SPDX-License-Identifier: MIT
#include "engine/host_cuda/shared_memory.h"

namespace weft::host_cuda {
namespace {

bool ordered(const Stamp& earlier, const Accessor& by) {
  if (earlier.thread == by.thread || earlier.phase < by.phase) return true;
  return earlier.thread / 32 == by.thread / 32 &&
         earlier.clock <= by.clock->seen[earlier.thread % 32u];
}

}  // namespace

SharedMemory::Page& SharedMemory::page_of(std::uintptr_t address) {
  const std::uintptr_t number = address / kPageBytes;
  auto& [recent, page] = recent_[number % recent_.size()];
  if (recent != number || page == nullptr) {
    std::unique_ptr<Page>& found = pages_[number];
    if (found == nullptr) found = std::make_unique<Page>();
    recent = number;
    page = found.get();
  }
  return *page;
}

void SharedMemory::split(Page& page) {
  std::vector<Cell> bytes(kPageBytes);
  for (std::size_t i = 0; i < kPageBytes; ++i) bytes[i] = page.cells[i / 4];
  page.cells = std::move(bytes);
  page.granule = 1;
}

void SharedMemory::arrived(int thread, std::uint32_t groups) {
  const auto at = static_cast<std::size_t>(thread);
  if (at >= arrived_.size()) arrived_.resize(at + 1);
  arrived_[at] = groups;
}

bool SharedMemory::pending(const Cell& cell) const {
  if (cell.write.access != Access::async_write) return false;
  const std::size_t thread = cell.write.thread;
  return cell.group >= (thread < arrived_.size() ? arrived_[thread] : 0);
}

Finding SharedMemory::access(std::uintptr_t address, std::size_t bytes, Access access,
                             const Accessor& by) {
  const Stamp stamp{serial_, by.phase, by.clock->own, static_cast<std::uint16_t>(by.thread),
                    access,  by.site};
  Finding finding;
  const auto conflicts = [&](const Stamp& earlier) {
    if (earlier.block != serial_ || ordered(earlier, by)) return;
    finding = {Finding::Kind::race, earlier};
  };
  std::size_t unwritten = 0;
  for (std::size_t done = 0; done < bytes;) {
    const std::uintptr_t at = address + done;
    Page& page = page_of(at);
    if (page.granule == 4 && (at % 4 != 0 || bytes - done < 4)) split(page);
    Cell& cell = page.cells[at % kPageBytes / page.granule];
    done += page.granule;
    const bool written = cell.write.block == serial_;
    if (!written) unwritten += page.granule;
    if (written && !(access == Access::atomic && cell.write.access == Access::atomic)) {
      conflicts(cell.write);
      if (pending(cell)) finding = {Finding::Kind::too_early, cell.write};
    }
    if (is_read(access)) {
      Stamp& first = cell.read[0];
      const bool replaceable = first.block != serial_ || ordered(first, by);
      cell.read[replaceable ? 0 : 1] = stamp;
    } else {
      for (const Stamp& reader : cell.read) conflicts(reader);
      cell.write = stamp;
      cell.group = by.group;
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
