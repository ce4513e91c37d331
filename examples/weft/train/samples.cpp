// SPDX-License-Identifier: MIT
#include "examples/weft/train/samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

#include "data/image.h"
#include "engine/error.h"

namespace weft::cli {
namespace {

constexpr std::size_t kSamples = 8;

// "T-shirt/top" as part of a file name: "t-shirt-top".
std::string file_word(const std::string& name) {
  std::string word;
  for (const char c : name) {
    const unsigned char byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return word;
}

}  // namespace

std::filesystem::path write_samples(const data::Dataset& dataset,
                                    const std::filesystem::path& run_dir) {
  const data::ImageSet& test = dataset.test;
  if (test.count == 0) return {};
  const std::filesystem::path folder = run_dir / "samples";
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    throw Error(ErrorKind::data, str("cannot create ", folder.string(), ": ", code.message()));
  }
  // The first image of each class, in the order of the test set, until there are enough.
  const std::size_t pixels = static_cast<std::size_t>(test.height * test.width);
  std::vector<bool> seen(dataset.class_names.size());
  std::size_t written = 0;
  for (std::size_t i = 0; i < test.labels.size() && written < kSamples; ++i) {
    const std::size_t label = test.labels[i];
    if (seen[label]) continue;
    seen[label] = true;
    const std::string name =
        fmt::format("{}-{}.png", written++, file_word(dataset.class_names[label]));
    data::write_png(folder / name, std::span(test.images).subspan(i * pixels, pixels), test.width,
                    test.height, 1);
  }
  return folder;
}

}  // namespace weft::cli
