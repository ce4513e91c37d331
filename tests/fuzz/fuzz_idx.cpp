// SPDX-License-Identifier: MIT
// Any bytes are an IDX array or one line of Error{data}, and two arrays are a set of images or one.
//
// The input is a byte that chooses the rank (its low bits), the number of bytes of the labels,
// these, then the images. Bit 7 of the first byte puts headers that fit before what follows: one
// byte is the number of labels, one for each axis its extent.
#include <algorithm>
#include <optional>

#include "data/sets/idx.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

template <class Work>
auto done_or_refused(const Work& work) -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const Error& error) {
    fuzz::require_data_error(error, "fuzz");
    return std::nullopt;
  }
}

std::optional<data::IdxArray> parsed(data::Bytes bytes, std::size_t rank) {
  const std::size_t size = bytes.size();
  auto array = done_or_refused(
      [&] { return data::parse_idx(std::move(bytes), static_cast<int>(rank), "fuzz"); });
  if (!array) return array;
  fuzz::require(array->extents.size() == rank, "another rank than expected");
  std::int64_t elements = 1;
  for (const std::int64_t extent : array->extents) {
    fuzz::require(extent >= 0, "an extent below 0");
    elements *= extent;
  }
  fuzz::require(std::ssize(array->values) == elements, "not as many values as the extents say");
  fuzz::require(array->values.size() + 4 + 4 * rank == size, "values that are not in the file");
  return array;
}

// Bytes from the front, fewer at the end.
fuzz::Input take(fuzz::Input& input, std::size_t count) {
  const fuzz::Input part = input.first(std::min(count, input.size()));
  input = input.subspan(part.size());
  return part;
}

data::Bytes with_header(fuzz::Input shape, fuzz::Input values) {
  constexpr unsigned kMostExtent = 16;
  data::Bytes out = {0, 0, 8, static_cast<std::uint8_t>(shape.size())};
  std::size_t elements = 1;
  for (const std::uint8_t byte : shape) {
    const auto extent = static_cast<std::uint8_t>(byte % kMostExtent);
    out.insert(out.end(), {0, 0, 0, extent});
    elements *= extent;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    out.push_back(values.empty() ? std::uint8_t{0} : values[i % values.size()]);
  }
  return out;
}

void check(const data::ImageSet& set, int classes) {
  fuzz::require(set.count > 0 && std::ssize(set.labels) == set.count &&
                    std::ssize(set.images) == set.count * set.pixels(),
                "not as many pixels or labels as images");
  for (const std::int32_t label : set.labels) {
    fuzz::require(label >= 0 && label < classes, "a label without a class");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr int kClasses = 10;
  const fuzz::TimeLimit limit(2);
  if (size == 0) return 0;
  const std::size_t rank = 1 + bytes[0] % 4;
  fuzz::Input input(bytes + 1, size - 1);
  data::Bytes labels, images;
  if (bytes[0] >= 128) {
    const fuzz::Input count = take(input, 1), shape = take(input, rank);
    labels = with_header(count, take(input, 16));
    images = with_header(shape, input);
  } else if (!input.empty()) {
    const std::size_t first = take(input, 1)[0];
    const fuzz::Input label_bytes = take(input, first);
    labels.assign(label_bytes.begin(), label_bytes.end());
    images.assign(input.begin(), input.end());
  }
  auto label_array = parsed(std::move(labels), 1);
  auto image_array = parsed(std::move(images), rank);
  if (!label_array || !image_array || rank < 3) return 0;
  const auto set = done_or_refused([&] {
    return data::join_images_and_labels(std::move(*image_array), std::move(*label_array), kClasses);
  });
  if (set) check(*set, kClasses);
  return 0;
}
