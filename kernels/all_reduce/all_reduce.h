// SPDX-License-Identifier: MIT
// All-reduce between the GPUs of one machine, one-shot: every rank gets the values of all ranks
// through memory that all can reach, and adds them up itself.
//
//   values[i] = sum over ranks r = 0 .. size - 1, in this order, of rank r's values[i]
//
// so all ranks get the same bits. A ring moves 2 (size - 1) / size of the bytes over a link in
// 2 (size - 1) steps that wait for each other; one-shot moves size - 1 times the bytes in one step.
// It wins while the latency of a step is longer than the transfer.
//
// Every rank calls it with the same n and variant, in the same order, at the same time: the kernels
// wait for each other, so they must run at once. `automatic` chooses alike on all ranks. A call
// finds its number in device memory, so it may be captured in a graph. A kernel whose peer never
// comes does not end. Memory is freed when all ranks have ended their last call.
//
// On a CPU all ranks of a group are in one call: others meet through distributed/.
#pragma once

#include <span>

#include "kernels/ladder.h"

namespace weft::kernels {

inline constexpr int kMaxPeers = 8;
inline constexpr int kAllReduceBlocks = 64;                   // of a rank, at most
inline constexpr std::int64_t kMostTaggedWords = 128 * 1024;  // floats that tagged_words takes

// The exchange memory of one rank, in its GPU: some 6 KB of call numbers and flags; two slots of
// `capacity` floats; two times kMaxPeers tagged words, of 8 bytes, for each of the first
// kMostTaggedWords floats. Calls take the halves in turn, so that they meet once. It is aligned to
// 16 bytes and zeroed once, before any rank uses it.
std::size_t peer_memory_bytes(std::int64_t capacity);

// The ranks' exchange memories, as this process and its GPU address them. On a CPU there are none.
struct PeerGroup {
  int rank = 0, size = 1;
  std::int64_t capacity = 0;  // floats of a slot
  void* memory[kMaxPeers] = {};
};

// Sums the values of ranks group.rank, group.rank + 1, ..., whose memory is all on the stream's
// device: a rank alone, or several in one kernel, as tests and measurements on one GPU have them.
// n == 0 is no call.
// usage: n above the capacity, a group of no or more than kMaxPeers ranks, a rank outside of it, on
// a CPU a rank that is not there.
void all_reduce(std::span<float* const> values,  // of each rank (n,), in place
                std::int64_t n, const PeerGroup& group, std::string_view variant,
                const Stream& stream);

inline void all_reduce_one_shot(float* values,  // (n,), in place
                                std::int64_t n, const PeerGroup& group, const Stream& stream) {
  all_reduce({&values, 1}, n, group, kAutomatic, stream);
}

Rungs all_reduce_rungs();  // in teaching order
bool all_reduce_takes(std::string_view variant, std::int64_t n, const PeerGroup& group,
                      Device device);
Choice all_reduce_choice(std::int64_t n, const PeerGroup& group, Device device);

}  // namespace weft::kernels
