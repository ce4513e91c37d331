// SPDX-License-Identifier: MIT
#include "examples/weft/input/load_data.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "data/sets/digits.h"
#include "data/sets/shapes.h"
#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

constexpr std::string_view kBuiltIn = "digits";

template <class Options>
data::Dataset generate(data::Dataset (&draw)(const Options&),
                       std::optional<std::int64_t> limit_train) {
  Options options;
  options.train = std::min(options.train, limit_train.value_or(options.train));
  return draw(options);
}

}  // namespace

void add_data_flags(CLI::App& app, DataFlags& flags, const std::string& default_text) {
  const std::string names = joined(data::dataset_names());
  const std::string before = app.option_defaults()->get_group();
  app.option_defaults()->group("Data");
  app.add_option("--dataset", flags.dataset, fmt::format("{}\n(default: {})", names, default_text))
      ->type_name("NAME");
  app.add_option("--data-dir", flags.data_dir,
                 "folder with the files; default: $WEFT_DATA_DIR, then data/NAME")
      ->type_name("DIR");
  app.option_defaults()->group(before);
}

void check_data_flags(const DataFlags& flags) {
  if (flags.own.path && (flags.dataset || flags.data_dir)) {
    throw Error(ErrorKind::usage,
                "--data is for data of your own: it excludes --dataset and --data-dir");
  }
  if (!flags.dataset) return;
  data::check_dataset_name(*flags.dataset);
  if (data::is_drawn(*flags.dataset) && flags.data_dir) {
    throw Error(ErrorKind::usage,
                fmt::format("--data-dir: the data set {} is drawn by the program", *flags.dataset));
  }
}

data::FindOptions find_options(const std::optional<std::string>& data_dir) {
  data::FindOptions options;
  options.data_dir = data_dir.value_or("");
  options.allow_download = true;
  options.log = [](const std::string& line) { print_notice(line); };
  return options;
}

data::Dataset load_images(const std::string& name, const std::optional<std::string>& data_dir,
                          std::optional<std::int64_t> limit_train, bool test_only) {
  check_data_flags({name, data_dir, {}});
  if (name == kBuiltIn) return generate(data::generate_digits, limit_train);
  if (name == "shapes") return generate(data::generate_shapes, limit_train);
  std::error_code code;
  if (data_dir && !std::filesystem::is_directory(*data_dir, code)) {
    throw Error(
        ErrorKind::data,
        fmt::format("no folder {}; {} data fetch --data-dir {} makes it and downloads mnist",
                    *data_dir, program_name(), shell_word(*data_dir)));
  }
  data::FindOptions options = find_options(data_dir);
  options.test_only = test_only;
  return data::load_dataset(name, options);
}

bool is_here(const std::string& name, const std::optional<std::string>& data_dir) {
  if (data::is_drawn(name)) return true;
  data::FindOptions options;
  options.data_dir = data_dir.value_or("");
  return data::describe_dataset(name, options).files.size() == 4;
}

data::Dataset load_or_generate(const DataFlags& flags, std::optional<std::int64_t> limit_train) {
  if (flags.dataset || flags.data_dir) {
    return load_images(flags.dataset.value_or(kDefaultDataset), flags.data_dir, limit_train);
  }
  data::FindOptions options = find_options({});
  options.log = [](const std::string& line) {
    if (line.starts_with("downloading")) print_notice(line);
  };
  if (std::optional<data::Dataset> found = data::find_dataset(kDefaultDataset, options)) {
    return std::move(*found);
  }
  print_notice(fmt::format(
      "no MNIST files here and none to be downloaded: using the built-in digits, which are drawn "
      "by the program ({} data fetch says why)",
      program_name()));
  return generate(data::generate_digits, limit_train);
}

DatasetShape shape_of(const data::Dataset& dataset) {
  const data::ImageSet& train = dataset.train;
  return {train.count, train.channels, train.height, train.width, std::ssize(dataset.class_names)};
}

void notice_limit(std::string_view flag, std::optional<std::int64_t> limit, std::int64_t images,
                  std::string_view kind, std::string_view dataset) {
  if (limit.value_or(0) <= images) return;
  print_notice(fmt::format("{} {}: {} has {} {} images, and all are used", flag, *limit, dataset,
                           images, kind));
}

std::string data_arguments(const DataFlags& flags, const models::OwnData& own) {
  std::string arguments;
  for (const auto& path : data::own_data_paths(own.path)) {
    if (!own.path.empty()) arguments += " --data " + shell_word(path.string());
  }
  if (!arguments.empty()) return arguments;
  return flags.data_dir ? " --data-dir " + shell_word(*flags.data_dir) : "";
}

}  // namespace weft::cli
