// SPDX-License-Identifier: MIT
// Calls of hooks that have nothing to do are taken out of the code of the program, where it runs on
// one thread of the host: a call of such a hook costs more than most instructions of a kernel. Each
// is found when it is made. Only on x86-64, where a call has five bytes; elsewhere they stay.
#pragma once

#include <sys/single_threaded.h>

#include <array>
#include <cstdint>

namespace weft::host_cuda {

// In this program, in which nobody counts accesses.
void take_out_idle_hooks();

enum class Idle : std::uint8_t { always, in_unchecked_blocks };

extern bool idle_hooks_go;
bool take_out(const void* site, const void* hook, Idle when);  // false where it stays
// `hook` is about to return to `site`, and has done nothing.
inline void was_idle(const void* site, const void* hook, Idle when) {
  if (idle_hooks_go && __libc_single_threaded != 0) take_out(site, hook, when);
}

// Host code has accessed its own memory. Where it has often done so at a place, and the program
// runs for long, the call is taken out too (sample.h).
struct HostPlace {
  const void* site = nullptr;
  std::uint32_t times = 0;
};
inline constinit std::array<HostPlace, 1024> host_places{};
void host_place_is_busy(const void* site, const void* hook);
inline void host_code_was_idle(const void* site, const void* hook) {
  constexpr std::uint32_t kOften = 1u << 20;
  if (!idle_hooks_go || __libc_single_threaded == 0) return;
  HostPlace& one = host_places[reinterpret_cast<std::uintptr_t>(site) / 4 % host_places.size()];
  if (one.site != site) one = {site, 0};
  if (++one.times % kOften == 0) host_place_is_busy(site, hook);
}

// The known calls of Idle::in_unchecked_blocks are taken out, or put back.
void unchecked_blocks_begin();
void unchecked_blocks_end();

}  // namespace weft::host_cuda
