// SPDX-License-Identifier: MIT
// Named arrays in NumPy's .npz format, as numpy.savez writes it: a ZIP archive whose members are
// .npy files, stored without compression (PKWARE, APPNOTE.TXT 6.3, sections 4.3 and 4.4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/files/file_io.h"

namespace weft::data {

struct NpzArray {
  NpzArray(std::string called, std::vector<std::int64_t> extents, std::span<const float> values)
      : NpzArray(std::move(called), std::move(extents), std::as_bytes(values), "f4") {}
  NpzArray(std::string called, std::vector<std::int64_t> extents,
           std::span<const std::uint8_t> values)
      : NpzArray(std::move(called), std::move(extents), std::as_bytes(values), "u1") {}
  NpzArray(std::string called, std::vector<std::int64_t> extents,
           std::span<const std::int32_t> values)
      : NpzArray(std::move(called), std::move(extents), std::as_bytes(values), "i4") {}

  std::string name;                  // numpy.load()[name]; the member is NAME.npy
  std::vector<std::int64_t> shape;   // outermost first; empty: a scalar, one element
  std::span<const std::byte> bytes;  // of the values in C order, which outlive the array
  std::string_view dtype;            // as NpyArray's

 private:
  NpzArray(std::string called, std::vector<std::int64_t> extents, std::span<const std::byte> values,
           std::string_view type)
      : name(std::move(called)), shape(std::move(extents)), bytes(values), dtype(type) {}
};

// Crash-safe as write_file_atomically() is. The same arrays give the same bytes. Throws usage for
// two arrays of one name, and for values that are not as many as the shape says. More than 65,535
// arrays, or 4 GiB in all, would need the ZIP64 extension and are refused too.
void write_npz(const OutputPath& to, std::span<const NpzArray> arrays);

}  // namespace weft::data
