// SPDX-License-Identifier: MIT
#include "examples/weft/train/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

#include "data/picture/image.h"
#include "models/training/runs/run_directory.h"

namespace weft::cli {
namespace {

constexpr std::size_t kSamples = 8;

// "T-shirt/top" as part of a file name: "t-shirt-top". Names may be as long as those of files.
std::string file_word(const std::string& name) {
  constexpr std::size_t kLongest = 60;
  std::string word;
  for (const char c : name.substr(0, kLongest)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return word;
}

}  // namespace

std::filesystem::path write_samples(const data::Dataset& dataset, const data::Directory& run) {
  const data::ImageSet& test = dataset.test;
  if (test.count == 0) return {};
  const data::Directory folder = run.make_folder(std::string(models::kSamplesFolder));
  // The first image of each class, in the order of the test set, until there are enough.
  std::vector<bool> seen(dataset.class_names.size());
  std::size_t written = 0;
  for (std::size_t i = 0; i < test.labels.size() && written < kSamples; ++i) {
    const auto label = static_cast<std::size_t>(test.labels[i]);
    if (seen[label]) continue;
    seen[label] = true;
    const std::string name =
        fmt::format("{}-{}.png", written++, file_word(dataset.class_names[label]));
    data::write_png(folder / name, data::interleaved(test, static_cast<std::int64_t>(i)),
                    test.width, test.height, static_cast<int>(test.channels));
  }
  return folder.path();
}

}  // namespace weft::cli
