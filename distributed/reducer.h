// SPDX-License-Identifier: MIT
// Reducer: one way to add up and to gather the device memory of all ranks. Communicator::attach()
// chooses among them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "distributed/peers.h"
#include "engine/stream.h"

namespace weft::distributed {

class Communicator;

// As the functions of the same names in Communicator.
class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual void all_reduce(float* values, std::int64_t n, const Stream& stream) = 0;
  virtual void all_gather(float* values, std::int64_t count, std::int64_t unit,
                          const Stream& stream) = 0;
  virtual std::string name() const = 0;  // for people
};

// Sums arrays in the CPU's memory over the transport, at once.
std::unique_ptr<Reducer> host_reducer(Communicator& ranks);
// Sums arrays in a GPU's memory: they are copied to the host, summed over the transport, and copied
// back, as nodes of a graph where the call is captured. Ranks may share a GPU.
std::unique_ptr<Reducer> staged_reducer(Communicator& ranks, const Stream& stream);
// By NCCL; every rank at once. Throws Error{device}.
std::unique_ptr<Reducer> nccl_reducer(Communicator& ranks, const Stream& stream);
std::string nccl_reason();   // why NCCL cannot be used here; empty when it can
std::string nccl_version();  // "2.27.3"; empty without NCCL
// By the kernel of kernels/all_reduce while a sum fits in the peers' memory, else by `large`.
std::unique_ptr<Reducer> one_shot_reducer(std::unique_ptr<Peers> peers,
                                          std::unique_ptr<Reducer> large);

}  // namespace weft::distributed
