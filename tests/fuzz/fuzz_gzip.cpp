// SPDX-License-Identifier: MIT
// Any bytes are gzip or one line of Error{data}, and never more than the caller allows; what zlib
// compresses is read back.
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "data/files/gzip.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

constexpr std::size_t kLimit = std::size_t{1} << 20;
constexpr int kGzip = 15 + 16;  // zlib's largest window, with gzip's header

data::Bytes compressed(fuzz::Input input) {
  z_stream stream{};
  fuzz::require(deflateInit2(&stream, 1, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  data::Bytes out(deflateBound(&stream, input.size()) + 64);
  stream.next_in = const_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  fuzz::require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void inflate(fuzz::Input input, std::size_t limit) {
  try {
    const data::Bytes out = data::inflate_gzip(input, limit, "fuzz");
    fuzz::require(out.size() <= limit, "more than the limit");
    const std::size_t part = out.size() / 2;
    const data::Bytes front = data::inflate_gzip_front(input, part, "fuzz");
    fuzz::require(front.size() == part && std::equal(front.begin(), front.end(), out.begin()),
                  "another front");
  } catch (const Error& error) {
    fuzz::require_data_error(error, "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  const fuzz::Input input(bytes, size);
  inflate(input, kLimit);
  if (size == 0) return 0;
  const data::Bytes once = compressed(input.subspan(1));  // the first byte decides what is damaged
  const data::Bytes again = data::inflate_gzip(once, kLimit, "fuzz");
  fuzz::require(std::equal(again.begin(), again.end(), input.begin() + 1, input.end()),
                "other bytes than were compressed");
  data::Bytes twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  fuzz::require(data::inflate_gzip(twice, kLimit, "fuzz").size() == 2 * (size - 1),
                "members that are not put together");
  inflate(twice, size - 1);  // a limit that the second member passes
  twice[bytes[0] % twice.size()] ^= static_cast<std::uint8_t>(1 + bytes[0] / 2);
  inflate(twice, kLimit);
  return 0;
}
