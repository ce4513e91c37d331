// SPDX-License-Identifier: MIT
// TCP sockets as the ranks of a run use them: each call has a deadline, and says what went wrong.
//
// Failures are Error{device}: "rank 1 (10.0.0.2): connection reset by peer".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

struct pollfd;

namespace weft::distributed {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// HOST:PORT, or [ADDRESS]:PORT for IPv6.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;  // 0: any free one, when listening
};
Endpoint parse_endpoint(const std::string& text);  // throws usage
std::string to_string(const Endpoint& endpoint);

// A socket that is closed when it goes; move-only.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  void close();

  // All of the bytes, or an error. `peer` names the other side in the message.
  void send(std::span<const std::byte> bytes, Deadline deadline, const std::string& peer) const;
  void receive(std::span<std::byte> bytes, Deadline deadline, const std::string& peer) const;
  Endpoint local() const;
  Endpoint remote() const;

 private:
  int descriptor_ = -1;
};

Socket listen_at(const Endpoint& endpoint);
// The next connection, or nothing when the deadline passes.
std::optional<Socket> accept_from(const Socket& listener, Deadline deadline);
// Tries again until somebody listens there or the deadline passes.
Socket connect_to(const Endpoint& endpoint, Deadline deadline);

// Are all addresses of this host the machine's own, which no other one reaches?
bool is_loopback(const Endpoint& endpoint);
// Does who listens there listen at every address of the machine?
bool is_every_address(const Endpoint& endpoint);

// Waits until one of the descriptors has something to read or to write; false when the deadline
// passes.
bool wait_for_any(std::span<pollfd> entries, Deadline deadline);
bool wait_for(int descriptor, short events, Deadline deadline);

// "connection refused", for errno.
std::string error_text(int code);

}  // namespace weft::distributed
