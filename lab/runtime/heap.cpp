// SPDX-License-Identifier: MIT
// malloc, free, new and delete of a program: of the heap of the device in a kernel, else of the
// host.
#include <cstdlib>
#include <new>

#include "engine/error.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"

using namespace weft::host_cuda;

extern "C" {
void* __real_malloc(std::size_t bytes);
void __real_free(void* data);
}

namespace {

void wrong_free(const char* name, void* data, const void* site) {
  found("wrong free", site, [&] {
    return weft::str("wrong free: ", where(*running), " gives ", name, " ",
                     describe_address(reinterpret_cast<std::uintptr_t>(data)), ", at ",
                     source_line(site));
  });
}

void release(const char* name, void* data, const void* site) {
  if (data == nullptr) return;
  if (in_kernel_code == nullptr) {
    const bool of_device = in_arena(reinterpret_cast<std::uintptr_t>(data));
    if (!of_device || check_free({name, site}, data, Memory::heap)) __real_free(data);
    return;
  }
  const Unchecked here;
  if (!free_in_kernel(data)) wrong_free(name, data, site);
}

void* allocate(std::size_t bytes, const void* site) {
  if (in_kernel_code == nullptr) {
    if (void* data = __real_malloc(bytes == 0 ? 1 : bytes)) return data;
    throw std::bad_alloc();
  }
  const Unchecked here;
  return allocate_in_kernel(bytes, site);
}

}  // namespace

#define WEFT_SITE __builtin_return_address(0)

extern "C" void* __wrap_malloc(std::size_t bytes) {
  if (in_kernel_code == nullptr) return __real_malloc(bytes);
  const Unchecked here;
  return allocate_in_kernel(bytes, WEFT_SITE);
}
extern "C" void __wrap_free(void* data) {
  release("free", data, WEFT_SITE);
}

// Null in a kernel whose heap is full, as CUDA has it.
void* operator new(std::size_t bytes) {
  return allocate(bytes, WEFT_SITE);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes, WEFT_SITE);
}
void operator delete(void* data) noexcept {
  release("delete", data, WEFT_SITE);
}
void operator delete[](void* data) noexcept {
  release("delete[]", data, WEFT_SITE);
}
void operator delete(void* data, std::size_t) noexcept {
  release("delete", data, WEFT_SITE);
}
void operator delete[](void* data, std::size_t) noexcept {
  release("delete[]", data, WEFT_SITE);
}
