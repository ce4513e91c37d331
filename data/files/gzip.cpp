// SPDX-License-Identifier: MIT
// Reading and inflating files with zlib, and with libdeflate where it was found.
#include "data/files/gzip.h"

#ifdef WEFT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "data/files/file_io.h"
#include "data/files/inflater.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr std::size_t kMostPerByte = 8;

// How much a file says to inflate to (RFC 1952: the last four bytes, modulo 2^32). Deflate can make
// 1032 bytes of one, but a claim of that kind is not believed in advance: data sets shrink to a
// fourth or fifth, and the buffer grows when more comes out. Addresses are reserved for the claim;
// memory is written, and so taken, only as bytes come out.
std::size_t claimed_size(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kHeaderAndTrailer = 18;
  if (bytes.size() < kHeaderAndTrailer) return 0;
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | bytes[bytes.size() - i];
  return std::min(size, kMostPerByte * bytes.size());
}

// A single member that is as long as it says, by libdeflate, which is faster than zlib. Nothing for
// all else: zlib goes through it, and finds the words for what is wrong.
std::optional<Bytes> inflate_at_once([[maybe_unused]] std::span<const std::uint8_t> bytes,
                                     [[maybe_unused]] std::size_t limit) {
#ifdef WEFT_WITH_LIBDEFLATE
  const std::size_t size = claimed_size(bytes);
  if (size == 0 || size > limit || size == kMostPerByte * bytes.size()) return std::nullopt;
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflater(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!inflater) throw std::bad_alloc();
  // Not a vector, which would write zeros for all of a claim.
  const auto out = std::make_unique_for_overwrite<std::uint8_t[]>(size);
  std::size_t taken = 0, used = 0;
  const libdeflate_result result = libdeflate_gzip_decompress_ex(
      inflater.get(), bytes.data(), bytes.size(), out.get(), size, &taken, &used);
  if (result == LIBDEFLATE_SUCCESS && taken == bytes.size() && used == size) {
    return Bytes(out.get(), out.get() + size);
  }
#endif
  return std::nullopt;
}

}  // namespace

Bytes read_file(const std::filesystem::path& path, std::size_t limit) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorKind::data, str(path.string(), ": no such file"));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorKind::data, str(path.string(), ": expected a regular file"));
  }
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (!code && size > limit) {
    throw Error(ErrorKind::data,
                str(path.string(), ": ", size, " bytes, at most ", limit, " are accepted"));
  }
  if (code) {
    throw Error(ErrorKind::data, str(path.string(), ": cannot be read (", code.message(), ")"));
  }
  const InputFile file(path);
  Bytes bytes(static_cast<std::size_t>(size));
  file.read(std::as_writable_bytes(std::span(bytes)), 0);
  return bytes;
}

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

Bytes inflate_gzip_front(std::span<const std::uint8_t> bytes, std::size_t most,
                         const std::string& name) {
  const auto fail = [&](const std::string& what) {
    return Error(ErrorKind::data, str(name, ": damaged gzip data: ", what));
  };
  if (!is_gzip(bytes)) throw fail("no gzip magic number");
  if (std::optional<Bytes> whole = inflate_at_once(bytes, most)) return std::move(*whole);
  constexpr std::size_t kMaxStep = std::size_t{1} << 30;  // zlib counts in 32 bits
  constexpr std::size_t kGrowth = std::size_t{1} << 20;   // bytes that are zeroed in advance
  Inflater inflater(Inflater::Format::gzip);
  Bytes out;
  std::size_t used = 0, taken = 0;  // of out, of bytes
  while (used < most) {
    if (used == out.size()) {
      // One byte above what is claimed lets zlib see the end.
      if (used == out.capacity()) {
        const std::size_t wanted = used == 0 ? claimed_size(bytes) + 1 : 2 * used;
        out.reserve(std::min(most, std::max<std::size_t>(wanted, 1024)));
      }
      out.resize(std::min({most, out.capacity(), used + kGrowth}));
    }
    const std::size_t step_in = std::min(bytes.size() - taken, kMaxStep);
    const std::size_t step_out = std::min(out.size() - used, kMaxStep);
    inflater->next_in = const_cast<Bytef*>(bytes.data() + taken);
    inflater->avail_in = static_cast<uInt>(step_in);
    inflater->next_out = out.data() + used;
    inflater->avail_out = static_cast<uInt>(step_out);
    const int code = inflate(inflater.get(), Z_NO_FLUSH);
    taken += step_in - inflater->avail_in;
    used += step_out - inflater->avail_out;
    if (code == Z_STREAM_END) {
      if (taken == bytes.size()) break;
      if (!is_gzip(bytes.subspan(taken))) {
        throw fail(str(bytes.size() - taken, " bytes of garbage after the end"));
      }
      inflateReset(inflater.get());
    } else if (code == Z_BUF_ERROR ||
               (code == Z_OK && taken == bytes.size() && inflater->avail_out > 0)) {
      if (inflater->avail_out > 0) throw fail(str("truncated after ", bytes.size(), " bytes"));
    } else if (code == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (code != Z_OK) {
      throw fail(inflater->msg != nullptr ? inflater->msg : "unknown kind");
    }
  }
  out.resize(used);
  return out;
}

Bytes inflate_gzip(std::span<const std::uint8_t> bytes, std::size_t limit,
                   const std::string& name) {
  // One byte above the limit tells "exactly the limit" from "more".
  Bytes out = inflate_gzip_front(bytes, limit + 1, name);
  if (out.size() > limit) {
    throw Error(ErrorKind::data, str(name, ": inflates to more than ", limit, " bytes"));
  }
  return out;
}

Bytes read_file_inflated(const std::filesystem::path& path, std::size_t limit) {
  Bytes bytes = read_file(path, limit);
  if (is_gzip(bytes)) return inflate_gzip(bytes, limit, path.string());
  return bytes;
}

}  // namespace weft::data
