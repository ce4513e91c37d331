// SPDX-License-Identifier: MIT
#include "kernels/catalogue.h"

#include "kernels/activation/activation.h"
#include "kernels/all_reduce/all_reduce.h"
#include "kernels/batch/batch.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/divergence/divergence.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/histogram/histogram.h"
#include "kernels/image/image.h"
#include "kernels/loss/loss.h"
#include "kernels/memory/memory.h"
#include "kernels/nbody/nbody.h"
#include "kernels/networks/cnn/fused_cnn.h"
#include "kernels/networks/mlp/fused_mlp.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "kernels/signal/signal.h"
#include "kernels/softmax/softmax.h"
#include "kernels/transpose/transpose.h"

namespace weft::kernels {
namespace {

constexpr Family kFamilies[] = {
    {"gemm", "matrix product with bias and ReLU", gemm_rungs},
    {"reduce", "many values to one: sum, minimum, maximum", reduce_rungs},
    {"scan", "prefix sums, minima, maxima and products", scan_rungs},
    {"histogram", "how many values fall in each bin: bytes, integers, floats", histogram_rungs},
    {"nbody", "gravity between all pairs of bodies", nbody_rungs},
    {"conv", "convolution layer, forward and both gradients", conv_rungs},
    {"conv_relu_pool", "convolution, ReLU and max pooling in one kernel", conv_relu_pool_rungs},
    {"signal", "convolution of 1-D, 2-D and 3-D signals with a small mask", signal_rungs},
    {"pool", "max and average pooling, forward and backward", pool_rungs},
    {"activation", "ReLU, sigmoid, tanh and the bias, forward and backward", activation_rungs},
    {"softmax", "softmax over rows, alone and with cross-entropy", softmax_rungs},
    {"loss", "mean squared error, and the totals of an epoch", loss_rungs},
    {"image", "RGB to grey, and box blur", image_rungs},
    {"memory", "vector add, and what offsets, strides and kinds of host memory cost", memory_rungs},
    {"transpose", "out-of-place transpose of a matrix", transpose_rungs},
    {"divergence", "squares or cubes, and what it costs when the threads of a warp disagree",
     divergence_rungs},
    {"batch_norm", "batch normalisation, training, inference and backward", batch_norm_rungs},
    {"dropout", "dropout from counter-based random numbers", dropout_rungs},
    {"optimizer", "SGD and AdamW over the flat parameters", optimizer_rungs},
    {"batch", "shuffles, augments and normalises a batch of images", batch_rungs},
    {"all_reduce", "sums over the GPUs of a machine, the same bits on each", all_reduce_rungs},
    {"fused_cnn", "a small convolutional network as a whole: whole training steps, and inference",
     fused_cnn_rungs, "networks/cnn"},
    {"fused_mlp", "a multilayer perceptron as a whole: training steps", fused_mlp_rungs,
     "networks/mlp"},
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

std::string_view rung_name(std::string_view family, std::string_view name) {
  if (name == kAutomatic) return kAutomatic;
  const Rungs rungs = find_family(family)->rungs();
  const Rung* rung = rungs.find(name);
  if (rung == nullptr) ladder::throw_unknown(family, name, rungs);
  return rung->name;
}

}  // namespace weft::kernels
