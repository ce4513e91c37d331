// SPDX-License-Identifier: MIT
// What is looked at in each access of a thread that hooks.cpp cannot pass at once.
#include "host_cuda/checks/checks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/error.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/workers/workers.h"

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <sanitizer/common_interface_defs.h>

#include <cstdio>
#endif

namespace weft::host_cuda {

int accesses_until_yield = 0;
std::array<const Variable*, 64> recent_variables{};

namespace {

Segment grid_began = 0;  // the running grid's first

// A thread that finds the same value again at the same place may be waiting for another thread.
// What it waits for may have several words. The other threads run before the access is judged: it
// acquires what they publish meanwhile. True where the thread has looked there twice in a row.
// Before any other volatile access they have their turn too: code that relies on the lanes of a
// warp being in step declares its memory volatile, and on a GPU they mostly are.
bool look(std::uintptr_t place, std::size_t bytes, Access access, const void* site) {
  Thread& self = *running;
  const auto* address = reinterpret_cast<const void*>(place);
  const bool in_a_row = self.last_look == address;
  self.last_look = address;
  std::uint64_t value = 0;
  std::memcpy(&value, address, std::min(bytes, sizeof value));
  for (Look& before : self.looks) {
    if (before.address != address) continue;
    const bool again = before.value == value;
    before.value = value;
    before.has_read = before.has_read || is_read(access);
    if (again) {
      self.site = site;
      poll();
    } else if (is_volatile(access)) {
      others_catch_up();
    }
    return again && in_a_row;
  }
  self.looks[self.next_look++ % self.looks.size()] = {address, value, is_read(access)};
  if (is_volatile(access)) others_catch_up();
  return false;
}

[[gnu::always_inline]] inline void judge(const Finding& finding, Access access, Space space,
                                         std::uintptr_t address, std::size_t bytes,
                                         const void* site) {
  if (doubts_open) [[unlikely]]
    settle_doubts(access, address, bytes, site);
  if (finding.kind != Finding::Kind::nothing) [[unlikely]] {
    report(finding, access, space, address, bytes, site);
  }
}

void shared_access(Thread& self, std::uintptr_t address, std::size_t bytes, Access access,
                   const void* site) {
  if (is_strong(access)) {
    look(address, bytes, access, site);
    if (!blocks_are_checked) return;  // since then
    if (!is_volatile(access)) publish_and_acquire(self, address, access);
  }
  const Access recorded = access == Access::volatile_read    ? Access::read
                          : access == Access::volatile_write ? Access::write
                                                             : access;
  const Finding finding = self.block->shared.access(address, bytes, recorded, self, site);
  judge(finding, recorded, Space::shared, address, bytes, site);
}

void global_access(Thread& self, std::uintptr_t address, std::size_t bytes, Access access,
                   const void* site) {
  if (is_strong(access)) {
    order_matters();
    const bool polls = look(address, bytes, access, site);
    if (!blocks_are_checked) return;  // since then
    const bool publishes = access == Access::volatile_write && self.knowledge != nullptr &&
                           self.knowledge->has_fresh_fence;
    publish_and_acquire(self, address, access);
    if (polls && access == Access::volatile_read) access = Access::atomic_load;
    if (publishes) access = Access::volatile_flag;
  }
  const Finding finding = device_access(address, bytes, access, self, site);
  judge(finding, access, Space::global, address, bytes, site);
}

void outside_of_shared(std::uintptr_t address, std::size_t bytes, Access access,
                       const Variable& variable, const void* site) {
  found("out of bounds", site, [&] {
    return str("out of bounds: ", where(*running), " ", verb(access), " ", bytes, " bytes at byte ",
               address - variable.begin, " of shared ", variable.name, ", which has ",
               variable.bytes, ", at ", source_line(site));
  });
  if (!prepare_bad_access(*running, address, bytes, access)) lose_thread();
}

bool in_stack_of_block(std::uintptr_t address) {
  const Block& block = *running->block;
  return std::any_of(
      block.thread.begin(), block.thread.begin() + block.threads, [&](const Thread& one) {
        const char* const stack = one.fiber.stack_begin();
        return stack != nullptr &&
               address - reinterpret_cast<std::uintptr_t>(stack) < Fiber::kStackBytes;
      });
}

bool is_mapped(std::uintptr_t address) {
  unsigned char page = 0;
  return mincore(reinterpret_cast<void*>(address / kPage * kPage), 1, &page) == 0;
}

AccessKind shared_kind(Access access) {
  return is_read(access)    ? AccessKind::shared_load
         : is_write(access) ? AccessKind::shared_store
                            : AccessKind::shared_atomic;
}
AccessKind global_kind(Access access) {
  return is_read(access)    ? AccessKind::global_load
         : is_write(access) ? AccessKind::global_store
                            : AccessKind::global_atomic;
}

void elsewhere(std::uintptr_t address, std::size_t bytes, Access access, const void* site) {
  const auto call = reinterpret_cast<std::uintptr_t>(running_grid->call.get());
  if (is_read(access) && address - call < running_grid->call->bytes()) return;
  const Variable* constant = constant_at(address);
  if (constant != nullptr) {
    if (is_read(access) && address + bytes <= constant->begin + constant->bytes) return;
    const char* kind = is_read(access) ? "out of bounds" : "constant memory";
    found(kind, site, [&] {
      return str(kind, ": ", where(*running), " ", verb(access), " ", bytes, " bytes at byte ",
                 address - constant->begin, " of __constant__ ", constant->name, ", which has ",
                 constant->bytes, ", at ", source_line(site));
    });
    if (!prepare_bad_access(*running, address, bytes, access)) lose_thread();
    return;
  }
  if (is_read(access) && in_program(address)) return;  // tables that the compiler has made
  const std::size_t shared_bytes = running_grid->shared_bytes;
  const auto dynamic = reinterpret_cast<std::uintptr_t>(running->block->dynamic.get());
  const bool is_dynamic = shared_bytes > 0 && address + kPage >= dynamic &&
                          address < dynamic + shared_bytes + kPage && !in_program(address);
  const bool is_null = address < kPage;
  const bool is_local = !is_dynamic && in_stack_of_block(address);
  const bool is_host = !is_null && !is_dynamic && !is_local && !in_arena(address) &&
                       !in_program(address) && is_mapped(address);
  const char* kind = is_null ? "null pointer" : is_host ? "host pointer" : "out of bounds";
  found(kind, site, [&] {
    const std::string met = is_dynamic ? str("byte ", static_cast<std::intptr_t>(address - dynamic),
                                             " of dynamic shared memory, which has ", shared_bytes)
                            : is_null  ? str("address ", address)
                            : is_local ? "a local variable of another thread"
                            : is_host  ? "an address of host memory"
                                       : describe_address(address);
    return str(kind, ": ", where(*running), " ", verb(access), " ", bytes, " bytes at ", met,
               ", at ", source_line(site));
  });
  if (recording() && !is_local) {
    record_bad_access(*running, address, bytes, global_kind(access), site);
  }
  if (!prepare_bad_access(*running, address, bytes, access)) lose_thread();
}

bool is_in_shared(const void* pointer) {
  return pointer >= weft_shared_begin && pointer < weft_shared_end;
}

inline bool is_in_dynamic(const Block& block, std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t at = address - reinterpret_cast<std::uintptr_t>(block.dynamic.get());
  return at < running_grid->shared_bytes && at + bytes <= running_grid->shared_bytes;
}

void settle_before_access(Thread& self) {
  const Unchecked here;
  settle_accesses(self);
}

// Host code, which is compiled as kernels are.
inline void host_code_accesses(std::uintptr_t address, std::size_t bytes, Access access,
                               const void* site) {
  if (in_arena(address)) {
    host_access(address, bytes, is_read(access), site);
  } else if (address - copied_unwritten.begin < copied_unwritten.bytes && is_read(access)) {
    host_reads_copied(address, bytes, site);
  }
}

// A strong access of a block that is not checked: it may wait for another thread.
void unchecked_access(const void* pointer, std::size_t bytes, Access access, const void* site) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Thread& self = *running;
  if (address - reinterpret_cast<std::uintptr_t>(self.fiber.stack_begin()) < Fiber::kStackBytes) {
    return;
  }
  static_cast<void>(*static_cast<const volatile char*>(pointer));  // a bad access is the kernel's
  const Unchecked here;
  if (!is_in_shared(pointer) && !is_in_dynamic(*self.block, address, bytes)) order_matters();
  look(address, bytes, access, site);
}

// The thread has made as many accesses as it may at once, or as a sample looks at the time behind.
void turn_is_over() {
  if (running_sample == nullptr) return yield();
  accesses_until_yield = kAccessesOfSample;
  running_sample->takes_long();
}

}  // namespace

void memory_access(const void* pointer, std::size_t bytes, Access access, const void* site) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (checked == nullptr) {
    if (running == nullptr) host_code_accesses(address, bytes, access, site);
    if (in_kernel_code != nullptr && is_strong(access))
      unchecked_access(pointer, bytes, access, site);
    return;
  }
  Thread& self = *running;
  if (self.has_pending) [[unlikely]]
    settle_before_access(self);
  if (address - reinterpret_cast<std::uintptr_t>(self.fiber.stack_begin()) < Fiber::kStackBytes) {
    return;  // registers and local memory
  }
  const Unchecked here;
  if (accesses_until_yield > 0 && --accesses_until_yield == 0) turn_is_over();
  if (!blocks_are_checked) return;
  if (access == Access::read) {
    self.last_read = address;
    self.last_read_site = site;
  } else if (is_compare_and_swap(access) && address == self.last_read) {
    forgive_reads_at(self.last_read_site);
  }
  if (is_strong(access) && !is_volatile(access)) {
    self.watched = true;
  } else if (self.watched) [[unlikely]] {
    self.watched = false;
    lock_used(self, site);
  }
  if (is_in_shared(pointer)) {
    const Variable*& variable = recent_variables[address / 0x10000 % recent_variables.size()];
    if (variable == nullptr || address - variable->begin >= 0x10000) {
      variable = nearest_shared_variable(address);
    }
    if (address + bytes > variable->begin + variable->bytes) {
      return outside_of_shared(address, bytes, access, *variable, site);
    }
    shared_access(self, address, bytes, access, site);
    if (recording()) record_access(self, address, bytes, shared_kind(access), site);
  } else if (is_in_dynamic(*self.block, address, bytes)) {
    shared_access(self, address, bytes, access, site);
    if (recording()) record_access(self, address, bytes, shared_kind(access), site);
  } else if (access != Access::matrix_row && access != Access::async_write &&
             in_device_memory(address, bytes)) {
    global_access(self, address, bytes, access, site);
    if (recording()) record_access(self, address, bytes, global_kind(access), site);
  } else {
    elsewhere(address, bytes, access, site);
  }
}

namespace {

// The access of an atomic operation.
void strong_access(const void* address, std::size_t bytes, Access kind, const void* site) {
#ifndef __SANITIZE_ADDRESS__  // there only atomics would be seen here
  memory_access(address, bytes, kind, site);
#else
  if (in_kernel_code != nullptr) look(reinterpret_cast<std::uintptr_t>(address), bytes, kind, site);
#endif
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// A sanitizer stops the program: where it was goes below the report.
void name_thread() {
  if (running != nullptr) std::fprintf(stderr, "host-cuda: %s\n", where(*running).c_str());
}

// GCC's UBSan is a library of its own, with a callback of its own: the name alone means
// AddressSanitizer's.
void set_death_callbacks() {
  __sanitizer_set_death_callback(name_thread);
  void* ubsan = dlopen("libubsan.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (ubsan == nullptr) return;
  void* set = dlsym(ubsan, "__sanitizer_set_death_callback");
  if (set != nullptr) reinterpret_cast<decltype(&__sanitizer_set_death_callback)>(set)(name_thread);
  dlclose(ubsan);  // it stays: the program is linked with it
}
#endif

void begin_checks(const Grid& grid) {
#ifdef __SANITIZE_ADDRESS__
  set_death_callbacks();
#endif
  if (recording()) record_launch(grid);
  recent_variables.fill(nullptr);
  begin_device_checks();
  forget_doubts();
  grid_began = next_segment();
}

Segment first_segment_of_grid() {
  return grid_began;
}

void schedule_preemption(std::uint64_t random) {
  if (running_sample == nullptr) {
    accesses_until_yield = random == 0 ? 0 : static_cast<int>(random % 256) + 1;
  } else if (accesses_until_yield == 0) {
    accesses_until_yield = kAccessesOfSample;
  }
}

void misaligned(const void* address, std::size_t alignment, Access kind, const void* site) {
  const Unchecked here;
  found("misaligned", site, [&] {
    return str("misaligned: ", where(*running), " ", verb(kind), " ", alignment, " bytes, ",
               reinterpret_cast<std::uintptr_t>(address) % alignment,
               " bytes past a multiple of as many, at ", source_line(site));
  });
  if (alignment > 8) lose_thread();  // instructions of the CPU for it would stop the program
}

void aligned_access(const void* address, std::size_t alignment, std::size_t bytes, Access kind,
                    const void* site) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    misaligned(address, alignment, kind, site);
  }
#ifndef __SANITIZE_ADDRESS__  // it sees the bytes being copied
  memory_access(address, bytes, kind, site);
#else
  static_cast<void>(bytes);
#endif
}

void atomic_access(const void* address, std::size_t bytes, const void* site, bool of_block) {
  strong_access(address, bytes, of_block ? Access::atomic_block : Access::atomic, site);
}

void compare_and_swap_access(const void* address, std::size_t bytes, const void* site,
                             bool of_block) {
  strong_access(address, bytes,
                of_block ? Access::compare_and_swap_block : Access::compare_and_swap, site);
}
void compare_and_swap_took(const void* address, const void* site) {
  if (running != nullptr) lock_taken(*running, reinterpret_cast<std::uintptr_t>(address), site);
}

void atomic_load(const void* address, std::size_t bytes, const void* site) {
  strong_access(address, bytes, Access::atomic_load, site);
}

}  // namespace weft::host_cuda
