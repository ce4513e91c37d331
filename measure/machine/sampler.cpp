// SPDX-License-Identifier: MIT
#include "measure/machine/sampler.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/extent.h"
#include "engine/timer.h"
#ifdef WEFT_WITH_CUDA
#include <cuda_runtime.h>
#endif

namespace weft::measure {
namespace {

constexpr int kMaxCalls = 1024;

double seconds_of(const std::function<void()>& work, const Stream& stream) {
  Event begin(stream.device()), end(stream.device());
  begin.record(stream);
  work();
  end.record(stream);
  return Event::seconds_between(begin, end);
}

}  // namespace

// The calls of one sample: as a graph, or one by one through the sets in turn.
struct Sampler::Queue {
  Queue(Call of, int through, int each, bool as_graph, const Stream& stream)
      : call(std::move(of)), sets(through), calls(each) {
    if (!as_graph) return;
    try {
      graph = std::make_unique<Graph>(stream, [this] { launch_all(); });
    } catch (const Error&) {
      graph.reset();  // what cannot be captured is launched call by call
      next = 0;
#ifdef WEFT_WITH_CUDA
      static_cast<void>(cudaGetLastError());  // of the capture; the next launch must not report it
#endif
    }
  }

  void launch_all() {
    for (int i = 0; i < calls; ++i) {
      call(next);
      next = (next + 1) % sets;
    }
  }
  void sample() {
    graph ? graph->launch() : launch_all();
  }

  Call call;
  int sets, calls, next = 0;
  std::unique_ptr<Graph> graph;
};

Sampler::Sampler(const Call& call, int sets, const TimingOptions& options, const Stream& stream)
    : stream_(stream), before_(static_cast<std::size_t>(sets)) {
  call(0);  // first use: code is loaded, scratch memory allocated
  stream.synchronize();
  before_[0] = 1;
  once_ = 1e30;
  for (int i = 0; i < 3 && (i == 0 || once_ < 0.5); ++i) {
    once_ = std::min(once_, seconds_of([&] { call(i % sets); }, stream));
    ++before_[static_cast<std::size_t>(i % sets)];
  }
  // A sample is long beside the cost of starting it. Replayed as a graph it passes through every
  // set; calls that are long by themselves need no graph.
  const bool as_graph = options.graph && stream.device().is_cuda() && once_ * sets < 0.02;
  const double least = stream.device().is_cuda() ? 4e-4 : 2e-4;
  calls_ = static_cast<int>(std::min<double>(kMaxCalls, std::ceil(least / std::max(once_, 1e-9))));
  if (as_graph) calls_ = round_up(calls_, sets);
  queue_ = std::make_unique<Queue>(call, sets, calls_, as_graph, stream);
}

Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;

void Sampler::warm_up(double seconds) {
  const Timer heat;
  do {
    queue_->sample();
    stream_.synchronize();
    ++samples_;
  } while (heat.seconds() < seconds);
}

std::vector<double> Sampler::take(int samples, const std::function<void()>& meanwhile) {
  // Events between samples that are all queued before the first is read.
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i <= samples; ++i) events.push_back(std::make_unique<Event>(stream_.device()));
  events[0]->record(stream_);
  for (int i = 0; i < samples; ++i) {
    queue_->sample();
    events[static_cast<std::size_t>(i) + 1]->record(stream_);
  }
  samples_ += samples;
  if (meanwhile) meanwhile();
  std::vector<double> seconds;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    seconds.push_back(Event::seconds_between(*events[i], *events[i + 1]) / calls_);
  }
  return seconds;
}

bool Sampler::graph() const {
  return queue_->graph != nullptr;
}

int Sampler::last_set() const {
  return (queue_->next + queue_->sets - 1) % queue_->sets;
}

std::int64_t Sampler::runs_of_last() const {
  const std::int64_t all = samples_ * calls_;
  const int set = last_set(), sets = queue_->sets;
  return before_[static_cast<std::size_t>(set)] + all / sets + (set < all % sets ? 1 : 0);
}

Timing measure(const Call& call, int sets, const TimingOptions& options, const Stream& stream) {
  Sampler sampler(call, sets, options, stream);
  sampler.warm_up(options.warm_up);  // of the very thing that is timed
  const int wanted = sampler.once() > 0.1 ? divide_up(options.samples, 3) : options.samples;
  std::vector<double> seconds;
  double total = 0;
  const Timer wall;
  while (static_cast<int>(seconds.size()) < wanted ||
         (total < options.seconds && wall.seconds() < 4 * options.seconds)) {
    for (const double time : sampler.take(std::clamp(wanted, 1, 10))) {
      seconds.push_back(time);
      total += time * sampler.calls();
    }
  }
  stream.synchronize();
  Timing timing = timing_of(std::move(seconds));
  timing.calls = sampler.calls();
  timing.last_set = sampler.last_set();
  timing.runs = sampler.runs_of_last();
  timing.graph = sampler.graph();
  return timing;
}

}  // namespace weft::measure
