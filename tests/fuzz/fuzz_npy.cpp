// SPDX-License-Identifier: MIT
// Any bytes are an .npy file or one line of Error{data}. What was read and is written again is the
// same array.
#include <cstring>
#include <vector>

#include "data/arrays/npy.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

void check(const data::NpyArray& array) {
  const std::size_t bytes = data::npy_element_bytes(array.dtype);
  fuzz::require(array.elements() >= 0 &&
                    array.bytes.size() == bytes * static_cast<std::size_t>(array.elements()),
                "not as many bytes as dtype and shape say");
  const std::string header = data::npy_header(array.dtype, array.shape);
  std::vector<std::byte> file(header.size() + array.bytes.size());
  std::memcpy(file.data(), header.data(), header.size());
  if (!array.bytes.empty()) {
    std::memcpy(file.data() + header.size(), array.bytes.data(), array.bytes.size());
  }
  const data::NpyArray again = data::parse_npy(file, "fuzz");
  fuzz::require(
      again.dtype == array.dtype && again.shape == array.shape && again.bytes == array.bytes,
      "another array when it is written and read again");
}

void parse(std::span<const std::byte> file) {
  try {
    check(data::parse_npy(file, "fuzz"));
  } catch (const Error& error) {
    fuzz::require_data_error(error, "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  parse(std::as_bytes(std::span(bytes, size)));
  // The same text as the dictionary of a header whose magic number and length are right.
  if (size > 0xffff) return 0;
  std::vector<std::byte> file(10 + size + 64);
  std::memcpy(file.data(), "\x93NUMPY\x01", 8);
  file[8] = static_cast<std::byte>(size & 0xff), file[9] = static_cast<std::byte>(size >> 8);
  if (size > 0) std::memcpy(file.data() + 10, bytes, size);
  for (const std::size_t elements : {0, 8, 64}) parse(std::span(file).first(10 + size + elements));
  return 0;
}
