// SPDX-License-Identifier: MIT
#include "host_cuda/checks/host.h"

#include <execinfo.h>

#include <array>
#include <map>
#include <utility>

#include "engine/error.h"
#include "host_cuda/checks/arena.h"
#include "host_cuda/checks/symbols.h"

namespace weft::host_cuda {
namespace {

void (*report)(const std::string&) = nullptr;
std::string running_kernel;                     // and where it was launched
std::map<std::uintptr_t, std::string> copying;  // by pinned allocation

// Never destroyed: the last to ask for it may be behind all destructors.
std::string& first_failure() {
  static auto& failure = *new std::string;
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

// One side of a copy.
void check_side(const HostCall& call, const char* side, const void* pointer, std::size_t bytes,
                bool on_device, cudaMemcpyKind kind, const char* rule) {
  const std::uintptr_t address = number(pointer);
  const Allocation at = allocation_at(address);
  if (at.bytes == 0 && !in_arena(address)) {
    if (on_device && kind != cudaMemcpyDefault && !in_program(address)) {
      host_mistake(str("wrong direction: ", text_of(call), ": ", rule, ", but the ", side, " is ",
                       address == 0 ? "a null pointer" : "host memory"));
    }
    return;
  }
  if (at.bytes == 0) {
    host_mistake(str("out of bounds: ", text_of(call), ": the ", side, " is ",
                     describe_host_address(address)));
  }
  if (!on_device && kind != cudaMemcpyDefault && at.memory == Memory::device) {
    host_mistake(str("wrong direction: ", text_of(call), ": ", rule, ", but the ", side,
                     " is device memory"));
  }
  if (bytes > at.bytes - (address - at.begin)) {
    host_mistake(str("wrong size: ", text_of(call), ": ", bytes, " bytes, but the ", side,
                     " is at ", describe_host_address(address)));
  }
}

}  // namespace

void host_mistake(const std::string& text) {
  const std::string message = "host-cuda: " + text;
  if (report != nullptr) report(message);
  throw Error(ErrorKind::check_failed, message);
}
void on_host_mistake(void (*function)(const std::string&)) {
  report = function;
}

void check_copy(const HostCall& call, const void* to, const void* from, std::size_t bytes,
                cudaMemcpyKind kind) {
  if (bytes == 0) return;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  check_side(call, "target", to, bytes, to_device, kind, name_of(kind));
  check_side(call, "source", from, bytes, from_device, kind, name_of(kind));
}

void check_fill(const HostCall& call, const void* to, std::size_t bytes) {
  if (bytes > 0)
    check_side(call, "target", to, bytes, true, cudaMemcpyDeviceToDevice, "it fills device memory");
}

void check_free(const HostCall& call, void* data, Memory expected) {
  if (data == nullptr) return;
  const std::uintptr_t address = number(data);
  const Allocation at = allocation_at(address);
  const bool pinned = expected == Memory::pinned;
  if (at.begin == address && (at.memory == Memory::pinned) == pinned) return;
  host_mistake(str("wrong free: ", text_of(call), " is given ",
                   in_arena(address) ? describe_host_address(address) : "host memory",
                   at.begin == address && at.bytes > 0
                       ? (pinned ? ", which cudaFree frees" : ", which cudaFreeHost frees")
                       : ""));
}

void kernel_runs(const std::string& kernel, const std::string& line) {
  running_kernel = str("kernel ", kernel, ", launched at ", line, ",");
}
void copy_runs(const HostCall& call, const void* to, const void* from) {
  for (const void* side : {to, from}) {
    const Allocation at = allocation_at(number(side));
    if (at.bytes > 0 && at.memory == Memory::pinned) copying[at.begin] = text_of(call);
  }
}
void host_waits() {
  running_kernel.clear();
  copying.clear();
}

void host_access(std::uintptr_t address, const char* verb, const void* site) {
  const Allocation at = allocation_at(address);
  const auto where = [&] {
    return str("host code ", verb, " ", describe_host_address(address), ", at ", source_line(site));
  };
  if (at.bytes == 0) host_mistake("out of bounds: " + where());
  if (at.memory == Memory::device) {
    host_mistake("device pointer: " + where() + ": copy it to the host first");
  }
  const auto copy = copying.find(at.begin);
  const bool waits = at.memory == Memory::managed ? running_kernel.empty() : copy == copying.end();
  if (waits) return;
  host_mistake(str("not synchronised: ", where(), "; ",
                   at.memory == Memory::managed ? running_kernel : copy->second,
                   " may still run: wait for it first"));
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

void note_failure(const std::string& what) {
  first_failure() = what;
}
void error_was_read() {
  first_failure().clear();
}
std::string unread_failure() {
  return first_failure();
}

}  // namespace weft::host_cuda
