// SPDX-License-Identifier: MIT
// A family's bench: of each problem the variants and the yardsticks take turns, and then each is
// checked.
#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/error.h"
#include "engine/extent.h"
#include "engine/timer.h"
#include "measure/machine/sampler.h"
#include "measure/run.h"

namespace weft::measure {
namespace {

// A variant or a yardstick of one problem, while it takes turns with the others.
struct Contender {
  Contender(Variant of, bool is_peer, std::function<PeerCall(Work&)> binding)
      : variant(std::move(of)), peer(is_peer), bind(std::move(binding)) {}

  Variant variant;
  bool peer;
  std::function<PeerCall(Work&)> bind;
  Row row;
  std::unique_ptr<Sampler> sampler, warm;
  std::vector<double> warm_turns;
};

// A problem has none where it is not taken by the only rung that is wanted.
std::vector<Contender> contenders_of(Work& work, const FamilyBench& family,
                                     const std::vector<Peer>& peers, Counts* left_out) {
  std::vector<Contender> all;
  Counts missed;
  for (const Variant& variant : runnable_variants(family.family, work, &missed)) {
    if (!family.only.empty() && variant.rung != family.only) continue;
    all.emplace_back(variant, false, [name = variant.name](Work& of) {
      return PeerCall{[&of, name](int set) { of.call(name, set); }, {}};
    });
  }
  for (const auto& [name, count] : missed) {
    if (left_out != nullptr && (family.only.empty() || name == family.only)) {
      (*left_out)[name] += count;
    }
  }
  if (all.empty() && !family.only.empty()) return all;
  for (const Peer& peer : peers) {
    all.emplace_back(Variant{peer.name, {}, peer.arithmetic}, true, peer.bind);
  }
  return all;
}

// What calls find in the last-level cache, which sets_for() takes to be as large.
std::string_view l2_state(const Work& work) {
  const double cache = cache_bytes(work.context.stream.device());
  if (work.touched() >= 2 * cache) return "cold";
  return work.touched() <= cache / 2 ? "warm" : "between";
}

// One turn of a contender: its share of the samples and seconds, cold and then warm. The warm time,
// which no ratio uses, has a third of the seconds.
std::vector<double> take_turn(Contender& one, const TimingOptions& options,
                              const GpuMonitor& monitor) {
  const auto samples = [&](Sampler& of, double seconds, double heat, GpuStates* states) {
    if (of.once() < 0.01 || heat > 0) of.warm_up(heat);
    const double wanted = seconds / options.rounds;
    const double room = 4 * wanted / (of.once() * of.calls());
    const int least =
        static_cast<int>(std::clamp<double>(room, 1, divide_up(options.samples, options.rounds)));
    std::vector<double> taken;
    double total = 0;
    const Timer wall;
    do {
      for (const double time : of.take(least, [&] {
             if (states) monitor.read(*states);
           })) {
        taken.push_back(time);
        total += time * of.calls();
      }
      states = nullptr;  // one reading in a turn
    } while (total < wanted && wall.seconds() < 4 * wanted);
    return taken;
  };
  std::this_thread::sleep_for(std::chrono::duration<double>(options.rest));
  std::vector<double> seconds =
      samples(*one.sampler, options.seconds, options.warm_up, &one.row.gpu);
  if (one.warm != nullptr) {
    // The clock is still that of the cold calls.
    one.warm_turns.push_back(timing_of(samples(*one.warm, options.seconds / 3, 0, nullptr)).median);
  }
  return seconds;
}

// Times all contenders of a problem in turns.
void take_turns(Work& work, std::vector<Contender>& all, const TimingOptions& options,
                const GpuMonitor& monitor) {
  const Stream& stream = work.context.stream;
  std::vector<PeerCall> calls(all.size());
  const auto guarded = [](Row& row, const auto& step) {
    if (!row.error.empty()) return;
    try {
      step();
    } catch (const Error& error) {
      row.error = error.what();
    }
  };
  // Each once before a graph keeps the place of what they share, as scratch memory that may grow.
  work.reset();
  for (std::size_t i = 0; i < all.size(); ++i) {
    guarded(all[i].row, [&] {
      calls[i] = all[i].bind(work);
      if (!calls[i].call) return;
      calls[i].call(0);
      stream.synchronize();
    });
  }
  const bool warm =
      stream.device().is_cuda() && work.sets > 1 && work.bytes <= cache_bytes(stream.device()) / 2;
  std::vector<Turn> turns;
  std::vector<Contender*> taking;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Contender& one = all[i];
    TimingOptions own = options;
    own.graph = options.graph && !work.one_by_one;
    // At its power limit a GPU slows its clock within a tenth of a second, and then speeds it up as
    // slowly. So each turn begins from rest, and large work is timed at the clock that lasts.
    // Below 1e9 FLOP no row that rested drew more than 456 of an H200's 700 W.
    constexpr double kRest = 0.03, kClockFollows = 0.1, kSmallFlops = 1e9, kLargeFlops = 1e11;
    if (stream.device().is_cuda() && work.by_flops) {
      if (work.flops >= kSmallFlops) own.rest = kRest;
      if (work.flops >= kLargeFlops) own.warm_up = kClockFollows;
    }
    guarded(one.row, [&] {
      if (!calls[i].call) return;
      one.row.which = calls[i].which;
      one.sampler = std::make_unique<Sampler>(calls[i].call, work.sets, own, stream);
      constexpr double kLong = 0.1;  // seconds; such a call has no use for what a cache holds
      if (warm && one.sampler->once() < kLong) {
        one.warm = std::make_unique<Sampler>(calls[i].call, 1, own, stream);
      }
    });
    if (one.sampler == nullptr) continue;
    turns.push_back([&one, own, &monitor] { return take_turn(one, own, monitor); });
    taking.push_back(&one);
  }
  const std::vector<Repeats> found = alternate(turns, options.rounds, [&] { work.reset(); });
  for (std::size_t i = 0; i < found.size(); ++i) {
    Row& row = taking[i]->row;
    if (row.error.empty()) row.error = found[i].error;
    if (!row.error.empty()) continue;
    row.timing = timing_of(found[i].samples);
    row.timing.median = interval_of(found[i].turns).median;
    row.timing.calls = taking[i]->sampler->calls();
    row.timing.graph = taking[i]->sampler->graph();
    row.turns = found[i].turns;
    if (!taking[i]->warm_turns.empty()) row.warm_seconds = timing_of(taking[i]->warm_turns).median;
    row.l2 = l2_state(work);
  }
}

// A yardstick may be wrong by twice the bound that Weft keeps to: cuDNN's Winograd convolution of
// floats is, in a few values of a thousand. Its row says so, and stays the one to beat.
Verdict allow_yardstick(Verdict verdict) {
  if (!verdict.ok && verdict.compared > 0 && verdict.worst <= 2) {
    verdict.ok = true;
    verdict.text += "; a yardstick may be wrong by twice as much";
  }
  return verdict;
}

// The output of a few calls on inputs that no other row has.
void check(Contender& one, const std::function<std::unique_ptr<Work>(const Context&)>& make,
           const Context& context, std::string_view family) {
  try {
    const std::unique_ptr<Work> work = make(context);
    const Row checked = run_one(*work, family, one.variant, one.bind(*work), {0, 1});
    one.row.check_seed = context.seed;
    one.row.error = checked.error;
    one.row.verdict = one.peer ? allow_yardstick(checked.verdict) : checked.verdict;
  } catch (const Error& error) {
    one.row.error = error.what();
  }
}

// Compares each of Weft's rows of a problem with the fastest yardstick of its accuracy.
void compare_with_yardsticks(std::vector<Contender>& all) {
  for (Contender& own : all) {
    if (own.peer || !own.row.ok() || own.row.turns.empty()) continue;
    const Row* best = nullptr;
    for (const Contender& other : all) {
      if (other.peer && other.row.ok() && !other.row.turns.empty() &&
          accuracy_of(other.row.arithmetic) == accuracy_of(own.row.arithmetic) &&
          (best == nullptr || other.row.timing.median < best->timing.median)) {
        best = &other.row;
      }
    }
    if (best == nullptr) continue;
    own.row.yardstick = best->name;
    own.row.ratio = ratio_of(best->turns, own.row.turns);
  }
}

// The rungs and the yardsticks of a problem, timed in turns, and what the rungs have launched.
std::vector<Contender> time_problem(Work& work, const FamilyBench& family,
                                    const std::vector<Peer>& peers, const Context& context,
                                    const TimingOptions& options, const GpuMonitor& monitor,
                                    Counts* left_out) {
  std::vector<Contender> all = contenders_of(work, family, peers, left_out);
  for (Contender& one : all) {
    one.row = row_of(work, family.family, one.variant);
    one.row.peer = one.peer;
  }
  take_turns(work, all, options, monitor);
  std::erase_if(all, [](const Contender& one) {  // a library that cannot do this problem
    return one.sampler == nullptr && one.row.error.empty();
  });
  for (Contender& one : all) {
    if (one.row.error.empty() && !one.peer) {
      try {
        one.row.kernels = usage_of(work, one.variant.name);
      } catch (const Error& error) {
        one.row.error = error.what();
      }
    }
    one.sampler.reset();  // its graph calls this problem
    one.warm.reset();
  }
  const bool on_gpu = context.stream.device().is_cuda();
  std::vector<Row> launched;
  for (Contender& one : all) {
    if (on_gpu && !one.peer) check_launches(one.row, launched, work);
    launched.push_back(one.row);
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].row.misnamed = launched[i].misnamed;
  return all;
}

}  // namespace

std::vector<Row> run_family(const FamilyBench& family, const std::vector<Peer>& peers,
                            const Context& context, const TimingOptions& options,
                            const std::function<void(const Row&)>& seen, Counts* left_out) {
  std::vector<Row> rows;
  constexpr std::uint64_t kSeedsOfAProblem = 16;  // a problem takes some, one for each input
  const GpuMonitor monitor(context.stream.device());
  std::uint64_t seed = context.seed;
  for (const auto& make : family.problems(context.stream.device())) {
    std::unique_ptr<Work> work;
    try {
      work = make(context);
    } catch (const Error& error) {
      Row row;
      row.family = family.family;
      row.problem = "a problem that could not be made";
      row.error = error.what();
      seen(row);
      rows.push_back(std::move(row));
      continue;
    }
    std::vector<Contender> all =
        time_problem(*work, family, peers, context, options, monitor, left_out);
    work.reset();
    for (Contender& one : all) {
      if (!one.row.error.empty()) continue;
      Context fresh{context.stream, seed += kSeedsOfAProblem, context.block, context.variant,
                    context.parameters};
      check(one, make, fresh, family.family);
    }
    compare_with_yardsticks(all);
    for (Contender& one : all) {
      seen(one.row);
      rows.push_back(std::move(one.row));
    }
  }
  return rows;
}

}  // namespace weft::measure
