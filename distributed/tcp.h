// SPDX-License-Identifier: MIT
// A transport over TCP, for ranks on one machine or on several without MPI.
//
// Rank 0 listens at the rendezvous. The others report there, learn each other's addresses, and
// connect in pairs. Numbers are sent as they lie in memory, so all machines are of one kind.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "distributed/lifeline.h"
#include "distributed/run_token.h"
#include "distributed/transport.h"

namespace weft::distributed {

struct TcpOptions {
  int rank = 0, size = 1;
  std::string rendezvous;  // HOST:PORT, where rank 0 listens
  double timeout = 120;    // seconds: to meet, and that a rank may be silent
  // What all ranks of the run know and nobody else, so that others are refused.
  RunToken token = {};
  // Called with the rendezvous once rank 0 listens there, with the port that it got for port 0.
  std::function<void(const std::string&)> listening = {};
  // Called several times a second while rank 0 waits for the others; may throw.
  std::function<void()> waiting = {};
  Lifeline::Lost lost = {};  // empty: the next exchange() throws
};

// Blocks until all ranks are there. Error{usage} for a rank outside of 0 .. size - 1 or ranks that
// do not agree on their number; Error{device}, naming the address or the rank, when one is not
// there in time, or when the address is in use.
std::unique_ptr<Transport> tcp_transport(const TcpOptions& options);

}  // namespace weft::distributed
