// SPDX-License-Identifier: MIT
// The tiles of implicit_gemm_wgmma: what the copy engine and shared memory can take, for any shape.
#include "kernels/conv/hopper/tile_choice.h"

#include <gtest/gtest.h>

namespace weft::kernels {
namespace {

TEST(WgmmaTiles, FitTheirBoxAndTheirMemory) {
  for (const std::int64_t images : {1, 3, 64}) {
    for (const std::int64_t height : {1, 7, 14, 56, 301}) {
      for (const std::int64_t width : {1, 2, 7, 8, 14, 28, 56, 200, 257, 1001, 5000}) {
        for (const std::int64_t rows : {1, 64, 65, 256}) {
          for (const int taps : {1, 3, 5, 31}) {
            // Filters of halves come in two copies; others in one.
            const int copies = images == 3 ? 2 : 1;
            const WgmmaWork work{images, height, width, rows, 2, taps, taps, copies};
            const WgmmaTile tile = choose_wgmma_tile(work, 132);
            SCOPED_TRACE(testing::Message() << images << " x " << height << " x " << width << ", "
                                            << rows << " filters of " << taps);
            ASSERT_TRUE(tile.filters == 64 || tile.filters == 128);
            ASSERT_GE(tile.images * tile.height * tile.width, 1);
            ASSERT_LE(tile.images * tile.height * tile.width, tile.pixels());
            ASSERT_LE(tile.images, 256);
            ASSERT_LE(tile.box_height(), 256);
            ASSERT_LE(tile.width, 256);
            if (tile.images > 1) {
              ASSERT_TRUE(tile.height == height && tile.width == width);
            }
            ASSERT_TRUE(tile.taps == 1 || (tile.taps == taps && tile.images == 1));
            ASSERT_EQ(tile.pixel_bytes() % 1024, 0);
            ASSERT_LE(tile.copied_pixel_bytes(), tile.pixel_bytes());
            for (const int stages : {tile.pixel_stages(), tile.filter_stages()}) {
              ASSERT_GE(stages, 2);
              ASSERT_LE(stages, kWgmmaMostStages);
            }
            ASSERT_GE(tile.filter_stages(), copies);
            ASSERT_EQ(tile.filter_copies, copies);
            ASSERT_LE(tile.shared_bytes(), kWgmmaSharedBytes);
          }
        }
      }
    }
  }
}

TEST(WgmmaTiles, FillTheMapsOfResnet) {
  const auto tile_of = [](std::int64_t side, std::int64_t channels) {
    return choose_wgmma_tile({64, side, side, channels, channels / 32, 3, 3}, 132);
  };
  const WgmmaTile wide = tile_of(56, 64), middle = tile_of(28, 128), deep = tile_of(14, 256);
  EXPECT_EQ(wide.filters, 64);
  EXPECT_EQ(wide.taps, 3);
  EXPECT_EQ(wide.height * wide.width, 392);
  EXPECT_EQ(middle.filters, 128);
  EXPECT_EQ(middle.taps, 3);
  EXPECT_EQ(middle.height * middle.width, 196);
  EXPECT_EQ(deep.filters, 128);
  EXPECT_EQ(deep.height * deep.width, 196);
}

TEST(WgmmaTiles, HoldWholeQuadsWhereThePlaneDoes) {
  const WgmmaTile tile = choose_wgmma_tile({1024, 26, 26, 32, 2, 3, 3}, 132);
  EXPECT_EQ(tile.width, 26);
  EXPECT_EQ(tile.height, 14);  // 13 would do, and its 338 results are no quads
  EXPECT_EQ(tile.taps, 3);
}

}  // namespace
}  // namespace weft::kernels
