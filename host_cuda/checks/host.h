// SPDX-License-Identifier: MIT
// What host code does with the memory of the device: the calls of the runtime, and accesses of host
// code that is compiled as kernels are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "host_cuda/findings/findings.h"
#include "host_cuda/language/runtime_api.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/device_memory.h"

namespace weft::host_cuda {

// A call of the runtime, and its return address.
struct HostCall {
  const char* name;
  const void* site;
  std::size_t element = 0;  // bytes of what is copied, where the types tell
};
// While this lives, calls that the function makes are the program's call of it.
class Calling {
 public:
  explicit Calling(const HostCall& call);
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;
  ~Calling();
  static const HostCall& outermost();

 private:
  bool is_outermost_;
};

// A mistake of host code at a return address. Throws an Error of kind check_failed with that text,
// unless findings are listed: then it is told.
[[noreturn]] void throw_mistake(const std::string& text);
template <class Text>
void host_mistake(const char* kind, const void* site, Text text) {
  if (!lists_findings()) throw_mistake(text());
  if (!told_before(kind, site)) tell(kind, text(), site);
}

// Are the addresses of the kinds that `kind` says, and within their allocations? A call that is
// told to be wrong does nothing, and returns an error.
bool check_copy(const HostCall& call, const void* to, const void* from, std::size_t bytes,
                cudaMemcpyKind kind);
bool check_fill(const HostCall& call, const void* to, std::size_t bytes);
bool check_free(const HostCall& call, void* data, Memory expected);

// On a GPU a kernel or an asynchronous copy may run until the host waits for it. Memory that both
// can use is not the host's until then: all managed memory, or the pinned memory that a copy
// writes. What a copy reads may be read.
void kernel_runs(const std::string& kernel, const std::string& line);
void copy_runs(const HostCall& call, const void* to, const void* from, std::size_t bytes);
void host_waits();
// Host code that a stream calls comes behind all that was submitted there before.
class CalledByStream {
 public:
  CalledByStream();
  CalledByStream(const CalledByStream&) = delete;
  CalledByStream& operator=(const CalledByStream&) = delete;
  ~CalledByStream();
};

// Memory of the arena has been freed.
void allocations_change();
// An access of host code to memory of the arena.
void host_access(std::uintptr_t address, std::size_t bytes, bool reads, const void* site);

// What a copy of a program of the lab brings to host memory that nobody has written on the device.
// It is a finding, and so is host code that reads it.
void copied_out(const HostCall& call, const void* to, const void* from, std::size_t bytes);
struct Unwritten {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};
extern Unwritten copied_unwritten;  // all such memory of the host is in there
// Can an access of host code to this address be wrong, or what it reads be of nobody?
inline bool is_told_of_host_code(std::uintptr_t address) {
  return in_arena(address) || address - copied_unwritten.begin < copied_unwritten.bytes;
}
void host_reads_copied(std::uintptr_t address, std::size_t bytes, const void* site);

// The line of the program that called into this layer.
std::string caller_line();

// Calls that fail, and whether the program ever asks for an error. unread_failure() is the first
// since it asked, and empty where there is none. `make` returns one.
struct CallFailure {
  std::string what, line;
};
CallFailure unread_failure();
void note_failure(const CallFailure& one);
template <class Make>
void call_failed(Make make) {
  if (unread_failure().what.empty()) note_failure(make());
}
void error_was_read();

}  // namespace weft::host_cuda
