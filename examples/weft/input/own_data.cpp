// SPDX-License-Identifier: MIT
#include "examples/weft/input/own_data.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "data/files/scratch_file.h"
#include "data/labels/picture_labels.h"
#include "data/picture/image.h"
#include "data/sets/doubts.h"
#include "data/tables/tables.h"
#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

Error bad_size(const std::string& text) {
  return Error(ErrorKind::usage,
               fmt::format("--image-size: expected HEIGHTxWIDTH, each from 1 to {}, found '{}'",
                           data::kMaxDatasetSide, text));
}

void parse_size(const std::string& text, data::PictureShape& shape) {
  const char* end = text.data() + text.size();
  const auto side = [&](const char* begin, std::int64_t& value) {
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || value < 1 || value > data::kMaxDatasetSide) throw bad_size(text);
    return stop;
  };
  const char* by = side(text.data(), shape.height);
  if (by == end || *by != 'x') throw bad_size(text);
  if (side(by + 1, shape.width) != end) throw bad_size(text);
}

}  // namespace

void add_own_data_flags(CLI::App& app, OwnDataFlags& flags, bool shape) {
  const std::string before = app.option_defaults()->get_group();
  app.option_defaults()->group("Your own data");
  app.add_option(
         "--data", flags.path,
         fmt::format(
             "folder with train/CLASS/ and test/CLASS/ or val/CLASS/, or with "
             "CLASS/ alone: then a tenth of each class is the test set. 2 to {} "
             "classes. {}. Or a file or folder of {}, IDX or CIFAR. Or a .zip "
             "or .tar of these. Given several times, all are joined. More in docs/own-data.md",
             data::kMaxClasses, data::kPictureFormats, data::kTableFormats))
      ->type_name("PATH")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  app.add_option("--label", flags.label,
                 "the column of labels in a CSV file: first, last or its name in the header. "
                 "Default: the table tells")
      ->type_name("COLUMN");
  app.add_option("--label-pattern", flags.label_pattern,
                 "pictures whose names hold their labels: LABEL.#.* for cat.12.jpg, where LABEL is "
                 "the label, # digits and * anything")
      ->type_name("PATTERN");
  if (shape) {
    app.add_option("--image-size", flags.image_size,
                   fmt::format("of the network's input. Default: that of the pictures when all "
                               "have one, of at most {0}x{0}, else 28x28 for grey and 32x32 for "
                               "colour",
                               data::kMaxKeptSide))
        ->type_name("HxW");
    app.add_option("--channels", flags.channels,
                   "1: grey; 3: colour. Default: 3 when a training picture has colour")
        ->check(CLI::Validator(
            [](std::string& text) -> std::string {
              return text == "1" || text == "3" ? "" : "expected 1 or 3, found '" + text + "'";
            },
            ""))
        ->type_name("1|3");
    add_choice(app, "--fit", flags.fit, {"letterbox", "crop", "stretch"},
               "pictures of another shape: add borders (default), cut, or distort them");
    add_sample_bits(app, flags.sample_bits,
                    "as their sBIT says, else what the largest of all training pictures needs");
  }
  app.add_flag("--skip-broken", flags.skip_broken, "leave out pictures that cannot be read");
  app.add_flag("--no-cache", flags.no_cache,
               "decode the pictures again, and keep no copy in ~/.cache/weft");
  app.add_flag("--no-links", flags.no_links,
               "refuse a folder with symbolic links that lead out of it");
  app.option_defaults()->group(before);
}

void add_sample_bits(CLI::App& app, std::optional<std::int64_t>& bits,
                     const std::string& otherwise) {
  add_whole(app, "--sample-bits", bits, 8, 16,
            "of white in PNGs with 16 bits a sample; default: " + otherwise);
}

models::OwnData own_data_from(const OwnDataFlags& flags, models::OwnData own) {
  own.path = flags.path.value_or(own.path);
  if (own.path.empty()) {
    const char* flag = flags.image_size      ? "--image-size"
                       : flags.channels      ? "--channels"
                       : flags.fit           ? "--fit"
                       : flags.sample_bits   ? "--sample-bits"
                       : flags.label         ? "--label"
                       : flags.label_pattern ? "--label-pattern"
                       : flags.skip_broken   ? "--skip-broken"
                       : flags.no_cache      ? "--no-cache"
                       : flags.no_links      ? "--no-links"
                                             : nullptr;
    if (flag != nullptr) {
      throw Error(ErrorKind::usage, fmt::format("{} goes with --data DIR only", flag));
    }
    return own;
  }
  if (flags.image_size) parse_size(*flags.image_size, own.shape);
  if (flags.channels) own.shape.channels = *flags.channels;
  if (flags.fit) own.shape.fit = data::parse_fit(*flags.fit);
  if (flags.sample_bits) own.shape.sample_bits = static_cast<int>(*flags.sample_bits);
  own.label = flags.label.value_or(own.label);
  if (flags.label_pattern) data::check_label_pattern(*flags.label_pattern);
  own.label_pattern = flags.label_pattern.value_or(own.label_pattern);
  own.skip_broken = own.skip_broken || flags.skip_broken;
  return own;
}

void tell_doubts(const data::Dataset& dataset) {
  for (const std::string& line : data::doubts_about(dataset)) print_notice(line);
}

data::Dataset load_own(const models::OwnData& own, const OwnDataFlags& flags, data::Holding holding,
                       const std::string& progress) {
  data::FolderOptions options;
  options.shape = own.shape;
  options.label_column = own.label;
  options.label_pattern = own.label_pattern;
  options.holding = holding;
  options.skip_broken = own.skip_broken;
  if (flags.no_links) options.links = data::Links::refused;
  if (!flags.no_cache) options.cache_folder = data::default_cache_folder();
  options.log = [](const std::string& line) { print_notice(line); };
  Progress bar(progress, 5);
  const Timer timer;
  options.progress = [&](std::int64_t done, std::int64_t all) {
    if (!bar.due()) return;
    const double part = static_cast<double>(done) / static_cast<double>(all);
    bar.show(
        "reading", part,
        format_count(std::llround(static_cast<double>(done) / timer.seconds())) + " pictures/s",
        timer.seconds() * (1 - part) / part);
  };
  return data::load_own_data(own.path, options);
}

}  // namespace weft::cli
