// SPDX-License-Identifier: MIT
// The header of an .npy file, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::data {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr std::size_t kMaxNpyHeaderBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxNpyRank = 64;  // NumPy's own limit

struct NpyHeader {
  std::string dtype;
  bool big_endian = false, fortran_order = false;
  bool half = false;  // the elements are float16, and dtype is that of their bits: "u2"
  std::vector<std::int64_t> shape;
  std::size_t data_bytes = 0;  // as dtype and shape say, without overflow
  std::string descr = {};      // as the header has it, where dtype is ""
};

// The elements that a header may have are numbers, or also text and Python's objects, whose dtype
// is "".
enum class NpyTypes { numbers, any };

// Where the header's text lies in the file.
struct NpyTextRange {
  std::size_t begin = 0, size = 0;
};

// From the first bytes of the file (12 are enough, fewer for a file that is shorter). Throws data
// when this is no .npy file, or one cut off within its header.
NpyTextRange find_npy_header(std::span<const std::byte> first, std::uint64_t file_bytes,
                             const std::string& where);
NpyHeader parse_npy_header(std::string_view text, const std::string& where,
                           NpyTypes types = NpyTypes::numbers);
// The header of an array whose type, order and shape are told elsewhere. `descr` is written as in
// the dictionary.
NpyHeader npy_header_of(std::string_view descr, bool fortran_order, std::vector<std::int64_t> shape,
                        const std::string& where);

}  // namespace weft::data
