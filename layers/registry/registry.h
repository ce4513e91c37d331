// SPDX-License-Identifier: MIT
// The registry: a row for each kind of layer holds all that the rest of the program knows of it.
// Texts of networks, their help, ONNX files and Python read the rows.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/registry/words.h"

namespace weft::layers {

// Where a network has a place for a layer.
struct LayerSite {
  std::string name;          // "conv1"
  Shape input;               // of one image: (1, ...)
  std::int64_t classes = 0;  // of the data
  float dropout = 0;         // the rate that a text calls `rate`
  Shape other = {};          // of the second operand of a layer that closes a block
};

// What the words of one layer say, before the shape of its input is known.
struct LayerText {
  std::function<std::unique_ptr<Layer>(const LayerSite& site)> make;  // null: there is no layer
  bool takes_dropout = false;                                         // the text says `rate`
};

// The input of a layer: any, an image (N, C, H, W), or rows (N, features), which a text may leave
// to a Flatten of its own.
enum class LayerInput { any, image, rows };

struct LayerRow {
  std::string_view type = {};       // Layer::type() of the layers that it makes
  std::string_view word = {};       // in a text; empty: no text has it
  std::string_view arguments = {};  // "N HxW [stride S]", for people
  std::string_view example = {};    // of arguments, from which the tests make a layer
  std::string_view summary = {};    // a sentence for people
  std::string_view stem = {};       // of the names of its layers: conv1, conv2, ...
  LayerInput input = LayerInput::any;
  bool closes_block = false;
  // Reads the arguments behind the word; null where no text makes the layer.
  LayerText (*read)(Words& words) = nullptr;
  std::vector<OnnxOperator> onnx = {};  // that are read as this layer; Layer::onnx() is written
  std::string_view python = {};         // weft.layers.NAME_forward and NAME_backward
  std::string_view why_not = {};        // it has no word, no operator or no name
};

// Weft's own (layers/rows.cpp), and with those that a program has added.
std::deque<LayerRow> own_layer_rows();
const std::deque<LayerRow>& layer_rows();

// Adds a program's own layer, before any network is made and in one thread. Throws usage for a row
// without a word or a reader, and for a word, an operator or a Python name that is taken.
void register_layer(LayerRow row);

// The row whose `word` this is, or null.
const LayerRow* find_layer(std::string_view word);

// Throws data where the input is none that the row takes; null where there is no such layer.
std::unique_ptr<Layer> make_layer(const LayerRow& row, const LayerText& text,
                                  const LayerSite& site);

// A layer that its name alone makes.
template <class Made>
LayerText plain(Words&) {
  return {[](const LayerSite& site) { return std::make_unique<Made>(site.name); }};
}

}  // namespace weft::layers
