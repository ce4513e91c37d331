// SPDX-License-Identifier: MIT
// Named arrays in NumPy's .npz format, as numpy.savez writes it: a ZIP archive whose members are
// .npy files, stored without compression (PKWARE, APPNOTE.TXT 6.3, sections 4.3 and 4.4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/files/file_io.h"

namespace weft::data {

struct NpzArray {
  std::string name;                 // numpy.load()[name]; the member is NAME.npy
  std::vector<std::int64_t> shape;  // outermost first; empty: a scalar, one element
  std::span<const float> values;    // in C order; written as "f4"
};

// Crash-safe as write_file_atomically() is. The same arrays give the same bytes. Throws usage for
// two arrays of one name, and for values that are not as many as the shape says. More than 65,535
// arrays, or 4 GiB in all, would need the ZIP64 extension and are refused too.
void write_npz(const OutputPath& to, std::span<const NpzArray> arrays);

}  // namespace weft::data
