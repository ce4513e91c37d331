// SPDX-License-Identifier: MIT
#include "data/sets/drawn_set.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "data/sets/statistics.h"

namespace weft::data {
namespace {

ImageSet draw_set(const ImageSet& empty, std::int64_t count, std::size_t classes,
                  std::uint64_t seed, std::uint64_t first_index, DrawImage* draw_image) {
  ImageSet set = empty;
  set.count = count;
  set.images.resize(static_cast<std::size_t>(count * set.pixels()));
  set.labels.resize(static_cast<std::size_t>(count));
  on_all_cores(count, [&](std::int64_t i) {
    const std::uint64_t index = first_index + static_cast<std::uint64_t>(i);
    const std::uint32_t bits = philox(seed, RandomStream::data, 0xffffffffu, index).value[0];
    const int label = static_cast<int>(uniform01(bits) * static_cast<float>(classes));
    set.labels[static_cast<std::size_t>(i)] = label;
    draw_image(label, seed, index, &set.images[static_cast<std::size_t>(i * set.pixels())]);
  });
  return set;
}

}  // namespace

void on_all_cores(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  constexpr std::int64_t kChunk = 256;
  std::atomic<std::int64_t> next{0};
  const auto take = [&] {
    for (std::int64_t begin; (begin = next.fetch_add(kChunk)) < count;) {
      for (std::int64_t i = begin; i < std::min(count, begin + kChunk); ++i) work(i);
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) helpers.emplace_back(take);
  take();
  for (std::thread& helper : helpers) helper.join();
}

void draw_sets(Dataset& dataset, const ImageSet& empty, std::int64_t train, std::int64_t test,
               std::uint64_t seed, DrawImage* draw_image) {
  const std::size_t classes = dataset.class_names.size();
  dataset.train = draw_set(empty, train, classes, seed, 0, draw_image);
  dataset.test = draw_set(empty, test, classes, seed, std::uint64_t{1} << 40, draw_image);
  set_statistics(dataset);
  dataset.source = "generated";
}

}  // namespace weft::data
