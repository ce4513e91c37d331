// SPDX-License-Identifier: MIT
#include "measure/harness.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/random.h"
#include "engine/timer.h"
#ifdef WEFT_WITH_CUDA
#include <cuda_runtime.h>
#endif

namespace weft::measure {
namespace {

constexpr int kMaxSets = 64;
constexpr int kMaxCalls = 1024;

double percentile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const std::size_t low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// The calls of one sample, queued at once: as a graph, or one by one through the sets in turn.
class Sample {
 public:
  Sample(const Call& call, int sets, int calls, bool as_graph, const Stream& stream)
      : call_(call), sets_(sets), calls_(calls) {
    if (!as_graph) return;
    try {
      graph_ = std::make_unique<Graph>(stream, [this] { launch_all(); });
    } catch (const Error&) {
      graph_.reset();  // what cannot be captured is launched call by call
      next_ = 0;
#ifdef WEFT_WITH_CUDA
      static_cast<void>(cudaGetLastError());  // of the capture; the next launch must not report it
#endif
    }
  }

  void queue() {
    graph_ ? graph_->launch() : launch_all();
  }
  bool graph() const {
    return graph_ != nullptr;
  }
  int last_set() const {
    return (next_ + sets_ - 1) % sets_;
  }
  // Calls on `set` in `samples` samples of which the first began with set 0.
  std::int64_t runs_of(int set, std::int64_t samples) const {
    const std::int64_t all = samples * calls_;
    return all / sets_ + (set < all % sets_ ? 1 : 0);
  }

 private:
  void launch_all() {
    for (int i = 0; i < calls_; ++i) {
      call_(next_);
      next_ = (next_ + 1) % sets_;
    }
  }

  const Call& call_;
  int sets_, calls_, next_ = 0;
  std::unique_ptr<Graph> graph_;
};

double seconds_of(const std::function<void()>& work, const Stream& stream) {
  Event begin(stream.device()), end(stream.device());
  begin.record(stream);
  work();
  end.record(stream);
  return Event::seconds_between(begin, end);
}

}  // namespace

Timing timing_of(std::vector<double> seconds) {
  if (seconds.empty()) throw Error(ErrorKind::usage, "no sample was taken");
  std::sort(seconds.begin(), seconds.end());
  Timing timing;
  timing.median = percentile(seconds, 0.5);
  timing.p10 = percentile(seconds, 0.1);
  timing.p90 = percentile(seconds, 0.9);
  timing.count = static_cast<int>(seconds.size());
  return timing;
}

Timing measure(const Call& call, int sets, const TimingOptions& options, const Stream& stream) {
  call(0);  // first use: code is loaded, scratch memory allocated
  stream.synchronize();
  std::vector<std::int64_t> before(static_cast<std::size_t>(sets));  // calls before the samples
  before[0] = 1;
  double once = 1e30;
  for (int i = 0; i < 3 && (i == 0 || once < 0.5); ++i) {
    once = std::min(once, seconds_of([&] { call(i % sets); }, stream));
    ++before[static_cast<std::size_t>(i % sets)];
  }
  // A sample is long beside the cost of starting it. Replayed as a graph it passes through every
  // set; calls that are long by themselves need no graph.
  const bool as_graph = options.graph && stream.device().is_cuda() && once * sets < 0.02;
  const double least = stream.device().is_cuda() ? 4e-4 : 2e-4;
  int calls =
      static_cast<int>(std::min<double>(kMaxCalls, std::ceil(least / std::max(once, 1e-9))));
  if (as_graph) calls = (calls + sets - 1) / sets * sets;
  Sample sample(call, sets, calls, as_graph, stream);
  sample.queue();  // warm-up of the very thing that is timed
  stream.synchronize();
  std::int64_t warm_ups = 1;
  for (const Timer heat; heat.seconds() < options.warm_up; ++warm_ups) {
    sample.queue();
    stream.synchronize();
  }

  const int wanted = once > 0.1 ? (options.samples + 2) / 3 : options.samples;
  std::vector<double> seconds;
  double total = 0;
  const Timer wall;
  while (static_cast<int>(seconds.size()) < wanted ||
         (total < options.seconds && wall.seconds() < 4 * options.seconds)) {
    // Events between samples that are all queued before the first is read.
    const std::size_t batch = static_cast<std::size_t>(std::clamp(wanted, 1, 10));
    std::vector<std::unique_ptr<Event>> events;
    for (std::size_t i = 0; i <= batch; ++i)
      events.push_back(std::make_unique<Event>(stream.device()));
    events[0]->record(stream);
    for (std::size_t i = 0; i < batch; ++i) {
      sample.queue();
      events[i + 1]->record(stream);
    }
    for (std::size_t i = 0; i < batch; ++i) {
      const double time = Event::seconds_between(*events[i], *events[i + 1]);
      seconds.push_back(time / calls);
      total += time;
    }
  }
  stream.synchronize();
  const std::int64_t samples = static_cast<std::int64_t>(seconds.size()) + warm_ups;
  const int last = sample.last_set();
  Timing timing = timing_of(std::move(seconds));
  timing.calls = calls;
  timing.last_set = last;
  timing.runs = before[static_cast<std::size_t>(last)] + sample.runs_of(last, samples);
  timing.graph = sample.graph();
  return timing;
}

void forget_bytes(void* data, std::size_t bytes, const Stream& stream) {
  // A seed of ones from the host, then doubled on the device.
  const std::vector<unsigned char> ones(std::min<std::size_t>(bytes, 4096), 0xff);
  copy_bytes(data, stream.device(), ones.data(), Device::cpu(), ones.size(), stream);
  stream.synchronize();
  for (std::size_t done = ones.size(); done < bytes; done *= 2) {
    copy_bytes(static_cast<unsigned char*>(data) + done, stream.device(), data, stream.device(),
               std::min(done, bytes - done), stream);
  }
}

int sets_for(double footprint, Device device) {
  const DeviceProperties& properties = device_properties(device);
  const double cache = properties.l2_bytes > 0 ? static_cast<double>(properties.l2_bytes) : 32e6;
  const double memory =
      properties.memory_bytes > 0 ? static_cast<double>(properties.memory_bytes) : 8e9;
  const double wanted = std::floor(3 * cache / std::max(footprint, 1.0)) + 1;
  const double room = std::max(1.0, std::floor(memory / 4 / std::max(footprint, 1.0)));
  return static_cast<int>(std::min({wanted, room, static_cast<double>(kMaxSets)}));
}

void Comparison::add(double actual, double expected, double bound) {
  ++compared_;
  const bool both_nan = std::isnan(actual) && std::isnan(expected);
  if (both_nan || actual == expected) return;  // also equal infinities
  const double error = std::fabs(actual - expected);
  if (error <= bound) {
    worst_ = std::max(worst_, error / bound);
    return;
  }
  if (failed_++ == 0) {
    first_failure_ = str("found ", actual, ", expected ", expected, " within ", bound);
  }
  worst_ = std::isfinite(error) && bound > 0 ? std::max(worst_, error / bound) : HUGE_VAL;
}

Verdict Comparison::verdict() const {
  Verdict verdict;
  verdict.ok = compared_ > 0 && failed_ == 0;
  verdict.worst = worst_;
  verdict.compared = compared_;
  if (compared_ == 0) {
    verdict.text = "nothing was compared";
  } else if (failed_ > 0) {
    verdict.text = str(failed_, " of ", compared_, " values differ; ", first_failure_);
  } else {
    std::ostringstream worst;
    worst.precision(2);
    worst << worst_;
    verdict.text = str(compared_, " values, worst error ", worst.str(), " of its bound");
  }
  return verdict;
}

kernels::ComputeMode mode_of(const kernels::Rung& rung) {
  using kernels::ComputeMode;
  for (const ComputeMode mode : {ComputeMode::fp32, ComputeMode::tf32}) {
    if (rung.arithmetic.in(mode)) return mode;
  }
  return ComputeMode::bf16;
}

Arithmetic Work::arithmetic_of(const kernels::Rung& rung) const {
  return *rung.arithmetic.in(mode_of(rung));
}

double product_error(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::tf32:
      return std::ldexp(1.0, -10);  // 10 mantissa bits, two operands
    case Arithmetic::bf16:
      return std::ldexp(1.0, -7);
    default:
      return std::ldexp(1.0, -23);
  }
}

std::vector<float> random_values(std::int64_t n, std::uint64_t seed, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(n));
  const std::int64_t quads = (n + 3) / 4;
#pragma omp parallel for schedule(static) if (quads > 4096)
  for (std::int64_t q = 0; q < quads; ++q) {
    const Random4 bits = philox(seed, RandomStream::data, 0, static_cast<std::uint64_t>(q));
    for (std::int64_t i = 4 * q; i < std::min(n, 4 * q + 4); ++i) {
      values[static_cast<std::size_t>(i)] = low + (high - low) * uniform01(bits.value[i % 4]);
    }
  }
  return values;
}

std::vector<float> random_integers(std::int64_t n, std::uint64_t seed) {
  std::vector<float> values = random_values(n, seed, 0, 9);
#pragma omp parallel for schedule(static) if (n > 16384)
  for (std::int64_t i = 0; i < n; ++i) {
    float& value = values[static_cast<std::size_t>(i)];
    value = std::floor(value) - 4;
  }
  return values;
}

std::vector<std::int64_t> sample_indices(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> indices;
  if (n <= count) {
    for (std::int64_t i = 0; i < n; ++i) indices.push_back(i);
    return indices;
  }
  indices = {0, n - 1};
  for (std::int64_t i = 2; i < count; ++i) {
    const Random4 bits = philox(seed, RandomStream::data, 7, static_cast<std::uint64_t>(i));
    const std::uint64_t wide = (std::uint64_t{bits.value[0]} << 32) | bits.value[1];
    indices.push_back(static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(n)));
  }
  return indices;
}

std::vector<std::string_view> Parameters::given() const {
  std::vector<std::string_view> flags;
  if (offset > 0) flags.emplace_back("--offset");
  if (stride > 0) flags.emplace_back("--stride");
  if (!mask.empty()) flags.emplace_back("--mask");
  if (!tile.empty()) flags.emplace_back("--tile");
  if (results > 0) flags.emplace_back("--results");
  if (!transpose.empty()) flags.emplace_back("--transpose");
  return flags;
}

}  // namespace weft::measure
