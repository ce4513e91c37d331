// SPDX-License-Identifier: MIT
#include "kernels/checks.h"

#include <cstring>

#include "engine/reach.h"

namespace weft::kernels {
namespace {

using Address = std::uintptr_t;

Address begin_of(const Argument& a) {
  return reinterpret_cast<Address>(a.data);
}
Address end_of(const Argument& a) {
  return begin_of(a) + a.bytes;
}

template <class... Parts>
[[noreturn]] void fail(std::string_view function, const Parts&... parts) {
  throw Error(ErrorKind::usage, str(function, ": ", parts...));
}

// Throws what is wrong with an argument of at least one byte.
[[noreturn, gnu::cold]] void fail_alone(std::string_view function, const Argument& a,
                                        Device device) {
  if (a.data == nullptr) fail(function, a.name, " is null, expected ", a.bytes, " bytes");
  if (begin_of(a) % a.alignment != 0) {
    fail(function, a.name, " must be aligned to ", a.alignment, " bytes, found the address ",
         a.data);
  }
  if (end_of(a) < begin_of(a)) fail(function, a.name, " does not fit in memory");
  fail(function, a.name, " is in memory of the host, expected memory of ", device);
}

// May a be b?
bool has_twin(const Argument& a, const Argument& b) {
  return a.twin != nullptr && std::strcmp(a.twin, b.name) == 0;
}

[[noreturn, gnu::cold]] void fail_overlap(std::string_view function, const Argument& a,
                                          const Argument& b) {
  fail(function, a.name, a.data == b.data ? " is the memory of " : " overlaps ", b.name,
       has_twin(a, b) ? " in part, expected the very same memory or other memory"
                      : ", expected other memory");
}

// Does a row of b share a byte with [begin, end)?
bool meets(const Argument& b, Address begin, Address end) {
  const Address first = begin_of(b);
  if (end <= first || end_of(b) <= begin) return false;
  if (b.row >= b.pitch) return true;
  // The number of the first row that ends behind `begin`, and where it begins.
  const Address number = begin < first + b.row ? 0 : (begin - first - b.row) / b.pitch + 1;
  const Address row = first + number * b.pitch;
  return row < end_of(b) && row < end;
}

// Do arguments whose spans overlap share a byte?
bool share_bytes(const Argument& a, const Argument& b) {
  const auto rows = [](const Argument& of) { return of.bytes / of.pitch; };
  const Argument &few = rows(a) <= rows(b) ? a : b, &many = rows(a) <= rows(b) ? b : a;
  for (Address row = begin_of(few); row < end_of(few); row += few.pitch) {
    if (meets(many, row, row + few.row)) return true;
  }
  return false;
}

// Throws when the spans of two arguments overlap and one of them is written.
void check_pair(std::string_view function, const Argument& a, const Argument& b) {
  if (a.data == b.data && (has_twin(a, b) || has_twin(b, a))) return;
  if (!share_bytes(a, b)) return;
  const bool tell_a = a.written && (has_twin(a, b) || !b.written);
  tell_a ? fail_overlap(function, a, b) : fail_overlap(function, b, a);
}

}  // namespace

void check_call(std::string_view function, const Stream& stream,
                std::span<const Argument> arguments) {
  constexpr std::size_t kMost = 24;
  if (arguments.size() > kMost) fail(function, "more than ", kMost, " arguments");
  struct Span {
    Address begin, end;
    const Argument* argument;
  };
  Span written[kMost], read[kMost];
  std::size_t writes = 0, reads = 0;
  const Device device = stream.device();
  const bool gpu = device.is_cuda();
  for (const Argument& a : arguments) {
    if (a.bytes == 0 || (a.data == nullptr && a.optional)) continue;
    const Span span{begin_of(a), end_of(a), &a};
    const bool misaligned = (span.begin & (a.alignment - 1)) != 0;
    if (a.data == nullptr || misaligned || span.end < span.begin ||
        (gpu && !reaches(device, a.data))) {
      fail_alone(function, a, device);
    }
    (a.written ? written[writes++] : read[reads++]) = span;
  }
  for (std::size_t i = 0; i < writes; ++i) {
    const auto look_at = [&, a = written[i]](const Span& b) {
      if (a.begin < b.end && b.begin < a.end) check_pair(function, *a.argument, *b.argument);
    };
    for (std::size_t j = i + 1; j < writes; ++j) look_at(written[j]);
    for (std::size_t j = 0; j < reads; ++j) look_at(read[j]);
  }
}

void throw_no_enumerator(std::string_view function, const char* name, std::int64_t found,
                         std::int64_t last) {
  fail(function, name, " is ", found, ", expected an enumerator from 0 to ", last);
}

void throw_not_finite(std::string_view function, const char* name, double found) {
  fail(function, name, " must be finite, found ", found);
}

}  // namespace weft::kernels
