// SPDX-License-Identifier: MIT
#include "layers/registry/registry.h"

#include <algorithm>

#include "layers/activation.h"
#include "layers/batch_norm2d.h"
#include "layers/conv2d.h"
#include "layers/dropout.h"
#include "layers/flatten.h"
#include "layers/linear.h"
#include "layers/network/residual.h"
#include "layers/pool2d.h"
#include "layers/prelu.h"

namespace weft::layers {

namespace {

constexpr char kRelu[] = "relu", kSigmoid[] = "sigmoid", kTanh[] = "tanh",
               kHardSwish[] = "hard_swish";
constexpr char kGlobalMax[] = "global_max_pool", kGlobalAverage[] = "global_avg_pool";

template <class Made, const char* word>
LayerRow activation(std::string_view type, std::string_view summary, std::string_view onnx) {
  return {.type = type,
          .word = word,
          .summary = summary,
          .stem = word,
          .read = plain<Made>,
          .onnx = {{onnx, plain_words<word>}},
          .python = word};
}

std::deque<LayerRow>& table() {
  static std::deque<LayerRow> rows = {
      {.type = "Conv2d",
       .word = "conv",
       .arguments = "N HxW [stride S] [pad P] [dilation D] [groups G] [no_bias]",
       .example = "3 3x2 stride 2x1 pad 1",
       .summary = "a convolution with N filters of H rows and W columns; stride 1 and padding 0 "
                  "unless given; depthwise with as many groups as channels",
       .stem = "conv",
       .input = LayerInput::image,
       .read = Conv2d::read,
       .onnx = {{"Conv", Conv2d::from_onnx}},
       .python = "conv2d"},
      {.type = "BatchNorm2d",
       .word = "batch_norm",
       .summary = "normalises each channel by its mean and variance over the batch",
       .stem = "bn",
       .input = LayerInput::image,
       .read = BatchNorm2d::read,
       .onnx = {{"BatchNormalization", BatchNorm2d::from_onnx}},
       .python = "batch_norm"},
      activation<ReLU, kRelu>("ReLU", "max(x, 0)", "Relu"),
      activation<Sigmoid, kSigmoid>("Sigmoid", "1 / (1 + exp(-x))", "Sigmoid"),
      activation<Tanh, kTanh>("Tanh", "the hyperbolic tangent", "Tanh"),
      {.type = "LeakyReLU",
       .word = "leaky_relu",
       .arguments = "[SLOPE]",
       .example = "0.125",
       .summary = "x where it is positive, and SLOPE x elsewhere; 0.01 unless given",
       .stem = "leaky_relu",
       .read = LeakyReLU::read,
       .onnx = {{"LeakyRelu", LeakyReLU::from_onnx}},
       .python = "leaky_relu"},
      {.type = "PReLU",
       .word = "prelu",
       .arguments = "[shared]",
       .example = "shared",
       .summary = "leaky_relu with a slope for each channel that is learned, or one for all",
       .stem = "prelu",
       .read = PReLU::read,
       .onnx = {{"PRelu", PReLU::from_onnx}},
       .python = "prelu"},
      {.type = "ELU",
       .word = "elu",
       .arguments = "[ALPHA]",
       .example = "0.75",
       .summary = "x where it is positive, and ALPHA (exp(x) - 1) elsewhere; 1 unless given",
       .stem = "elu",
       .read = ELU::read,
       .onnx = {{"Elu", ELU::from_onnx}},
       .python = "elu"},
      {.type = "SiLU",
       .word = "silu",
       .summary = "x sigmoid(x), also called swish",
       .stem = "silu",
       .read = plain<SiLU>,
       .onnx = {{"Swish", SiLU::from_onnx}},
       .python = "silu"},
      {.type = "GELU",
       .word = "gelu",
       .arguments = "[tanh]",
       .example = "tanh",
       .summary =
           "x times the share of a normal distribution below x, or its approximation by tanh",
       .stem = "gelu",
       .read = GELU::read,
       .onnx = {{"Gelu", GELU::from_onnx}},
       .python = "gelu"},
      {.type = "HardSwish",
       .word = "hard_swish",
       .summary = "x times x / 6 + 1/2 within 0 and 1",
       .stem = "hard_swish",
       .read = plain<HardSwish>,
       .onnx = {{"HardSwish", plain_words<kHardSwish>}},
       .python = "hard_swish"},
      {.type = "HardSigmoid",
       .word = "hard_sigmoid",
       .arguments = "[SLOPE SHIFT]",
       .example = "0.2 0.5",
       .summary = "SLOPE x + SHIFT within 0 and 1; 1/6 and 1/2 unless given",
       .stem = "hard_sigmoid",
       .read = HardSigmoid::read,
       .onnx = {{"HardSigmoid", HardSigmoid::from_onnx}},
       .python = "hard_sigmoid"},
      {.type = "ReLU6",
       .word = "relu6",
       .summary = "x within 0 and 6",
       .stem = "relu",
       .read = plain<ReLU6>,
       .onnx = {{"Clip", Clip::from_onnx}},
       .python = "relu6"},
      {.type = "Clip",
       .word = "clip",
       .arguments = "LOW HIGH",
       .example = "-1 1.5",
       .summary = "x within two bounds",
       .stem = "clip",
       .read = Clip::read,
       .onnx = {{"Clip", Clip::from_onnx}},
       .python = "clip"},
      {.type = "MaxPool2d",
       .word = "max_pool",
       .arguments = "HxW [stride S] [pad P]",
       .example = "3x2 stride 2x1 pad 1",
       .summary = "the largest value of each window; the stride is the window unless given",
       .stem = "pool",
       .read = MaxPool2d::read,
       .onnx = {{"MaxPool", MaxPool2d::from_onnx}},
       .python = "max_pool2d"},
      {.type = "AvgPool2d",
       .word = "avg_pool",
       .arguments = "HxW [stride S] [pad P]",
       .example = "3x2 stride 2x1 pad 1",
       .summary = "the mean of each window",
       .stem = "pool",
       .read = AvgPool2d::read,
       .onnx = {{"AveragePool", AvgPool2d::from_onnx}},
       .python = "avg_pool2d"},
      {.type = "MaxPool2d",
       .word = kGlobalMax,
       .summary = "the largest value of each channel",
       .stem = "pool",
       .input = LayerInput::image,
       .read = MaxPool2d::read_global,
       .onnx = {{"GlobalMaxPool", plain_words<kGlobalMax>}},
       .python = "max_pool2d"},
      {.type = "AvgPool2d",
       .word = kGlobalAverage,
       .summary = "the mean of each channel",
       .stem = "pool",
       .input = LayerInput::image,
       .read = AvgPool2d::read_global,
       .onnx = {{"GlobalAveragePool", plain_words<kGlobalAverage>},
                {"ReduceMean", AvgPool2d::from_reduce_mean}},
       .python = "avg_pool2d"},
      {.type = "Flatten",
       .word = "flatten",
       .summary = "all values of an image in one row; linear does it by itself",
       .stem = "flatten",
       .read = plain<Flatten>,
       .onnx = {{"Flatten", Flatten::from_flatten}, {"Reshape", Flatten::from_reshape}},
       .python = "flatten"},
      {.type = "Dropout",
       .word = "dropout",
       .arguments = "P | rate | rate/2",
       .example = "0.25",
       .summary = "drops this share of the values in training; rate is --dropout, and without it "
                  "the layer is left out",
       .stem = "dropout",
       .read = Dropout::read,
       .onnx = {{"Dropout", Dropout::from_onnx}},
       .python = "dropout"},
      {.type = "Linear",
       .word = "linear",
       .arguments = "N | classes [no_bias]",
       .example = "5",
       .summary = "N weighted sums of all values, or as many as the data has classes",
       .stem = "fc",
       .input = LayerInput::rows,
       .read = Linear::read,
       .onnx = {{"Gemm", Linear::from_gemm}, {"MatMul", Linear::from_product}},
       .python = "linear"},
      {.type = "Fork",
       .word = "residual",
       .arguments = "{ LAYERS }",
       .summary = "the layers between the braces, whose output is added to their input",
       .stem = "fork",
       .read = plain<Fork>,
       .why_not = "a Fork has no operator and computes nothing: its Add reads what it read"},
      {.type = "Shortcut",
       .word = "shortcut",
       .arguments = "{ LAYERS }",
       .summary = "behind a residual block: what these layers make of its input is added instead",
       .stem = "shortcut",
       .read = plain<Shortcut>,
       .why_not = "a Shortcut has no operator and computes nothing: it marks a place"},
      {.type = "Add",
       .stem = "add",
       .read = plain<Add>,
       .python = "add",
       .why_not =
           "the brace behind a residual block makes it, as a sum of two values in ONNX does"},
      {.type = "GroupedConv2d", .why_not = "conv makes it of a line with groups or dilation"},
      {.type = "Softmax",
       .python = "softmax",
       .why_not = "it is a part of the loss, so no network ends in it"},
      {.type = "ConvReluPool",
       .python = "conv2d_relu_pool",
       .why_not = "a Plan makes it of three layers of a network"},
  };
  return rows;
}

template <class Value, class Member>
bool is_taken(const Value& value, Member member) {
  return !value.empty() && std::ranges::find(table(), value, member) != table().end();
}

}  // namespace

const std::deque<LayerRow>& layer_rows() {
  return table();
}

void register_layer(LayerRow row) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::usage, str("register_layer: ", row.type, ": ", problem));
  };
  if (row.word.empty() || row.read == nullptr) refuse("expected a word and its reader");
  if (is_taken(row.word, &LayerRow::word)) refuse(str("there is a word ", row.word));
  if (is_taken(row.python, &LayerRow::python)) refuse(str("Python has a ", row.python));
  for (const OnnxOperator& mine : row.onnx) {
    for (const LayerRow& other : table()) {
      if (std::ranges::count(other.onnx, mine.type, &OnnxOperator::type) > 0) {
        refuse(str(mine.type, " is read as ", other.word));
      }
    }
  }
  table().push_back(std::move(row));
}

const LayerRow* find_layer(std::string_view word) {
  const auto found = std::ranges::find(table(), word, &LayerRow::word);
  return word.empty() || found == table().end() ? nullptr : &*found;
}

std::unique_ptr<Layer> make_layer(const LayerRow& row, const LayerText& text,
                                  const LayerSite& site) {
  const int rank = site.input.rank();
  const bool fits =
      row.input == LayerInput::any || rank == (row.input == LayerInput::image ? 4 : 2);
  if (fits) return text.make(site);
  throw Error(ErrorKind::data,
              str(row.word, " expects ", row.input == LayerInput::image ? "an image" : "rows",
                  ", found ", Shape(site.input.extents().subspan(1))));
}

}  // namespace weft::layers
