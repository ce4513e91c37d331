// SPDX-License-Identifier: MIT
// Peers: memory of every rank's GPU that the GPUs of the other ranks can read and write, for
// kernels that exchange data by themselves (kernels/all_reduce).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/stream.h"
#include "kernels/all_reduce/all_reduce.h"

namespace weft::distributed {

class Communicator;

// Why the ranks' GPUs cannot reach each other's memory, the same on every rank; empty when they
// can: one machine, a GPU for each rank, at most kernels::kMaxPeers of them. Every rank at once.
std::string peers_reason(Communicator& ranks, const Stream& stream);

class Peers {
 public:
  // Every rank at once, where peers_reason() is empty. `capacity`: floats of a slot. Throws
  // Error{device}, on every rank, when the memory cannot be had or be mapped.
  Peers(Communicator& ranks, const Stream& stream, std::int64_t capacity);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  const kernels::PeerGroup& group() const { return group_; }

 private:
  kernels::PeerGroup group_;
};

}  // namespace weft::distributed
