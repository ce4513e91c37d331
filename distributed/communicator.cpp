// SPDX-License-Identifier: MIT
#include "distributed/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/error.h"

#ifdef WEFT_PEER_GPUS
#include "engine/cuda/cuda_check.h"
#endif

namespace weft::distributed {

namespace {

// Floats that the one-shot kernels sum, at most. On two H100s they are still faster than NCCL
// there.
constexpr std::int64_t kOneShotFloats = std::int64_t{1} << 18;

// Bytes: the first part that all_gather() exchanges; the longest name of a machine or a GPU; the
// most that ranks say to find out whether they agree.
constexpr std::uint64_t kFirstPart = std::uint64_t{64} << 10;
constexpr std::size_t kMostName = 1000;
constexpr std::size_t kMostFacts = std::size_t{1} << 20;

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Names a GPU among those of all machines.
std::string gpu_name(Device device) {
#ifdef WEFT_PEER_GPUS
  char id[32] = {};
  cuda_check(cudaDeviceGetPCIBusId(id, sizeof id, device.index), "name the GPU");
  return host_name() + " " + id;
#else
  return to_string(device);
#endif
}

// Each rank adds up its share of the values in the order of the ranks, then all get all shares.
template <class T>
void sum(Transport& transport, std::span<T> values) {
  const int size = transport.size(), rank = transport.rank();
  const auto part = [&](int r) {
    const Share share = share_of(static_cast<std::int64_t>(values.size()), r, size);
    return values.subspan(static_cast<std::size_t>(share.first),
                          static_cast<std::size_t>(share.count));
  };
  const std::span<T> mine = part(rank);
  std::vector<std::vector<T>> theirs(static_cast<std::size_t>(size), std::vector<T>(mine.size()));
  std::vector<std::span<const std::byte>> out;
  std::vector<std::span<std::byte>> in;
  for (int r = 0; r < size; ++r) {
    out.push_back(std::as_bytes(part(r)));
    in.push_back(std::as_writable_bytes(std::span(theirs[static_cast<std::size_t>(r)])));
  }
  transport.exchange(out, in);
  std::ranges::copy(mine, theirs[static_cast<std::size_t>(rank)].begin());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    T total = theirs[0][i];
    for (int r = 1; r < size; ++r) total += theirs[static_cast<std::size_t>(r)][i];
    mine[i] = total;
  }
  for (int r = 0; r < size; ++r) {
    out[static_cast<std::size_t>(r)] = std::as_bytes(mine);
    in[static_cast<std::size_t>(r)] = std::as_writable_bytes(part(r));
  }
  transport.exchange(out, in);
}

}  // namespace

Share share_of(std::int64_t count, int rank, int size) {
  const std::int64_t first = count * rank / size;
  return {first, count * (rank + 1) / size - first};
}

Communicator::Communicator() = default;

Communicator::Communicator(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)) {
  std::set<std::string> machines;
  const std::string here = host_name();
  int rank = 0;
  for (const Bytes& bytes : all_gather(bytes_of(here), kMostName)) {
    machines.insert(text_of(bytes));
    if (text_of(bytes) == here && rank < this->rank()) ++places_.local_rank;
    if (text_of(bytes) == here && rank > this->rank()) ++places_.local_size;
    ++rank;
  }
  places_.local_size += places_.local_rank;
  places_.machines = static_cast<int>(machines.size());
}

Communicator::~Communicator() {
  reducer_.reset();  // before the transport, on which it stands
}

int Communicator::rank() const {
  return transport_ ? transport_->rank() : 0;
}
int Communicator::size() const {
  return transport_ ? transport_->size() : 1;
}

std::string Communicator::describe() const {
  if (size() == 1) return {};
  std::string text = str(size(), " ranks over ", transport_->name());
  if (places_.machines > 1) text += str(" on ", places_.machines, " machines");
  if (reducer_ && !reducer_->name().empty()) text += ", " + reducer_->name();
  return text;
}

void Communicator::barrier() {
  any(false);
}

void Communicator::broadcast(Bytes& bytes, std::size_t most) {
  if (size() == 1) return;
  const std::vector<Bytes> all = all_gather(is_first() ? bytes : Bytes{}, most);
  bytes = all.front();
}

std::vector<Bytes> Communicator::gather_equal(std::span<const std::byte> mine) {
  std::vector<Bytes> all(static_cast<std::size_t>(size()), Bytes(mine.begin(), mine.end()));
  if (all.size() == 1) return all;
  const std::vector<std::span<const std::byte>> out(all.size(), mine);
  const std::vector<std::span<std::byte>> in(all.begin(), all.end());
  transport_->exchange(out, in);
  return all;
}

std::vector<Bytes> Communicator::all_gather(const Bytes& mine, std::size_t most) {
  const std::vector<std::uint64_t> lengths = gather(std::uint64_t{mine.size()});
  const auto own = static_cast<std::size_t>(rank());
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    if (lengths[r] <= most) continue;
    throw Error(ErrorKind::device, str("rank ", r, " wants to send ", lengths[r],
                                       " bytes where at most ", most, " are expected"));
  }
  std::vector<Bytes> all(lengths.size());
  all[own] = mine;
  if (all.size() == 1) return all;
  const std::uint64_t longest = *std::ranges::max_element(lengths);
  std::vector<std::span<const std::byte>> out(all.size());
  std::vector<std::span<std::byte>> in(all.size());
  // Part by part, each as long as all before it: a length is no reason to take memory.
  for (std::uint64_t begin = 0, end = kFirstPart; begin < longest; begin = end, end *= 2) {
    const auto part = [&](std::uint64_t length) {
      return std::pair(std::min(begin, length), std::min(end, length));
    };
    for (std::size_t r = 0; r < all.size(); ++r) {
      const auto [own_first, own_last] = part(lengths[own]);
      out[r] = std::span(mine).subspan(own_first, own_last - own_first);
      if (r == own) continue;
      const auto [first, last] = part(lengths[r]);
      all[r].resize(last);
      in[r] = std::span(all[r]).subspan(first);
    }
    transport_->exchange(out, in);
  }
  return all;
}

void Communicator::all_reduce(std::span<float> values) {
  if (size() > 1) sum(*transport_, values);
}
void Communicator::all_reduce(std::span<double> values) {
  if (size() > 1) sum(*transport_, values);
}

bool Communicator::any(bool mine) {
  if (size() == 1) return mine;
  const std::vector<bool> all = gather(mine);
  return std::ranges::find(all, true) != all.end();
}

void Communicator::require_same(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (size() == 1) return;
  std::string lines;
  for (const auto& [name, value] : facts) lines += name + '\n' + value + '\n';
  const std::vector<Bytes> all = all_gather(bytes_of(lines), kMostFacts);
  const auto parse = [](const Bytes& bytes) {
    std::vector<std::pair<std::string, std::string>> found;
    std::istringstream in(text_of(bytes));
    for (std::string name, value; std::getline(in, name) && std::getline(in, value);) {
      found.emplace_back(name, value);
    }
    return found;
  };
  const auto first = parse(all.front());
  for (std::size_t r = 1; r < all.size(); ++r) {
    const auto other = parse(all[r]);
    const auto [here, there] = std::ranges::mismatch(first, other);
    if (here == first.end() && there == other.end()) continue;
    const bool comparable =
        here != first.end() && there != other.end() && here->first == there->first;
    throw Error(ErrorKind::usage, comparable
                                      ? str("rank ", r, " differs from rank 0 in ", here->first,
                                            ": ", there->second, " instead of ", here->second)
                                      : str("rank ", r, " has other settings than rank 0"));
  }
}

void Communicator::attach(const Stream& stream, DeviceReduction reduction) {
  if (size() == 1) return;
  if (stream.device().is_cpu()) {
    if (reduction == DeviceReduction::nccl || reduction == DeviceReduction::one_shot) {
      throw Error(ErrorKind::usage,
                  "NCCL and the one-shot all-reduce are for GPUs, not for the CPU");
    }
    reducer_ = host_reducer(*this);
    return;
  }
  std::set<std::string> gpus;
  for (const Bytes& bytes : all_gather(bytes_of(gpu_name(stream.device())), kMostName)) {
    gpus.insert(text_of(bytes));
  }
  places_.share_devices = static_cast<int>(gpus.size()) < size();
  std::string no_nccl = places_.share_devices ? "ranks share a GPU" : nccl_reason();
  if (any(!no_nccl.empty()) && no_nccl.empty()) no_nccl = "another rank has no NCCL";
  no_peers_ = peers_reason(*this, stream);
  const auto require = [](const char* what, const std::string& reason) {
    if (!reason.empty()) throw Error(ErrorKind::usage, str("no ", what, ": ", reason));
  };
  if (reduction == DeviceReduction::nccl) require("NCCL", no_nccl);
  if (reduction == DeviceReduction::one_shot) require("one-shot all-reduce", no_peers_);

  const bool staged = reduction == DeviceReduction::host_staged || !no_nccl.empty();
  reducer_ = staged ? staged_reducer(*this, stream) : nccl_reducer(*this, stream);
  const bool direct =
      reduction == DeviceReduction::one_shot || reduction == DeviceReduction::automatic;
  if (!direct) {
    no_peers_ = "another reduction was asked for";
  } else if (no_peers_.empty()) {
    reducer_ = one_shot_reducer(std::make_unique<Peers>(*this, stream, kOneShotFloats),
                                std::move(reducer_));
  }
}

std::unique_ptr<Peers> Communicator::open_peers(const Stream& stream, std::int64_t capacity) {
  if (!no_peers_.empty()) return nullptr;
  return std::make_unique<Peers>(*this, stream, capacity);
}

void Communicator::require_attached(const char* what) const {
  if (!reducer_) throw Error(ErrorKind::usage, str(what, ": no device is attached"));
}

void Communicator::all_reduce(float* values, std::int64_t n, const Stream& stream) {
  if (size() == 1) return;
  require_attached("all_reduce");
  if (n > 0) reducer_->all_reduce(values, n, stream);
}

void Communicator::all_gather(float* values, std::int64_t count, std::int64_t unit,
                              const Stream& stream) {
  if (size() == 1) return;
  require_attached("all_gather");
  if (unit < 1 || count % unit != 0) {
    throw Error(ErrorKind::usage, str("all_gather: ", count, " floats in units of ", unit));
  }
  if (count > 0) reducer_->all_gather(values, count, unit, stream);
}

// Nothing is computed: a double moves as two floats.
void Communicator::all_gather(double* values, std::int64_t count, std::int64_t unit,
                              const Stream& stream) {
  all_gather(reinterpret_cast<float*>(values), 2 * count, 2 * unit, stream);
}

Communicator& alone() {
  static Communicator alone;
  return alone;
}

}  // namespace weft::distributed
