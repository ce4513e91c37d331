// SPDX-License-Identifier: MIT
// The measuring harness: one way to time and to verify any kernel on any device.
//
// A Work is one problem made ready: random inputs and outputs in several sets of buffers, which
// timed calls rotate through so that a GPU's L2 cache cannot serve what memory should. Its FLOPs
// and bytes are those of the formula, the same for every variant and every yardstick. Calls are
// queued many at a time (as a CUDA graph where they can be captured), so that a sample is a time on
// the device and not of the host. The outputs of the timed calls are compared with the double
// oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.h"
#include "kernels/ladder.h"
#include "measure/by_hand.h"

namespace weft::measure {

struct Timing {
  double median = 0, p10 = 0, p90 = 0;  // seconds per call
  double least = 0;                     // seconds of the fastest sample, per call
  int count = 0;                        // samples
  int calls = 1;                        // calls in one sample
  int last_set = 0;                     // of the last timed call: what to verify
  std::int64_t runs = 0;                // calls on last_set since the start, timed or not
  bool graph = false;                   // replayed as a CUDA graph
};

struct TimingOptions {
  double seconds = 0.2;  // at least, in all samples of one timing
  int samples = 30;      // at least, unless they take longer than four times `seconds`
  bool graph = true;     // where the calls can be captured; else the host queues them one by one
  double rest = 0;       // seconds of nothing before the first call of a turn
  double warm_up = 0;    // seconds of calls before the first sample
  int rounds = 7;        // where several things take turns
};

// Queues one call on buffer set `set`.
using Call = std::function<void(int set)>;

// Median, 10th and 90th percentile (interpolated) and count of the samples, in any order.
Timing timing_of(std::vector<double> seconds);

Timing measure(const Call& call, int sets, const TimingOptions& options, const Stream& stream);

// Overwrites device memory with bytes of ones: NaN in floats, -1 in integers.
void forget_bytes(void* data, std::size_t bytes, const Stream& stream);

// Bytes of the last-level cache. On a CPU they are not known, and taken for 32 MB.
double cache_bytes(Device device);
// Sets of buffers of `footprint` bytes that together pass three times the last-level cache.
int sets_for(double footprint, Device device);

struct Verdict {
  bool ok = false;
  double worst = 0;           // largest error in units of its bound
  std::int64_t compared = 0;  // values
  std::string text;           // "1024 values, worst error 0.31 of its bound"
};

// Collects comparisons with an oracle. A NaN where none is expected fails, and so does comparing
// nothing at all.
class Comparison {
 public:
  void add(double actual, double expected, double bound);
  Verdict verdict() const;

 private:
  double worst_ = 0;
  std::int64_t compared_ = 0, failed_ = 0;
  std::string first_failure_;
};

// A piece of device memory.
struct Bytes {
  void* data = nullptr;
  std::size_t count = 0;
};

// The same n values in several places of device memory.
template <class T>
class Rotated {
 public:
  Rotated(std::int64_t n, int sets, const Stream& stream) : n_(n), stream_(stream) {
    for (int i = 0; i < sets; ++i) sets_.emplace_back(Shape{n}, dtype_of<T>(), stream);
  }
  Rotated(const std::vector<T>& values, int sets, const Stream& stream)
      : Rotated(static_cast<std::int64_t>(values.size()), sets, stream) {
    copy_from_host(sets_[0].template view<T>(), std::span<const T>(values), stream_);
    for (std::size_t i = 1; i < sets_.size(); ++i) {
      copy_bytes(sets_[i].raw(), sets_[i].device(), sets_[0].raw(), sets_[0].device(),
                 sets_[0].bytes(), stream_);
    }
  }

  T* operator[](int set) { return sets_[static_cast<std::size_t>(set)].template data<T>(); }
  std::int64_t size() const { return n_; }
  // For outputs: what a call does not write is then wrong, also where zero would be right.
  void clear() {
    for (Tensor& set : sets_) forget_bytes(set.raw(), set.bytes(), stream_);
  }
  Bytes bytes(int set) {
    const Tensor& of = sets_[static_cast<std::size_t>(set)];
    return {of.raw(), of.bytes()};
  }
  std::vector<T> host(int set) const {
    const Tensor& from = sets_[static_cast<std::size_t>(set)];
    std::vector<T> values(static_cast<std::size_t>(n_));
    copy_bytes(values.data(), Device::cpu(), from.raw(), from.device(), from.bytes(), stream_);
    stream_.synchronize();
    return values;
  }

 private:
  std::int64_t n_;
  Stream stream_;
  std::vector<Tensor> sets_;
};

// What courses vary besides the size; 0 or empty where it was not given. Work::takes_flag() says
// which of them mean anything to a problem.
struct Parameters {
  std::int64_t offset = 0, stride = 0;  // in words of 4 bytes
  std::vector<std::int64_t> mask;       // extents of a filter
  std::vector<std::int64_t> tile;       // outputs of a block, for the arithmetic alone
  std::int64_t results = 0;             // of a thread
  std::string transpose;                // operands stored transposed: "a", "b", "ab"

  std::vector<std::string_view> given() const;  // the flags: "--offset"
};

// What a Work is made with.
struct Context {
  Stream stream;
  std::uint64_t seed = 1;
  int block = 0;                  // threads per block; 0: the family's own choice
  std::string_view variant = {};  // what will run, for families of several operations; or empty
  Parameters parameters = {};
  // Bits over which the exponents of a product's inputs are spread; 0: they are uniform in [-1, 1).
  double spread = 0;
};

using kernels::Arithmetic;

// A way of calling a family that is measured: a rung of its table, or that with other options.
struct Variant {
  std::string name;            // as Work::call() takes it
  std::string_view rung;       // the row of the table, or kernels::kAutomatic
  Arithmetic arithmetic = {};  // what it computes in on this device, as the table says
};

// Where the bytes of a Work go, and so which bandwidth bounds it.
enum class Traffic {
  device_memory,
  shared_memory,  // 32 banks of 4 bytes in each multiprocessor and cycle
  host_bus        // PCIe or the like, whose peak is not known here: no bound
};

class Work {
 public:
  explicit Work(const Context& made_with) : context(made_with) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // The name of a variant that this problem cannot run is not an error, only left out.
  virtual bool can_run(std::string_view variant) const = 0;
  // What a row of the table computes in when call() is given its name, on a GPU.
  virtual Arithmetic arithmetic_of(const kernels::Rung& rung) const;
  // Ways of calling the family that are no row of its table, as a compute mode.
  virtual std::vector<Variant> further_variants() const { return {}; }
  virtual bool takes_block() const { return false; }  // does Context::block mean anything?
  // Does this flag of Parameters mean anything? `variant` may be empty.
  virtual bool takes_flag(std::string_view /*flag*/, std::string_view /*variant*/) const {
    return false;
  }
  // The rung whose kernel has the tile, block and results of a thread that were asked for:
  // `variant` itself where none was, and empty where no rung is known to have them.
  virtual std::string_view configured_rung(std::string_view variant) const;
  virtual void call(std::string_view variant, int set) = 0;
  // Forgets the outputs, so that a call that writes nothing cannot pass.
  virtual void reset() = 0;
  // Compares the outputs in `set` with the oracle, at the precision of `arithmetic`.
  virtual Verdict check(int set, Arithmetic arithmetic) = 0;
  // Products have an error: the largest one in `set` of a sampled output, over the sum of its
  // terms' absolute values, in units of 2^-24. One rounding to fp32 costs at most that unit.
  // Negative: not known.
  virtual double error(int) { return -1; }
  // What students compute by hand about a variant on this problem.
  virtual std::vector<Fact> facts(std::string_view) const { return {}; }
  // What one call writes and check() reads, for the test that check() can fail.
  virtual std::vector<Bytes> written(int) { return {}; }

  // Bytes that calls move before they come back to the same buffers.
  double touched() const { return sets * bytes; }

  std::string problem;          // "4096 x 4096 x 4096"
  std::string table, column;    // one of a series to be shown as a table, or empty
  double bytes = 0, flops = 0;  // of one call, by the formula
  bool by_flops = false;        // the table shows FLOP/s, else bytes/s
  Traffic traffic = Traffic::device_memory;
  bool one_kernel = false;  // its rungs differ in an argument of one kernel, as the pitch of rows
  bool one_by_one = false;  // the host queues each call, as a program does that has no graph
  int sets = 1;
  std::int64_t runs = 1;  // calls since reset() on the set to check; matters to updates in place
  const Context context;
};

// The mode that asks a rung for the most accuracy that it has.
kernels::ComputeMode mode_of(const kernels::Rung& rung);
// Does a rung of this name take minutes for so much work, its operations or its elements?
// Benchmarks leave it out then.
bool takes_minutes(kernels::Rungs rungs, std::string_view name, double work, Device device);

// A rung and the mode that it is called in.
struct RungInMode {
  std::string_view rung;
  kernels::ComputeMode mode = kernels::ComputeMode::fp32;
};
// What a name of Rung::modes stands for; for another name the rung of it, in fp32.
RungInMode rung_in_mode(kernels::Rungs rungs, std::string_view name);

// Error of one product of operands rounded for this arithmetic, relative.
double product_error(Arithmetic arithmetic);

// Uniform values in [low, high), the same for the same seed; made by all threads.
std::vector<float> random_values(std::int64_t n, std::uint64_t seed, float low = -1,
                                 float high = 1);
// The same in [-1, 1), times a power of two from 2^(-spread / 2) to 2^(spread / 2), uniform in the
// exponent.
std::vector<float> spread_values(std::int64_t n, std::uint64_t seed, double spread);
// Whole numbers from -4 to 4: their sums are exact in any order while they stay below 2^24.
std::vector<float> random_integers(std::int64_t n, std::uint64_t seed);
// `count` indices in [0, n), among them 0 and n - 1.
std::vector<std::int64_t> sample_indices(std::int64_t n, std::int64_t count, std::uint64_t seed);

}  // namespace weft::measure
