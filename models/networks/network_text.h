// SPDX-License-Identifier: MIT
// The text of a network: one layer a line, in words. docs/networks.md tells the language.
//
//   conv 16 3x3 pad 1      # a comment
//   relu
//   residual {
//     conv 16 3x3 pad 1
//   }
//   linear classes
//
// Reading a text checks its words and numbers; models/networks/networks.h makes layers of it.
#pragma once

#include <string_view>
#include <vector>

#include "layers/registry/registry.h"

namespace weft::models {

// A layer, or an end of a block: `residual {` and `concat {` make a Fork, `} shortcut {` and `} and
// {` a Shortcut, and the last brace an Add or a Concat. A concat of more than two blocks is one of
// the first block and of a concat of the others.
struct LayerLine {
  const layers::LayerRow* row = nullptr;
  int line = 0, column = 0;  // of its first word, from 1
  layers::LayerText text;
};

// Limits of a text, which may be a stranger's.
inline constexpr std::size_t kMostNetworkBytes = 64 * 1024;
inline constexpr std::size_t kMostNetworkLayers = 2048;
inline constexpr int kMostNetworkDepth = 16;     // of blocks in each other
inline constexpr int kMostNetworkBranches = 64;  // of one concat

// Throws Error{data}: "WHERE:LINE:COLUMN: expected ..., found ...". Blocks are closed, only a
// residual block has a shortcut, and a concat has two blocks or more.
std::vector<LayerLine> parse_network(std::string_view text, std::string_view where);

}  // namespace weft::models
