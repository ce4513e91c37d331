// SPDX-License-Identifier: MIT
// What g++ -fsanitize=bounds calls when an index is beyond the declared extent of an array, in
// kernels compiled without the real UBSan.
#ifndef __SANITIZE_ADDRESS__
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "engine/error.h"
#include "engine/host_cuda/grid.h"
#include "engine/host_cuda/symbols.h"

namespace {

// As GCC lays them out for libubsan.
struct TypeDescriptor {
  std::uint16_t kind, info;
  char name[1];
};
struct OutOfBoundsData {
  const char* file;
  std::uint32_t line, column;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};

}  // namespace

extern "C" void __ubsan_handle_out_of_bounds(OutOfBoundsData* data, std::uintptr_t index) {
  using namespace weft::host_cuda;
  const Unchecked here;
  const void* site = __builtin_return_address(0);
  const auto text = [&] {
    return weft::str("index ", static_cast<std::intptr_t>(index), " into an array of type ",
                     data->array->name, " at ", source_line(site));
  };
  if (running != nullptr) {
    fail([&] { return weft::str("out of bounds: ", where(*running), ": ", text()); });
  }
  std::fprintf(stderr, "host-cuda: host code: %s\n", text().c_str());
  std::abort();
}
extern "C" void __ubsan_handle_out_of_bounds_abort(OutOfBoundsData* data, std::uintptr_t index) {
  __ubsan_handle_out_of_bounds(data, index);
}
#endif
