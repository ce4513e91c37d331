// SPDX-License-Identifier: MIT
// Convolutions of 1-D, 2-D and 3-D signals with one small filter.
#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "kernels/signal/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

class SignalWork final : public ProblemWork<problems::Signal> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::signal_takes(variant, p.dims, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::signal_convolve(y_[set], x_[set], filter_[set], p.dims, {variant}, context.stream);
  }
  bool takes_flag(std::string_view flag, std::string_view variant) const override {
    using kernels::SignalLoads;
    const SignalLoads loads = kernels::signal_traits(variant).loads;
    const bool tiled = loads == SignalLoads::tile || loads == SignalLoads::tile_without_halo;
    return flag == "--mask" || (flag == "--tile" && tiled);
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    const std::vector<std::int64_t>& tile = context.parameters.tile;
    return signal_facts(p.dims, variant, tile.empty() ? 0 : tile[0]);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const auto expect = [&](std::int64_t at) {
      const auto [sum, magnitude] = p.expected(at, x_.host.data(), filter_.host.data());
      return Exact{sum, std::ldexp(1.0, -23) * 4 * (magnitude + std::fabs(sum))};
    };
    compare_each(comparison, y_, set, expect, 2048);
  }

  Array<float>& x_ = input("x", random_values(p.dims.elements(), seed()));
  Array<float>& filter_ = input("filter", random_values(p.dims.taps(), seed() + 1), 1);
  Array<float>& y_ = output("y", p.dims.elements());
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
  return made<SignalWork>({{extents[0], extents[1], extents[2], taps[0], taps[1], taps[2]}})(
      context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}

std::vector<MakeWork> problems_on(Device device) {
  const bool gpu = device.is_cuda();
  const std::int64_t side = gpu ? 4096 : 512;
  return made_of<SignalWork>(
      {{{.width = std::int64_t{1} << (gpu ? 26 : 20), .filter_width = 9}},
       {{.height = side, .width = side, .filter_height = 5, .filter_width = 5}},
       {{.depth = side / 16,
         .height = 256,
         .width = 256,
         .filter_depth = 3,
         .filter_height = 3,
         .filter_width = 3}}});
}

}  // namespace

extern const FamilyBench signal_bench = {
    .family = "signal",
    .size_meaning = "samples, or the extents of an image or a volume as 512x512 or 64x64x64",
    .default_size = 1 << 20,
    .largest_size = std::int64_t{1} << 31,
    .sized = sized,
    .problems = problems_on,
    .shape_extents = 3,
    .shape_extents_least = 2,
    .shaped = shaped};

}  // namespace weft::measure
