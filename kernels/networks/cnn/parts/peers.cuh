// SPDX-License-Identifier: MIT
// The parameters' phase of a rank among others: the gradient of a parameter goes to all ranks as a
// tagged word (kernels/all_reduce), while its thread waits for theirs, and all add them up in the
// order of the ranks. Every parameter has a word of its own: grids need not be alike.
//
// A word is sent when its sum is there, and looked for after the block has sent all of its words,
// so a step crosses the link once. Between two uses of a half of the words lies a step, which ends
// for no rank before it has begun for all: see kernels/all_reduce/parts/peer_memory.h.
#pragma once

#include "kernels/all_reduce/parts/peer_memory.h"
#include "kernels/device/system_scope.cuh"
#include "kernels/networks/cnn/parts/parameter_phase.cuh"

namespace weft::kernels::fused_cnn {

// Where the words of a group are, reckoned by the host: the kernel has no registers to spare.
struct Peers {
  int size;
  peers::Word* to[kMaxPeers];  // what this rank sends, in the first half
  const peers::Word* from;     // what rank 0 sends here, in the first half
  int rank_words, half_words;  // from one rank to the next, and to the other half
  peers::Word* calls;
};

inline Peers peers_of(const PeerGroup& group) {
  const int count = static_cast<int>(peers::word_count(group.capacity));
  Peers ranks{group.size, {}, nullptr, count, count * kMaxPeers, nullptr};
  for (int r = 0; r < group.size; ++r) {
    ranks.to[r] = peers::words_in(group.memory[r], group.capacity, 0, group.rank);
  }
  ranks.from = peers::words_in(group.memory[group.rank], group.capacity, 0, 0);
  ranks.calls = peers::calls_in(group.memory[group.rank]);
  return ranks;
}

// The word of a parameter in the half that a call takes. Not hoisted: the addresses of all ranks
// would else be computed before the loop over the turns.
__device__ __forceinline__ int word_of(const Peers& ranks, std::uint32_t call, int index) {
  return device::unhoisted(call % 2 != 0 ? ranks.half_words + index : index);
}

// `call` is the number of the exchange, and its tag.
__device__ __forceinline__ void send_gradient(const Peers& ranks, std::uint32_t call, int index,
                                              float gradient) {
  const peers::Word word = device::tagged(gradient, call);
  const int at = word_of(ranks, call, index);
#pragma unroll
  for (int r = 0; r < kMaxPeers; ++r) {
    if (r < ranks.size) device::store_word(ranks.to[r] + at, word);
  }
}

// Waits for the words of all ranks, which are in flight at once.
__device__ __forceinline__ float sum_of_ranks(const Peers& ranks, std::uint32_t call, int index) {
  const peers::Word* const from = ranks.from + word_of(ranks, call, index);
  peers::Word word[kMaxPeers];
  bool all = false;
  while (!all) {
#pragma unroll
    for (int r = 0; r < kMaxPeers; ++r) {
      if (r < ranks.size) word[r] = device::load_word(from + r * ranks.rank_words);
    }
    all = true;
#pragma unroll
    for (int r = 0; r < kMaxPeers; ++r) {
      if (r < ranks.size) all = all && device::tag_of(word[r]) == call;
    }
  }
  float sum = device::value_of(word[0]);
#pragma unroll
  for (int r = 1; r < kMaxPeers; ++r) {
    if (r < ranks.size) sum += device::value_of(word[r]);
  }
  return sum;
}

// As update_parameters().
template <class Net>
__device__ __forceinline__ void update_with_peers(ParameterMemory& memory, const Training& t,
                                                  std::int64_t step, const Peers& ranks) {
  // Read in each step, and not kept: the images' phase needs every register.
  const std::uint32_t call = static_cast<std::uint32_t>(*ranks.calls) + 1;
  const float rate = t.lr[step], momentum = t.sgd.momentum;
  const int tasks = parameter_tasks<Net>(t.classes), blocks = static_cast<int>(gridDim.x);
  // Not hoisted: what follows from the first task would be kept through the images' phase.
  for (int task = device::unhoisted(static_cast<int>(blockIdx.x)); task < tasks; task += blocks) {
    const Turn turn = turn_of<Net>(task, t);
    const float gradient = sum_turn<Net>(memory, turn, t);
    if (turn.index >= 0) send_gradient(ranks, call, turn.index, gradient);
    __syncthreads();  // the parts are read before the next ones are written
  }
  if (t.totals != nullptr && blockIdx.x == gridDim.x - 1 && warp_id() == 0) {
    add_totals(t.totals, t.exchange, t.image_blocks, t.rows);
  }
  for (int task = device::unhoisted(static_cast<int>(blockIdx.x)); task < tasks; task += blocks) {
    const int index = turn_of<Net>(task, t).index;
    if (index < 0) continue;
    float parameter = t.parameters[index];
    float velocity = momentum != 0.0f ? t.velocity[index] : 0.0f;
    const float gradient = sum_of_ranks(ranks, call, index);
    optimizer::SgdStep<float>({momentum, t.sgd.weight_decay, t.sgd.nesterov}, rate)
        .apply(parameter, velocity, gradient);
    t.parameters[index] = parameter;
    if (momentum != 0.0f) t.velocity[index] = velocity;
  }
}

}  // namespace weft::kernels::fused_cnn
