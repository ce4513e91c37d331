// SPDX-License-Identifier: MIT
#include "engine/host_cuda/device_memory.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "engine/error.h"

namespace weft::host_cuda {
namespace {

constexpr std::size_t kAlignment = 256;
// No allocation touches the next. AddressSanitizer sees to that by itself, and to the byte.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kGap = 0;
#else
constexpr std::size_t kGap = 1024;
#endif

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

std::mutex mutex;
std::map<std::uintptr_t, std::size_t> allocations;  // guarded by mutex
std::vector<Allocation> known;                      // a copy, by address, for the running grid
std::array<Allocation, 4> recent;
std::size_t next_recent = 0;

const Allocation* nearest(std::uintptr_t address) {
  const auto next =
      std::upper_bound(known.begin(), known.end(), address,
                       [](std::uintptr_t value, const Allocation& a) { return value < a.begin; });
  return next == known.begin() ? nullptr : &*(next - 1);
}

}  // namespace

void* allocate_device_memory(std::size_t bytes) {
  void* data = nullptr;
  if (bytes > PTRDIFF_MAX - 2 * kGap || posix_memalign(&data, kAlignment, bytes + kGap) != 0) {
    return nullptr;
  }
  std::memset(data, 0xff, bytes);  // NaN: what a kernel reads before anyone writes it shows
  const std::lock_guard lock(mutex);
  allocations[reinterpret_cast<std::uintptr_t>(data)] = bytes;
  return data;
}

void free_device_memory(void* data) {
  const std::lock_guard lock(mutex);
  allocations.erase(reinterpret_cast<std::uintptr_t>(data));
  std::free(data);
}

void refresh_device_memory() {
  const std::lock_guard lock(mutex);
  known.clear();
  for (const auto& [begin, bytes] : allocations) known.push_back({begin, bytes});
  recent.fill({});
}

bool in_device_memory(std::uintptr_t address, std::size_t bytes) {
  for (const Allocation& a : recent) {
    if (address - a.begin < a.bytes) return address - a.begin + bytes <= a.bytes;
  }
  const Allocation* a = nearest(address);
  if (a == nullptr || address - a->begin >= a->bytes) return false;
  recent[next_recent++ % recent.size()] = *a;
  return address - a->begin + bytes <= a->bytes;
}

std::string describe_address(std::uintptr_t address) {
  constexpr std::uintptr_t kNear = 1 << 20;
  const Allocation* before = nearest(address);
  if (before != nullptr && address - before->begin < before->bytes) {
    return str("byte ", address - before->begin, " of a device allocation of ", before->bytes,
               " bytes");
  }
  if (before != nullptr && address - before->begin - before->bytes < kNear) {
    return str("byte ", address - before->begin - before->bytes,
               " past the end of a device allocation of ", before->bytes, " bytes");
  }
  for (const Allocation& a : known) {
    if (a.begin > address && a.begin - address < kNear) {
      return str(a.begin - address, " bytes before a device allocation of ", a.bytes, " bytes");
    }
  }
  return "an address that is not device memory";
}

std::vector<char> device_memory_contents() {
  std::vector<char> contents;
  for (const Allocation& a : known) {
    const char* data = reinterpret_cast<const char*>(a.begin);
    contents.insert(contents.end(), data, data + a.bytes);
  }
  return contents;
}

void restore_device_memory(const std::vector<char>& contents) {
  const char* from = contents.data();
  for (const Allocation& a : known) {
    std::memcpy(reinterpret_cast<char*>(a.begin), from, a.bytes);
    from += a.bytes;
  }
}

std::string first_difference(const std::vector<char>& a, const std::vector<char>& b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin()).first;
  if (differ == a.end()) return "";
  auto at = static_cast<std::size_t>(differ - a.begin());
  for (const Allocation& one : known) {
    if (at < one.bytes) {
      return str("byte ", at, " of a device allocation of ", one.bytes, " bytes");
    }
    at -= one.bytes;
  }
  return "device memory";
}

}  // namespace weft::host_cuda
