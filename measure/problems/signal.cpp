// SPDX-License-Identifier: MIT
// Convolutions of 1-D, 2-D and 3-D signals with one small filter.
#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "kernels/signal/signal.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

using kernels::SignalDims;

class SignalWork final : public Work {
 public:
  SignalWork(const SignalDims& dims, const Context& made_with)
      : Work(made_with),
        dims_(dims),
        host_x_(random_values(dims.elements(), made_with.seed)),
        host_f_(random_values(dims.taps(), made_with.seed + 1)),
        x_(host_x_, sets_of(dims, made_with), made_with.stream),
        f_(host_f_, 1, made_with.stream),
        y_(dims.elements(), sets_of(dims, made_with), made_with.stream) {
    problem =
        str(dims.rank(), "-D, ", dims.depth, " x ", dims.height, " x ", dims.width, ", filter ",
            dims.filter_depth, " x ", dims.filter_height, " x ", dims.filter_width);
    bytes = kernels::signal_bytes(dims);
    flops = kernels::signal_flops(dims);
    sets = sets_of(dims, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::signal_takes(variant, dims_, context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::signal_convolve(y_[set], x_[set], f_[0], dims_, {variant}, context.stream);
  }
  bool takes_flag(std::string_view flag, std::string_view variant) const override {
    using kernels::SignalLoads;
    const SignalLoads loads = kernels::signal_traits(variant).loads;
    const bool tiled = loads == SignalLoads::tile || loads == SignalLoads::tile_without_halo;
    return flag == "--mask" || (flag == "--tile" && tiled);
  }
  void reset() override { y_.clear(); }
  std::vector<Fact> facts(std::string_view variant) const override {
    const std::vector<std::int64_t>& tile = context.parameters.tile;
    return signal_facts(dims_, variant, tile.empty() ? 0 : tile[0]);
  }
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = y_.host(set);
    const SignalDims& d = dims_;
    Comparison comparison;
    for (const std::int64_t at : sample_indices(d.elements(), 2048, context.seed)) {
      const std::int64_t w = at % d.width, h = at / d.width % d.height;
      const std::int64_t z = at / (d.width * d.height);
      double sum = 0, magnitude = 0;
      std::size_t tap = 0;
      for (std::int64_t a = 0; a < d.filter_depth; ++a) {
        for (std::int64_t b = 0; b < d.filter_height; ++b) {
          for (std::int64_t c = 0; c < d.filter_width; ++c, ++tap) {
            const std::int64_t i = z + a - d.filter_depth / 2, j = h + b - d.filter_height / 2;
            const std::int64_t k = w + c - d.filter_width / 2;
            if (i < 0 || i >= d.depth || j < 0 || j >= d.height || k < 0 || k >= d.width) continue;
            const double product =
                static_cast<double>(host_f_[tap]) *
                static_cast<double>(
                    host_x_[static_cast<std::size_t>((i * d.height + j) * d.width + k)]);
            sum += product;
            magnitude += std::fabs(product);
          }
        }
      }
      comparison.add(found[static_cast<std::size_t>(at)], sum,
                     std::ldexp(1.0, -23) * 4 * (magnitude + std::fabs(sum)));
    }
    return comparison.verdict();
  }

 private:
  static int sets_of(const SignalDims& dims, const Context& c) {
    return sets_for(8.0 * static_cast<double>(dims.elements()), c.stream.device());
  }

  SignalDims dims_;
  std::vector<float> host_x_, host_f_;
  Rotated<float> x_, f_, y_;
};

// A signal, an image or a volume: of as many dimensions as the size or the mask has, whichever is
// given as several numbers; a single number is then the elements of all.
std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  const std::vector<std::int64_t>& mask = context.parameters.mask;
  std::size_t rank = std::max(size.size(), mask.size());
  if (rank <= 1)
    rank = static_cast<std::size_t>(kernels::signal_traits(context.variant).least_rank);
  if ((size.size() > 1 && size.size() != rank) || (mask.size() > 1 && mask.size() != rank)) {
    throw Error(ErrorKind::usage, str("--mask: expected as many extents as --size has, ",
                                      size.size(), ", found ", mask.size()));
  }
  std::int64_t extents[] = {1, 1, 1}, taps[] = {1, 1, 1};
  constexpr std::int64_t kTaps[] = {0, 9, 5, 3};  // without a --mask
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t at = 3 - rank + i;
    extents[at] = size.size() > 1 ? size[i]
                                  : std::max<std::int64_t>(
                                        1, std::llround(std::pow(static_cast<double>(size[0]),
                                                                 1 / static_cast<double>(rank))));
    taps[at] = mask.empty() ? kTaps[rank] : mask.size() == 1 ? mask[0] : mask[i];
    if (taps[at] > kernels::kSignalFilter[rank]) {
      throw Error(ErrorKind::usage,
                  str("--mask: expected at most ", kernels::kSignalFilter[rank],
                      " taps in each of ", rank, " dimensions, found ", taps[at]));
    }
  }
  return std::make_unique<SignalWork>(SignalDims{.depth = extents[0],
                                                 .height = extents[1],
                                                 .width = extents[2],
                                                 .filter_depth = taps[0],
                                                 .filter_height = taps[1],
                                                 .filter_width = taps[2]},
                                      context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto shape = [](const SignalDims& dims) {
    return [=](const Context& c) { return std::make_unique<SignalWork>(dims, c); };
  };
  const bool gpu = device.is_cuda();
  const std::int64_t side = gpu ? 4096 : 512;
  return {shape({.width = std::int64_t{1} << (gpu ? 26 : 20), .filter_width = 9}),
          shape({.height = side, .width = side, .filter_height = 5, .filter_width = 5}),
          shape({.depth = side / 16,
                 .height = 256,
                 .width = 256,
                 .filter_depth = 3,
                 .filter_height = 3,
                 .filter_width = 3})};
}

}  // namespace

extern const FamilyBench signal_bench = {
    .family = "signal",
    .size_meaning = "samples, or the extents of an image or a volume as 512x512 or 64x64x64",
    .default_size = 1 << 20,
    .largest_size = std::int64_t{1} << 31,
    .sized = sized,
    .problems = problems,
    .shape_extents = 3,
    .shape_extents_least = 2,
    .shaped = shaped};

}  // namespace weft::measure
