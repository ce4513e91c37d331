// SPDX-License-Identifier: MIT
// The functions that g++ -fsanitize=thread calls before each access to memory. Here they do not
// look for races of host threads: they know the block, warp and phase of the running thread.
#include "engine/host_cuda/checks.h"

#include <algorithm>
#include <cstring>

#include "engine/error.h"
#include "engine/host_cuda/counts.h"
#include "engine/host_cuda/device_memory.h"
#include "engine/host_cuda/symbols.h"

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <sanitizer/common_interface_defs.h>

#include <cstdio>
#endif

extern "C" char weft_shared_begin[], weft_shared_end[];

namespace weft::host_cuda {
namespace {

const char* verb(Access access) {
  switch (access) {
    case Access::read:
    case Access::matrix_row:
      return "reads";
    case Access::write:
    case Access::async_write:
      return "writes";
    case Access::atomic:
      break;
  }
  return "atomically updates";
}

int accesses_until_yield = 0;  // 0: the thread is not interrupted
const Variable* last_variable = nullptr;

// "tile + 132" or "dynamic shared memory + 132"
std::string shared_place(std::uintptr_t address) {
  const Block& block = *running->block;
  const auto dynamic = reinterpret_cast<std::uintptr_t>(block.dynamic.get());
  if (address >= dynamic && address < dynamic + running_grid->shared_bytes) {
    return str("dynamic shared memory at byte ", address - dynamic);
  }
  const Variable* variable = nearest_shared_variable(address);
  return variable == nullptr
             ? "shared memory"
             : str("shared ", variable->name, " at byte ", address - variable->begin);
}

// A thread of the running block, by its number.
const Thread& thread_at(int id) {
  return running->block->thread[static_cast<std::size_t>(id)];
}

void shared_access(std::uintptr_t address, std::size_t bytes, Access access, const void* site) {
  Thread& self = *running;
  const Accessor by{self.id, self.block->phase, &self.clock, site, self.commits};
  const Finding finding = self.block->shared.access(address, bytes, access, by);
  if (finding.kind == Finding::Kind::nothing) return;
  fail([&] {
    const std::string what =
        str(where(self), " ", verb(access), " ", shared_place(address), " at ", source_line(site));
    if (finding.kind == Finding::Kind::uninitialised) {
      return str("uninitialised read: ", what, ", which no thread of the block has written");
    }
    if (finding.kind == Finding::Kind::too_early) {
      return str("too early: ", what, "; ", thread_name(thread_at(finding.other.thread)),
                 " has started a copy to it at ", source_line(finding.other.site),
                 " and not waited for that");
    }
    return str("race: ", what, "; ", thread_name(thread_at(finding.other.thread)), " ",
               verb(finding.other.access), " it at ", source_line(finding.other.site),
               ", with no barrier between");
  });
}

void outside_of_shared(std::uintptr_t address, std::size_t bytes, Access access,
                       const Variable& variable, const void* site) {
  fail([&] {
    return str("out of bounds: ", where(*running), " ", verb(access), " ", bytes, " bytes at byte ",
               address - variable.begin, " of shared ", variable.name, ", which has ",
               variable.bytes, ", at ", source_line(site));
  });
}

void elsewhere(std::uintptr_t address, std::size_t bytes, Access access, const void* site) {
  const auto call = reinterpret_cast<std::uintptr_t>(running_grid->call.get());
  if (access == Access::read && address - call < running_grid->call->bytes()) return;
  if (access == Access::read && in_program(address)) return;  // constants
  fail([&] {
    const std::string what =
        str("out of bounds: ", where(*running), " ", verb(access), " ", bytes, " bytes at ");
    const std::size_t shared_bytes = running_grid->shared_bytes;
    const auto dynamic = reinterpret_cast<std::uintptr_t>(running->block->dynamic.get());
    constexpr std::uintptr_t kNear = 4096;
    if (shared_bytes > 0 && address + kNear >= dynamic &&
        address < dynamic + shared_bytes + kNear && !in_program(address)) {
      return str(what, "byte ", static_cast<std::intptr_t>(address - dynamic),
                 " of dynamic shared memory, which has ", shared_bytes, ", at ", source_line(site));
    }
    return str(what, describe_address(address), ", at ", source_line(site));
  });
}

AccessKind shared_kind(Access access) {
  return is_read(access)    ? AccessKind::shared_load
         : is_write(access) ? AccessKind::shared_store
                            : AccessKind::shared_atomic;
}
AccessKind global_kind(Access access) {
  return access == Access::read    ? AccessKind::global_load
         : access == Access::write ? AccessKind::global_store
                                   : AccessKind::global_atomic;
}

[[gnu::always_inline]] inline void access(const void* pointer, std::size_t bytes, Access access,
                                          const void* site) {
  if (checked == nullptr) return;  // host code
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  Thread& self = *running;
  if (address - reinterpret_cast<std::uintptr_t>(self.fiber.stack_begin()) < Fiber::kStackBytes) {
    return;  // registers and local memory
  }
  const Unchecked here;
  if (accesses_until_yield > 0 && --accesses_until_yield == 0) yield();
  if (pointer >= weft_shared_begin && pointer < weft_shared_end) {
    if (last_variable == nullptr || address - last_variable->begin >= 0x10000) {
      last_variable = nearest_shared_variable(address);
    }
    if (address + bytes > last_variable->begin + last_variable->bytes) {
      outside_of_shared(address, bytes, access, *last_variable, site);
    }
    shared_access(address, bytes, access, site);
    if (counting()) count_access(self, address, bytes, shared_kind(access), site);
  } else if (address - reinterpret_cast<std::uintptr_t>(self.block->dynamic.get()) + bytes <=
             running_grid->shared_bytes) {
    shared_access(address, bytes, access, site);
    if (counting()) count_access(self, address, bytes, shared_kind(access), site);
  } else if (access != Access::matrix_row && access != Access::async_write &&
             in_device_memory(address, bytes)) {
    if (counting()) count_access(self, address, bytes, global_kind(access), site);
  } else {
    elsewhere(address, bytes, access, site);
  }
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
  if (counting()) count_launch(grid);
  last_variable = nullptr;
  refresh_device_memory();
}

void schedule_preemption(std::uint64_t random) {
  accesses_until_yield = random == 0 ? 0 : static_cast<int>(random % 256) + 1;
}

// A thread that finds the same value again at the same place may be waiting for another thread.
// What it waits for may have several words.
void look(const void* address, std::size_t bytes) {
  if (checked == nullptr) return;
  Thread& self = *checked;
  std::uint64_t value = 0;
  std::memcpy(&value, address, std::min(bytes, sizeof value));
  for (Look& before : self.looks) {
    if (before.address != address) continue;
    if (before.value == value) poll();
    before.value = value;
    return;
  }
  self.looks[self.next_look++ % self.looks.size()] = {address, value};
}

void aligned_access(const void* address, std::size_t alignment, std::size_t bytes, Access kind,
                    const void* site) {
  const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(address) % alignment;
  if (past != 0) {
    const Unchecked here;
    fail([&] {
      return str("misaligned: ", where(*running), " ", verb(kind), " ", alignment, " bytes, ", past,
                 " bytes past a multiple of as many, at ", source_line(site));
    });
  }
#ifndef __SANITIZE_ADDRESS__  // it sees the bytes being copied
  access(address, bytes, kind, site);
#else
  static_cast<void>(bytes);
#endif
}

void atomic_access(const void* address, std::size_t bytes, [[maybe_unused]] const void* site) {
#ifndef __SANITIZE_ADDRESS__  // there only atomics would be seen here
  access(address, bytes, Access::atomic, site);
#endif
  look(address, bytes);
}

}  // namespace weft::host_cuda

using weft::host_cuda::Access;
using weft::host_cuda::access;

#define WEFT_HOOK(kind, Kind, bytes)                                   \
  extern "C" void __tsan_##kind##bytes(void* address) {                \
    access(address, bytes, Access::Kind, __builtin_return_address(0)); \
  }                                                                    \
  extern "C" void __tsan_unaligned_##kind##bytes(void* address) {      \
    access(address, bytes, Access::Kind, __builtin_return_address(0)); \
  }                                                                    \
  extern "C" void __tsan_volatile_##kind##bytes(void* address) {       \
    access(address, bytes, Access::Kind, __builtin_return_address(0)); \
    weft::host_cuda::look(address, bytes);                             \
  }
#define WEFT_HOOKS(bytes)      \
  WEFT_HOOK(read, read, bytes) \
  WEFT_HOOK(write, write, bytes)
WEFT_HOOKS(1)
WEFT_HOOKS(2)
WEFT_HOOKS(4)
WEFT_HOOKS(8)
WEFT_HOOKS(16)

extern "C" void __tsan_read_range(void* address, std::size_t bytes) {
  access(address, bytes, Access::read, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* address, std::size_t bytes) {
  access(address, bytes, Access::write, __builtin_return_address(0));
}
extern "C" void __tsan_vptr_update(void*, void*) {}
extern "C" void __tsan_vptr_read(void*) {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}
