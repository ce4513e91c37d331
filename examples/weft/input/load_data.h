// SPDX-License-Identifier: MIT
// Loads the images that a command works on: the flags --dataset and --data-dir, and what happens
// when the files are not there.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "data/sets/dataset.h"
#include "data/sets/mnist.h"
#include "engine/timings.h"
#include "examples/weft/input/own_data.h"

namespace CLI {
class App;
}

namespace weft::cli {

inline constexpr const char* kDefaultDataset = "mnist";

struct DataFlags {
  std::optional<std::string> dataset, data_dir;  // none: the defaults
  OwnDataFlags own;                              // of commands that read data of the user's own
};

void add_data_flags(CLI::App& app, DataFlags& flags, const std::string& default_text);
void check_data_flags(const DataFlags& flags);  // throws usage with a suggestion

// Search and download options that report downloads on stderr.
data::FindOptions find_options(const std::optional<std::string>& data_dir);

// The data set `name`, found, downloaded or generated. Throws Error{data} when its files are
// missing or damaged, or `data_dir` is not there. With `limit_train` no more training images
// than that are generated; with `test_only` no training images are read.
data::Dataset load_images(const std::string& name, const std::optional<std::string>& data_dir,
                          std::optional<std::int64_t> limit_train, bool test_only = false);

// Are all files of this data set here, or is it drawn, so that it can be had without a word?
bool is_here(const std::string& name, const std::optional<std::string>& data_dir);

// Reads a data set on a thread of its own, while the device is opened.
template <class Load>
auto in_the_background(Load load) {
  return std::async(std::launch::async, [load] {
    const TimedScope timed("read the data");
    return load();
  });
}

// The data set of the flags. When none was asked for and MNIST is neither here nor to be had, the
// built-in digits, with a line on stderr that says so; damaged files are never passed over.
data::Dataset load_or_generate(const DataFlags& flags, std::optional<std::int64_t> limit_train);

struct DatasetShape {
  std::int64_t train_images, channels, height, width, classes;
};
DatasetShape shape_of(const data::Dataset& dataset);

// One line on stderr when --limit-train or --limit-test, `flag`, asks for more images than there
// are. `kind`: "training" or "test".
void notice_limit(std::string_view flag, std::optional<std::int64_t> limit, std::int64_t images,
                  std::string_view kind, std::string_view dataset);

// The flags that make a later command find the same files: "", " --data-dir DIR" or " --data DIR".
std::string data_arguments(const DataFlags& flags, const models::OwnData& own);

}  // namespace weft::cli
