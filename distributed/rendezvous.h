// SPDX-License-Identifier: MIT
// How the ranks of a run find each other over TCP.
#pragma once

#include <string>
#include <vector>

#include "distributed/socket.h"
#include "distributed/tcp.h"

namespace weft::distributed {

struct Meeting {
  std::vector<Socket> peers;       // [rank], that of this rank closed
  std::vector<Socket> lifelines;   // as Lifeline takes them
  std::vector<std::string> names;  // [rank], for people: "rank 1 (node7, process 4711)"
};

Meeting meet(const TcpOptions& options);  // as tcp_transport()

}  // namespace weft::distributed
