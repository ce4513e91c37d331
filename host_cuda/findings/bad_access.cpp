// SPDX-License-Identifier: MIT
#include "host_cuda/findings/bad_access.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host_cuda/checks/report.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/arena.h"

namespace weft::host_cuda {
namespace {

constexpr std::uintptr_t kPipe = kPage;  // what a pipe takes at once

char* at(std::uintptr_t address) {
  return reinterpret_cast<char*>(address);
}

// The kernel of the machine says of memory that cannot be touched EFAULT, and sends no signal.
class Probe {
 public:
  Probe() {
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) ends_[0] = ends_[1] = -1;
  }
  bool can_read(std::uintptr_t address, std::size_t bytes) const {
    const bool can = write(ends_[1], at(address), bytes) == static_cast<ssize_t>(bytes);
    drain();
    return can;
  }
  bool can_write(std::uintptr_t address, std::size_t bytes) const {  // it gets its own bytes
    const bool can = write(ends_[1], at(address), bytes) == static_cast<ssize_t>(bytes) &&
                     read(ends_[0], at(address), bytes) == static_cast<ssize_t>(bytes);
    drain();
    return can;
  }

 private:
  void drain() const {
    char rest[kPipe];
    while (read(ends_[0], rest, sizeof rest) > 0) {
    }
  }
  int ends_[2];
};

bool make_page(std::uintptr_t page) {
  if (in_arena(page)) return mprotect(at(page), kPage, PROT_READ | PROT_WRITE) == 0;
  void* made = mmap(at(page), kPage, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (made == at(page)) return true;
  if (made != MAP_FAILED) munmap(made, kPage);
  return false;
}
void take_page_away(std::uintptr_t page) {
  if (in_arena(page)) {
    static_cast<void>(mmap(at(page), kPage, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  } else {
    munmap(at(page), kPage);
  }
}

bool is_bad(const PendingAccess& one) {
  return one.site == nullptr;
}

// What `done` has met, the latest first. A page that a later access needs too becomes that one's.
void put_back(const std::vector<PendingAccess>& done, std::vector<PendingAccess>& pending) {
  for (auto one = done.rbegin(); one != done.rend(); ++one) {
    if (is_bad(*one)) std::memcpy(at(one->address), one->before.data(), one->before.size());
  }
  for (const PendingAccess& one : done) {
    for (const std::uintptr_t page : one.pages) {
      const auto needs = [&](const PendingAccess& other) {
        return is_bad(other) && other.address < page + kPage && page < other.address + other.bytes;
      };
      const auto heir = std::find_if(pending.begin(), pending.end(), needs);
      if (heir == pending.end()) {
        take_page_away(page);
      } else {
        heir->pages.push_back(page);
      }
    }
  }
}

bool has_changed(const PendingAccess& one) {
  return std::memcmp(at(one.address), one.met.data(), one.met.size()) != 0;
}

void compare(const PendingAccess& one) {
  if (has_changed(one)) {
    report_race(one.finding, one.access, one.is_shared ? Space::shared : Space::global, one.address,
                one.site);
  } else {
    note_same_value(one.finding, one.is_shared ? Space::shared : Space::global, one.address,
                    one.site);
  }
}

}  // namespace

bool prepare_bad_access(Thread& by, std::uintptr_t address, std::size_t bytes, Access access) {
  static const Probe probe;
  if (bytes == 0 || bytes > kPage || address + bytes < address) return false;
  PendingAccess made;
  made.address = address;
  made.bytes = bytes;
  made.access = access;
  bool can = true;
  for (std::uintptr_t page = address / kPage * kPage; can && page < address + bytes;
       page += kPage) {
    if (probe.can_read(page, 1)) continue;
    can = make_page(page);
    if (can) made.pages.push_back(page);
  }
  const bool can_write = can && probe.can_write(address, bytes);
  if (!can || (!can_write && !is_read(access))) {
    for (const std::uintptr_t page : made.pages) take_page_away(page);
    return false;
  }
  if (!can_write) return true;  // a constant of the program's: it is read as it is
  made.before.assign(at(address), at(address) + bytes);
  for (auto one = by.pending.rbegin(); one != by.pending.rend(); ++one) {
    for (std::size_t i = 0; is_bad(*one) && i < one->bytes; ++i) {
      if (one->address + i - address < bytes) {
        made.before[one->address + i - address] = one->before[i];
      }
    }
  }
  if (!is_write(access)) std::memset(at(address), 0, bytes);
  made.met.assign(at(address), at(address) + bytes);
  by.pending.push_back(std::move(made));
  by.has_pending = true;
  return true;
}

void compare_values_later(Thread& by, const Finding& finding, Access access, bool is_shared,
                          std::uintptr_t address, std::size_t bytes, const void* site) {
  PendingAccess made;
  made.address = address;
  made.bytes = bytes;
  made.access = access;
  made.met.assign(at(address), at(address) + bytes);
  made.site = site;
  made.finding = finding;
  made.is_shared = is_shared;
  by.pending.push_back(std::move(made));
  by.has_pending = true;
}

// A statement that copies has two hooks, and then its accesses.
void settle_accesses(Thread& by) {
  std::vector<PendingAccess> pending = std::exchange(by.pending, {});
  std::vector<PendingAccess> done;
  for (PendingAccess& one : pending) {
    const bool is_over = --one.hooks_left <= 0 || (is_write(one.access) && has_changed(one));
    (is_over ? done : by.pending).push_back(std::move(one));
  }
  by.has_pending = !by.pending.empty();
  put_back(done, by.pending);
  for (const PendingAccess& one : done) {
    if (!is_bad(one)) compare(one);
  }
}

void settle_all_accesses(Thread& by) {
  if (recording()) record_values(by);
  if (!by.has_pending) return;
  for (PendingAccess& one : by.pending) one.hooks_left = 1;
  settle_accesses(by);
}

void abandon_accesses(Thread& of) {
  if (of.pending.empty()) return;
  std::vector<PendingAccess> none;
  put_back(of.pending, none);
  of.pending.clear();
  of.has_pending = false;
}

}  // namespace weft::host_cuda
