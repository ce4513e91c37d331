// SPDX-License-Identifier: MIT
#include "host_cuda/checks/host.h"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/memory/written.h"
#include "host_cuda/sample/repeats.h"

namespace weft::host_cuda {
namespace {

std::mutex host_mutex;                                   // guards the next three
[[gnu::init_priority(200)]] std::string running_kernel;  // and where it was launched
// What an asynchronous copy may still read or write of pinned memory.
struct Copying {
  std::uintptr_t begin;
  std::size_t bytes;
  bool writes;
  HostCall call;
};
[[gnu::init_priority(200)]] std::vector<Copying> copying;

// Changes with all that host_access() looks at but the memory's contents.
std::atomic<std::uint64_t> host_state{1};
// Pinned or managed memory that was the host's to use, or to read.
struct OfHost {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::uint64_t state = 0;
  bool reads_only = false;
};
thread_local OfHost recent_of_host;
thread_local int calls_by_streams = 0;

// Never destroyed: the last to ask for it may be behind all destructors.
CallFailure& first_failure() {
  static auto& failure = *new CallFailure;
  return failure;
}

std::uintptr_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

std::string text_of(const HostCall& call) {
  return str(call.name, " at ", source_line(call.site));
}

const char* name_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return "cudaMemcpyHostToHost";
    case cudaMemcpyHostToDevice:
      return "cudaMemcpyHostToDevice";
    case cudaMemcpyDeviceToHost:
      return "cudaMemcpyDeviceToHost";
    default:
      return "cudaMemcpyDeviceToDevice";
  }
}

// One side of a copy. False: it is wrong.
bool check_side(const HostCall& call, const char* side, const void* pointer, std::size_t bytes,
                bool on_device, cudaMemcpyKind kind, const char* rule) {
  const std::uintptr_t address = number(pointer);
  const Allocation at = allocation_at(address);
  if (at.bytes == 0 && !in_arena(address)) {
    if (on_device && kind != cudaMemcpyDefault && !in_program(address)) {
      host_mistake("wrong direction", call.site, [&] {
        return str("wrong direction: ", text_of(call), ": ", rule, ", but the ", side, " is ",
                   address == 0 ? "a null pointer" : "host memory");
      });
      return false;
    }
    return true;
  }
  if (at.bytes == 0) {
    host_mistake("out of bounds", call.site, [&] {
      return str("out of bounds: ", text_of(call), ": the ", side, " is ",
                 describe_host_address(address));
    });
    return false;
  }
  if (!on_device && kind != cudaMemcpyDefault && at.memory == Memory::device) {
    host_mistake("wrong direction", call.site, [&] {
      return str("wrong direction: ", text_of(call), ": ", rule, ", but the ", side,
                 " is device memory");
    });
    return false;
  }
  if (bytes > at.bytes - (address - at.begin)) {
    host_mistake("wrong size", call.site, [&] {
      return str("wrong size: ", text_of(call), ": ", bytes, " bytes, but the ", side, " is at ",
                 describe_host_address(address));
    });
    return false;
  }
  return true;
}

}  // namespace

void throw_mistake(const std::string& text) {
  throw Error(ErrorKind::check_failed, "host-cuda: " + text);
}

namespace {
thread_local HostCall outermost_call = {nullptr, nullptr};
}
Calling::Calling(const HostCall& call) : is_outermost_(outermost_call.name == nullptr) {
  if (is_outermost_) outermost_call = call;
}
Calling::~Calling() {
  if (is_outermost_) outermost_call = {nullptr, nullptr};
}
const HostCall& Calling::outermost() {
  return outermost_call;
}

bool check_copy(const HostCall& call, const void* to, const void* from, std::size_t bytes,
                cudaMemcpyKind kind) {
  if (bytes == 0) return true;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return check_side(call, "target", to, bytes, to_device, kind, name_of(kind)) &&
         check_side(call, "source", from, bytes, from_device, kind, name_of(kind));
}

bool check_fill(const HostCall& call, const void* to, std::size_t bytes) {
  return bytes == 0 || check_side(call, "target", to, bytes, true, cudaMemcpyDeviceToDevice,
                                  "it fills device memory");
}

bool check_free(const HostCall& call, void* data, Memory expected) {
  if (data == nullptr) return true;
  const std::uintptr_t address = number(data);
  const Allocation at = allocation_at(address);
  const bool pinned = expected == Memory::pinned;
  const bool of_heap = at.memory == Memory::heap || expected == Memory::heap;
  if (at.begin == address && !of_heap && (at.memory == Memory::pinned) == pinned) return true;
  host_mistake("wrong free", call.site, [&] {
    return str("wrong free: ", text_of(call), " is given ",
               in_arena(address) ? describe_host_address(address) : "host memory",
               of_heap ? ", which only kernels free"
               : at.begin == address && at.bytes > 0
                   ? (pinned ? ", which cudaFree frees" : ", which cudaFreeHost frees")
                   : "");
  });
  return false;
}

void kernel_runs(const std::string& kernel, const std::string& line) {
  const std::lock_guard lock(host_mutex);
  ++host_state;
  running_kernel = str("kernel ", kernel, ", launched at ", line, ",");
}
void copy_runs(const HostCall& call, const void* to, const void* from, std::size_t bytes) {
  for (const void* side : {to, from}) {
    const Allocation at = allocation_at(number(side));
    if (at.bytes == 0 || at.memory != Memory::pinned) continue;
    const std::lock_guard lock(host_mutex);
    ++host_state;
    copying.push_back({number(side), bytes, side == to, call});
  }
}
void host_waits() {
  const std::lock_guard lock(host_mutex);
  running_kernel.clear();
  copying.clear();
}

CalledByStream::CalledByStream() {
  ++calls_by_streams;
}
CalledByStream::~CalledByStream() {
  --calls_by_streams;
}

void allocations_change() {
  ++host_state;
}

namespace {

// What the access of managed or pinned memory `at` has not been waited for; empty when nothing.
// Else the host may go on to use what lies around the access. host_mutex is held.
std::string still_running(const Allocation& at, std::uintptr_t address, std::size_t bytes,
                          bool reads, std::uint64_t now) {
  if (at.memory == Memory::managed && !running_kernel.empty()) return running_kernel;
  OfHost around{at.begin, at.bytes, now, false};
  for (const Copying& copy : copying) {
    if (reads && !copy.writes) {
      around.reads_only = true;
    } else if (address >= copy.begin + copy.bytes) {
      const std::uintptr_t begin = std::max(around.begin, copy.begin + copy.bytes);
      around.bytes -= begin - around.begin;
      around.begin = begin;
    } else if (address + bytes <= copy.begin) {
      around.bytes = std::min<std::size_t>(around.bytes, copy.begin - around.begin);
    } else {
      return text_of(copy.call);
    }
  }
  recent_of_host = around;
  return "";
}

}  // namespace

void host_access(std::uintptr_t address, std::size_t bytes, bool reads, const void* site) {
  const std::uint64_t now = host_state;
  if (recent_of_host.state == now && (reads || !recent_of_host.reads_only) &&
      address - recent_of_host.begin < recent_of_host.bytes &&
      bytes <= recent_of_host.bytes - (address - recent_of_host.begin) &&
      (!reads || !looks_unwritten(address, bytes))) {
    return;
  }
  const Allocation at = allocation_at(address);
  const auto where = [&] {
    return str("host code ", reads ? "reads" : "writes", " ", describe_host_address(address),
               ", at ", source_line(site));
  };
  if (at.bytes == 0) {  // no page is there
    host_mistake("out of bounds", site, [&] { return "out of bounds: " + where(); });
    end_after_findings();
  }
  if (reads && host_finds_unwritten(address, bytes)) {
    host_mistake("uninitialised read", site,
                 [&] { return "uninitialised read: " + where() + ", which nobody has written"; });
  }
  if (at.memory == Memory::device || at.memory == Memory::heap) {
    if (!reads) memory_changes();
    return host_mistake("device pointer", site, [&] {
      return "device pointer: " + where() + ": copy it to the host first";
    });
  }
  if (calls_by_streams > 0) return;
  const std::lock_guard lock(host_mutex);
  const std::string runs = still_running(at, address, bytes, reads, now);
  if (runs.empty()) return;
  host_mistake("not synchronised", site, [&] {
    return str("not synchronised: ", where(), "; ", runs, " may still run: wait for it first");
  });
}

Unwritten copied_unwritten;

namespace {

// A stretch of host memory, where it came from, and the call that brought it.
struct Copied {
  std::size_t bytes;
  std::uintptr_t from;
  std::string call, source;
};
[[gnu::init_priority(200)]] std::map<std::uintptr_t, Copied> copied;

}  // namespace

void copied_out(const HostCall& call, const void* to, const void* from, std::size_t bytes) {
  const std::size_t element = call.element;
  if (!lists_findings() || allocation_at(number(to)).bytes > 0 ||
      allocation_at(number(from)).bytes == 0)
    return;
  std::size_t total = 0, longest = 0;
  const std::vector<Stretch> stretches = unwritten_in(from, bytes);
  for (const auto& [begin, end] : stretches) {
    total += end - begin;
    longest = std::max<std::size_t>(longest, end - begin);
  }
  if (longest < std::max<std::size_t>(element, 4)) return;  // padding of structs, if anything
  const std::string what =
      element > 0 ? str(total / element, " elements of ", element, " bytes") : str(total, " bytes");
  const std::string source = describe_host_address(stretches.front().first);
  host_mistake("unwritten", call.site, [&] {
    return str("unwritten: ", text_of(call), " copies ", what,
               " that nobody has written to the host; the first is ", source);
  });
  const std::lock_guard lock(host_mutex);
  std::uintptr_t first = copied_unwritten.begin, last = first + copied_unwritten.bytes;
  for (const auto& [begin, end] : stretches) {
    const std::uintptr_t at = number(to) + (begin - number(from));
    copied[at] = {end - begin, begin, text_of(call), str(what, " that nobody has written")};
    first = last == 0 ? at : std::min(first, at);
    last = std::max(last, at + (end - begin));
  }
  copied_unwritten = {first, last - first};
}

void host_reads_copied(std::uintptr_t address, std::size_t bytes, const void* site) {
  const std::lock_guard lock(host_mutex);
  auto next = copied.upper_bound(address);
  if (next == copied.begin()) return;
  --next;
  const std::uintptr_t begin = next->first;
  const auto& one = next->second;
  if (address - begin >= one.bytes || bytes > one.bytes - (address - begin)) return;
  // Since then it may have got another value, or belong to something else.
  const std::uintptr_t from = one.from + (address - begin);
  const auto low = std::min<std::uintptr_t>(from % 8, address - begin);
  const std::size_t span =
      std::min(low + std::max<std::size_t>(bytes, 8), one.bytes - (address - begin) + low);
  if (!has_unwritten_bytes(reinterpret_cast<const void*>(address - low), from - low, span)) return;
  host_mistake("uninitialised read", site, [&] {
    return str("uninitialised read: host code reads, at ", source_line(site), ", what ", one.call,
               " has copied there: byte ", address - begin, " of ", one.source);
  });
}

std::string caller_line() {
  std::array<void*, 16> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    const void* site = frames[static_cast<std::size_t>(i)];
    if (!in_program(number(site))) continue;
    const std::string line = source_line(site);
    if (line != kUnknownLine) return line;
  }
  return kUnknownLine;
}

void note_failure(const CallFailure& one) {
  const std::lock_guard lock(host_mutex);
  first_failure() = one;
}
void error_was_read() {
  const std::lock_guard lock(host_mutex);
  first_failure() = {};
}
CallFailure unread_failure() {
  const std::lock_guard lock(host_mutex);
  return first_failure();
}

}  // namespace weft::host_cuda
