// SPDX-License-Identifier: MIT
// The functions that g++ -fsanitize=thread calls before each access to memory. Here they do not
// look for races of host threads: they know the block, warp and phase of the running thread.
#include <cstring>

#include "host_cuda/checks/checks.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/quick.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/sample/idle_hooks.h"

namespace weft::host_cuda {
namespace {

// A plain access of whole words. Most end here, without the rest of memory_access().
template <bool kReads, std::size_t kBytes>
[[gnu::always_inline]] inline bool quick_access(const void* pointer, const void* site) {
  if (checked == nullptr) return false;
  if (accesses_until_yield == 1 || doubts_open || recording()) return false;
  Thread& self = *running;
  if (self.watched || self.has_pending) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto is_in = [&](std::uintptr_t begin, std::size_t bytes) __attribute__((always_inline)) {
    return address - begin <= bytes - kBytes && bytes >= kBytes;
  };
  Shadow* shadow = nullptr;
  if (pointer >= weft_shared_begin && pointer < weft_shared_end) {
    const Variable* variable = recent_variables[address / 0x10000 % recent_variables.size()];
    if (variable != nullptr && is_in(variable->begin, variable->bytes)) {
      shadow = &self.block->shared;
    }
  } else if (is_in(reinterpret_cast<std::uintptr_t>(self.block->dynamic.get()),
                   running_grid->shared_bytes)) {
    shadow = &self.block->shared;
  } else if (in_recent_device_memory(address, kBytes)) {
    shadow = &device_shadow;
  }
  if (shadow == nullptr || !shadow->quick<kReads, kBytes>(address, self, site)) return false;
  if (accesses_until_yield > 0) --accesses_until_yield;
  if constexpr (kReads) {
    self.last_read = address;
    self.last_read_site = site;
  }
  return true;
}

// The type's alignment is its size, but 16 bytes may be two of 8.
[[gnu::always_inline]] inline void aligned(const void* address, std::size_t bytes, Access kind,
                                           const void* site) {
  if (reinterpret_cast<std::uintptr_t>(address) % (bytes < 8 ? bytes : 8) != 0 &&
      checked != nullptr) {
    misaligned(address, bytes, kind, site);
  }
  memory_access(address, bytes, kind, site);
}

[[gnu::noinline]] void judged(const void* address, std::size_t bytes, Access kind,
                              const void* site) {
  aligned(address, bytes, kind, site);
}
// Is the access one of a block that is not checked, or of host code to its own memory?
[[gnu::always_inline]] inline bool is_idle(const void* address, const void* site,
                                           const void* hook) {
  if (checked != nullptr) return false;
  if (in_kernel_code != nullptr) {
    was_idle(site, hook, Idle::in_unchecked_blocks);
    return true;
  }
  if (running != nullptr || is_told_of_host_code(reinterpret_cast<std::uintptr_t>(address))) {
    return false;
  }
  host_code_was_idle(site, hook);
  return true;
}

template <bool kReads, std::size_t kBytes>
[[gnu::always_inline]] inline void plain(const void* address, const void* site, const void* hook) {
  if constexpr (kBytes >= 4) {
    if (quick_access<kReads, kBytes>(address, site)) return;
  }
  if (is_idle(address, site, hook)) return;
  judged(address, kBytes, kReads ? Access::read : Access::write, site);
}

}  // namespace
}  // namespace weft::host_cuda

using namespace weft::host_cuda;

#define WEFT_SITE __builtin_return_address(0)
#define WEFT_HOOK(kind, bytes)                                                        \
  extern "C" void __tsan_##kind##bytes(void* address) {                               \
    const auto* hook = reinterpret_cast<const void*>(__tsan_##kind##bytes);           \
    plain<Access::kind == Access::read, bytes>(address, WEFT_SITE, hook);             \
  }                                                                                   \
  extern "C" void __tsan_unaligned_##kind##bytes(void* address) {                     \
    const auto* hook = reinterpret_cast<const void*>(__tsan_unaligned_##kind##bytes); \
    if (!is_idle(address, WEFT_SITE, hook))                                           \
      memory_access(address, bytes, Access::kind, WEFT_SITE);                         \
  }                                                                                   \
  extern "C" void __tsan_volatile_##kind##bytes(void* address) {                      \
    aligned(address, bytes, Access::volatile_##kind, WEFT_SITE);                      \
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
  memory_access(address, bytes, Access::read, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* address, std::size_t bytes) {
  memory_access(address, bytes, Access::write, __builtin_return_address(0));
}
// clang calls these for copies and fills of memory.
extern "C" void* __tsan_memcpy(void* target, const void* source, std::size_t bytes) {
  memory_access(source, bytes, Access::read, __builtin_return_address(0));
  memory_access(target, bytes, Access::write, __builtin_return_address(0));
  return std::memmove(target, source, bytes);
}
extern "C" void* __tsan_memmove(void* target, const void* source, std::size_t bytes) {
  memory_access(source, bytes, Access::read, __builtin_return_address(0));
  memory_access(target, bytes, Access::write, __builtin_return_address(0));
  return std::memmove(target, source, bytes);
}
extern "C" void* __tsan_memset(void* target, int value, std::size_t bytes) {
  memory_access(target, bytes, Access::write, __builtin_return_address(0));
  return std::memset(target, value, bytes);
}
extern "C" void __tsan_vptr_update(void*, void*) {}
extern "C" void __tsan_vptr_read(void*) {}
extern "C" void __tsan_init() {}
