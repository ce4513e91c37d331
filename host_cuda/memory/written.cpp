// SPDX-License-Identifier: MIT
#include "host_cuda/memory/written.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

namespace weft::host_cuda {
namespace {

// NaN: what a kernel reads before anyone writes it shows. By whether the address is even or odd.
constexpr unsigned char kFill[2] = {kUnwrittenWord & 0xff, kUnwrittenWord >> 8 & 0xff};

std::mutex written_mutex;
// It is there before a program's own variables and after them: their destructors may call cudaFree.
[[gnu::init_priority(200)]] std::map<std::uintptr_t, std::uintptr_t> written;  // from, to

}  // namespace

void mark_written(std::uintptr_t begin, std::uintptr_t end) {
  const std::lock_guard lock(written_mutex);
  auto next = written.upper_bound(begin);
  if (next != written.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != written.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = written.erase(next);
  }
  written[begin] = end;
}

void mark_unwritten(std::uintptr_t begin, std::uintptr_t end) {
  const std::lock_guard lock(written_mutex);
  auto next = written.upper_bound(begin);
  if (next != written.begin() && std::prev(next)->second > begin) --next;
  while (next != written.end() && next->first < end) {
    const auto [from, to] = *next;
    next = written.erase(next);
    if (from < begin) written[from] = begin;
    if (to > end) written[end] = to;
  }
}

void fill_unwritten(void* data, std::size_t bytes) {
  auto* at = static_cast<unsigned char*>(data);
  constexpr std::size_t kBlock = 4096;
  const std::size_t first = std::min(bytes, kBlock);
  for (std::size_t i = 0; i < first; ++i) {
    at[i] = kFill[reinterpret_cast<std::uintptr_t>(at + i) % 2];
  }
  for (std::size_t done = first; done < bytes; done += kBlock) {
    std::memcpy(at + done, at, std::min(kBlock, bytes - done));
  }
}

bool is_known_as_written(std::uintptr_t address, std::size_t bytes) {
  const std::lock_guard lock(written_mutex);
  const auto next = written.upper_bound(address);
  return next != written.begin() && std::prev(next)->second >= address + bytes;
}

bool looks_unwritten(std::uintptr_t address, std::size_t bytes) {
  return has_unwritten_bytes(reinterpret_cast<const void*>(address), address, bytes);
}
bool has_unwritten_bytes(const void* copy, std::uintptr_t address, std::size_t bytes) {
  const auto* data = static_cast<const unsigned char*>(copy);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != kFill[(address + i) % 2]) return false;
  }
  return true;
}

}  // namespace weft::host_cuda
