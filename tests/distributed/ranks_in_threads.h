// SPDX-License-Identifier: MIT
// Ranks over TCP, each in a thread.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "distributed/communicator.h"
#include "distributed/socket.h"
#include "distributed/tcp.h"

namespace weft::distributed {

inline const RunToken kOurs = RunToken::from_text("a token of this run");
inline const RunToken kTheirs = RunToken::from_text("a token of another");

// A free address of this machine.
inline std::string free_rendezvous() {
  const Socket listener = listen_at({"127.0.0.1", 0});
  return to_string(listener.local());
}

inline TcpOptions options_of(int rank, int size, const std::string& rendezvous,
                             double timeout = 20) {
  TcpOptions options;
  options.rank = rank;
  options.size = size;
  options.rendezvous = rendezvous;
  options.timeout = timeout;
  return options;
}

// What each rank's work threw, "" for nothing.
inline std::vector<std::string> run_ranks(int size, const std::function<void(Communicator&)>& work,
                                          const std::function<void(TcpOptions&)>& change = {}) {
  const std::string rendezvous = free_rendezvous();
  std::vector<std::future<std::string>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::async(std::launch::async, [=]() -> std::string {
      try {
        TcpOptions options = options_of(rank, size, rendezvous);
        if (change) change(options);
        Communicator communicator(tcp_transport(options));
        work(communicator);
        return "";
      } catch (const std::exception& error) {
        return error.what();
      }
    }));
  }
  std::vector<std::string> errors;
  for (auto& rank : ranks) errors.push_back(rank.get());
  return errors;
}

}  // namespace weft::distributed
