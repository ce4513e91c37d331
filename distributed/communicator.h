// SPDX-License-Identifier: MIT
// Communicator: what the ranks of a run do together. Each rank is a process with one device.
//
//   Communicator ranks(tcp_transport({.rank = 1, .size = 2, .rendezvous = "10.0.0.1:29500"}));
//   ranks.attach(stream);                          // the device whose buffers are reduced
//   ranks.all_reduce(gradients, n, stream);        // gradients[i] = the sum over the ranks
//
// All ranks call the same functions in the same order. Sums have the same bits on every rank. Those
// of host memory are taken in the order of the ranks, so that the transport makes no difference.
// A rank that has ended, or is silent for too long, is an Error{device} that names it.
//
// A Communicator of one rank does nothing and costs nothing; alone() is one.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "distributed/reducer.h"
#include "distributed/transport.h"
#include "engine/stream.h"

namespace weft::distributed {

// How all_reduce() of a GPU's memory is done. `automatic` takes the fastest that is there: one_shot
// for small buffers, then nccl, then host_staged.
enum class DeviceReduction { automatic, one_shot, nccl, host_staged };

// A part of 0 .. count - 1.
struct Share {
  std::int64_t first = 0, count = 0;
};
// Where the ranks are.
struct Places {
  int machines = 1;
  int local_rank = 0;          // how many ranks before this one run on the same machine
  int local_size = 1;          // how many run there in all
  bool share_devices = false;  // of attach(): two ranks have one GPU
};

// The share of `rank`: contiguous, in the order of the ranks; shares differ by one at most.
Share share_of(std::int64_t count, int rank, int size);

class Communicator {
 public:
  Communicator();  // one rank
  explicit Communicator(std::unique_ptr<Transport> transport);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  int rank() const;
  int size() const;
  bool is_first() const { return rank() == 0; }  // the rank that writes and reports
  Share share_of(std::int64_t count) const { return distributed::share_of(count, rank(), size()); }
  std::string describe() const;  // "2 ranks over tcp, NCCL 2.27"; empty for one rank

  const Places& places() const { return places_; }

  // Host memory. All of these block.
  void barrier();
  // The lengths may differ, up to `most` bytes. A rank that announces more is an Error{device}.
  // Memory stays below twice what has come, but for the first 64 KiB of each rank.
  void broadcast(Bytes& bytes, std::size_t most = kMostBytes);                      // rank 0's
  std::vector<Bytes> all_gather(const Bytes& mine, std::size_t most = kMostBytes);  // [rank]
  static constexpr std::size_t kMostBytes = std::size_t{1} << 40;
  void all_reduce(std::span<float> values);  // sums
  void all_reduce(std::span<double> values);
  bool any(bool mine);
  // The value of every rank, for a type that is plain bytes.
  template <class T>
  std::vector<T> gather(const T& mine);

  // Throws Error{usage} on every rank unless these facts are the same on all of them, naming the
  // first rank that differs and the first fact: "rank 1 differs from rank 0 in batch_size: 32
  // instead of 64".
  void require_same(const std::vector<std::pair<std::string, std::string>>& facts);

  // The device of this rank's buffers; once, before the functions below. Ranks agree on what is
  // there: NCCL needs a GPU for each rank, one_shot GPUs of one machine that reach each other's
  // memory. Throws usage when a reduction is asked for that is not there, with the reason.
  void attach(const Stream& stream, DeviceReduction reduction = DeviceReduction::automatic);

  bool is_attached() const { return size() == 1 || reducer_ != nullptr; }

  // Device memory of the attached stream's device, in stream order. On a GPU they may be captured.
  void all_reduce(float* values, std::int64_t n, const Stream& stream);  // (n,), in place: sums
  // values is (count,) on every rank; that of rank r fills in its share_of(count) and gets the
  // others'. `unit` values belong together: shares are of count / unit units.
  void all_gather(float* values, std::int64_t count, std::int64_t unit, const Stream& stream);
  void all_gather(double* values, std::int64_t count, std::int64_t unit, const Stream& stream);

  // Memory of all ranks' GPUs for kernels that exchange data themselves, or null where GPUs do not
  // reach each other or attach() was not left the choice. Every rank at once.
  std::unique_ptr<Peers> open_peers(const Stream& stream, std::int64_t capacity);

  Transport* transport() { return transport_.get(); }  // null for one rank

 private:
  void require_attached(const char* what) const;
  std::vector<Bytes> gather_equal(std::span<const std::byte> mine);  // as many bytes of each rank

  std::unique_ptr<Transport> transport_;
  Places places_;
  std::string no_peers_ = "nothing is attached";  // peers_reason()
  std::unique_ptr<Reducer> reducer_;
};

// A Communicator of one rank, for callers without others.
Communicator& alone();

template <class T>
std::vector<T> Communicator::gather(const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(std::span(&mine, 1));
  std::vector<T> values;
  for (const Bytes& of_rank : gather_equal(bytes)) {
    T value;
    std::memcpy(&value, of_rank.data(), sizeof value);
    values.push_back(value);
  }
  return values;
}

}  // namespace weft::distributed
