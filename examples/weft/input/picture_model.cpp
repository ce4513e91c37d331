// SPDX-License-Identifier: MIT
#include "examples/weft/input/picture_model.h"

#include <fmt/format.h>

#include "data/picture/fit.h"
#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

bool may_be_mark(const models::NetworkOptions& network) {
  const auto within = [](std::int64_t side) {
    return side >= kLeastMarkSide && side <= kMostMarkSide;
  };
  return network.channels == 1 && within(network.height) && within(network.width);
}

}  // namespace

void check_reads_pictures(const models::Model& model, const std::string& path) {
  const std::int64_t channels = model.info.network.channels;
  if (channels == 1 || channels == 3) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("{}: the network reads {} channels; pictures have 1 or 3", path, channels));
}

models::Model load_picture_model(const std::string& path) {
  models::Model model = models::load_model(path);
  check_reads_pictures(model, path);
  return model;
}

bool takes_whole_pictures(const models::ModelInfo& info) {
  return info.own_data || !may_be_mark(info.network);
}

data::PreparedImage prepare_whole(const models::ModelInfo& info, const data::RgbImage& image,
                                  bool inverts) {
  const models::NetworkOptions& network = info.network;
  data::PreparedImage prepared;
  prepared.pixels = data::planes_of(data::fit_image(image, network.height, network.width, info.fit),
                                    network.channels);
  prepared.inverted = inverts;
  prepared.box = {0, 0, image.width * image.reduction, image.height * image.reduction};
  prepared.marks = 1;
  if (!inverts) return prepared;
  for (std::uint8_t& pixel : prepared.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return prepared;
}

void check_reads_marks(const models::ModelInfo& info, const std::string& path) {
  const models::NetworkOptions& network = info.network;
  if (may_be_mark(network)) return;
  throw Error(ErrorKind::usage,
              fmt::format("{}: the network reads pictures of {} x {} with {}; this is for drawn "
                          "characters in grey, {} to {} pixels a side",
                          path, network.height, network.width,
                          network.channels == 1 ? "1 channel" : "3 channels", kLeastMarkSide,
                          kMostMarkSide));
}

data::PictureSize picture_size(const models::ModelInfo& info) {
  return {info.network.height, info.network.width};
}

bool looks_for_ink(const models::ModelInfo& info) {
  return info.dataset != "fashion-mnist";
}

data::Preprocess preprocess_for(const models::ModelInfo& info, const data::GreyImage& image) {
  if (looks_for_ink(info)) return data::Preprocess::mnist;
  const data::PictureSize size = picture_size(info);
  return image.width == size.width && image.height == size.height ? data::Preprocess::none
                                                                  : data::Preprocess::resize;
}

models::Int8Network int8_network(const models::Model& model, const std::string& path) {
  if (model.info.ranges.empty()) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{} does not say the ranges of its layers, which int8 needs: `{} export "
                    "{} --precision int8 --out int8.safetensors` measures them on training "
                    "images, and writes a model that has them",
                    path, program_name(), shell_word(path)));
  }
  models::Int8Network network(model);
  if (!network.in_fp32().empty()) {
    print_notice(fmt::format("int8: {} {} in fp32", joined(network.in_fp32()),
                             network.in_fp32().size() == 1 ? "computes" : "compute"));
  }
  return network;
}

}  // namespace weft::cli
