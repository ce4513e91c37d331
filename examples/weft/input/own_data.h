// SPDX-License-Identifier: MIT
// --data DIR: pictures in folders, IDX or CIFAR files of the user's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/own_data.h"
#include "models/training/train_config.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct OwnDataFlags {
  std::optional<std::string> path, label, label_pattern, image_size, fit;
  std::optional<std::int64_t> channels, sample_bits;
  bool skip_broken = false, no_cache = false, no_links = false;
};

// --data, --label, --label-pattern, --skip-broken, --no-cache and --no-links. With `shape` also
// --image-size,
// --channels, --fit and --sample-bits, which a trained model knows by itself.
void add_own_data_flags(CLI::App& app, OwnDataFlags& flags, bool shape);

// --sample-bits N; `otherwise` says what white is without it.
void add_sample_bits(CLI::App& app, std::optional<std::int64_t>& bits,
                     const std::string& otherwise);

// `own`, but for what the flags say. Throws usage for an --image-size that is none, or flags that
// need --data and have none.
models::OwnData own_data_from(const OwnDataFlags& flags, models::OwnData own = {});

// Doubts about the images (data/sets/doubts.h), a line each on stderr, before they train a network.
void tell_doubts(const data::Dataset& dataset);

// Reads it with a progress bar; `progress` is auto, on or off.
data::Dataset load_own(const models::OwnData& own, const OwnDataFlags& flags, data::Holding holding,
                       const std::string& progress);

}  // namespace weft::cli
