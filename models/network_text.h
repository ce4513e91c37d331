// SPDX-License-Identifier: MIT
// The text of a network: one layer a line, in words. models/README.md tells the language.
//
//   conv 16 3x3 pad 1      # a comment
//   relu
//   residual {
//     conv 16 3x3 pad 1
//   }
//   linear classes
//
// Reading a text checks its words and numbers; models/networks.h makes layers of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "layers/window.h"

namespace weft::models {

enum class LayerKind {
  conv,
  linear,
  batch_norm,
  relu,
  sigmoid,
  tanh,
  max_pool,
  avg_pool,
  global_max_pool,
  global_avg_pool,
  flatten,
  dropout,
  residual,
  shortcut,
  end
};

// What a reader of the help is told of a word: "conv", "N HxW [stride HxW] ...", a sentence.
struct LayerWord {
  std::string_view name, arguments, summary;
  LayerKind kind;
};
std::span<const LayerWord> layer_words();

struct LayerLine {
  LayerKind kind = LayerKind::end;  // `end` closes the block that was opened last
  int line = 0, column = 0;         // of its first word, from 1
  std::int64_t features = 0;        // of conv and linear; 0: as many as there are classes
  layers::Window window;            // of conv and pooling
  bool bias = true;                 // of conv and linear
  float dropout = 0;                // a rate, or the share of NetworkOptions::dropout
  bool dropout_is_share = false;
};

// Limits of a text, which may be a stranger's.
inline constexpr std::size_t kMostNetworkBytes = 64 * 1024;
inline constexpr std::size_t kMostNetworkLayers = 2048;
inline constexpr int kMostNetworkDepth = 16;

// Throws Error{data}: "WHERE:LINE:COLUMN: expected ..., found ...". Blocks are closed, and only a
// residual block has a shortcut.
std::vector<LayerLine> parse_network(std::string_view text, std::string_view where);

}  // namespace weft::models
