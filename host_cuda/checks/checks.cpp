// SPDX-License-Identifier: MIT
// The functions that g++ -fsanitize=thread calls before each access to memory. Here they do not
// look for races of host threads: they know the block, warp and phase of the running thread.
#include "host_cuda/checks/checks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/error.h"
#include "host_cuda/checks/arena.h"
#include "host_cuda/checks/device_memory.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/checks/symbols.h"
#include "host_cuda/counts/requests.h"

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
    case Access::atomic_load:
    case Access::volatile_read:
      return "reads";
    case Access::write:
    case Access::async_write:
    case Access::volatile_write:
      return "writes";
    case Access::atomic:
      break;
  }
  return "atomically updates";
}

int accesses_until_yield = 0;                        // 0: the thread is not interrupted
std::array<const Variable*, 64> recent_variables{};  // __shared__ ones, by the slot of 64 KiB
Segment grid_began = 0;                              // the running grid's first

constexpr std::uintptr_t kPage = 4096;

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

std::string block_name(std::uint32_t number) {
  const dim3& grid = running_grid->grid;
  return str("block (", number % grid.x, ", ", number / grid.x % grid.y, ", ",
             number / grid.x / grid.y, "), ");
}

// A thread that finds the same value again at the same place may be waiting for another thread.
// What it waits for may have several words. The other threads run before the access is judged: it
// acquires what they publish meanwhile.
void look(std::uintptr_t place, std::size_t bytes, const void* site) {
  Thread& self = *running;
  const auto* address = reinterpret_cast<const void*>(place);
  std::uint64_t value = 0;
  std::memcpy(&value, address, std::min(bytes, sizeof value));
  for (Look& before : self.looks) {
    if (before.address != address) continue;
    if (before.value == value) {
      self.site = site;
      poll();
    }
    before.value = value;
    return;
  }
  self.looks[self.next_look++ % self.looks.size()] = {address, value};
}

// Ends the grid if something was found. `place` returns what the access was to.
template <class Place>
[[gnu::always_inline]] inline void judge(const Finding& finding, const Thread& self, Access access,
                                         const void* site, const char* writers, Place place) {
  if (finding.kind == Finding::Kind::nothing) return;
  fail([&] {
    const std::string what =
        str(where(self), " ", verb(access), " ", place(), " at ", source_line(site));
    if (finding.kind == Finding::Kind::uninitialised) {
      return str("uninitialised read: ", what, ", which ", writers, " has written");
    }
    const Stamp& other = finding.other;
    const std::string line = source_line(other.site());
    if (other.segment < grid_began) {
      return str("race: ", what, "; ", launch_of(other.segment), ", ", verb(other.access()),
                 " it at ", line,
                 ", and no stream, event or wait orders the two launches: this is ",
                 launch_of(grid_began));
    }
    const std::string thread = thread_name(thread_at(other.thread()));
    if (finding.kind == Finding::Kind::too_early) {
      return str("too early: ", what, "; ", thread, " has started a copy to it at ", line,
                 " and not waited for that");
    }
    const std::uint32_t block = block_of(other.segment);
    const bool same_block = block == self.block->number;
    return str("race: ", what, "; ", same_block ? "" : block_name(block), thread, " ",
               verb(other.access()), " it at ", line,
               same_block ? ", with no barrier between" : ", and nothing orders the two blocks");
  });
}

void shared_access(Thread& self, std::uintptr_t address, std::size_t bytes, Access access,
                   const void* site) {
  if (is_strong(access)) look(address, bytes, site);
  if (access == Access::atomic) publish_and_acquire(*self.block, address, access);
  const Access recorded = access == Access::volatile_read    ? Access::read
                          : access == Access::volatile_write ? Access::write
                                                             : access;
  const Finding finding = self.block->shared.access(address, bytes, recorded, self, site);
  judge(finding, self, recorded, site, "no thread of the block",
        [&] { return shared_place(address); });
}

void global_access(Thread& self, std::uintptr_t address, std::size_t bytes, Access access,
                   const void* site) {
  if (is_strong(access)) {
    look(address, bytes, site);
    publish_and_acquire(*self.block, address, access);
  }
  const Finding finding = device_access(address, bytes, access, self, site);
  judge(finding, self, access, site, "nobody", [&] { return describe_address(address); });
}

void outside_of_shared(std::uintptr_t address, std::size_t bytes, Access access,
                       const Variable& variable, const void* site) {
  fail([&] {
    return str("out of bounds: ", where(*running), " ", verb(access), " ", bytes, " bytes at byte ",
               address - variable.begin, " of shared ", variable.name, ", which has ",
               variable.bytes, ", at ", source_line(site));
  });
}

bool in_stack_of_block(std::uintptr_t address) {
  const Block& block = *running->block;
  return std::any_of(block.thread.begin(), block.thread.begin() + block.threads,
                     [&](const Thread& one) {
                       return address - reinterpret_cast<std::uintptr_t>(one.fiber.stack_begin()) <
                              Fiber::kStackBytes;
                     });
}

bool is_mapped(std::uintptr_t address) {
  unsigned char page = 0;
  return mincore(reinterpret_cast<void*>(address / kPage * kPage), 1, &page) == 0;
}

void elsewhere(std::uintptr_t address, std::size_t bytes, Access access, const void* site) {
  const auto call = reinterpret_cast<std::uintptr_t>(running_grid->call.get());
  if (is_read(access) && address - call < running_grid->call->bytes()) return;
  const Variable* constant = constant_at(address);
  if (constant != nullptr) {
    if (is_read(access) && address + bytes <= constant->begin + constant->bytes) return;
    fail([&] {
      return str(is_read(access) ? "out of bounds: " : "constant memory: ", where(*running), " ",
                 verb(access), " ", bytes, " bytes at byte ", address - constant->begin,
                 " of __constant__ ", constant->name, ", which has ", constant->bytes, ", at ",
                 source_line(site));
    });
  }
  if (is_read(access) && in_program(address)) return;  // tables that the compiler has made
  fail([&] {
    const std::string action = str(where(*running), " ", verb(access), " ", bytes, " bytes at ");
    const std::string what = "out of bounds: " + action;
    const std::size_t shared_bytes = running_grid->shared_bytes;
    const auto dynamic = reinterpret_cast<std::uintptr_t>(running->block->dynamic.get());
    if (shared_bytes > 0 && address + kPage >= dynamic &&
        address < dynamic + shared_bytes + kPage && !in_program(address)) {
      return str(what, "byte ", static_cast<std::intptr_t>(address - dynamic),
                 " of dynamic shared memory, which has ", shared_bytes, ", at ", source_line(site));
    }
    if (address < kPage) {
      return str("null pointer: ", action, "address ", address, ", at ", source_line(site));
    }
    if (in_stack_of_block(address)) {
      return str(what, "a local variable of another thread, at ", source_line(site));
    }
    if (!in_arena(address) && !in_program(address) && is_mapped(address)) {
      return str("host pointer: ", action, "an address of host memory, at ", source_line(site));
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
  return is_read(access)    ? AccessKind::global_load
         : is_write(access) ? AccessKind::global_store
                            : AccessKind::global_atomic;
}

[[gnu::always_inline]] inline void access(const void* pointer, std::size_t bytes, Access access,
                                          const void* site) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (checked == nullptr) {
    if (running == nullptr && in_arena(address)) host_access(address, verb(access), site);
    return;
  }
  Thread& self = *running;
  if (address - reinterpret_cast<std::uintptr_t>(self.fiber.stack_begin()) < Fiber::kStackBytes) {
    return;  // registers and local memory
  }
  const Unchecked here;
  if (accesses_until_yield > 0 && --accesses_until_yield == 0) yield();
  if (access == Access::read) {
    self.last_read = address;
    self.last_read_site = site;
  } else if (access == Access::atomic && address == self.last_read) {
    forgive_reads_at(self.last_read_site);
  }
  if (pointer >= weft_shared_begin && pointer < weft_shared_end) {
    const Variable*& variable = recent_variables[address / 0x10000 % recent_variables.size()];
    if (variable == nullptr || address - variable->begin >= 0x10000) {
      variable = nearest_shared_variable(address);
    }
    if (address + bytes > variable->begin + variable->bytes) {
      outside_of_shared(address, bytes, access, *variable, site);
    }
    shared_access(self, address, bytes, access, site);
    if (recording()) record_access(self, address, bytes, shared_kind(access), site);
  } else if (address - reinterpret_cast<std::uintptr_t>(self.block->dynamic.get()) + bytes <=
             running_grid->shared_bytes) {
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

// Of an atomic operation.
void strong_access(const void* address, std::size_t bytes, [[maybe_unused]] Access kind,
                   const void* site) {
#ifndef __SANITIZE_ADDRESS__  // there only atomics would be seen here
  access(address, bytes, kind, site);
#else
  if (checked != nullptr) look(reinterpret_cast<std::uintptr_t>(address), bytes, site);
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
  grid_began = next_segment();
}

void schedule_preemption(std::uint64_t random) {
  accesses_until_yield = random == 0 ? 0 : static_cast<int>(random % 256) + 1;
}

void misaligned(const void* address, std::size_t alignment, Access kind, const void* site) {
  const Unchecked here;
  fail([&] {
    return str("misaligned: ", where(*running), " ", verb(kind), " ", alignment, " bytes, ",
               reinterpret_cast<std::uintptr_t>(address) % alignment,
               " bytes past a multiple of as many, at ", source_line(site));
  });
}

void aligned_access(const void* address, std::size_t alignment, std::size_t bytes, Access kind,
                    const void* site) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    misaligned(address, alignment, kind, site);
  }
#ifndef __SANITIZE_ADDRESS__  // it sees the bytes being copied
  access(address, bytes, kind, site);
#else
  static_cast<void>(bytes);
#endif
}

void atomic_access(const void* address, std::size_t bytes, const void* site) {
  strong_access(address, bytes, Access::atomic, site);
}

void atomic_load(const void* address, std::size_t bytes, const void* site) {
  strong_access(address, bytes, Access::atomic_load, site);
}

}  // namespace weft::host_cuda

using weft::host_cuda::Access;
using weft::host_cuda::access;

// Of a type whose alignment is its size, but for 16 bytes: they may be two of 8.
[[gnu::always_inline]] static inline void aligned(const void* address, std::size_t bytes,
                                                  Access kind, const void* site) {
  if (reinterpret_cast<std::uintptr_t>(address) % (bytes < 8 ? bytes : 8) != 0 &&
      weft::host_cuda::checked != nullptr) {
    weft::host_cuda::misaligned(address, bytes, kind, site);
  }
  access(address, bytes, kind, site);
}

#define WEFT_HOOK(kind, bytes)                                                     \
  extern "C" void __tsan_##kind##bytes(void* address) {                            \
    aligned(address, bytes, Access::kind, __builtin_return_address(0));            \
  }                                                                                \
  extern "C" void __tsan_unaligned_##kind##bytes(void* address) {                  \
    access(address, bytes, Access::kind, __builtin_return_address(0));             \
  }                                                                                \
  extern "C" void __tsan_volatile_##kind##bytes(void* address) {                   \
    aligned(address, bytes, Access::volatile_##kind, __builtin_return_address(0)); \
  }
#define WEFT_HOOKS(bytes) \
  WEFT_HOOK(read, bytes)  \
  WEFT_HOOK(write, bytes)
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
// clang calls these for copies and fills of memory.
extern "C" void* __tsan_memcpy(void* target, const void* source, std::size_t bytes) {
  access(source, bytes, Access::read, __builtin_return_address(0));
  access(target, bytes, Access::write, __builtin_return_address(0));
  return std::memmove(target, source, bytes);
}
extern "C" void* __tsan_memmove(void* target, const void* source, std::size_t bytes) {
  access(source, bytes, Access::read, __builtin_return_address(0));
  access(target, bytes, Access::write, __builtin_return_address(0));
  return std::memmove(target, source, bytes);
}
extern "C" void* __tsan_memset(void* target, int value, std::size_t bytes) {
  access(target, bytes, Access::write, __builtin_return_address(0));
  return std::memset(target, value, bytes);
}
extern "C" void __tsan_vptr_update(void*, void*) {}
extern "C" void __tsan_vptr_read(void*) {}
extern "C" void __tsan_init() {}
