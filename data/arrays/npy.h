// SPDX-License-Identifier: MIT
// Arrays in NumPy's .npy format, versions 1, 2 and 3.
//
// A file is "\x93NUMPY", two bytes of version, the length of the header (2 bytes little-endian in
// version 1, 4 in later ones), a Python dictionary with descr, fortran_order and shape, then the
// elements. Nothing in it is trusted: the header is bounded, every field checked, and the elements
// must fill the rest of the file exactly before memory is taken for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/file_io.h"
#include "data/files/host_array.h"

namespace weft::data {

struct NpyArray {
  std::string dtype;                // "f4" "f8" "i1" "i2" "i4" "i8" "u1" "u2" "u4" "u8"
  std::vector<std::int64_t> shape;  // outermost first; empty: a scalar, one element
  HostArray<std::byte> bytes;       // little-endian, in C order

  std::int64_t elements() const;
};

// Reads element i of an array as a double, whatever its type.
using NpyElement = double (*)(const NpyArray& array, std::size_t i);
NpyElement element_of(const NpyArray& array);

// Bytes of one element; throws usage when `dtype` is none of NpyArray's.
std::size_t npy_element_bytes(std::string_view dtype);

// Both byte orders and Fortran order are converted; booleans become u1, and float16 f4. Other types
// are refused.
// Everything wrong is Error{data} naming the file (`where`).
NpyArray read_npy(const std::string& path);
NpyArray parse_npy(std::span<const std::byte> file, const std::string& where);
bool is_npy(std::span<const std::byte> file);  // by its magic number
// The same of elements that lie elsewhere than behind their header.
NpyArray npy_array(const struct NpyHeader& header, std::span<const std::byte> elements,
                   const std::string& where);

// Version 1, aligned to 64 bytes as NumPy does it; crash-safe as write_file_atomically() is. Throws
// usage when the bytes are not as many as dtype and shape say.
void write_npy(const OutputPath& to, const NpyArray& array);
// What precedes the elements in such a file.
std::string npy_header(std::string_view dtype, std::span<const std::int64_t> shape);

}  // namespace weft::data
