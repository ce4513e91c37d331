// SPDX-License-Identifier: MIT
// weft import: a model that another program wrote, as one of Weft's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <sstream>

#include "engine/error.h"
#include "examples/weft/import/measure.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/normalisation.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "models/files/foreign.h"
#include "models/onnx/onnx.h"
#include "models/training/runs/run_directory.h"
#include "models/weights/match.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct ImportFlags {
  std::string file, out, input, output, classes, range, measure, network, map;
  std::vector<double> mean, stddev;
  bool json = false;
};

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) names.push_back(word);
  return names;
}

// --range in the words of --mean and --stddev, of which one kind alone may be given.
models::PixelScale pixels_of(const ImportFlags& flags) {
  const bool has_numbers = !flags.mean.empty() || !flags.stddev.empty();
  if (int{has_numbers} + int{!flags.range.empty()} + int{!flags.measure.empty()} > 1) {
    throw Error(ErrorKind::usage,
                "--mean and --stddev, --range and --measure say the same: give one of the three");
  }
  if (!flags.range.empty()) return models::parse_range(flags.range);
  return {flags.mean, flags.stddev};
}

bool is_model_of_weft(const fs::path& file) {
  std::error_code ignored;
  return file.extension() == ".safetensors" || fs::is_directory(file, ignored);
}

// A model.safetensors is read to be told how it reads pixels, or what its classes are called.
models::OnnxModel read_safetensors_model(const ImportFlags& flags,
                                         const models::OnnxImport& options) {
  if (!flags.input.empty() || !flags.output.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: --input and --output go with ONNX files only", flags.file));
  }
  models::OnnxModel found;
  found.model = models::load_model(flags.file);
  models::ModelInfo& info = found.model.info;
  if (!options.class_names.empty()) info.class_names = options.class_names;
  if (std::ssize(info.class_names) != info.network.classes) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: the network has {} classes, and there are {} names for them",
                            flags.file, info.network.classes, info.class_names.size()));
  }
  if (options.mean.empty() && options.stddev.empty()) return found;
  models::PixelScale pixels{{info.mean.begin(), info.mean.end()},
                            {info.stddev.begin(), info.stddev.end()}};
  if (!options.mean.empty()) pixels.mean = options.mean;
  if (!options.stddev.empty()) pixels.stddev = options.stddev;
  models::set_normalisation(info, pixels, {}, models::NormalisationSource::flags, flags.file);
  return found;
}

struct Imported {
  models::OnnxModel found;
  std::vector<models::NamePair> map = {};  // tensors of a network and of a file of weights
};

// Tensors without a network, which --model names.
Imported read_weights(const ImportFlags& flags, const models::OnnxImport& options) {
  if (!flags.output.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: --output goes with ONNX files only", flags.file));
  }
  models::MatchedModel made = models::matched_model(
      models::read_weights(flags.file),
      {flags.network, options.input, options.class_names, models::parse_map(flags.map)},
      flags.file);
  Imported imported;
  imported.map = std::move(made.map);
  imported.found.model = std::move(made.model);
  imported.found.notices = std::move(made.notices);
  if (options.mean.empty() && options.stddev.empty()) return imported;
  if (options.mean.empty() || options.stddev.empty()) {
    throw Error(ErrorKind::usage, fmt::format("{}: --mean and --stddev go together: the file has "
                                              "neither of them",
                                              flags.file));
  }
  models::set_normalisation(imported.found.model.info, {options.mean, options.stddev}, {},
                            models::NormalisationSource::flags, flags.file);
  return imported;
}

Imported read_model(const ImportFlags& flags) {
  models::OnnxImport options;
  if (!flags.input.empty()) options.input = parse_image_extents("--input", flags.input);
  const models::PixelScale pixels = pixels_of(flags);
  options.mean = pixels.mean;
  options.stddev = pixels.stddev;
  options.class_names = names_in(flags.classes);
  options.output = flags.output;
  if (!flags.network.empty()) return read_weights(flags, options);
  if (!flags.map.empty()) {
    throw Error(ErrorKind::usage, "--map goes with --model, which says whose tensors they are");
  }
  if (is_model_of_weft(flags.file)) return {read_safetensors_model(flags, options)};
  const auto format = models::foreign_format(flags.file);
  if (format && *format != models::ForeignFormat::onnx) {
    throw models::not_a_model(flags.file, *format);
  }
  return {models::read_onnx(flags.file, options)};
}

// The file itself, or model.safetensors in a new folder.
fs::path output_path(const ImportFlags& flags) {
  const fs::path out = flags.out;
  if (out.extension() == ".safetensors") {
    require_folder_of("--out", out.string());
    return out;
  }
  return out / "model.safetensors";
}

std::string table_of(const Measurement& measured, const Terminal& terminal) {
  std::vector<Cells> cells;
  for (const MeasuredScale& one : measured.scales) {
    const bool is_best = &one == &measured.scales[measured.best];
    cells.push_back(
        {one.scale.name, fmt::format("{:.2f} %", 100 * one.accuracy), is_best ? "taken" : ""});
  }
  return format_table({{"normalisation", Align::left}, {"accuracy"}, {"", Align::left}}, cells,
                      terminal) +
         fmt::format("of {} pictures of {}\n\n", format_count(measured.images),
                     printable(measured.data));
}

std::string table_of(const Imported& imported, const Terminal& terminal) {
  std::vector<Cells> cells;
  for (const auto& [ours, theirs] : imported.map) cells.push_back({ours, printable(theirs)});
  return format_table({{"network", Align::left}, {"file", Align::left}}, cells, terminal) + "\n";
}

void notice_measurement(const Measurement& measured) {
  const double best = measured.scales[measured.best].accuracy;
  if (best < 0.5) {
    print_notice(
        fmt::format("the best normalisation reads {:.2f} % of the pictures: it may be "
                    "another one, or the pictures or the order of their classes differ",
                    100 * best));
  }
}

std::string as_json(const ImportFlags& flags, const fs::path& out, const Imported& imported,
                    const std::optional<Measurement>& measured) {
  const models::OnnxModel& found = imported.found;
  const models::ModelInfo& info = found.model.info;
  nlohmann::ordered_json event =
      json_event("import", {{"file", flags.file},
                            {"model_path", out.string()},
                            {"network", info.network.name},
                            {"parameters", found.model.net->parameter_count()},
                            {"softmax_dropped", found.softmax_dropped},
                            {"output", models::name_of(info.output)},
                            {"class_names", info.class_names},
                            {"normalisation", models::name_of(info.normalisation)},
                            {"mean", info.mean},
                            {"stddev", info.stddev},
                            {"notices", found.notices}});
  for (const auto& [ours, theirs] : imported.map) event["map"][ours] = theirs;
  if (measured) {
    for (const MeasuredScale& one : measured->scales) {
      event["measured"].push_back({{"normalisation", one.scale.name}, {"accuracy", one.accuracy}});
    }
  }
  return json_line(event);
}

int run_import(const ImportFlags& flags) {
  const fs::path out = output_path(flags);
  Imported imported = read_model(flags);
  models::OnnxModel& found = imported.found;
  models::Model& model = found.model;
  std::optional<Measurement> measured;
  if (!flags.measure.empty()) {
    measured = measure_scales(model, found.scale, flags.measure, flags.json ? "off" : "auto");
  }
  if (out == flags.out) {
    models::write_safetensors(out, models::model_content(model));
  } else {
    const std::string name = out.filename().string();
    const auto folder = models::RunFolder::create(flags.out, name);
    models::write_safetensors(folder.directory() / name, models::model_content(model));
  }
  for (const std::string& notice : found.notices) print_notice(notice);
  if (measured) notice_measurement(*measured);
  notice_assumption(model.info, flags.file);
  if (flags.json) {
    write_out(as_json(flags, out, imported, measured));
    return 0;
  }
  if (!imported.map.empty()) write_out(table_of(imported, detect_terminal(kStdout)));
  if (measured) write_out(table_of(*measured, detect_terminal(kStdout)));
  write_out(fmt::format("{} has {}, {} parameters\nLook at it: {} inspect {}\n",
                        printable(out.string()), printable(model.info.network.name),
                        format_count(model.net->parameter_count()), program_name(),
                        shell_word(flags.out)));
  return 0;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* sub =
      app.add_subcommand("import", "Make a model of an ONNX file, or of weights for a network");
  sub->add_option("FILE", flags->file,
                  "an ONNX file (docs/onnx.md), a model.safetensors, or with --model the tensors "
                  "of a .safetensors, .npz, .pt, .pth, .keras or .h5 file (docs/weights.md)")
      ->type_name("")
      ->required();
  sub->add_option("--out", flags->out, "a new folder for the model, or a .safetensors file")
      ->type_name("RUN|FILE")
      ->required();
  sub->add_option("--input", flags->input, "one image, where the file does not say it")
      ->type_name("CxHxW");
  sub->add_option(
         "--model", flags->network,
         "the network whose tensors FILE has: a built-in one, or a text (docs/networks.md)")
      ->type_name("NAME|FILE.net");
  sub->add_option("--map", flags->map,
                  "which layers or tensors of the network and of FILE are the same, where their "
                  "names and order do not tell: conv1=features.0,fc1=head")
      ->type_name("OURS=THEIRS,...");
  sub->add_option("--output", flags->output,
                  "of several outputs, this one; default the first that is a vector of classes")
      ->type_name("NAME");
  add_choice(*sub, "--range", flags->range, {"0..1", "-1..1", "0..255"},
             "what it reads the pixels 0 to 255 as; default what its own operators say, or 0..1");
  add_reals(*sub, "--mean", flags->mean, -1e6, 1e6,
            "or (pixel / 255 - mean) / stddev, a number for each channel or one for all");
  add_reals(*sub, "--stddev", flags->stddev, 1e-6, 1e6, "of --mean");
  sub->add_option("--measure", flags->measure,
                  "or what reads these labelled pictures best: a data set, or a folder as of "
                  "eval --data")
      ->type_name("NAME|DIR");
  sub->add_option("--classes", flags->classes,
                  "their names, with commas; default the file's, or 0,1,2,...")
      ->type_name("NAMES");
  sub->add_flag("--json", flags->json, "one JSON object instead of text");
  sub->callback([flags, &action] { action.run = [flags] { return run_import(*flags); }; });
}

}  // namespace weft::cli
