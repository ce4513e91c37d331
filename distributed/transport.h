// SPDX-License-Identifier: MIT
// Transport: carries bytes between the ranks of a run, which are processes on one machine or on
// several. tcp.h and mpi.h make one.
//
// It is used by one thread at a time. The ranks call exchange() in the same order, with sizes that
// agree.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::distributed {

using Bytes = std::vector<std::byte>;

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;  // 0 <= rank < size
  virtual int size() const = 0;
  virtual std::string_view name() const = 0;  // "tcp", "mpi"

  // Sends out[r] to each other rank r and fills in[r] with what r sends here, all at once. Both
  // have size() entries; that of this rank is left alone. Blocks. Throws Error{device}, naming the
  // rank, when one has ended or has been silent for longer than the timeout.
  virtual void exchange(std::span<const std::span<const std::byte>> out,
                        std::span<const std::span<std::byte>> in) = 0;

  // What `line` says has ended this rank's part of the run: the other ranks end too, within
  // seconds. Rank 0 prints the line of another rank; its own it has printed already.
  virtual void fail(const std::string& line) noexcept = 0;
};

}  // namespace weft::distributed
