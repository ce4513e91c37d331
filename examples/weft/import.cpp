// SPDX-License-Identifier: MIT
// weft import: a model that another program wrote, as one of Weft's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/json_lines.h"
#include "models/onnx/onnx.h"
#include "models/run_directory.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct ImportFlags {
  std::string file, out, input, classes;
  std::vector<double> mean, stddev;
  bool json = false;
};

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) names.push_back(word);
  return names;
}

models::OnnxImport options_of(const ImportFlags& flags) {
  models::OnnxImport options;
  if (!flags.input.empty()) options.input = parse_image_extents("--input", flags.input);
  options.mean.assign(flags.mean.begin(), flags.mean.end());
  options.stddev.assign(flags.stddev.begin(), flags.stddev.end());
  options.class_names = names_in(flags.classes);
  return options;
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

int run_import(const ImportFlags& flags) {
  const fs::path out = output_path(flags);
  const auto [model, softmax_dropped] = models::read_onnx(flags.file, options_of(flags));
  if (out != flags.out) models::create_run_folder(flags.out, out.filename().string());
  models::write_safetensors(out, models::model_content(model));
  const std::int64_t parameters = model.net->parameter_count();
  if (softmax_dropped) {
    print_notice("the softmax at the end is left out: predict takes it of the logits");
  }
  if (flags.json) {
    print_event("import", {{"file", flags.file},
                           {"model_path", out.string()},
                           {"network", model.info.network.name},
                           {"parameters", parameters},
                           {"softmax_dropped", softmax_dropped}});
    return 0;
  }
  write_out(fmt::format("{} has {}, {} parameters\nLook at it: {} inspect {}\n",
                        printable(out.string()), printable(model.info.network.name),
                        format_count(parameters), program_name(), shell_quoted(flags.out)));
  return 0;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* sub = app.add_subcommand("import", "Make a model of an ONNX file");
  sub->add_option("FILE.onnx", flags->file, "a network of layers that Weft has; docs/onnx.md")
      ->type_name("")
      ->required();
  sub->add_option("--out", flags->out, "a new folder for the model, or a .safetensors file")
      ->type_name("RUN|FILE")
      ->required();
  sub->add_option("--input", flags->input, "one image, where the file does not say it")
      ->type_name("CxHxW");
  add_reals(*sub, "--mean", flags->mean, -1e6, 1e6,
            "of pixel / 255, one for each channel or one for all; default the file's, or 0.1307");
  add_reals(*sub, "--stddev", flags->stddev, 1e-6, 1e6, "of it; default the file's, or 0.3081");
  sub->add_option("--classes", flags->classes,
                  "their names, with commas; default the file's, or 0,1,2,...")
      ->type_name("NAMES");
  sub->add_flag("--json", flags->json, "one JSON object instead of text");
  sub->callback([flags, &action] { action = [flags] { return run_import(*flags); }; });
}

}  // namespace weft::cli
