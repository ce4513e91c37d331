// SPDX-License-Identifier: MIT
// Convolution of bytes on the CPU. A tile is a few neighbouring pixels of one row and a block of 16
// output channels, whose sums stay in registers; a step of it takes 4 bytes of each pixel, the same
// for all channels, and 4 of each filter. The sums of a strip of rows, which is as high as a window
// of the pooling, lie in the first-level cache until they are pooled, scaled and rounded.
//
// Included by instances.cpp only: see kernels/isa.h.
#pragma once

#include <type_traits>

#include "engine/extent.h"
#include "kernels/int8/int8.h"
#include "kernels/simd.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace bytes {

constexpr int kVectors = 64 / kVectorBytes;  // of filters in a step, whatever the block
// Sums of a tile fit into registers, with room for the operands.
constexpr int kMostPixels = kVectors == 1 ? 8 : 4;

inline IndexVector load_sums(const std::int32_t* p) {
  return __builtin_bit_cast(IndexVector, simd::load(reinterpret_cast<const float*>(p)));
}
inline void store_sums(std::int32_t* p, IndexVector v) {
  simd::store(reinterpret_cast<float*>(p), __builtin_bit_cast(FloatVector, v));
}

#if defined(__AVX512F__)
typedef __m512i FourBytes;  // of a pixel, in every lane or in every second one
#elif defined(__AVX2__)
typedef __m256i FourBytes;
#else
struct FourBytes {
  const std::uint8_t* x;
  int together;
};
#endif

// kTogether bytes of a pixel for all channels of a block.
template <int kTogether>
inline FourBytes load_pixel(const std::uint8_t* x) {
#if defined(__AVX2__)
  std::conditional_t<kTogether == 4, std::int32_t, long long> together;
  __builtin_memcpy(&together, x, kTogether);
#if defined(__AVX512F__)
  if constexpr (kTogether == 4)
    return _mm512_set1_epi32(together);
  else
    return _mm512_set1_epi64(together);
#else
  if constexpr (kTogether == 4)
    return _mm256_set1_epi32(together);
  else
    return _mm256_set1_epi64x(together);
#endif
#else
  return {x, kTogether};
#endif
}

// sum[lane] += the products of the four unsigned bytes of the lane with four signed ones.
inline IndexVector add_products(IndexVector sum, FourBytes pixel, const std::int8_t* filters) {
#if defined(__AVX512VNNI__)
  return __builtin_bit_cast(IndexVector, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sum),
                                                             pixel, _mm512_loadu_si512(filters)));
#elif defined(__AVX512F__)
  const __m512i pairs = _mm512_maddubs_epi16(pixel, _mm512_loadu_si512(filters));
  return sum + __builtin_bit_cast(IndexVector, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#elif defined(__AVX2__)
  const __m256i pairs =
      _mm256_maddubs_epi16(pixel, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(filters)));
  return sum + __builtin_bit_cast(IndexVector, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    std::int32_t products = 0;
    for (int i = 0; i < 4; ++i) {
      products += std::int32_t{pixel.x[(4 * lane + i) % pixel.together]} * filters[4 * lane + i];
    }
    sum[lane] += products;
  }
  return sum;
#endif
}

// Sums of neighbouring lanes, of `low` and then of `high`.
inline IndexVector add_halves(IndexVector low, IndexVector high) {
  const simd::Pair lanes = simd::deinterleave(__builtin_bit_cast(FloatVector, low),
                                              __builtin_bit_cast(FloatVector, high));
  return __builtin_bit_cast(IndexVector, lanes.even) + __builtin_bit_cast(IndexVector, lanes.odd);
}

struct Tile {
  const std::uint8_t* x;      // the first byte under the filter, of the first pixel
  std::int64_t pixel;         // bytes from one pixel to the next
  const std::int64_t* steps;  // where the bytes of each step are, from x on
  std::int64_t step_count;
  const std::int8_t* filters;  // (step_count, 64)
};

// sums (kPixels, kBlock) of one tile. In a block of 8 channels two lanes have the two halves of the
// bytes of one channel.
template <int kBlock, int kPixels>
inline void tile_sums(std::int32_t* sums, const Tile& tile) {
  constexpr int kTogether = 64 / kBlock;
  IndexVector sum[kPixels][kVectors] = {};
  for (std::int64_t step = 0; step < tile.step_count; ++step) {
    const std::uint8_t* x = tile.x + tile.steps[step];
    const std::int8_t* filters = tile.filters + 64 * step;
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      const FourBytes pixel = load_pixel<kTogether>(x + p * tile.pixel);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sum[p][v] = add_products(sum[p][v], pixel, filters + kVectorBytes * v);
      }
    }
  }
  const IndexVector* const flat = &sum[0][0];
  constexpr int kCount = kPixels * kVectors;
  if constexpr (kBlock == 16) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) store_sums(sums + i * kLanes, flat[i]);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; i += 2) {  // a last pixel alone is stored twice
      store_sums(sums + i / 2 * kLanes, add_halves(flat[i], flat[i + 1 < kCount ? i + 1 : i]));
    }
  }
}

template <int kBlock, int kPixels>
inline void tile_of(std::int64_t pixels, std::int32_t* sums, const Tile& tile) {
  if constexpr (kPixels > 1) {
    if (pixels < kPixels) return tile_of<kBlock, kPixels - 1>(pixels, sums, tile);
  }
  tile_sums<kBlock, kPixels>(sums, tile);
}

// A row of pixels in tiles that are as equal as they can be: `larger` of `count` have one pixel
// more than `least`.
struct Tiles {
  std::int64_t count, least, larger;

  explicit Tiles(std::int64_t pixels)
      : count(divide_up(pixels, std::int64_t{kMostPixels})),
        least(count > 0 ? pixels / count : 0),
        larger(pixels - least * count) {}
};

// sums (pixels, kBlock) of neighbouring pixels.
template <int kBlock>
inline void row_sums(std::int32_t* sums, Tile tile, const Tiles& tiles) {
  for (std::int64_t i = 0; i < tiles.count; ++i) {
    const std::int64_t pixels = tiles.least + (i < tiles.larger ? 1 : 0);
    tile_of<kBlock, kMostPixels>(pixels, sums, tile);
    sums += pixels * kBlock;
    tile.x += pixels * tile.pixel;
  }
}

// The sums of one vector of channels as y.
struct Epilogue {
  IndexVector bias;
  FloatVector factor;
  FloatVector least, most;  // that z is cut to, in steps of y
  std::int32_t zero;

  FloatVector real(IndexVector sum) const {
    const FloatVector z = __builtin_convertvector(sum + bias, FloatVector) * factor;
    return z < least ? least : z;
  }
  void put(float* y, IndexVector sum, std::int64_t lanes) const {
    simd::store_first(y, real(sum), lanes);
  }
  void put(std::uint8_t* y, IndexVector sum, std::int64_t lanes) const {
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    const FloatVector z = real(sum);
    const FloatVector rounded = ((z > most ? most : z) + kRound) - kRound;
    simd::store_bytes_first(y, __builtin_convertvector(rounded, IndexVector) + zero, lanes);
  }
};

template <class Out>
inline Epilogue epilogue_of(const Int8Call& call, std::int64_t channel) {
  constexpr bool kBytes = sizeof(Out) == 1;
  const float zero = static_cast<float>(call.zero);
  const float least = call.relu ? 0.0f : kBytes ? -zero : -__builtin_huge_valf();
  return {load_sums(call.filters->bias() + channel), simd::load(call.filters->factor() + channel),
          simd::broadcast(least), simd::broadcast(255.0f - zero), call.zero};
}

inline IndexVector larger(IndexVector a, IndexVector b) {
  return a > b ? a : b;
}

// Pools the sums (ph, ow, kBlock) of a strip into a row of y, whose pixels are `pixel` values
// apart.
template <int kBlock, class Out>
inline void pool(Out* y, std::int64_t pixel, const std::int32_t* sums, std::int64_t ow,
                 std::int64_t columns, const Int8Call& call, std::int64_t first,
                 std::int64_t channels) {
  for (std::int64_t v = 0; v < kBlock && v < channels; v += kLanes) {
    const Epilogue epilogue = epilogue_of<Out>(call, first + v);
    const std::int64_t lanes = channels - v < kLanes ? channels - v : kLanes;
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int32_t* corner = sums + column * call.pw * kBlock + v;
      IndexVector best = load_sums(corner);
      for (std::int64_t i = 0; i < call.ph; ++i) {
        for (std::int64_t j = i == 0 ? 1 : 0; j < call.pw; ++j) {
          best = larger(best, load_sums(corner + (i * ow + j) * kBlock));
        }
      }
      epilogue.put(y + column * pixel + v, best, lanes);
    }
  }
}

// Fills the room of one image with what its padding has.
inline void fill_room(std::uint8_t* room, const std::uint8_t* padding, const ConvDims& d) {
  for (std::int64_t pixels = (d.h + 2 * d.pad_h) * (d.w + 2 * d.pad_w); pixels > 0; --pixels) {
    for (std::int64_t c = 0; c < d.c; ++c) *room++ = padding[c];
  }
}

inline void copy_image(std::uint8_t* room, const std::uint8_t* x, const ConvDims& d) {
  const std::int64_t row = d.w * d.c, pitch = (d.w + 2 * d.pad_w) * d.c;
  std::uint8_t* out = room + d.pad_h * pitch + d.pad_w * d.c;
  for (std::int64_t i = 0; i < d.h; ++i, out += pitch, x += row) {
    __builtin_memcpy(out, x, static_cast<std::size_t>(row));
  }
}

// A plane of one pixel under a filter of one: the images become the pixels of a row.
inline bool is_product(const ConvDims& d) {
  return d.h * d.w * d.kh * d.kw == 1 && d.pad_h == 0 && d.pad_w == 0;
}

// What all images and blocks of a call share, and where each lies in the workspace.
template <class Out>
struct Job {
  const Int8Call& call;
  ConvDims d;  // of a product, rows of pixels
  bool is_product, has_padding;
  std::int64_t ow, rows, columns;
  std::int64_t* steps;
  std::int32_t* sums;
  std::uint8_t* room;

  Job(const Int8Call& call_, void* workspace) : call(call_), d(call_.filters->dims()) {
    d.n = call.n;
    is_product = bytes::is_product(d);
    if (is_product) {  // in pieces of rows, so that their sums stay in the cache
      d.w = Int8Filters::kRowsAtOnce;
      d.n = divide_up(call.n, d.w);
      d.stride_w = 1;
    }
    has_padding = d.pad_h > 0 || d.pad_w > 0;
    ow = d.ow();
    rows = d.oh() / call.ph;
    columns = ow / call.pw;
    steps = static_cast<std::int64_t*>(workspace);
    const Int8Filters& filters = *call.filters;
    for (std::int64_t r = 0; r < d.kh; ++r) {
      for (std::int64_t g = 0; g < filters.groups(); ++g) {
        steps[r * filters.groups() + g] = r * pitch() + g * filters.bytes();
      }
    }
    sums = reinterpret_cast<std::int32_t*>(steps + d.kh * filters.groups());
    room = reinterpret_cast<std::uint8_t*>(sums + (call.ph * ow + 1) * 16);
    if (has_padding) fill_room(room, call.padding, d);
  }

  std::int64_t pitch() const { return (d.w + 2 * d.pad_w) * d.c; }

  // The filters of one block over an image, or the first pixels of one that is rows of a product.
  template <int kBlock>
  void block(Out* y, const std::uint8_t* x, std::int64_t pixels, std::int64_t index) const {
    const Int8Filters& filters = *call.filters;
    const Tiles tiles(pixels);
    const std::int64_t first = index * kBlock;
    const std::int64_t channels = d.oc - first < kBlock ? d.oc - first : std::int64_t{kBlock};
    for (std::int64_t u = 0; u < rows; ++u) {
      for (std::int64_t i = 0; i < call.ph; ++i) {
        const std::uint8_t* corner = x + (u * call.ph + i) * d.stride_h * pitch();
        row_sums<kBlock>(
            sums + i * ow * kBlock,
            {corner, d.stride_w * d.c, steps, d.kh * filters.groups(), filters.block(index)},
            tiles);
      }
      pool<kBlock>(y + u * columns * d.oc + first, d.oc, sums, ow, pixels / call.pw, call, first,
                   channels);
    }
  }
};

}  // namespace bytes

// The workspace is of int8_conv_workspace_bytes().
template <class Out>
void int8_conv(Out* y, const Int8Call& call, void* workspace) {
  const bytes::Job<Out> job(call, workspace);
  const ConvDims& d = job.d;
  for (std::int64_t image = 0; image < d.n; ++image) {
    const std::uint8_t* x = call.x + image * d.h * d.w * d.c;
    if (job.has_padding) {
      bytes::copy_image(job.room, x, d);
      x = job.room;
    }
    Out* const out = y + image * job.rows * job.columns * d.oc;
    const std::int64_t left = call.n - image * d.w;  // rows of a product
    const std::int64_t pixels = job.is_product && left < job.ow ? left : job.ow;
    for (std::int64_t block = 0; block < call.filters->blocks(); ++block) {
      if (call.filters->channels() == 8) {
        job.template block<8>(out, x, pixels, block);
      } else {
        job.template block<16>(out, x, pixels, block);
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
