// SPDX-License-Identifier: MIT
// The table of the rungs of all_reduce, and the validation and dispatch of a call.
#include "kernels/all_reduce/all_reduce.h"

#include "kernels/all_reduce/cpu/table.h"
#include "kernels/all_reduce/launchers.h"
#include "kernels/all_reduce/parts/peer_memory.h"
#include "kernels/checks.h"

namespace weft::kernels {
namespace cuda {

struct AllReduceRow {
  struct Problem {
    std::int64_t n;
    PeerGroup group;
  };

  Rung rung;
  Launcher<AllReduceLauncher> launcher;
  std::int64_t most;  // floats that it takes, whatever the capacity

  constexpr bool complete() const { return launcher.is("all_reduce_", rung.name); }
  std::string takes(const Problem& problem, Device device) const {
    if (device.is_cpu() || problem.n <= most) return "";
    return str("it takes ", most, " floats at most");
  }
};

constexpr AllReduceRow kAllReduceRows[] = {
    {.rung = {.name = "one_shot",
              .summary =
                  "a rank shows its values in a slot, raises a flag for each peer, waits for "
                  "theirs and reads all slots",
              .prefer = "for more than a few hundred KB",
              .on_cpu = true},
     .launcher = WEFT_LAUNCHER(AllReduceLauncher, all_reduce_one_shot),
     .most = std::int64_t{1} << 40},
    {.rung = {.name = "tagged_words",
              .summary = "values travel to the peers in words that carry the number of the call: "
                         "one way, no flag, no fence",
              .prefer = "for small gradients",
              .on_cpu = true},
     .launcher = WEFT_LAUNCHER(AllReduceLauncher, all_reduce_tagged_words),
     .most = kMostTaggedWords},
};

}  // namespace cuda

namespace {

// The same on all ranks.
Choice automatic(const cuda::AllReduceRow::Problem& problem, Device) {
  const std::int64_t sent = problem.n * (problem.group.size - 1);  // to each peer
  if (problem.n <= kMostTaggedWords && sent <= kMostTaggedWords) {
    return {"tagged_words", "latency counts, not the doubled bytes"};
  }
  return {"one_shot", "bytes count more than latency"};
}

constexpr Ladder kLadder("all_reduce", cuda::kAllReduceRows, automatic);

Argument peer_memory(const PeerGroup& group, int rank) {
  const auto bytes = static_cast<std::int64_t>(peer_memory_bytes(group.capacity));
  return writes("memory", group.memory[rank], bytes, 1).aligned_to(16);
}

// The values of the ranks here and, on a GPU, the exchange memory of all.
void check_arrays(std::span<float* const> values, std::int64_t n, const PeerGroup& group,
                  const Stream& stream) {
  constexpr const char* kNames[kMaxPeers] = {"values[0]", "values[1]", "values[2]", "values[3]",
                                             "values[4]", "values[5]", "values[6]", "values[7]"};
  Argument arguments[2 * kMaxPeers];
  std::size_t count = 0;
  for (float* const of_rank : values) {
    arguments[count] = writes(kNames[count], of_rank, n);
    ++count;
  }
  for (int rank = 0; stream.device().is_cuda() && rank < group.size; ++rank) {
    arguments[count++] = peer_memory(group, rank);
  }
  check_call("all_reduce", stream, std::span<const Argument>(arguments, count));
}

void check(std::span<float* const> values, std::int64_t n, const PeerGroup& group, Device device) {
  if (group.size < 1 || group.size > kMaxPeers) {
    throw Error(ErrorKind::usage,
                str("all_reduce: 1 to ", kMaxPeers, " ranks expected, found ", group.size));
  }
  const auto here = static_cast<std::int64_t>(values.size());
  if (group.rank < 0 || here < 1 || group.rank + here > group.size) {
    throw Error(ErrorKind::usage, str("all_reduce: ranks of a group of ", group.size,
                                      " expected, found ", here, " from ", group.rank));
  }
  if (device.is_cpu()) {
    if (here == group.size) return;
    throw Error(ErrorKind::usage, str("all_reduce: on a CPU all ", group.size,
                                      " ranks are in one call, found ", here));
  }
  if (n > group.capacity) {
    throw Error(ErrorKind::usage, str("all_reduce: at most ", group.capacity,
                                      " floats fit the exchange memory, found ", n));
  }
}

}  // namespace

void check_peer_memory(std::string_view where, const PeerGroup& group, const Stream& stream) {
  for (int rank = 0; rank < group.size; ++rank) {
    check_call(where, stream, {peer_memory(group, rank)});
  }
}

std::size_t peer_memory_bytes(std::int64_t capacity) {
  return peers::bytes(checked_elements("all_reduce", {capacity}));
}

void all_reduce(std::span<float* const> values, std::int64_t n, const PeerGroup& group,
                std::string_view variant, const Stream& stream) {
  const bool empty = checked_elements("all_reduce", {n}) == 0;
  check(values, n, group, stream.device());
  const cuda::AllReduceRow& row = kLadder.select(variant, {n, group}, stream.device());
  if (empty) return;
  check_arrays(values, n, group, stream);
  if (stream.device().is_cpu()) return select_all_reduce_cpu().all_reduce(values, n);
  cuda::RanksHere ranks{group, n, static_cast<int>(values.size()), {}};
  for (std::size_t i = 0; i < values.size(); ++i) ranks.values[i] = values[i];
  row.launcher.run(ranks, stream);
}

Rungs all_reduce_rungs() {
  return kLadder.rungs();
}

bool all_reduce_takes(std::string_view variant, std::int64_t n, const PeerGroup& group,
                      Device device) {
  return kLadder.takes(variant, {n, group}, device);
}

Choice all_reduce_choice(std::int64_t n, const PeerGroup& group, Device device) {
  return kLadder.choose({n, group}, device);
}

}  // namespace weft::kernels
