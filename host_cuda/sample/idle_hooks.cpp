// SPDX-License-Identifier: MIT
#include "host_cuda/sample/idle_hooks.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <vector>

#include "host_cuda/grid.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/sample/sample.h"

namespace weft::host_cuda {

bool idle_hooks_go = false;

#ifdef __x86_64__
namespace {

using Code = std::array<unsigned char, 5>;
constexpr Code kNothing = {0x0f, 0x1f, 0x44, 0x00, 0x00};  // nopl 0(%rax,%rax)
constexpr unsigned char kCall = 0xe8;                      // and how far it is, in 4 bytes

struct Taken {
  unsigned char* at;
  Code code;
};
[[gnu::init_priority(200)]] std::vector<Taken> taken;  // of Idle::in_unchecked_blocks
bool are_out = false;

// The pages of the code can be written from then on.
bool make_writable(unsigned char* at) {
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(at) / kPage * kPage;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(at) + sizeof(Code);
  return mprotect(reinterpret_cast<void*>(first), end - first,
                  PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
}

}  // namespace

void take_out_idle_hooks() {
  idle_hooks_go = true;
}

bool take_out(const void* site, const void* hook, Idle when) {
  const Unchecked here;
  auto* const at = static_cast<unsigned char*>(const_cast<void*>(site)) - sizeof(Code);
  Code code{};
  std::memcpy(code.data(), at, sizeof code);
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + 1, sizeof distance);
  if (code[0] != kCall || static_cast<const char*>(site) + distance != hook) return false;
  if (!make_writable(at)) {  // the system does not let programs do so
    idle_hooks_go = false;
    return false;
  }
  std::memcpy(at, kNothing.data(), sizeof kNothing);
  if (when != Idle::always) taken.push_back({at, code});
  return true;
}

void unchecked_blocks_begin() {
  if (!idle_hooks_go || __libc_single_threaded == 0 || are_out) return;
  are_out = true;
  for (const Taken& one : taken) std::memcpy(one.at, kNothing.data(), sizeof kNothing);
}

void unchecked_blocks_end() {
  are_out = false;
  for (const Taken& one : taken) std::memcpy(one.at, one.code.data(), sizeof one.code);
}
#else
void take_out_idle_hooks() {}
bool take_out(const void*, const void*, Idle) {
  return false;
}
void unchecked_blocks_begin() {}
void unchecked_blocks_end() {}
#endif

void host_place_is_busy(const void* site, const void* hook) {
  if (checks_host_code() || !take_out(site, hook, Idle::always)) return;
  host_code_goes_unchecked();
}

}  // namespace weft::host_cuda
