// SPDX-License-Identifier: MIT
// weft predict: what a trained model reads in picture files.
#include <fmt/core.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "data/image.h"
#include "data/preprocess.h"
#include "engine/error.h"
#include "examples/draw.h"
#include "examples/flags.h"
#include "examples/json_lines.h"
#include "examples/results.h"
#include "models/model.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kSide = 28;  // what data::prepare_image delivers

struct PredictFlags {
  std::string model;
  std::vector<std::string> images;
  std::string preprocess;  // empty: what suits the model's data set
  std::string invert = "auto";
  std::int64_t top_k = 1;
  bool show = false, json = false;
  DeviceFlags device;
};

struct Answer {
  std::vector<float> logits;
  std::vector<double> probabilities;
  std::vector<std::size_t> ranking;  // classes, the most probable first
};

// One image after another through a plan for batch 1.
class Reader {
 public:
  Reader(const models::Model& model, const Stream& stream)
      : info_(model.info), stream_(stream), weights_(*model.net, stream) {
    copy_from_host(weights_.parameters.view<float>(), model.parameters, stream_);
    copy_from_host(weights_.buffers.view<float>(), model.buffers, stream_);
    plan_.emplace(*model.net, weights_, 1, layers::Phase::inference, layers::KernelChoice{}, 0,
                  nullptr, stream_);
  }

  Answer read(const std::vector<std::uint8_t>& pixels) {
    std::vector<float> x;
    for (const std::uint8_t pixel : pixels) {
      x.push_back((static_cast<float>(pixel) / 255.0f - info_.mean) / info_.stddev);
    }
    copy_from_host(plan_->input(), x, stream_);
    plan_->forward(stream_);
    Answer answer;
    answer.logits = to_host(plan_->output(), stream_);
    const float largest = *std::max_element(answer.logits.begin(), answer.logits.end());
    double sum = 0;
    for (const float logit : answer.logits) {
      answer.probabilities.push_back(std::exp(static_cast<double>(logit) - largest));
      sum += answer.probabilities.back();
    }
    if (!std::isfinite(sum)) {
      throw Error(ErrorKind::data, "the model's answer is not a number: its weights are damaged");
    }
    for (double& probability : answer.probabilities) probability /= sum;
    answer.ranking.resize(answer.logits.size());
    std::iota(answer.ranking.begin(), answer.ranking.end(), std::size_t{0});
    std::stable_sort(
        answer.ranking.begin(), answer.ranking.end(),
        [&](std::size_t a, std::size_t b) { return answer.logits[a] > answer.logits[b]; });
    return answer;
  }

 private:
  const models::ModelInfo& info_;
  Stream stream_;
  layers::Weights weights_;
  std::optional<layers::Plan> plan_;
};

// Centring ink as MNIST's makers did suits written characters, not pictures of clothes.
data::Preprocess preprocess_for(const PredictFlags& flags, const models::ModelInfo& info,
                                const data::GreyImage& image) {
  if (!flags.preprocess.empty()) return data::parse_preprocess(flags.preprocess);
  if (info.dataset != "fashion-mnist") return data::Preprocess::mnist;
  return image.width == kSide && image.height == kSide ? data::Preprocess::none
                                                       : data::Preprocess::resize;
}

std::string as_json(const std::string& path, const Answer& answer, const Classes& classes,
                    std::size_t top_k, bool inverted) {
  const auto entry = [&](std::size_t label) {
    return nlohmann::ordered_json{{"label", label},
                                  {"class", classes.name(static_cast<std::int64_t>(label))},
                                  {"probability", answer.probabilities[label]}};
  };
  nlohmann::ordered_json event = json_event("predict");
  event["image"] = path;
  event.update(entry(answer.ranking.front()));
  event["inverted"] = inverted;
  event["logits"] = answer.logits;
  for (std::size_t i = 0; i < std::min(top_k, answer.ranking.size()); ++i) {
    event["top_k"].push_back(entry(answer.ranking[i]));
  }
  return json_line(event);
}

std::string as_line(const std::string& path, int path_width, const Answer& answer,
                    const Classes& classes, std::size_t top_k, const Terminal& terminal) {
  const auto name = [&](std::size_t label) {
    return classes.name(static_cast<std::int64_t>(label));
  };
  const std::size_t best = answer.ranking.front();
  std::string line = path;
  line.append(static_cast<std::size_t>(std::max(0, path_width - display_width(path))), ' ');
  line += fmt::format("  {}  {}", paint(terminal, "1", name(best)),
                      format_probability(answer.probabilities[best]));
  for (std::size_t i = 1; i < std::min(top_k, answer.ranking.size()); ++i) {
    line += fmt::format("{}{} {}", i == 1 ? "   then " : ", ", name(answer.ranking[i]),
                        format_probability(answer.probabilities[answer.ranking[i]]));
  }
  return line + "\n";
}

int run_predict(const PredictFlags& flags) {
  const models::Model model = models::load_model(flags.model);
  const models::NetworkOptions& network = model.info.network;
  if (network.height != kSide || network.width != kSide) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: the network reads {} x {} images; predict prepares {} x {}",
                            flags.model, network.height, network.width, kSide, kSide));
  }
  const Device device = select_device(flags.device);
  announce_device(flags.device, device);
  // For one image at a time, waking more threads costs more than it saves.
  if (flags.device.threads == 0) omp_set_num_threads(1);
  Reader reader(model, Stream(device));
  const Classes classes(model.info.class_names);
  const Terminal terminal = detect_terminal(kStdout);
  int path_width = 0;
  for (const std::string& path : flags.images) {
    path_width = std::max(path_width, display_width(printable(path)));
  }
  int exit_code = 0;
  for (const std::string& path : flags.images) {
    try {
      const data::GreyImage image = data::load_grey_image(path);
      const data::PreparedImage prepared = data::prepare_image(
          image, preprocess_for(flags, model.info, image), data::parse_invert(flags.invert), path);
      const Answer answer = reader.read(prepared.pixels);
      const std::size_t top_k = static_cast<std::size_t>(flags.top_k);
      write_out(flags.json
                    ? as_json(path, answer, classes, top_k, prepared.inverted)
                    : as_line(printable(path), path_width, answer, classes, top_k, terminal));
      if (!flags.show) continue;
      const int side = static_cast<int>(kSide);
      const Terminal& canvas = flags.json ? detect_terminal(kStderr) : terminal;
      const std::string picture = draw_picture({prepared.pixels, side, side, ""}, canvas);
      if (flags.json) {
        write_log(picture);
      } else {
        write_out(picture);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      print_error(error.what());
      exit_code = error.exit_code();
    }
  }
  return exit_code;
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  auto flags = std::make_shared<PredictFlags>();
  flags->device.device = "cpu";  // loading a GPU driver takes longer than one answer
  CLI::App* sub = app.add_subcommand("predict", "Read the digit in pictures");
  sub->add_option("MODEL", flags->model, "a run directory or a .safetensors file")
      ->type_name("")
      ->required();
  sub->add_option("IMAGE", flags->images, "PNG, JPEG, BMP or PNM files")->type_name("")->required();
  add_choice(*sub, "--preprocess", flags->preprocess, {"mnist", "resize", "none"},
             "mnist: find and centre the ink; resize: the whole picture; none: 28 x 28 already");
  add_choice(*sub, "--invert", flags->invert, {"auto", "yes", "no"},
             "whether the ink is darker than the paper")
      ->capture_default_str();
  add_whole(*sub, "--top-k", flags->top_k, 1, 1000, "classes to name")->capture_default_str();
  sub->add_flag("--show", flags->show, "draw what the network saw");
  sub->add_flag("--json", flags->json, "one JSON object per image");
  add_device_flags(*sub, flags->device, false);
  sub->callback([flags, &action] { action = [flags] { return run_predict(*flags); }; });
}

}  // namespace weft::cli
