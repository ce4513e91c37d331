// SPDX-License-Identifier: MIT
// The host finds each value's bin by comparing it with the edges; the kernels count the bins.
#include "examples/weft/histogram/counts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "engine/error.h"
#include "engine/stream.h"
#include "engine/timer.h"
#include "examples/weft/input/array_input.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kCountedPart = std::int64_t{1} << 22;  // values binned and counted at a time

// The type of the edges of an array of T.
template <class T>
using EdgeOf = std::conditional_t<std::is_same_v<T, float>, float, double>;

// What can be said of the values before there are bins.
template <class T>
CountedArray survey(std::span<const T> values) {
  CountedArray out;
  out.values = std::ssize(values);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double least = kInfinity, greatest = -kInfinity, sum = 0;
  std::int64_t nan = 0, infinite = 0;
#pragma omp parallel for reduction(min : least) reduction(max : greatest) \
    reduction(+ : sum, nan, infinite)
  for (std::int64_t i = 0; i < out.values; ++i) {
    const double value = static_cast<double>(values[static_cast<std::size_t>(i)]);
    if (value - value == 0) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      sum += value;
    } else {
      ++(value != value ? nan : infinite);
    }
  }
  out.nan = nan;
  out.infinite = infinite;
  const std::int64_t finite = out.values - nan - infinite;
  if (finite == 0) return out;
  out.least = least;
  out.greatest = greatest;
  out.mean = sum / static_cast<double>(finite);
  return out;
}

// numpy.linspace(lower, upper, bins + 1), with its roundings.
template <class Real, class Edge>
std::vector<Edge> even_edges(Real lower, Real upper, std::int64_t bins) {
  const Real count = static_cast<Real>(bins), width = upper - lower, step = width / count;
  std::vector<Edge> edges;
  for (std::int64_t i = 0; i < bins; ++i) {
    const Real at = static_cast<Real>(i);
    const Real offset = step == 0 ? at / count * width : at * step;
    edges.push_back(static_cast<Edge>(offset + lower));
  }
  edges.push_back(static_cast<Edge>(upper));
  const bool rising = std::adjacent_find(edges.begin(), edges.end(),
                                         [](Edge a, Edge b) { return !(a < b); }) == edges.end();
  if (!rising || !std::isfinite(width)) {
    throw Error(
        ErrorKind::usage,
        str("--bins: the range from ", lower, " to ", upper,
            std::isfinite(width) ? " has no room for " : " is too wide for ", bins, " bins"));
  }
  return edges;
}

template <class T>
std::vector<EdgeOf<T>> edges_of(const CountedArray& survey, std::int64_t bins,
                                std::optional<ValueRange> range) {
  using Edge = EdgeOf<T>;
  const auto widened = [](auto lower, auto upper, auto&& make) {
    using Real = decltype(lower);
    if (lower == upper) return make(lower - Real(0.5), upper + Real(0.5));
    return make(lower, upper);
  };
  const auto make = [&](auto lower, auto upper) {
    return even_edges<decltype(lower), Edge>(lower, upper, bins);
  };
  if (range) return widened(range->lower, range->upper, make);
  if (survey.nan + survey.infinite == survey.values) return make(Edge(0), Edge(1));
  return widened(static_cast<Edge>(survey.least), static_cast<Edge>(survey.greatest), make);
}

template <class Edge>
class Binner {
 public:
  explicit Binner(std::span<const Edge> edges)
      : edges_(edges.data()),
        bins_(static_cast<std::int32_t>(edges.size() - 1)),
        lower_(edges.front()),
        upper_(edges.back()),
        width_(static_cast<double>(upper_) - static_cast<double>(lower_)) {}

  // -1 for a value outside; NaN is outside.
  std::int32_t bin_of(Edge x) const {
    if (!(x >= lower_ && x <= upper_)) return -1;
    // Divided first: the reciprocal of a width that is denormal would be infinite.
    const double share = (static_cast<double>(x) - static_cast<double>(lower_)) / width_;
    std::int32_t bin = std::min(static_cast<std::int32_t>(share * bins_), bins_ - 1);
    while (x < edges_[bin]) --bin;
    while (bin + 1 < bins_ && x >= edges_[bin + 1]) ++bin;
    return bin;
  }

 private:
  const Edge* edges_;
  std::int32_t bins_;
  Edge lower_, upper_;
  double width_;
};

// Adds the counts of bins, found on the host, by the kernels of the device.
class BinCounter {
 public:
  BinCounter(std::int64_t bins, std::int64_t most_values, std::string_view variant, Device device)
      : stream_(device),
        bins_(bins),
        variant_(variant),
        counts_(static_cast<std::size_t>(bins) * sizeof(std::int64_t), stream_),
        copy_(device.is_cpu() ? 0 : static_cast<std::size_t>(most_values) * sizeof(std::int32_t),
              stream_) {}

  void add(std::span<const std::int32_t> found, std::vector<std::int64_t>& totals) {
    const std::int32_t* x = found.data();
    if (!stream_.device().is_cpu()) {
      copy_bytes(copy_.data(), stream_.device(), x, Device::cpu(), found.size_bytes(), stream_);
      x = static_cast<const std::int32_t*>(copy_.data());
    }
    std::int64_t* counts = static_cast<std::int64_t*>(counts_.data());
    kernels::histogram(counts, x, std::ssize(found), {0, bins_, bins_}, {variant_}, stream_);
    part_.resize(static_cast<std::size_t>(bins_));
    copy_bytes(part_.data(), Device::cpu(), counts, stream_.device(),
               part_.size() * sizeof(std::int64_t), stream_);
    stream_.synchronize();
    for (std::size_t b = 0; b < part_.size(); ++b) totals[b] += part_[b];
  }

 private:
  Stream stream_;
  std::int64_t bins_;
  std::string_view variant_;
  Buffer counts_, copy_;
  std::vector<std::int64_t> part_;
};

template <class T>
CountedArray count_values(std::span<const T> values, std::int64_t bins,
                          std::optional<ValueRange> range, std::string_view variant,
                          Device device) {
  using Edge = EdgeOf<T>;
  const Timer timer;
  CountedArray out = survey(values);
  const std::vector<Edge> edges = edges_of<T>(out, bins, range);
  out.edges.assign(edges.begin(), edges.end());
  out.counts.resize(static_cast<std::size_t>(bins));
  const Binner<Edge> binner(edges);
  std::vector<std::int32_t> found(static_cast<std::size_t>(std::min(kCountedPart, out.values)));
  BinCounter counter(bins, std::ssize(found), variant, device);
  for (std::int64_t first = 0; first < out.values; first += kCountedPart) {
    const std::int64_t count = std::min(kCountedPart, out.values - first);
    std::int64_t below = 0, above = 0;
#pragma omp parallel for reduction(+ : below, above)
    for (std::int64_t i = 0; i < count; ++i) {
      const Edge x = static_cast<Edge>(values[static_cast<std::size_t>(first + i)]);
      const std::int32_t bin = binner.bin_of(x);
      found[static_cast<std::size_t>(i)] = bin;
      if (bin < 0 && x - x == 0) ++(x < edges.front() ? below : above);
    }
    out.below += below;
    out.above += above;
    counter.add(std::span(found).first(static_cast<std::size_t>(count)), out.counts);
  }
  out.seconds = timer.seconds();
  return out;
}

}  // namespace

CountedArray count_array(const data::NpyArray& array, std::int64_t bins,
                         std::optional<ValueRange> range, std::string_view variant, Device device) {
  return with_type(array.dtype, [&](auto type) {
    return count_values(values_of<decltype(type)>(array), bins, range, variant, device);
  });
}

CountedPicture count_picture(const data::RgbImage& image, std::int64_t bins,
                             std::string_view variant, Device device) {
  const Timer timer;
  const Stream stream(device);
  const Buffer pixels(device.is_cpu() ? 0 : image.grey.size(), stream);
  const Buffer counts(kernels::kHistogramByteBins * sizeof(std::int64_t), stream);
  CountedPicture out{{}, image.width, image.height, 0};
  const auto count = [&](const char* name, const std::vector<std::uint8_t>& plane) {
    const std::uint8_t* x = plane.data();
    if (!device.is_cpu()) {
      copy_bytes(pixels.data(), device, x, Device::cpu(), plane.size(), stream);
      x = static_cast<const std::uint8_t*>(pixels.data());
    }
    kernels::histogram(static_cast<std::int64_t*>(counts.data()), x, std::ssize(plane), {variant},
                       stream);
    std::array<std::int64_t, kernels::kHistogramByteBins> all{};
    copy_bytes(all.data(), Device::cpu(), counts.data(), device, sizeof all, stream);
    stream.synchronize();
    Channel channel{name, std::vector<std::int64_t>(static_cast<std::size_t>(bins))};
    const std::size_t together = all.size() / channel.counts.size();
    for (std::size_t value = 0; value < all.size(); ++value) {
      channel.counts[value / together] += all[value];
    }
    out.channels.push_back(std::move(channel));
  };
  if (!image.is_grey) {
    count("red", image.red);
    count("green", image.green);
    count("blue", image.blue);
  }
  count("luminance", image.grey);
  out.seconds = timer.seconds();
  return out;
}

}  // namespace weft::cli
