// SPDX-License-Identifier: MIT
#include "examples/load_data.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "data/digits.h"
#include "engine/error.h"
#include "examples/flags.h"
#include "examples/terminal.h"

namespace weft::cli {
namespace {

constexpr std::string_view kBuiltIn = "digits";

void check_dataset_name(const std::string& name) {
  const std::span<const std::string_view> names = data::dataset_names();
  const std::vector<std::string> known(names.begin(), names.end());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw_unknown("data set", name, known);
  }
}

data::Dataset generate(std::int64_t limit_train) {
  data::DigitsOptions options;
  if (limit_train > 0) options.train = std::min(options.train, limit_train);
  return data::generate_digits(options);
}

}  // namespace

void add_data_flags(CLI::App& app, DataFlags& flags, const std::string& default_text) {
  std::string names;
  for (const std::string_view name : data::dataset_names()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  const std::string group = "Data";
  app.add_option("--dataset", flags.dataset, fmt::format("{}\n(default: {})", names, default_text))
      ->type_name("NAME")
      ->group(group);
  app.add_option("--data-dir", flags.data_dir,
                 "folder with the files; default: $WEFT_DATA_DIR, then data/NAME")
      ->type_name("DIR")
      ->group(group);
}

void check_data_flags(const DataFlags& flags) {
  if (!flags.dataset.empty()) check_dataset_name(flags.dataset);
}

data::FindOptions find_options(const std::string& data_dir) {
  data::FindOptions options;
  options.data_dir = data_dir;
  options.allow_download = true;
  options.log = [](const std::string& line) { print_notice(line); };
  return options;
}

data::Dataset load_images(const std::string& name, const std::string& data_dir,
                          std::int64_t limit_train) {
  if (name == kBuiltIn) return generate(limit_train);
  return data::load_dataset(name, find_options(data_dir));
}

data::Dataset load_or_generate(const DataFlags& flags, std::int64_t limit_train) {
  if (!flags.dataset.empty() || !flags.data_dir.empty()) {
    const std::string name = flags.dataset.empty() ? kDefaultDataset : flags.dataset;
    return load_images(name, flags.data_dir, limit_train);
  }
  data::FindOptions options = find_options("");
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
  return generate(limit_train);
}

std::int64_t standard_train_images(const std::string& name) {
  return name == "emnist-digits" ? 240'000 : 60'000;
}

std::string data_arguments(const DataFlags& flags) {
  return flags.data_dir.empty() ? "" : " --data-dir " + shell_quoted(flags.data_dir);
}

}  // namespace weft::cli
