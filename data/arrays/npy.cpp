// SPDX-License-Identifier: MIT
#include "data/arrays/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "data/arrays/half.h"
#include "data/arrays/npy_header.h"
#include "engine/error.h"
#include "engine/extent.h"

namespace weft::data {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are kept as the file has them");

template <class Word>
void reverse_bytes(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    std::reverse(bytes.data() + at, bytes.data() + at + sizeof(Word));
  }
}

// From Fortran order, where the first axis varies fastest, to C order, where the last one does.
template <class Word>
HostArray<std::byte> to_c_order(const HostArray<std::byte>& bytes,
                                const std::vector<std::int64_t>& shape) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> strides(rank, 1), index(rank, 0);
  for (std::size_t axis = 1; axis < rank; ++axis) {
    strides[axis] = strides[axis - 1] * static_cast<std::size_t>(shape[axis - 1]);
  }
  HostArray<std::byte> out(bytes.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += sizeof(Word)) {
    std::memcpy(out.data() + to, bytes.data() + from * sizeof(Word), sizeof(Word));
    for (std::size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < static_cast<std::size_t>(shape[axis])) break;
      from -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return out;
}

template <class Word>
void bring_in_order(NpyArray& array, const NpyHeader& header) {
  if (header.big_endian) reverse_bytes<Word>(array.bytes);
  // One axis longer than 1 looks the same in both orders.
  const auto long_axes = std::count_if(array.shape.begin(), array.shape.end(),
                                       [](std::int64_t extent) { return extent > 1; });
  if (header.fortran_order && long_axes > 1)
    array.bytes = to_c_order<Word>(array.bytes, array.shape);
}

void widen_halves(NpyArray& array) {
  HostArray<std::byte> bytes(2 * array.bytes.size());
  for (std::size_t at = 0; at < array.bytes.size(); at += sizeof(std::uint16_t)) {
    std::uint16_t half = 0;
    std::memcpy(&half, array.bytes.data() + at, sizeof half);
    const float value = from_half(half);
    std::memcpy(bytes.data() + 2 * at, &value, sizeof value);
  }
  array.bytes = std::move(bytes);
  array.dtype = "f4";
}

void finish(NpyArray& array, const NpyHeader& header) {
  switch (npy_element_bytes(header.dtype)) {
    case 1:
      return bring_in_order<std::uint8_t>(array, header);
    case 2:
      bring_in_order<std::uint16_t>(array, header);
      if (header.half) widen_halves(array);
      return;
    case 4:
      return bring_in_order<std::uint32_t>(array, header);
    default:
      return bring_in_order<std::uint64_t>(array, header);
  }
}

void check_length(const NpyHeader& header, std::uint64_t found, const std::string& where) {
  if (found == header.data_bytes) return;
  throw Error(
      ErrorKind::data,
      str(where, found < header.data_bytes ? ": truncated" : ": trailing bytes",
          ": the npy header asks for ", header.data_bytes, " bytes of elements, found ", found));
}

}  // namespace

std::size_t npy_element_bytes(std::string_view dtype) {
  if (dtype.size() == 2 && std::strchr("fiu", dtype[0]) != nullptr) {
    const std::size_t bytes = static_cast<std::size_t>(dtype[1] - '0');
    if (bytes == 4 || bytes == 8) return bytes;
    if ((bytes == 1 || bytes == 2) && dtype[0] != 'f') return bytes;
  }
  throw Error(ErrorKind::usage, str("npy: no elements of type '", dtype, "'"));
}

std::int64_t NpyArray::elements() const {
  return static_cast<std::int64_t>(bytes.size() / npy_element_bytes(dtype));
}

bool is_npy(std::span<const std::byte> file) {
  return file.size() >= kNpyMagic.size() &&
         std::memcmp(file.data(), kNpyMagic.data(), kNpyMagic.size()) == 0;
}

NpyArray parse_npy(std::span<const std::byte> file, const std::string& where) {
  const NpyTextRange range = find_npy_header(file, file.size(), where);
  const std::span<const std::byte> text = file.subspan(range.begin, range.size);
  const NpyHeader header =
      parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()}, where);
  return npy_array(header, file.subspan(range.begin + range.size), where);
}

NpyArray npy_array(const NpyHeader& header, std::span<const std::byte> elements,
                   const std::string& where) {
  check_length(header, elements.size(), where);
  NpyArray array{header.dtype, header.shape, {elements.begin(), elements.end()}};
  finish(array, header);
  return array;
}

NpyArray read_npy(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> first(std::min<std::uint64_t>(file.size(), 12));
  file.read(first, 0);
  const NpyTextRange range = find_npy_header(first, file.size(), path);
  std::string text(range.size, '\0');
  file.read(std::as_writable_bytes(std::span(text)), range.begin);
  const NpyHeader header = parse_npy_header(text, path);
  const std::uint64_t begin = range.begin + range.size;
  check_length(header, file.size() - begin, path);
  NpyArray array{header.dtype, header.shape, HostArray<std::byte>(header.data_bytes)};
  file.read(array.bytes, begin);
  finish(array, header);
  return array;
}

std::string npy_header(std::string_view dtype, std::span<const std::int64_t> shape) {
  constexpr std::size_t kAlignment = 64, kPrefix = 10;
  const char order = npy_element_bytes(dtype) == 1 ? '|' : '<';
  std::string text = str("{'descr': '", order, dtype, "', 'fortran_order': False, 'shape': (");
  for (std::size_t i = 0; i < shape.size(); ++i) text += str(i == 0 ? "" : ", ", shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  const std::size_t total = round_up(kPrefix + text.size() + 1, kAlignment);
  text.resize(total - kPrefix - 1, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

void write_npy(const OutputPath& to, const NpyArray& array) {
  std::size_t bytes = npy_element_bytes(array.dtype);
  bool fits = array.shape.size() <= kMaxNpyRank;
  for (const std::int64_t extent : array.shape) {
    fits = fits && extent >= 0 &&
           !__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes);
  }
  if (!fits || bytes != array.bytes.size()) {
    throw Error(ErrorKind::usage, str(to.path().string(), ": ", array.bytes.size(),
                                      " bytes do not fill the shape of ", array.shape.size(),
                                      " dimensions of ", array.dtype));
  }
  AtomicFile file(to);
  file.write(npy_header(array.dtype, array.shape));
  file.write(array.bytes);
  file.commit();
}

namespace {

template <class T>
double element(const NpyArray& array, std::size_t i) {
  T value;
  std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

NpyElement element_of(const NpyArray& array) {
  if (array.dtype == "f4") return element<float>;
  if (array.dtype == "f8") return element<double>;
  if (array.dtype == "i1") return element<std::int8_t>;
  if (array.dtype == "i2") return element<std::int16_t>;
  if (array.dtype == "i4") return element<std::int32_t>;
  if (array.dtype == "i8") return element<std::int64_t>;
  if (array.dtype == "u1") return element<std::uint8_t>;
  if (array.dtype == "u2") return element<std::uint16_t>;
  return array.dtype == "u4" ? element<std::uint32_t> : element<std::uint64_t>;
}

}  // namespace weft::data
