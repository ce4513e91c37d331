// SPDX-License-Identifier: MIT
// What `weft scan` and `weft histogram` work on: an .npy file, text with numbers, or a picture,
// from a file or from standard input. Contents tell what it is, not the name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "data/arrays/npy.h"
#include "data/picture/image.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct TextFlags {
  std::string column, delimiter;
  std::int64_t skip = 0;
};

// --column, --delimiter and --skip.
void add_text_flags(CLI::App& app, TextFlags& flags);

// `path` is a file, or "-" or "" for standard input; "" with a terminal there is a usage error of
// `command`, as are flags for text when it is none. A file that is missing gets a suggestion from
// its folder.
data::NpyArray read_array(const std::string& path, std::string_view command,
                          const TextFlags& flags);
std::variant<data::NpyArray, data::RgbImage> read_array_or_picture(const std::string& path,
                                                                   std::string_view command,
                                                                   const TextFlags& flags);

// The elements of an array, and work(T()) for the type T of elements that a dtype names.
template <class T, class Array>
auto values_of(Array& array) {
  using Byte = std::remove_pointer_t<decltype(array.bytes.data())>;
  using Value = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return std::span<Value>(reinterpret_cast<Value*>(array.bytes.data()),
                          array.bytes.size() / sizeof(T));
}
template <class Work>
auto with_type(std::string_view dtype, Work&& work) {
  if (dtype == "i1") return work(std::int8_t{});
  if (dtype == "u1") return work(std::uint8_t{});
  if (dtype == "i2") return work(std::int16_t{});
  if (dtype == "u2") return work(std::uint16_t{});
  if (dtype == "i4") return work(std::int32_t{});
  if (dtype == "u4") return work(std::uint32_t{});
  if (dtype == "i8") return work(std::int64_t{});
  if (dtype == "u8") return work(std::uint64_t{});
  return dtype == "f4" ? work(float{}) : work(double{});
}

// The name for messages and titles: the file's, or "standard input".
std::string input_name(const std::string& path);
std::string shape_text(const data::NpyArray& array);  // "1 000 000 float32", "28 x 28 uint8"
std::string numpy_name(std::string_view dtype);       // "f4" is "float32"

// Fills `out` with what comes next; returns its size, which is less at the end only.
std::size_t read_standard_input(std::span<std::byte> out);

// The ending of `path` when it is one of `endings` (".npy"); else a usage error of `option`. Also
// refuses, before any work is done, a folder that is not there.
std::string output_ending(std::string_view option, const std::string& path,
                          std::initializer_list<std::string_view> endings);

}  // namespace weft::cli
