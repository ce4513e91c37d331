// SPDX-License-Identifier: MIT
#include "kernels/catalogue.h"

#include "kernels/activation/activation.h"
#include "kernels/batch/batch.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/conv/conv.h"
#include "kernels/dropout/dropout.h"
#include "kernels/fused_cnn/fused_cnn.h"
#include "kernels/fused_mlp/fused_mlp.h"
#include "kernels/gemm/gemm.h"
#include "kernels/histogram/histogram.h"
#include "kernels/image/image.h"
#include "kernels/loss/loss.h"
#include "kernels/memory/memory.h"
#include "kernels/nbody/nbody.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "kernels/signal/signal.h"
#include "kernels/softmax/softmax.h"

namespace weft::kernels {
namespace {

constexpr Family kFamilies[] = {
    {"gemm", "matrix product with bias and ReLU", gemm_variants},
    {"reduce", "many values to one: sum, minimum, maximum", reduce_variants},
    {"scan", "prefix sums, minima, maxima and products", scan_variants},
    {"histogram", "how many values fall in each bin: bytes, integers, floats", histogram_variants},
    {"nbody", "gravity between all pairs of bodies", nbody_variants},
    {"conv", "convolution layer, forward and both gradients", conv_variants},
    {"signal", "convolution of 1-D, 2-D and 3-D signals with a small mask", signal_variants},
    {"pool", "max and average pooling, forward and backward", pool_variants},
    {"activation", "ReLU, sigmoid, tanh and the bias, forward and backward", activation_variants},
    {"softmax", "softmax over rows, alone and with cross-entropy", softmax_variants},
    {"loss", "mean squared error, and the totals of an epoch", loss_variants},
    {"image", "RGB to grey, and box blur", image_variants},
    {"memory", "vector add, and what offsets, strides and kinds of host memory cost",
     memory_variants},
    {"batch_norm", "batch normalisation, training, inference and backward", batch_norm_variants},
    {"dropout", "dropout from counter-based random numbers", dropout_variants},
    {"optimizer", "stochastic gradient descent over the flat parameters", optimizer_variants},
    {"batch", "shuffles, augments and normalises a batch of images", batch_variants},
    {"fused_cnn", "a small convolutional network as a whole: whole training steps, and inference",
     fused_cnn_variants},
    {"fused_mlp", "a multilayer perceptron as a whole: training steps in bf16", fused_mlp_variants},
};

}  // namespace

std::span<const Family> catalogue() {
  return kFamilies;
}

const Family* find_family(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

const VariantInfo* find_variant(const Family& family, std::string_view name) {
  for (const VariantInfo& info : family.variants()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace weft::kernels
