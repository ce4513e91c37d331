// SPDX-License-Identifier: MIT
// The shapes that fused_cnn's kernels are compiled for, and what follows from a shape: where
// parameters lie, and how a block and the workspace are laid out. Plain C++, for host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/extent.h"
#include "kernels/batch/parts/draw.h"
#include "kernels/networks/cnn/fused_cnn.h"

namespace weft::kernels::fused_cnn {

// A shape is a struct of constants. Its kernels take any number of classes up to kMaxClasses.
struct Lenet5 {
  static constexpr int kHeight = 28, kWidth = 28;
  static constexpr int kFilters1 = 6, kKernel1 = 5, kPad1 = 2;
  static constexpr int kFilters2 = 16, kKernel2 = 5, kPad2 = 0;
  static constexpr int kHidden1 = 120, kHidden2 = 84;
};

// For tests: other extents, an odd feature map, padding in both convolutions, two kernel sizes.
struct SmallCnn {
  static constexpr int kHeight = 13, kWidth = 12;
  static constexpr int kFilters1 = 4, kKernel1 = 5, kPad1 = 1;
  static constexpr int kFilters2 = 8, kKernel2 = 3, kPad2 = 1;
  static constexpr int kHidden1 = 20, kHidden2 = 12;
};

constexpr int kMaxClasses = 32;  // a warp holds a row of logits
constexpr int kWarps = 16;
constexpr int kThreads = 32 * kWarps;

// A convolution with stride 1, ReLU and 2 x 2 max pooling, on planes that lie in shared memory
// behind a border of zeros. A row has kPitch floats.
template <int kInputs_, int kHeight, int kWidth, int kFilters_, int kKernel_, int kPad_,
          int kPitch_>
struct ConvShape {
  static constexpr int kInputs = kInputs_, kFilters = kFilters_, kKernel = kKernel_, kPad = kPad_;
  static constexpr int kRows = kHeight + 2 * kPad, kPitch = kPitch_;
  static constexpr int kPlane = kRows * kPitch, kMaps = kInputs * kPlane;
  static constexpr int kTaps = kKernel * kKernel;  // of a channel
  static constexpr int kFilter = kInputs * kTaps, kWeights = kFilters * kFilter;
  static constexpr int kOutHeight = (kRows - kKernel + 1) / 2;
  static constexpr int kOutWidth = (kWidth + 2 * kPad - kKernel + 1) / 2;
  static constexpr int kWindows = kOutHeight * kOutWidth, kOutputs = kFilters * kWindows;
  // Filters of one tap in shared memory, as the forward pass reads them.
  static constexpr int kWeightStride = round_up(kFilters, 4);
  static constexpr int kStagedWeights = kFilter * kWeightStride;

  static_assert(kKernel % 2 == 1, "the row of a window is loaded in pairs");
  static_assert(kPitch % 2 == 0 && kPitch >= kWidth + 2 * kPad, "pairs are aligned to 8 bytes");
};

// The pitch at which kernel + 1 neighbours in each of two rows lie in different banks: whichever
// positions of a window its filters' maxima were found at, a row of taps is read without conflicts.
constexpr int tap_pitch(int width, int kernel) {
  int pitch = round_up(width, 2);
  while (pitch % 32 <= kernel || pitch % 32 >= 32 - kernel) pitch += 2;
  return pitch;
}

template <class Net>
struct Shape {
  using Conv1 = ConvShape<1, Net::kHeight, Net::kWidth, Net::kFilters1, Net::kKernel1, Net::kPad1,
                          tap_pitch(Net::kWidth + 2 * Net::kPad1, Net::kKernel1)>;
  using Conv2 =
      ConvShape<Net::kFilters1, Conv1::kOutHeight, Conv1::kOutWidth, Net::kFilters2, Net::kKernel2,
                Net::kPad2, round_up(Conv1::kOutWidth + 2 * Net::kPad2, 2)>;
  static constexpr int kPixels = Net::kHeight * Net::kWidth;
  static constexpr int kFeatures = Conv2::kOutputs;
  static constexpr int kHidden1 = Net::kHidden1, kHidden2 = Net::kHidden2;

  // In the flat parameters; fc3's bias follows classes * kHidden2 weights.
  static constexpr int kConv1Weight = 0, kConv1Bias = Conv1::kWeights;
  static constexpr int kConv2Weight = kConv1Bias + Conv1::kFilters;
  static constexpr int kConv2Bias = kConv2Weight + Conv2::kWeights;
  static constexpr int kConvParameters = kConv2Bias + Conv2::kFilters;
  static constexpr int kFc1Weight = kConvParameters, kFc1Bias = kFc1Weight + kHidden1 * kFeatures;
  // The copy of fc1's weights begins with a line of the L2 cache, a few parameters in front of
  // them: see device::BulkCopy.
  static constexpr int kFc1Skipped = kFc1Weight % 32, kFc1Lines = kFc1Weight - kFc1Skipped;
  static constexpr int kFc2Weight = kFc1Bias + kHidden1;
  static constexpr int kFc2Bias = kFc2Weight + kHidden2 * kHidden1;
  static constexpr int kFc3Weight = kFc2Bias + kHidden2;

  // A row of the batch between the two phases of a step: what the linear layers read, and the
  // gradients of what they wrote.
  static constexpr int kInputs = kFeatures + kHidden1 + kHidden2;
  static constexpr int kGradients = kHidden1 + kHidden2 + kMaxClasses;
  static constexpr int kFilterStride = round_up(kConvParameters, 4);  // of a block's gradient

  static_assert(Net::kWidth % 4 == 0, "pixels are copied in fours");
  static_assert(kFeatures % 4 == 0 && kHidden1 % 4 == 0 && kHidden2 % 4 == 0,
                "linear layers read 16 bytes");
  static_assert(kConv2Weight % 4 == 0 && kFc1Weight % 4 == 0 && kFc2Weight % 4 == 0 &&
                    kFc3Weight % 4 == 0,
                "weights are aligned to 16 bytes");
  static_assert(Conv1::kFilters * Conv1::kKernel <= 32, "a lane owns a column of conv1's filter");
  static_assert(Conv2::kKernel * Conv2::kInputs <= 32, "a lane owns a column of conv2's filter");
  static_assert(Conv2::kFilters <= kWarps, "a warp owns a filter of conv2");
};

template <class Net>
constexpr FusedCnnDims dims_of(std::int64_t classes) {
  return {Net::kHeight,  Net::kWidth, Net::kFilters1, Net::kKernel1, Net::kPad1, Net::kFilters2,
          Net::kKernel2, Net::kPad2,  Net::kHidden1,  Net::kHidden2, classes};
}
static_assert(dims_of<Lenet5>(10) == lenet5_dims(10));

// A gradient and where in its plane the window's maximum was found.
struct Spike {
  float gradient;
  int place;
};

// One image of the batch.
struct Draw {
  std::int64_t index;  // in the data set
  draw::Affine map;    // where images are distorted
  std::int32_t label;
  bool there;  // false behind the last row: the image is empty and has no gradient
};

// How the data gradient of the second convolution is put together: conv_backward.cuh.
template <class Conv>
struct Regions {
  static constexpr int kSide = Conv::kKernel + 1;         // rows that a window of the pooling reads
  static constexpr int kColumns = kSide * Conv::kInputs;  // of one row, channels last
  // Neighbouring windows, and the rows and columns within, lie in different banks.
  static constexpr int kPitch = kColumns | 1;
  static constexpr int kStride = (kSide * kPitch + 27) / 32 * 32 + 4;
  static constexpr int kFloats = Conv::kWindows * kStride;  // of one image
  // A filter with a border of zeros, so that its taps can be read from the window's corner
  // whichever position won. Two rows differ by 12 banks when the channels and taps are LeNet's.
  static constexpr int kFilterRows = Conv::kKernel + 2;
  static constexpr int kFilterColumns = kFilterRows * Conv::kInputs;
  static constexpr int kFilterPitch = round_up(kFilterColumns, 4);
  static constexpr int kFilter = kFilterRows * kFilterPitch;
};

// A matrix (kRows, kIn) spread over the registers of a block: dense.cuh.
template <int kIn, int kRows, int kImages>
struct RegisterMatrixShape {
  static constexpr int kQuads = kIn / 4;
  static constexpr int kColumnWarps = kQuads <= 8 ? 1 : kQuads <= 16 ? 2 : kQuads <= 32 ? 4 : 8;
  static constexpr int kRowWarps = kWarps / kColumnWarps;
  static constexpr int kRowsPerWarp = divide_up(kRows, kRowWarps);
  static constexpr int kTurns = divide_up(kRowsPerWarp, 4);
  // Partial sums: (kColumnWarps, kImages, kRows) by rows, (kRowWarps, kImages, kIn) by columns.
  static constexpr int kRowSums = kColumnWarps * kImages * kRows;
  static constexpr int kColumnSums = kRowWarps * kImages * kIn;
  static_assert(kQuads <= 64, "at most 256 columns");
};

// Tiles of a weight gradient: parameter_phase.cuh.
struct Tile {
  static constexpr int kRows = 24, kColumns = 20, kElements = kRows * kColumns;
  static constexpr int kWarps = 12;  // the other warps sum columns
  static constexpr int kChunk = 32;  // columns
  static constexpr int kChunkParts = (fused_cnn::kWarps - kWarps) * 32 / (kChunk / 4);
};

// Shared memory of parameter_phase.cuh: partial sums.
struct alignas(16) ParameterMemory {
  float tile[Tile::kWarps][Tile::kElements];
  float chunk[Tile::kChunkParts][Tile::kChunk];
};

// Shared memory of a block that works on kImages images at a time.
template <class Net, int kImages>
struct alignas(16) Shared {
  using S = Shape<Net>;
  using Conv1 = typename S::Conv1;
  using Conv2 = typename S::Conv2;
  using Fc2 = RegisterMatrixShape<S::kHidden1, S::kHidden2, kImages>;

  // Windows of conv1 for each warp.
  static constexpr int kWarpWindows = divide_up(kImages * Conv1::kWindows, kWarps);

  struct ConvBackward {
    float regions[kImages * Regions<Conv2>::kFloats];
    float filters[Conv2::kFilters * Regions<Conv2>::kFilter];
    float channels_last[kImages * Conv2::kMaps];  // y1 as (row, column, channel)
    alignas(16) Spike spikes2[Conv2::kFilters][round_up(kImages * Conv2::kWindows, 2)];
    alignas(16) Spike window_spikes[kWarps][round_up(Conv2::kFilters, 2)];
    // An odd number of spikes: those of the filters lie in different banks.
    alignas(16) Spike spikes1[kWarps][Conv1::kFilters][kWarpWindows | 1];
    float sums1[kWarps][Conv1::kFilters][Conv1::kTaps + 1];  // the last: the bias
  };
  union Large {                                              // in the order of a step
    float fc1[S::kFc1Skipped + S::kHidden1 * S::kFeatures];  // see fc1_weight()
    ConvBackward backward;
    ParameterMemory parameters;
  };
  union Filters {
    struct {
      float conv1[Conv1::kStagedWeights], conv2[Conv2::kStagedWeights];
    } staged;
    float fc2_backward[Fc2::kColumnSums];  // partial sums
  };
  union Features {
    float y2[kImages][S::kFeatures];
    float fc2_forward[Fc2::kRowSums];  // partial sums
    float gradient[kImages][S::kFeatures];
  };

  WEFT_HOST_DEVICE const float* fc1_weight() const { return large.fc1 + S::kFc1Skipped; }

  Large large;
  Filters filters;
  float x[kImages][Conv1::kPlane];
  float y1[kImages][Conv2::kMaps];
  alignas(16) Features features;  // read in sixteen bytes, like h1 and h2
  float h1[kImages][S::kHidden1], h2[kImages][S::kHidden2];  // then their gradients
  float logits[kImages][kMaxClasses], logit_gradients[kImages][kMaxClasses];
  std::uint8_t code1[kImages][Conv1::kOutputs], code2[kImages][Conv2::kOutputs];
  float conv_bias[Conv1::kFilters + Conv2::kFilters];
  float fc_bias[S::kHidden1 + S::kHidden2 + kMaxClasses];
  float loss[kImages];
  std::int32_t prediction[kImages];
  Draw draws[2][kImages];  // of this round and the next
  std::uint64_t copy_barrier;
};

}  // namespace weft::kernels::fused_cnn
