// SPDX-License-Identifier: MIT
// weft predict: what a trained model reads in picture files.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>

#include "data/picture/image.h"
#include "engine/error.h"
#include "examples/weft/input/array_input.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/normalisation.h"
#include "examples/weft/input/own_data.h"
#include "examples/weft/input/picture_model.h"
#include "examples/weft/output/draw.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/results.h"
#include "examples/weft/predict/csv.h"
#include "examples/weft/predict/inputs.h"
#include "examples/weft/predict/marks.h"
#include "models/answers/classifier.h"

namespace weft::cli {
namespace {

struct PredictFlags {
  std::string model;
  std::optional<std::string> csv;
  std::vector<std::string> images;
  std::optional<std::string> preprocess;  // none: what suits the model's data set
  std::string invert = "auto";
  std::int64_t top_k = 1;
  std::optional<std::int64_t> sample_bits;
  bool all = false, show = false, json = false, no_links = false;
  DeviceFlags device;
};

std::string as_json(const std::string& path, const models::Answer& answer, const Classes& classes,
                    std::size_t top_k, const data::PreparedImage& prepared,
                    const models::ModelInfo& info) {
  const auto entry = [&](std::size_t label) {
    return nlohmann::ordered_json{{"label", label},
                                  {"class", classes.name(static_cast<std::int64_t>(label))},
                                  {"probability", answer.probabilities[label]}};
  };
  nlohmann::ordered_json event = json_event("predict", {{"image", path}});
  event.update(entry(answer.ranking.front()));
  event["unsure"] = answer.unsure;
  event["familiarity"] = answer.familiarity;  // null for a flat picture
  event["inverted"] = prepared.inverted;
  event["marks"] = prepared.marks;
  event["left_out"] = prepared.left_out.count();
  event["logits"] = answer.logits;
  event["probabilities"] = answer.probabilities;
  event["output"] = models::name_of(info.output);
  event["normalisation"] = models::name_of(info.normalisation);
  for (std::size_t i = 0; i < std::min(top_k, answer.ranking.size()); ++i) {
    event["top_k"].push_back(entry(answer.ranking[i]));
  }
  return json_line(event);
}

std::string as_line(const std::string& path, int path_width, const models::Answer& answer,
                    const Classes& classes, std::size_t top_k, const Terminal& terminal) {
  const auto name = [&](std::size_t label) {
    return classes.name(static_cast<std::int64_t>(label));
  };
  const std::size_t best = answer.ranking.front();
  std::string line = path;
  line.append(static_cast<std::size_t>(std::max(0, path_width - display_width(path))), ' ');
  line += fmt::format(
      "  {}  {}",
      answer.unsure ? "unsure; the nearest is " + name(best) : paint(terminal, "1", name(best)),
      format_probability(answer.probabilities[best]));
  for (std::size_t i = 1; i < std::min(top_k, answer.ranking.size()); ++i) {
    line += fmt::format("{}{} {}", i == 1 ? "   then " : ", ", name(answer.ranking[i]),
                        format_probability(answer.probabilities[answer.ranking[i]]));
  }
  return line + "\n";
}

// `beside`: standard output has lines for programs.
void print_drawing(const std::string& drawing, bool beside) {
  if (beside) {
    write_log(drawing);
  } else {
    write_out(drawing);
  }
}

// Every mark of one picture: the text, then a line for each.
void print_marks(const PredictFlags& flags, const std::string& path, const data::GreyImage& image,
                 const std::vector<ReadMark>& marks, const Classes& classes,
                 const models::ModelInfo& info) {
  const Terminal terminal = detect_terminal(flags.json ? kStderr : kStdout);
  if (flags.json) {
    write_out(marks_as_json(path, marks, classes, info));
  } else {
    const Classes shown = classes.shown();
    write_out(printable(path) + "\n" + paint(terminal, "1", text_of(marks, shown)) + "\n");
    int width = 0;
    for (const ReadMark& mark : marks) {
      width = std::max(width, display_width(box_text(mark.prepared.box)));
    }
    for (const ReadMark& mark : marks) {
      write_out(as_line("  " + box_text(mark.prepared.box), width + 2, mark.answer, shown,
                        static_cast<std::size_t>(flags.top_k), terminal));
    }
    const std::string left_out = marks.front().prepared.left_out.text();
    if (!left_out.empty()) write_out("  " + left_out + "\n");
  }
  if (flags.show)
    print_drawing(draw_marks(image, marks, classes, picture_size(info), terminal), flags.json);
}

int sample_bits(const PredictFlags& flags, const models::ModelInfo& info) {
  return static_cast<int>(flags.sample_bits.value_or(info.sample_bits));
}

// Once for all pictures of which it says the same.
void report_depth(const std::string& path, const data::SampleDepth& depth) {
  static std::set<int> reported;
  const std::string assumption = depth.assumption();
  if (assumption.empty() || !reported.insert(depth.bits).second) return;
  print_notice(fmt::format("{}: a PNG with 16 bits a sample: {}; --sample-bits says otherwise",
                           path, assumption));
}

data::PreparedImage prepare(const PredictFlags& flags, const PictureInput& input,
                            const models::ModelInfo& info) {
  const data::Invert invert = data::parse_invert(flags.invert);
  const int bits = sample_bits(flags, info);
  if (takes_whole_pictures(info) && !flags.preprocess) {
    const data::RgbImage image = load_colour_input(input, bits);
    report_depth(input_name(input.path), image.depth);
    return prepare_whole(info, image, invert == data::Invert::yes);
  }
  const bool finds_ink = flags.preprocess
                             ? data::parse_preprocess(*flags.preprocess) == data::Preprocess::mnist
                             : looks_for_ink(info);
  const data::GreyImage image = (finds_ink ? load_ink_input : load_input)(input, bits);
  report_depth(input_name(input.path), image.depth);
  return data::prepare_image(
      image,
      flags.preprocess ? data::parse_preprocess(*flags.preprocess) : preprocess_for(info, image),
      invert, input_name(input.path), picture_size(info));
}

int run_predict(const PredictFlags& flags) {
  if (flags.all && flags.preprocess.value_or("mnist") != "mnist") {
    throw Error(ErrorKind::usage, "--all finds the ink: it goes with --preprocess mnist only");
  }
  if (flags.all && flags.csv) {
    throw Error(ErrorKind::usage, "--csv has one row a picture: it does not go with --all");
  }
  const bool table_alone = flags.csv == "-";
  if (table_alone && flags.json) {
    throw Error(ErrorKind::usage, "--csv - and --json both write to standard output");
  }
  const std::vector<PictureInput> inputs =
      expand_inputs(flags.images, flags.no_links ? data::Links::refused : data::Links::followed);
  const models::Model model = load_picture_model(flags.model);
  if (flags.all || flags.preprocess) check_reads_marks(model.info, flags.model);
  const bool int8 = is_int8(flags.device);
  const Device device = int8 ? Device::cpu() : select_device(flags.device);
  announce_device(flags.device, device);
  notice_assumption(model.info, flags.model);
  // For one image at a time, waking more threads costs more than it saves.
  if (!flags.device.threads) omp_set_num_threads(1);
  std::optional<models::Int8Network> int8_net;
  if (int8) int8_net.emplace(int8_network(model, flags.model));
  models::Classifier classifier =
      int8_net
          ? models::Classifier(model.info, [&](auto pixels) { return int8_net->logits(pixels); })
          : models::Classifier(model, Stream(device), select_kernels(flags.device, device));
  const Classes classes(model.info.class_names), shown = classes.shown();
  const Terminal terminal = detect_terminal(kStdout);
  const std::size_t top_k = static_cast<std::size_t>(flags.top_k);
  std::optional<AnswerTable> table;
  if (flags.csv) table.emplace(*flags.csv, top_k);
  int path_width = 0;
  for (const PictureInput& input : inputs) {
    path_width = std::max(path_width, display_width(printable(input_name(input.path))));
  }
  std::vector<std::string> failures;
  for (const PictureInput& input : inputs) {
    const std::string path = input_name(input.path);
    data::GreyImage image;
    std::vector<ReadMark> marks;
    data::PreparedImage prepared;
    try {
      if (flags.all) {
        image = load_ink_input(input, sample_bits(flags, model.info));
        report_depth(path, image.depth);
        marks = read_marks(image, data::parse_invert(flags.invert), path, classifier,
                           picture_size(model.info));
      } else {
        prepared = prepare(flags, input, model.info);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      failures.push_back(error.what());
      if (table) table->add_failure(path, error.what());
      continue;
    }
    if (flags.all) {
      print_marks(flags, path, image, marks, classes, model.info);
      continue;
    }
    if (prepared.left_out.count() > 0) {
      print_notice(fmt::format("{}: {}", path, prepared.left_out.text()));
    }
    if (prepared.marks > 1) {
      print_notice(
          fmt::format("{}: {} marks; this is the largest, --all reads each", path, prepared.marks));
    }
    const models::Answer answer = classifier.classify(prepared.pixels);
    if (table) table->add(path, answer, classes, prepared.inverted);
    const bool own_lines = flags.json || table_alone;
    if (flags.json) {
      write_out(as_json(path, answer, classes, top_k, prepared, model.info));
    } else if (!table_alone) {
      write_out(as_line(printable(path), path_width, answer, shown, top_k, terminal));
    }
    if (!flags.show) continue;
    const Terminal& canvas = own_lines ? detect_terminal(kStderr) : terminal;
    const models::NetworkOptions& network = model.info.network;
    const Picture seen{prepared.pixels, static_cast<int>(network.height),
                       static_cast<int>(network.width), "", static_cast<int>(network.channels)};
    print_drawing(draw_picture(seen, canvas), own_lines);
  }
  if (table) table->commit();
  if (!failures.empty() && inputs.size() > 1) {
    print_notice(fmt::format("{} of {} pictures were not read:", failures.size(), inputs.size()));
  }
  for (const std::string& failure : failures) print_error(failure);
  return failures.empty() ? 0 : static_cast<int>(ErrorKind::data);
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  auto flags = std::make_shared<PredictFlags>();
  flags->device.device = "cpu";  // loading a GPU driver takes longer than one answer
  CLI::App* sub =
      app.add_subcommand("predict", "Say what pictures show: a digit, or a class of your own");
  add_model(*sub, flags->model);
  sub->add_option("IMAGE", flags->images,
                  std::string(data::kPictureFormats) +
                      ": files, folders of them, patterns such as 'scans/*.png', or - for "
                      "standard input")
      ->type_name("")
      ->required();
  add_choice(
      *sub, "--preprocess", flags->preprocess, {"mnist", "resize", "none"},
      "mnist: find and centre the ink; resize: the whole picture; none: of the network's size "
      "already. "
      "Default: as trained");
  add_choice(*sub, "--invert", flags->invert, {"auto", "yes", "no"},
             "whether the ink is darker than the paper")
      ->capture_default_str();
  add_whole(*sub, "--top-k", flags->top_k, 1, 1000, "classes to name")->capture_default_str();
  add_sample_bits(*sub, flags->sample_bits,
                  "as in training, else as sBIT says or the largest needs");
  sub->add_flag("--all", flags->all, "read every mark of a picture, row by row");
  sub->add_flag("--show", flags->show, "draw what the network saw");
  sub->add_flag("--no-links", flags->no_links,
                "refuse a folder with symbolic links that lead out of it");
  sub->add_flag("--json", flags->json, "one JSON object per image");
  sub->add_option("--csv", flags->csv,
                  "write the answers to a table as well;\n-: to standard output, alone")
      ->type_name("FILE");
  flags->device.offers_int8 = true;
  add_device_flags(*sub, flags->device, false);
  add_batch_invariant(*sub, flags->device);
  sub->callback([flags, &action] { action.run = [flags] { return run_predict(*flags); }; });
}

}  // namespace weft::cli
