// SPDX-License-Identifier: MIT
// weft export: a trained model as a file that other programs read.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "data/arrays/npz.h"
#include "data/files/file_io.h"
#include "engine/error.h"
#include "examples/weft/export/page.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/labelled_data.h"
#include "examples/weft/input/normalisation.h"
#include "examples/weft/input/picture_model.h"
#include "examples/weft/output/json_lines.h"
#include "models/answers/evaluate.h"
#include "models/int8/ranges.h"
#include "models/onnx/onnx.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct ExportFlags {
  std::string model, format, out, precision = "fp32";
  std::int64_t opset = 0;  // 0: that suits the network
  DataFlags data;          // of int8
  bool json = false;
};

// Tensors only: the format has no place for anything else.
void write_arrays(const data::OutputPath& to, const models::Model& model, const ExportFlags&) {
  const models::SafeTensors content = models::model_content(model);
  std::vector<data::NpzArray> arrays;
  for (const models::NamedTensor& tensor : content.tensors) {
    const auto extents = tensor.shape.extents();
    arrays.push_back({tensor.name, {extents.begin(), extents.end()}, tensor.values});
  }
  data::write_npz(to, arrays);
}

void write_page(const data::OutputPath& to, const models::Model& model, const ExportFlags& flags) {
  check_reads_pictures(model, flags.model);
  data::write_file_atomically(to, model_page(model, assumption_of(model.info, flags.model)));
}

void write_graph(const data::OutputPath& to, const models::Model& model, const ExportFlags& flags) {
  const auto& precision = row_named(models::kOnnxPrecisions, "precision", flags.precision);
  models::write_onnx(to, model, {flags.opset, precision.value});
}

struct Format {
  std::string_view name;
  void (*write)(const data::OutputPath& to, const models::Model& model, const ExportFlags& flags);
  bool fp16 = false, int8 = false;  // it can be written so
};

constexpr Format kFormats[] = {
    {"onnx", write_graph, true, true},
    {"html", write_page},
    {"npz", write_arrays},
    {"safetensors",
     [](const data::OutputPath& to, const models::Model& model, const ExportFlags&) {
       models::write_safetensors(to, models::model_content(model));
     },
     false, true},
};

// By --format, or else by the ending of --out. Throws usage where they contradict each other.
const Format& format_of(const ExportFlags& flags) {
  const Format* by_ending = nullptr;
  for (const Format& format : kFormats) {
    if (fs::path(flags.out).extension() == "." + std::string(format.name)) by_ending = &format;
  }
  if (!flags.format.empty()) {
    const Format& asked = row_named(kFormats, "format", flags.format);
    if (by_ending == nullptr || by_ending == &asked) return asked;
    throw Error(ErrorKind::usage, fmt::format("--out {} has the ending of {}, but --format is {}",
                                              flags.out, by_ending->name, asked.name));
  }
  if (by_ending != nullptr) return *by_ending;
  throw Error(
      ErrorKind::usage,
      fmt::format("--format is required, one of {}{}", joined(names_of(kFormats)),
                  flags.out.empty() ? std::string()
                                    : fmt::format(": {} has none of these endings", flags.out)));
}

// model.onnx in the run, or beside the file.
fs::path output_path(const ExportFlags& flags, std::string_view format) {
  if (!flags.out.empty()) return flags.out;
  if (format == "safetensors") {
    throw Error(ErrorKind::usage, "--format safetensors copies the model: say where to with --out");
  }
  std::error_code ignored;
  fs::path path = flags.model;
  if (fs::is_directory(path, ignored)) path /= "model";
  return path.replace_extension(format);
}

// Gives a model the ranges of its layers on training images, and measures it on test images in fp32
// and in int8.
struct Int8Report {
  std::string dataset;
  models::Metrics fp32, int8;
};
Int8Report measure_int8(models::Model& model, const ExportFlags& flags) {
  check_data_flags(flags.data);
  own_data_from(flags.data.own);
  const std::string name = dataset_for(model.info, flags.model, flags.data);
  const data::Dataset dataset = flags.data.own.path
                                    ? load_own_for(model.info, flags.data.own, data::Holding::tenth,
                                                   flags.json ? "off" : "auto")
                                    : load_images(name, flags.data.data_dir, models::kRangeImages);
  check_fit(model.info, dataset);
  model.info.ranges = models::measure_ranges(model, dataset.train);
  const Stream cpu(Device::cpu());
  return {dataset.name,
          models::evaluate(model, dataset.test, models::evaluation_batch(cpu.device()), {}, cpu)
              .metrics,
          models::evaluate(model, int8_network(model, flags.model), dataset.test).metrics};
}

int run_export(const ExportFlags& flags) {
  const Format& format = format_of(flags);
  const bool int8 = flags.precision == kInt8, fp16 = flags.precision == "fp16";
  if ((int8 && !format.int8) || (fp16 && !format.fp16)) {
    throw Error(ErrorKind::usage,
                fmt::format("--format {} is not written in {}", format.name, flags.precision));
  }
  if (!int8 && (flags.data.dataset || flags.data.data_dir || flags.data.own.path)) {
    throw Error(ErrorKind::usage, "training images are read for --precision int8 alone");
  }
  if (flags.opset != 0 && format.name != "onnx") {
    throw Error(ErrorKind::usage, "--opset is for --format onnx");
  }
  const fs::path out = output_path(flags, format.name);
  require_folder_of("--out", out.string());
  models::Model model = models::load_model(flags.model);
  std::optional<Int8Report> report;
  if (int8) report = measure_int8(model, flags);
  // What is not named here stands in a folder that may come from a stranger.
  const data::OutputPath to = flags.out.empty()
                                  ? data::Directory(out.parent_path()) / out.filename().string()
                                  : data::OutputPath(out);
  format.write(to, model, flags);
  if (data::is_stream(to)) return 0;  // its reader expects nothing else
  if (flags.json) {
    nlohmann::ordered_json event = json_event("export", {{"format", format.name},
                                                         {"file", out.string()},
                                                         {"bytes", fs::file_size(out)},
                                                         {"precision", flags.precision}});
    if (report) {
      event["accuracy"] = {{"fp32", report->fp32.accuracy}, {"int8", report->int8.accuracy}};
      event["images"] = report->int8.images;
    }
    write_out(json_line(event));
    return 0;
  }
  write_out(fmt::format("{} has {}, {}\n", printable(out.string()),
                        printable(model.info.network.name),
                        format_bytes(static_cast<double>(fs::file_size(out)))));
  if (report) {
    write_out(fmt::format("accuracy in int8 {:.2f} %, in fp32 {:.2f} %, of {} test images of {}\n",
                          100 * report->int8.accuracy, 100 * report->fp32.accuracy,
                          format_count(report->int8.images), printable(report->dataset)));
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* sub = app.add_subcommand(
      "export", "Write a model as ONNX, npz or safetensors, or as a page to draw on");
  add_model(*sub, flags->model);
  add_choice(
      *sub, "--format", flags->format, names_of(kFormats),
      "onnx: for other programs; html: a page that reads what is drawn, in any browser; npz: the "
      "tensors for NumPy; safetensors: a copy; default: by the ending of --out");
  sub->add_option("--out", flags->out,
                  "default model.onnx, model.html or model.npz, beside the model")
      ->type_name("FILE");
  add_whole(*sub, "--opset", flags->opset, models::kLeastOnnxOpset, models::kMostOnnxOpset,
            fmt::format("set of ONNX operators; default {}, or the least that has the network's",
                        models::kOnnxOpset));
  add_choice(
      *sub, "--precision", flags->precision, names_of(models::kOnnxPrecisions),
      "of onnx: fp32, fp16 or int8; of safetensors: int8 adds the ranges of layers, by which "
      "`eval` and `predict --precision int8` compute. int8 reads training images for them")
      ->capture_default_str();
  add_data_flags(*sub, flags->data, "what the model was trained on");
  add_own_data_flags(*sub, flags->data.own, false);
  sub->add_flag("--json", flags->json, "one JSON object instead of text");
  sub->callback([flags, &action] { action.run = [flags] { return run_export(*flags); }; });
}

}  // namespace weft::cli
