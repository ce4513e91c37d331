// SPDX-License-Identifier: MIT
// Checks that the dispatchers of all families (kernels/FAMILY/FAMILY.cpp) share. They take no
// memory and 10 to 40 ns; all throw usage in one line, which names the function and the argument.
//
// Every public function refuses, before any work, invalid dimensions, an unsupported variant, a
// value that is no enumerator, and a number that is not finite. check_call() looks at each pointer
// to at least one byte, and refuses it for one of these reasons:
//   - It is null, and the contract does not allow that.
//   - It is not aligned to its type, or as the contract says. A workspace is aligned to 16 bytes.
//   - The call is for a GPU, and this is memory of the host that the GPU does not reach
//     (engine/reach.h).
//   - It shares a byte with what is written. Where the contract says that one may be the other, it
//     is exactly the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

#include "engine/error.h"
#include "kernels/common.h"

namespace weft::kernels {

// The product of the extents; throws usage when one is negative or the product overflows.
inline std::int64_t checked_elements(std::string_view where,
                                     std::initializer_list<std::int64_t> extents) {
  std::int64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0) throw Error(ErrorKind::usage, str(where, ": negative extent ", extent));
    empty = empty || extent == 0;
    overflow = __builtin_mul_overflow(product, extent, &product) || overflow;
  }
  if (empty) return 0;
  if (overflow) throw Error(ErrorKind::usage, str(where, ": more than 2^63 elements"));
  return product;
}

// The memory that one argument of a call names: rows of bytes, one or several.
struct Argument {
  const char* name;
  const void* data;
  std::size_t bytes;       // from the first to the last
  std::size_t row, pitch;  // bytes of a row, and from one row to the next
  std::size_t alignment;   // bytes, a power of two
  bool written;
  bool optional = false;
  const char* twin = nullptr;  // the argument that it may be, exactly; written ones only

  constexpr Argument or_null() const { return with(&Argument::optional, true); }
  constexpr Argument may_be(const char* other) const { return with(&Argument::twin, other); }
  constexpr Argument aligned_to(std::size_t multiple) const {
    return with(&Argument::alignment, multiple);
  }

  static constexpr std::size_t kTooLarge = SIZE_MAX;  // bytes that fit no memory

 private:
  template <class T>
  constexpr Argument with(T Argument::*member, T value) const {
    Argument changed = *this;
    changed.*member = value;
    return changed;
  }
};

// Dense elements of so many bytes, each aligned to its size. Of 0 elements the pointer may be any.
constexpr Argument dense_argument(const char* name, const void* data, std::int64_t elements,
                                  std::size_t size, bool written) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(elements), size, &bytes)) {
    bytes = Argument::kTooLarge;
  }
  return {name, data, bytes, bytes, bytes, size, written};
}
// Rows of `row` elements, `pitch` elements apart; what lies between them belongs to others.
constexpr Argument rows_argument(const char* name, const void* data, std::int64_t rows,
                                 std::int64_t row, std::int64_t pitch, std::size_t size,
                                 bool written) {
  const std::int64_t elements = rows == 0 || row == 0 ? 0 : (rows - 1) * pitch + row;
  Argument all = dense_argument(name, data, elements, size, written);
  all.row = static_cast<std::size_t>(row) * size;
  all.pitch = static_cast<std::size_t>(pitch) * size;
  return all;
}

// What a call reads.
template <class T>
constexpr Argument reads(const char* name, const T* data, std::int64_t elements) {
  return dense_argument(name, data, elements, sizeof(T), false).aligned_to(alignof(T));
}
constexpr Argument reads(const char* name, const void* data, std::int64_t elements,
                         std::size_t element_bytes) {
  return dense_argument(name, data, elements, element_bytes, false);
}
template <class T>
constexpr Argument reads_rows(const char* name, const T* data, std::int64_t rows, std::int64_t row,
                              std::int64_t pitch) {
  return rows_argument(name, data, rows, row, pitch, sizeof(T), false);
}
// What it writes, whether or not it has read there before.
template <class T>
constexpr Argument writes(const char* name, T* data, std::int64_t elements) {
  static_assert(!std::is_const_v<T>);
  return dense_argument(name, data, elements, sizeof(T), true).aligned_to(alignof(T));
}
constexpr Argument writes(const char* name, void* data, std::int64_t elements,
                          std::size_t element_bytes) {
  return dense_argument(name, data, elements, element_bytes, true);
}
template <class T>
constexpr Argument writes_rows(const char* name, T* data, std::int64_t rows, std::int64_t row,
                               std::int64_t pitch) {
  static_assert(!std::is_const_v<T>);
  return rows_argument(name, data, rows, row, pitch, sizeof(T), true);
}
constexpr std::size_t kWorkspaceAlignment = 16;  // bytes, unless a family wants more
// What a call needs of the scratch that it was lent. That there is enough of it is for the caller
// to check; bytes without memory are refused even where none are needed.
constexpr Argument scratch(Workspace workspace, std::size_t needed,
                           std::size_t alignment = kWorkspaceAlignment) {
  const std::size_t bytes = workspace.data == nullptr ? workspace.bytes : needed;
  return {"workspace", workspace.data, bytes, bytes, bytes, alignment, true};
}

// Throws usage unless the arguments are as said above.
void check_call(std::string_view function, const Stream& stream,
                std::span<const Argument> arguments);
inline void check_call(std::string_view function, const Stream& stream,
                       std::initializer_list<Argument> arguments) {
  check_call(function, stream, std::span<const Argument>(arguments.begin(), arguments.size()));
}

// Throws usage unless it is one of the enumerators, which are 0 to `last`.
[[noreturn]] void throw_no_enumerator(std::string_view function, const char* name,
                                      std::int64_t found, std::int64_t last);
template <class Enum>
void check_enumerator(std::string_view function, const char* name, Enum value, Enum last) {
  const auto found = static_cast<std::int64_t>(value), most = static_cast<std::int64_t>(last);
  if (found < 0 || found > most) throw_no_enumerator(function, name, found, most);
}
inline void check_mode(std::string_view function, ComputeMode mode) {
  check_enumerator(function, "mode", mode, ComputeMode::bf16);
}
inline void check_mode(std::string_view function, GradientMode mode, const char* name = "mode") {
  check_enumerator(function, name, mode, GradientMode::accumulate);
}

// Throws usage unless the value is a number: neither infinite nor NaN.
[[noreturn]] void throw_not_finite(std::string_view function, const char* name, double found);
inline void check_finite(std::string_view function, const char* name, double value) {
  if (!__builtin_isfinite(value)) throw_not_finite(function, name, value);
}

// `value` is the share of a label that is spread over all classes. Throws usage outside [0, 1).
inline void check_smoothing(std::string_view function, double value) {
  if (value >= 0 && value < 1) return;
  throw Error(ErrorKind::usage, str(function, ": expected 0 <= smoothing < 1, found ", value));
}

}  // namespace weft::kernels
