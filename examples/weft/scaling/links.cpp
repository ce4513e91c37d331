// SPDX-License-Identifier: MIT
// weft bench links: how long the ranks of a run take to add up arrays of several sizes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "engine/tensor.h"
#include "engine/timer.h"
#include "examples/weft/input/ranks.h"
#include "examples/weft/kernel/kernel.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

struct LinksFlags {
  RankFlags ranks;
  DeviceFlags device;
  bool json = false;
};

constexpr int kCalls = 20, kFewest = 3, kMost = 15;
constexpr double kEnoughSeconds = 0.5;  // of repeats, when there are not fewer than kFewest

// The median time of an all-reduce of n floats, in seconds: calls that follow each other in one
// graph, timed from a barrier to the end of the last one, on the slowest rank. The values are
// zeros, for others would grow with each call.
double measure(distributed::Communicator& ranks, std::int64_t n, const Stream& stream) {
  Tensor values(Shape{n}, DType::f32, stream);
  zero_bytes(values.raw(), values.bytes(), stream);
  ranks.all_reduce(values.data<float>(), n, stream);  // what is made at the first call
  stream.synchronize();
  const Graph calls(stream, [&] {
    for (int i = 0; i < kCalls; ++i) ranks.all_reduce(values.data<float>(), n, stream);
  });
  std::vector<double> seconds;
  double spent = 0;  // the same on all ranks, which therefore end together
  for (int repeat = -2; repeat < kFewest || (repeat < kMost && spent < kEnoughSeconds); ++repeat) {
    ranks.barrier();
    const Timer timer;
    calls.launch();
    stream.synchronize();
    double slowest = 0;
    for (const double of_rank : ranks.gather(timer.seconds())) slowest = std::max(slowest, of_rank);
    if (repeat < 0) continue;  // two to warm up
    seconds.push_back(slowest / kCalls);
    spent += slowest;
  }
  const auto median = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, median);
  return *median;
}

int run_links(LinksFlags flags) {
  distributed::Communicator& ranks = join_ranks(flags.ranks, flags.device);
  const Stream stream(select_device(flags.device));
  ranks.attach(stream, reduction_of(flags.ranks));
  if (ranks.size() == 1) {
    throw Error(ErrorKind::usage, "bench links needs several ranks: --devices 2, or mpirun");
  }
  if (!flags.json)
    write_out(fmt::format("{}\n\n       bytes        time      GB/s\n", ranks.describe()));
  for (const std::int64_t n : {256, 1024, 4096, 16384, 61706, 131072, 262144, 1048576, 4194304}) {
    const double seconds = measure(ranks, n, stream);
    const double bytes = 4.0 * static_cast<double>(n);
    if (flags.json) {
      write_out(
          json_line(json_event("all_reduce", {{"ranks", ranks.size()},
                                              {"how", ranks.describe()},
                                              {"reduction", flags.ranks.reduction},
                                              {"device", device_properties(stream.device()).name},
                                              {"bytes", 4 * n},
                                              {"seconds", seconds}})));
    } else {
      write_out(fmt::format("{:>12} {:>8.1f} us {:>9.2f}\n", 4 * n, 1e6 * seconds,
                            1e-9 * bytes / seconds));
    }
  }
  return 0;
}

}  // namespace

void add_bench_links(CLI::App& bench, Action& action) {
  CLI::App* sub =
      bench.add_subcommand("links", "Time the sum of arrays over ranks, on CPUs or GPUs");
  auto flags = std::make_shared<LinksFlags>();
  add_device_flags(*sub, flags->device, false, false);
  add_rank_flags(*sub, flags->ranks);
  sub->add_flag("--json", flags->json, "one JSON object per line");
  sub->callback([=, &action] { action.run = [=] { return run_links(*flags); }; });
}

}  // namespace weft::cli
