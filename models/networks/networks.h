// SPDX-License-Identifier: MIT
// A network is a text (models/networks/network_text.h): a file of models/networks, which is a part
// of the program, or one of a user's.
//
// Layers that have tensors are named conv1, conv2, bn1, fc1, ... in the order of the text, through
// residual blocks too, and so are those of the built-in networks in files written before.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "layers/network/sequential.h"

namespace weft::models {

inline constexpr std::int64_t kMaxClasses = 65536;

struct NetworkOptions {
  std::string name = "lenet5";           // of a built-in network, or of a file: "tiny.net"
  std::int64_t height = 28, width = 28;  // of the input image
  std::int64_t classes = 10;
  float dropout = 0;          // where the text says rate (half of it for rate/2); 0: no such layer
  std::int64_t channels = 1;  // of the input image
  std::string definition = {};  // the text of the file; empty for a built-in network
};

// Does this name stand for a file, and not for a built-in network? A file's ends in ".net".
bool is_network_file(std::string_view name);
// The options for a file: its name without the folders, and its text. Throws data when it cannot be
// read or is no network, as "FILE:LINE:COLUMN: ...".
NetworkOptions read_network(const std::filesystem::path& file);

// One built-in network: all that is known of it.
struct NetworkInfo {
  std::string_view name;
  std::string_view summary;  // one line for --help and inspect
  std::string_view definition;
  int epochs;  // these suit it at batch 64, in fp32
  float peak_lr;
  float weight_decay = 5e-4f;
};

std::span<const NetworkInfo> networks();
const NetworkInfo& network_named(std::string_view name);  // or throws usage with the nearest name

// The text of a network; does it have layers that NetworkOptions::dropout is the rate of?
std::string_view definition_of(const NetworkOptions& options);
bool takes_dropout(const NetworkOptions& options);

// Throws usage for an unknown name, with the nearest known one, for sizes out of range, and where a
// built-in network does not fit the image. Throws data, as "NAME:LINE:COLUMN: ...", for a
// definition that cannot be read, does not fit the image or is too large. Allocates no more than
// the text asks for in layers: tensors are only counted.
std::unique_ptr<layers::Sequential> make_network(const NetworkOptions& options);

// What the last layer gives for each image, whether these are the classes or not. Throws as
// make_network() does for the layers.
Shape output_shape(const NetworkOptions& options);

}  // namespace weft::models
