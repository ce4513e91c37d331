// SPDX-License-Identifier: MIT
// weft predict: what a trained model reads in picture files.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
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
#include "examples/weft/predict/form.h"
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
  std::optional<std::int64_t> sample_bits, rows, columns;
  bool all = false, show = false, json = false, no_links = false;
  DeviceFlags device;

  bool is_form() const { return rows.has_value(); }
  bool reads_marks() const { return all || is_form(); }
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

void print_form(const PredictFlags& flags, const std::string& path, const data::GreyImage& image,
                const Form& form, const Classes& classes, const models::ModelInfo& info) {
  const bool has_own_lines = flags.json || flags.csv == "-";
  if (flags.json) {
    write_out(form_as_json(path, form, classes, info));
  } else if (!has_own_lines) {
    write_out(printable(path) + "\n" + form_as_text(form, classes.shown()));
  }
  const Terminal terminal = detect_terminal(has_own_lines ? kStderr : kStdout);
  if (flags.show && !form.marks.empty()) {
    print_drawing(draw_marks(image, form.marks, classes, picture_size(info), terminal),
                  has_own_lines);
  }
}

int sample_bits(const PredictFlags& flags, const models::ModelInfo& info) {
  return static_cast<int>(flags.sample_bits.value_or(info.sample_bits));
}

// What was assumed of the pixels: of their depth once for all pictures of which it says the same.
template <class Image>
void report_reading(const std::string& path, const Image& image) {
  if (image.reduction > 1) {
    print_notice(fmt::format("{}: a large JPEG: {}", path, data::reduction_text(image.reduction)));
  }
  const data::SampleDepth& depth = image.depth;
  static std::set<int> reported;
  const std::string assumption = depth.assumption();
  if (assumption.empty() || !reported.insert(depth.bits).second) return;
  print_notice(fmt::format("{}: a PNG with 16 bits a sample: {}; --sample-bits says otherwise",
                           path, assumption));
}

data::PreparedImage prepare(const PredictFlags& flags, const PictureInput& input,
                            const models::ModelInfo& info, models::Classifier& classifier) {
  const data::Invert invert = data::parse_invert(flags.invert);
  const int bits = sample_bits(flags, info);
  if (takes_whole_pictures(info) && !flags.preprocess) {
    const data::RgbImage image = load_colour_input(input, bits);
    report_reading(input_name(input.path), image);
    return prepare_whole(info, image, invert == data::Invert::yes);
  }
  const bool finds_ink = flags.preprocess
                             ? data::parse_preprocess(*flags.preprocess) == data::Preprocess::mnist
                             : looks_for_ink(info);
  const data::GreyImage image = (finds_ink ? load_ink_input : load_input)(input, bits);
  report_reading(input_name(input.path), image);
  return data::prepare_image(
      image,
      flags.preprocess ? data::parse_preprocess(*flags.preprocess) : preprocess_for(info, image),
      invert, input_name(input.path), picture_size(info), models::judge_by(classifier));
}

void check_flags(const PredictFlags& flags) {
  if (flags.rows.has_value() != flags.columns.has_value()) {
    throw Error(ErrorKind::usage, "--rows and --columns go together: how many of each a form has");
  }
  if (flags.is_form() && flags.all) {
    throw Error(ErrorKind::usage,
                "--all reads what is there, --rows and --columns a form: not both");
  }
  if (flags.reads_marks() && flags.preprocess.value_or("mnist") != "mnist") {
    throw Error(ErrorKind::usage,
                fmt::format("{} finds the ink: it goes with --preprocess mnist only",
                            flags.all ? "--all" : "--rows"));
  }
  if (flags.all && flags.csv) {
    throw Error(ErrorKind::usage, "--csv has one row a picture: it does not go with --all");
  }
  if (flags.is_form() && flags.top_k > 1) {
    throw Error(ErrorKind::usage, "--top-k does not go with --rows and --columns");
  }
  if (flags.csv == "-" && flags.json) {
    throw Error(ErrorKind::usage, "--csv - and --json both write to standard output");
  }
}

// What was found in one picture: its marks with --all, a form, or one mark alone.
struct Reading {
  data::GreyImage image;
  std::vector<ReadMark> marks;
  Form form;
  data::PreparedImage prepared;
};

// One call of the command: a model, and where the answers go.
class Prediction {
 public:
  explicit Prediction(const PredictFlags& flags)
      : flags_(flags),
        inputs_(expand_inputs(flags.images,
                              flags.no_links ? data::Links::refused : data::Links::followed)),
        model_(load_picture_model(flags.model)),
        classes_(model_.info.class_names),
        shown_(classes_.shown()) {
    if (flags.reads_marks() || flags.preprocess) check_reads_marks(model_.info, flags.model);
    start_classifier();
    if (flags.csv && flags.is_form()) cells_.emplace(*flags.csv);
    if (flags.csv && !flags.is_form()) table_.emplace(*flags.csv, top_k());
    for (const PictureInput& input : inputs_) {
      path_width_ = std::max(path_width_, display_width(printable(input_name(input.path))));
    }
  }

  int run() {
    std::vector<std::string> failures;
    for (const PictureInput& input : inputs_) {
      const std::string path = input_name(input.path);
      std::optional<Reading> reading;
      try {
        reading = read(input, path);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        failures.push_back(error.what());
        if (table_) table_->add_failure(path, error.what());
        if (cells_) cells_->add_failure(path, error.what());
        continue;
      } catch (const std::bad_alloc&) {
        throw Error(ErrorKind::device,
                    path + ": out of memory: this picture takes more than there is");
      }
      tell(path, *reading);
    }
    if (table_) table_->commit();
    if (cells_) cells_->commit();
    if (!failures.empty() && inputs_.size() > 1) {
      print_notice(
          fmt::format("{} of {} pictures were not read:", failures.size(), inputs_.size()));
    }
    for (const std::string& failure : failures) print_error(failure);
    return failures.empty() ? 0 : static_cast<int>(ErrorKind::data);
  }

 private:
  std::size_t top_k() const { return static_cast<std::size_t>(flags_.top_k); }

  void start_classifier() {
    const bool int8 = is_int8(flags_.device);
    const Device device = int8 ? Device::cpu() : select_device(flags_.device);
    announce_device(flags_.device, device);
    notice_assumption(model_.info, flags_.model);
    // For one image at a time, waking more threads costs more than it saves.
    if (!flags_.device.threads) omp_set_num_threads(1);
    if (int8) {
      int8_net_.emplace(int8_network(model_, flags_.model));
      classifier_.emplace(model_.info, [&](auto pixels) { return int8_net_->logits(pixels); });
    } else {
      classifier_.emplace(model_, Stream(device), select_kernels(flags_.device, device));
    }
  }

  Reading read(const PictureInput& input, const std::string& path) {
    Reading reading;
    if (!flags_.reads_marks()) {
      reading.prepared = prepare(flags_, input, model_.info, *classifier_);
      return reading;
    }
    const data::Invert invert = data::parse_invert(flags_.invert);
    reading.image = load_ink_input(input, sample_bits(flags_, model_.info));
    report_reading(path, reading.image);
    const data::PictureSize size = picture_size(model_.info);
    if (flags_.is_form()) {
      reading.form =
          read_form(reading.image, invert, path, *flags_.rows, *flags_.columns, *classifier_, size);
    } else {
      reading.marks = read_marks(reading.image, invert, path, *classifier_, size);
    }
    return reading;
  }

  void tell(const std::string& path, const Reading& reading) {
    if (flags_.is_form()) {
      if (cells_) cells_->add(path, reading.form, classes_);
      print_form(flags_, path, reading.image, reading.form, classes_, model_.info);
    } else if (flags_.all) {
      print_marks(flags_, path, reading.image, reading.marks, classes_, model_.info);
    } else {
      tell_answer(path, reading.prepared);
    }
  }

  void tell_answer(const std::string& path, const data::PreparedImage& prepared) {
    if (prepared.left_out.count() > 0) {
      print_notice(fmt::format("{}: {}", path, prepared.left_out.text()));
    }
    if (prepared.marks > 1) {
      print_notice(
          fmt::format("{}: {} marks; this is the largest, --all reads each", path, prepared.marks));
    }
    const models::Answer answer = classifier_->classify(prepared.pixels);
    if (table_) table_->add(path, answer, classes_, prepared.inverted);
    const bool is_table_alone = flags_.csv == "-";
    const bool has_own_lines = flags_.json || is_table_alone;
    const Terminal terminal = detect_terminal(kStdout);
    if (flags_.json) {
      write_out(as_json(path, answer, classes_, top_k(), prepared, model_.info));
    } else if (!is_table_alone) {
      write_out(as_line(printable(path), path_width_, answer, shown_, top_k(), terminal));
    }
    if (!flags_.show) return;
    const models::NetworkOptions& network = model_.info.network;
    const Picture seen{prepared.pixels, static_cast<int>(network.height),
                       static_cast<int>(network.width), "", static_cast<int>(network.channels)};
    print_drawing(draw_picture(seen, has_own_lines ? detect_terminal(kStderr) : terminal),
                  has_own_lines);
  }

  const PredictFlags& flags_;
  std::vector<PictureInput> inputs_;
  models::Model model_;
  Classes classes_, shown_;
  std::optional<models::Int8Network> int8_net_;
  std::optional<models::Classifier> classifier_;
  std::optional<AnswerTable> table_;  // of --csv
  std::optional<CellTable> cells_;    // of --csv with a form
  int path_width_ = 0;
};

int run_predict(const PredictFlags& flags) {
  check_flags(flags);
  return Prediction(flags).run();
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
  add_whole(*sub, "--rows", flags->rows, 1, 1000,
            "with --columns: read a form of so many rows and columns,\nby its printed boxes or its "
            "marks");
  add_whole(*sub, "--columns", flags->columns, 1, 1000, "with --rows: the columns of the form");
  sub->add_flag("--show", flags->show, "draw what the network saw");
  sub->add_flag("--no-links", flags->no_links,
                "refuse a folder with symbolic links that lead out of it");
  sub->add_flag("--json", flags->json, "one JSON object per image");
  sub->add_option(
         "--csv", flags->csv,
         "write the answers to a table as well, a row for each\npicture or cell of a form; -: "
         "to standard output, alone")
      ->type_name("FILE");
  flags->device.offers_int8 = true;
  add_device_flags(*sub, flags->device, false);
  add_batch_invariant(*sub, flags->device);
  sub->callback([flags, &action] { action.run = [flags] { return run_predict(*flags); }; });
}

}  // namespace weft::cli
