// SPDX-License-Identifier: MIT
// The animated PNG, taken apart again: order and numbers of its chunks, and every frame's pixels.
#include "data/picture/animation.h"

#include "data/picture/image.h"
#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::append_chunk;
using test::expect_error;

constexpr std::int64_t kWidth = 19, kHeight = 11;

std::vector<std::uint8_t> pixels(int frame) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(kWidth * kHeight));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>((37 * i + 91 * static_cast<std::size_t>(frame)) % 256);
  }
  return values;
}

std::vector<Bytes> frames(int count) {
  std::vector<Bytes> pngs;
  for (int i = 0; i < count; ++i) pngs.push_back(encode_png(pixels(i), kWidth, kHeight, 1));
  return pngs;
}

std::uint32_t number(const Bytes& bytes, std::size_t at, int length = 4) {
  std::uint32_t value = 0;
  for (int i = 0; i < length; ++i) value = value << 8 | bytes[at + static_cast<std::size_t>(i)];
  return value;
}

struct Chunk {
  std::string type;
  Bytes content;
};

// Every chunk, with its checksum verified, and nothing behind the last.
std::vector<Chunk> chunks_of(const Bytes& file) {
  std::vector<Chunk> chunks;
  std::size_t at = 8;
  while (at + 12 <= file.size()) {
    const std::size_t length = number(file, at);
    if (at + 12 + length > file.size()) break;
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    const auto content = begin + 8, end = content + static_cast<std::ptrdiff_t>(length);
    EXPECT_EQ(crc32(0, &*begin + 4, static_cast<uInt>(4 + length)), number(file, at + 8 + length));
    chunks.push_back({{begin + 4, begin + 8}, {content, end}});
    at += 12 + length;
  }
  EXPECT_EQ(at, file.size());
  return chunks;
}

TEST(Animation, HoldsEveryFrameInOrder) {
  constexpr int kFrames = 4;
  const Bytes file = encode_animation(frames(kFrames), {40, 2000});
  const Bytes signature(file.begin(), file.begin() + 8);
  const std::vector<Chunk> chunks = chunks_of(file);
  ASSERT_GE(chunks.size(), 4u);
  EXPECT_EQ(chunks[0].type, "IHDR");
  EXPECT_EQ(chunks[1].type, "acTL");
  EXPECT_EQ(number(chunks[1].content, 0), std::uint32_t{kFrames});
  EXPECT_EQ(number(chunks[1].content, 4), 0u);  // for ever
  EXPECT_EQ(chunks.back().type, "IEND");

  std::uint32_t sequence = 0;
  std::vector<Bytes> rebuilt;
  for (std::size_t i = 2; i + 1 < chunks.size(); ++i) {
    const auto& [type, content] = chunks[i];
    if (type == "fcTL") {
      EXPECT_EQ(number(content, 0), sequence++);
      EXPECT_EQ(number(content, 4), kWidth);
      EXPECT_EQ(number(content, 8), kHeight);
      EXPECT_EQ(number(content, 12) + number(content, 16), 0u);
      EXPECT_EQ(number(content, 20, 2), rebuilt.size() + 1 == kFrames ? 2000u : 40u);
      EXPECT_EQ(number(content, 22, 2), 1000u);
      EXPECT_EQ(content.size(), 26u);
      rebuilt.push_back(signature);
      append_chunk(rebuilt.back(), "IHDR", chunks[0].content);
      continue;
    }
    ASSERT_FALSE(rebuilt.empty());
    if (rebuilt.size() == 1) {
      EXPECT_EQ(type, "IDAT");
      append_chunk(rebuilt.back(), "IDAT", content);
    } else {
      EXPECT_EQ(type, "fdAT");
      EXPECT_EQ(number(content, 0), sequence++);
      append_chunk(rebuilt.back(), "IDAT", Bytes(content.begin() + 4, content.end()));
    }
  }
  ASSERT_EQ(rebuilt.size(), std::size_t{kFrames});
  for (int i = 0; i < kFrames; ++i) {
    Bytes& png = rebuilt[static_cast<std::size_t>(i)];
    append_chunk(png, "IEND", {});
    EXPECT_EQ(decode_grey_image(png, "frame").pixels, pixels(i)) << i;
  }
  // A program that knows PNG only sees the first frame.
  EXPECT_EQ(decode_grey_image(file, "animation").pixels, pixels(0));
}

TEST(Animation, OneFrameIsEnough) {
  const Bytes file = encode_animation(frames(1));
  EXPECT_EQ(decode_grey_image(file, "animation").pixels, pixels(0));
  EXPECT_EQ(chunks_of(file).size(), 5u);
}

TEST(Animation, RefusesWhatIsNoSeriesOfPngs) {
  const auto with_second = [](const Bytes& second) {
    std::vector<Bytes> pngs = frames(2);
    pngs[1] = second;
    return pngs;
  };
  const Bytes good = frames(1)[0];
  Bytes damaged = good;
  damaged[damaged.size() / 2] ^= 1;
  const Bytes larger = encode_png(std::vector<std::uint8_t>(100 * 100), 100, 100, 1);
  Bytes palette(good.begin(), good.begin() + 8), header(good.begin() + 16, good.begin() + 29);
  header[9] = 3;
  append_chunk(palette, "IHDR", header);
  append_chunk(palette, "IDAT", {1});
  append_chunk(palette, "IEND", {});
  const auto encode = [](const std::vector<Bytes>& pngs) { return encode_animation(pngs); };
  expect_error(ErrorKind::usage, {"no frames"}, [&] { encode({}); });
  expect_error(ErrorKind::data, {"frame 2", "checksum"}, [&] { encode(with_second(damaged)); });
  expect_error(ErrorKind::data, {"frame 2", "size"}, [&] { encode(with_second(larger)); });
  expect_error(ErrorKind::data, {"frame 2", "palette"}, [&] { encode(with_second(palette)); });
  expect_error(ErrorKind::data, {"frame 2", "expected a PNG"}, [&] { encode(with_second({})); });
  for (std::size_t length = 8; length < good.size(); ++length) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    expect_error(ErrorKind::data, {"frame 2", "cut short"}, [&] { encode(with_second(cut)); });
  }
}

}  // namespace
}  // namespace weft::data
