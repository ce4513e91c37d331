// SPDX-License-Identifier: MIT
// What g++ -fsanitize=bounds, alignment and return call, in kernels compiled without the real
// UBSan.
#ifndef __SANITIZE_ADDRESS__
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/error.h"
#include "engine/text.h"
#include "host_cuda/checks/checks.h"
#include "host_cuda/findings/findings.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"

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
struct TypeMismatchData {
  const char* file;
  std::uint32_t line, column;
  const TypeDescriptor* type;
  unsigned char log_alignment, check;  // 0: load, 1: store
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
    found("out of bounds", site,
          [&] { return weft::str("out of bounds: ", where(*running), ": ", text()); });
    lose_thread();  // the array may be on its stack
  }
  std::fprintf(stderr, "host-cuda: host code: %s\n", weft::printable(text()).c_str());
  std::abort();
}
// g++ -fsanitize=alignment knows the alignment of the type that is accessed.
extern "C" void __ubsan_handle_type_mismatch_v1(TypeMismatchData* data, std::uintptr_t address) {
  using namespace weft::host_cuda;
  const std::uintptr_t alignment = std::uintptr_t{1} << data->log_alignment;
  if (checked == nullptr || address % alignment == 0) return;
  misaligned(reinterpret_cast<const void*>(address), alignment,
             data->check == 1 ? Access::write : Access::read, __builtin_return_address(0));
}
// g++ -fsanitize=return: a function has come to its end, and has a type ([stmt.return] of C++).
// What stands behind it is the next function, so nothing can go on here.
extern "C" [[noreturn]] void __ubsan_handle_missing_return(void*) {
  using namespace weft::host_cuda;
  const Unchecked here;
  const void* site = __builtin_return_address(0);
  const auto text = [&](const std::string& who) {
    return weft::str("missing return: ", who,
                     " comes to the end of a function that has to return a ", "value, at ",
                     source_line(site));
  };
  if (running != nullptr) {
    found("missing return", site, [&] { return text(where(*running)); });
    lose_thread();
  }
  if (!lists_findings()) {
    std::fprintf(stderr, "host-cuda: %s\n", weft::printable(text("host code")).c_str());
    std::abort();
  }
  tell_at("missing return", text("host code"), source_line(site));
  end_after_findings();
}
extern "C" void __ubsan_handle_out_of_bounds_abort(OutOfBoundsData* data, std::uintptr_t index) {
  __ubsan_handle_out_of_bounds(data, index);
}
#endif
