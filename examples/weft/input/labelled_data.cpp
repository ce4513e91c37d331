// SPDX-License-Identifier: MIT
#include "examples/weft/input/labelled_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {

data::Dataset load_own_for(const models::ModelInfo& model, const OwnDataFlags& flags,
                           data::Holding holding, const std::string& progress) {
  const models::NetworkOptions& network = model.network;
  const models::OwnData start{
      flags.path.value_or(""),
      {network.channels, network.height, network.width, model.fit, model.sample_bits},
      false};
  data::Dataset dataset = load_own(own_data_from(flags, start), flags, holding, progress);
  std::vector<std::int32_t> labels;
  for (const std::string& name : dataset.class_names) {
    const auto& known = model.class_names;
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw Error(ErrorKind::data,
                  fmt::format("{}: the model knows no class {}", dataset.source, printable(name)));
    }
    labels.push_back(static_cast<std::int32_t>(found - known.begin()));
  }
  for (std::int32_t& label : dataset.test.labels) label = labels[static_cast<std::size_t>(label)];
  dataset.class_names = model.class_names;
  return dataset;
}

void check_fit(const models::ModelInfo& model, const data::Dataset& dataset) {
  const models::NetworkOptions& network = model.network;
  const data::ImageSet& test = dataset.test;
  const std::int64_t classes = static_cast<std::int64_t>(dataset.class_names.size());
  if (test.channels == network.channels && test.height == network.height &&
      test.width == network.width && classes <= network.classes) {
    return;
  }
  throw Error(ErrorKind::usage,
              fmt::format("{} has {} classes of {} x {} x {} images; the model takes {} classes of "
                          "{} x {} x {}",
                          dataset.name, classes, test.channels, test.height, test.width,
                          network.classes, network.channels, network.height, network.width));
}

std::string dataset_for(const models::ModelInfo& model, const std::string& path,
                        const DataFlags& flags) {
  if (flags.own.path) return "";
  if (flags.dataset) return *flags.dataset;
  if (model.own_data) {
    throw Error(ErrorKind::usage,
                fmt::format("{} was trained on data of your own, {}: say where with --data DIR",
                            path, model.dataset));
  }
  if (!model.dataset.empty()) return model.dataset;
  const models::NetworkOptions& network = model.network;
  const bool may_be_mnist =
      network.channels == 1 && network.height == 28 && network.width == 28 && network.classes == 10;
  if (!may_be_mnist) {
    throw Error(ErrorKind::usage,
                fmt::format("{} does not say what it was trained on: say --dataset NAME or "
                            "--data DIR",
                            path));
  }
  print_notice(
      fmt::format("{}: {} is assumed, because the file does not say what it was trained "
                  "on; --dataset NAME and --data DIR say another",
                  path, kDefaultDataset));
  return kDefaultDataset;
}

}  // namespace weft::cli
