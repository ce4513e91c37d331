// SPDX-License-Identifier: MIT
// weft histogram: of an array, of numbers from a pipe, or of the channels of a picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "data/arrays/number_text.h"
#include "data/files/file_io.h"
#include "engine/error.h"
#include "examples/weft/histogram/report.h"
#include "examples/weft/input/array_input.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "kernels/catalogue.h"

namespace weft::cli {
namespace {

struct HistogramFlags {
  std::string input, out, range, variant = "automatic";
  std::optional<std::int64_t> bins;  // none: 10 of an array, 256 of a picture
  bool json = false;
  TextFlags text;
  DeviceFlags device;
};

constexpr std::int64_t kArrayBins = 10, kPictureBins = 256, kMostBins = 1 << 24;
constexpr int kPngScale = 2;

// What was counted, with the lines above the table and the fields of the JSON.
struct Result {
  Histogram histogram;
  Pairs pairs;
  nlohmann::ordered_json event = json_event("histogram");
};

std::optional<ValueRange> parse_range(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto fail = [&] {
    return Error(ErrorKind::usage,
                 fmt::format("--range: expected LO,HI with LO below HI, found '{}'", text));
  };
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) throw fail();
  double ends[2] = {};
  const std::string parts[2] = {text.substr(0, comma), text.substr(comma + 1)};
  for (int i = 0; i < 2; ++i) {
    std::size_t used = 0;
    try {
      ends[i] = std::stod(parts[i], &used);
    } catch (const std::exception&) {
      throw fail();
    }
    if (used != parts[i].size() || !std::isfinite(ends[i])) throw fail();
  }
  if (!(ends[0] < ends[1])) throw fail();
  return ValueRange{ends[0], ends[1]};
}

// A plot has no room for folders.
std::string title_of(const std::string& input) {
  return printable(std::filesystem::path(input_name(input)).filename().string());
}

std::string device_text(const HistogramFlags& flags, Device device, double seconds) {
  return fmt::format("{}{}: {}", to_string(device),
                     flags.variant == kernels::kAutomatic ? "" : ", " + flags.variant,
                     format_duration(seconds));
}

Result array_result(const HistogramFlags& flags, const data::NpyArray& array, Device device) {
  const std::int64_t bins = flags.bins.value_or(kArrayBins);
  const CountedArray counted =
      count_array(array, bins, parse_range(flags.range), flags.variant, device);
  Result result;
  result.histogram = {
      printable(input_name(flags.input)),
      fmt::format("{}, {} bin{}", shape_text(array), format_count(bins), bins == 1 ? "" : "s"),
      false,
      counted.edges,
      {{"count", counted.counts}}};
  const std::int64_t finite = counted.values - counted.nan - counted.infinite;
  std::string left_out;
  const auto leave_out = [&](std::int64_t count, std::string_view what) {
    if (count == 0) return;
    left_out += fmt::format("{}{} {}", left_out.empty() ? "" : ", ", format_count(count), what);
  };
  leave_out(counted.below, "below the range");
  leave_out(counted.above, "above it");
  leave_out(counted.nan, "NaN");
  leave_out(counted.infinite, "infinite");
  const std::string name = input_name(flags.input);
  result.pairs = {{"input", fmt::format("{}: {}", name, shape_text(array))}};
  if (finite > 0) {
    result.pairs.emplace_back("values", fmt::format("{:.6g} to {:.6g}, mean {:.6g}", counted.least,
                                                    counted.greatest, counted.mean));
  }
  result.pairs.emplace_back(
      "counted", fmt::format("{} in {} bins from {:.6g} to {:.6g}", format_count(counted.counted()),
                             format_count(bins), counted.edges.front(), counted.edges.back()));
  if (!left_out.empty()) result.pairs.emplace_back("left out", left_out);
  result.pairs.emplace_back("device", device_text(flags, device, counted.seconds));

  nlohmann::ordered_json& event = result.event;
  event["input"] = input_name(flags.input);
  event["values"] = counted.values;
  event["type"] = numpy_name(array.dtype);
  event["counted"] = counted.counted();
  event["below"] = counted.below;
  event["above"] = counted.above;
  event["nan"] = counted.nan;
  event["infinite"] = counted.infinite;
  if (finite > 0) {
    event["min"] = counted.least;
    event["max"] = counted.greatest;
    event["mean"] = counted.mean;
  }
  event["device"] = to_string(device);
  event["seconds"] = counted.seconds;
  event["edges"] = counted.edges;
  event["counts"] = counted.counts;
  return result;
}

Result picture_result(const HistogramFlags& flags, const data::RgbImage& image, Device device) {
  const std::int64_t bins = flags.bins.value_or(kPictureBins);
  if (kPictureBins % bins != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("--bins of a picture must divide 256, found {}", bins));
  }
  if (!flags.range.empty()) {
    throw Error(ErrorKind::usage, "--range is for arrays; a picture has the values 0 to 255");
  }
  if (const std::string assumption = image.depth.assumption(); !assumption.empty()) {
    print_notice(
        fmt::format("{}: a PNG with 16 bits a sample: {}", input_name(flags.input), assumption));
  }
  if (image.reduction > 1) {
    print_notice(fmt::format("{}: a large JPEG: {}", input_name(flags.input),
                             data::reduction_text(image.reduction)));
  }
  const CountedPicture counted = count_picture(image, bins, flags.variant, device);
  const std::string size =
      fmt::format("{} x {} pixels{}", image.width, image.height, image.is_grey ? ", grey" : "");
  Result result;
  Histogram& histogram = result.histogram;
  histogram = {title_of(flags.input), size, true, {}, counted.channels};
  const std::int64_t width = kPictureBins / bins;
  for (std::int64_t b = 0; b <= bins; ++b) {
    histogram.edges.push_back(static_cast<double>(b * width));
  }
  result.pairs = {{"input", fmt::format("{}: {}", input_name(flags.input), size)},
                  {"device", device_text(flags, device, counted.seconds)}};
  nlohmann::ordered_json& event = result.event;
  event["input"] = input_name(flags.input);
  event["width"] = image.width;
  event["height"] = image.height;
  event["device"] = to_string(device);
  event["seconds"] = counted.seconds;
  event["edges"] = histogram.edges;
  for (const Channel& channel : histogram.channels) event["counts"][channel.name] = channel.counts;
  return result;
}

void write_result(const Result& result, const std::string& path, const std::string& ending) {
  const Histogram& histogram = result.histogram;
  if (ending == ".npy") return data::write_npy(path, histogram_npy(histogram));
  if (ending == ".png") {
    const data::Bytes png = plot_png(histogram_plot(histogram), kPngScale);
    return data::write_file_atomically(path, std::as_bytes(std::span(png)));
  }
  data::write_file_atomically(path, ending == ".svg"   ? plot_svg(histogram_plot(histogram))
                                    : ending == ".csv" ? histogram_csv(histogram)
                                                       : json_line(result.event));
}

int run_histogram(const HistogramFlags& flags) {
  const bool to_file = !flags.out.empty();
  const std::string ending =
      to_file ? output_ending("--out", flags.out, {".svg", ".png", ".csv", ".npy", ".json"}) : "";
  static_cast<void>(parse_range(flags.range));
  static_cast<void>(kernels::rung_name("histogram", flags.variant));
  const Device device = select_device(flags.device);
  const auto input = read_array_or_picture(flags.input, "histogram", flags.text);
  if (!flags.json) announce_device(flags.device, device);  // a bad file is one line

  Result result = std::holds_alternative<data::NpyArray>(input)
                      ? array_result(flags, std::get<data::NpyArray>(input), device)
                      : picture_result(flags, std::get<data::RgbImage>(input), device);
  if (to_file) {
    write_result(result, flags.out, ending);
    result.event["out"] = flags.out;
    result.pairs.emplace_back("written", flags.out);
  }
  if (flags.json) {
    write_out(json_line(result.event));
  } else {
    const Terminal terminal = detect_terminal(kStdout);
    write_out(format_pairs(result.pairs, terminal) + "\n" +
              histogram_table(result.histogram, terminal));
  }
  return 0;
}

}  // namespace

void add_histogram(CLI::App& app, Action& action) {
  auto flags = std::make_shared<HistogramFlags>();
  CLI::App* histogram = app.add_subcommand("histogram", "Histogram of an array or of a picture");
  histogram
      ->add_option("INPUT", flags->input,
                   std::string(".npy, text with numbers, ") + data::kPictureFormats +
                       "; - or nothing: a pipe")
      ->type_name("");
  add_text_flags(*histogram, flags->text);
  add_whole(*histogram, "--bins", flags->bins, 1, kMostBins,
            "bins of equal width; default: 10, a picture 256");
  histogram
      ->add_option("--range", flags->range,
                   "values to count, both ends included; default: least\nto greatest")
      ->type_name("LO,HI");
  histogram
      ->add_option("--out", flags->out, "H.svg or H.png: a plot; H.csv, H.npy or H.json: counts")
      ->type_name("FILE");
  histogram->add_option("--impl", flags->variant, "kernel: `weft kernel show histogram` lists them")
      ->capture_default_str()
      ->type_name("NAME");
  histogram->add_flag("--json", flags->json, "a JSON line instead of text");
  add_device_flags(*histogram, flags->device, false);
  histogram->footer(
      "Counts are numpy.histogram()'s: the last bin includes its upper edge, a value on an edge\n"
      "is in the bin above it. NaN and infinities are counted apart. A picture is counted per\n"
      "channel and by brightness, its transparent parts as white. A table of several columns as\n"
      "text needs --column.\n\n"
      "  weft histogram photo.jpg --out h.svg\n"
      "  weft histogram data.npy --bins 50 --range -3,3 --out h.png\n"
      "  weft histogram prices.csv --column close\n"
      "  seq 1 100 | weft histogram --bins 4");
  histogram->callback([flags, &action] { action.run = [flags] { return run_histogram(*flags); }; });
}

}  // namespace weft::cli
