// SPDX-License-Identifier: MIT
// The reducers that need no library: over the host, and by a kernel of Weft's.
#include <deque>
#include <exception>
#include <mutex>
#include <vector>

#include "distributed/communicator.h"
#include "distributed/reducer.h"
#include "engine/error.h"

#ifdef WEFT_PEER_GPUS
#include "engine/cuda/cuda_check.h"
#endif

namespace weft::distributed {
namespace {

// values: (count,) in units, on the host; each rank has its share of them.
void gather_on_host(Communicator& ranks, std::span<float> values, std::int64_t unit) {
  const std::int64_t units = static_cast<std::int64_t>(values.size()) / unit;
  std::vector<std::span<const std::byte>> out;
  std::vector<std::span<std::byte>> in;
  const auto part = [&](int rank) {
    const Share share = share_of(units, rank, ranks.size());
    return values.subspan(static_cast<std::size_t>(share.first * unit),
                          static_cast<std::size_t>(share.count * unit));
  };
  for (int rank = 0; rank < ranks.size(); ++rank) {
    out.push_back(std::as_bytes(part(ranks.rank())));
    in.push_back(std::as_writable_bytes(part(rank)));
  }
  ranks.transport()->exchange(out, in);
}

class HostReducer final : public Reducer {
 public:
  explicit HostReducer(Communicator& ranks) : ranks_(ranks) {}

  void all_reduce(float* values, std::int64_t n, const Stream&) override {
    ranks_.all_reduce(std::span(values, static_cast<std::size_t>(n)));
  }
  void all_gather(float* values, std::int64_t count, std::int64_t unit, const Stream&) override {
    gather_on_host(ranks_, std::span(values, static_cast<std::size_t>(count)), unit);
  }
  std::string name() const override { return {}; }

 private:
  Communicator& ranks_;
};

#ifdef WEFT_PEER_GPUS

// The work on the host is a node of the stream. It cannot throw there: what went wrong is thrown by
// the next call, unless the loss of a rank has ended the process before.
class StagedReducer final : public Reducer {
 public:
  explicit StagedReducer(Communicator& ranks) : ranks_(ranks) {}
  ~StagedReducer() override {
    for (const Staging& staging : stagings_) static_cast<void>(cudaFreeHost(staging.memory));
  }

  void all_reduce(float* values, std::int64_t n, const Stream& stream) override {
    queue({this, nullptr, n, 0}, values, {0, n}, stream);
  }
  void all_gather(float* values, std::int64_t count, std::int64_t unit,
                  const Stream& stream) override {
    const Share share = ranks_.share_of(count / unit);
    queue({this, nullptr, count, unit}, values, {share.first * unit, share.count * unit}, stream);
  }
  std::string name() const override { return "staged on the host"; }

 private:
  // One size of call, with its memory. Calls of a size run one after the other.
  struct Staging {
    StagedReducer* owner;
    float* memory;             // (count,), pinned
    std::int64_t count, unit;  // unit 0: a sum
  };

  // `mine`: the floats that the host needs of this rank.
  void queue(const Staging& wanted, float* values, Share mine, const Stream& stream) {
    if (failure_) std::rethrow_exception(failure_);
    Staging& staging = find(wanted);
    const auto bytes = [](std::int64_t count) {
      return static_cast<std::size_t>(count) * sizeof(float);
    };
    cuda_check(cudaMemcpyAsync(staging.memory + mine.first, values + mine.first, bytes(mine.count),
                               cudaMemcpyDeviceToHost, stream.native()),
               "copy to the host");
    cuda_check(cudaLaunchHostFunc(stream.native(), &StagedReducer::run, &staging),
               "queue work on the host");
    cuda_check(cudaMemcpyAsync(values, staging.memory, bytes(staging.count), cudaMemcpyHostToDevice,
                               stream.native()),
               "copy from the host");
  }

  // Pinned memory cannot be had while a graph is captured: a call of the same size comes before.
  Staging& find(const Staging& wanted) {
    for (Staging& staging : stagings_) {
      if (staging.count == wanted.count && staging.unit == wanted.unit) return staging;
    }
    Staging staging = wanted;
    cuda_check(cudaMallocHost(reinterpret_cast<void**>(&staging.memory),
                              static_cast<std::size_t>(wanted.count) * sizeof(float)),
               "allocate pinned memory");
    return stagings_.emplace_back(staging);
  }

  static void CUDART_CB run(void* data) {
    const Staging& staging = *static_cast<const Staging*>(data);
    StagedReducer& self = *staging.owner;
    if (self.failure_) return;
    const std::span<float> values(staging.memory, static_cast<std::size_t>(staging.count));
    try {
      if (staging.unit == 0) {
        self.ranks_.all_reduce(values);
      } else {
        gather_on_host(self.ranks_, values, staging.unit);
      }
    } catch (...) {
      self.failure_ = std::current_exception();
    }
  }

  Communicator& ranks_;
  std::deque<Staging> stagings_;  // graphs point to them
  std::exception_ptr failure_;
};

class OneShotReducer final : public Reducer {
 public:
  OneShotReducer(std::unique_ptr<Peers> peers, std::unique_ptr<Reducer> large)
      : peers_(std::move(peers)), large_(std::move(large)) {}

  void all_reduce(float* values, std::int64_t n, const Stream& stream) override {
    if (n > peers_->group().capacity) return large_->all_reduce(values, n, stream);
    kernels::all_reduce_one_shot(values, n, peers_->group(), stream);
  }
  void all_gather(float* values, std::int64_t count, std::int64_t unit,
                  const Stream& stream) override {
    large_->all_gather(values, count, unit, stream);
  }
  std::string name() const override { return "one-shot and " + large_->name(); }

 private:
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<Reducer> large_;
};

#endif

}  // namespace

std::unique_ptr<Reducer> host_reducer(Communicator& ranks) {
  return std::make_unique<HostReducer>(ranks);
}

#ifdef WEFT_PEER_GPUS
std::unique_ptr<Reducer> staged_reducer(Communicator& ranks, const Stream&) {
  return std::make_unique<StagedReducer>(ranks);
}
std::unique_ptr<Reducer> one_shot_reducer(std::unique_ptr<Peers> peers,
                                          std::unique_ptr<Reducer> large) {
  return std::make_unique<OneShotReducer>(std::move(peers), std::move(large));
}
#else
std::unique_ptr<Reducer> staged_reducer(Communicator&, const Stream& stream) {
  throw Error(ErrorKind::device, str("no sums on ", stream.device(), ": built without CUDA"));
}
std::unique_ptr<Reducer> one_shot_reducer(std::unique_ptr<Peers>, std::unique_ptr<Reducer>) {
  throw Error(ErrorKind::device, "no sums between GPUs: built without CUDA");
}
#endif

}  // namespace weft::distributed
