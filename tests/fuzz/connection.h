// SPDX-License-Identifier: MIT
// A stranger who connects to a server of this process.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace weft::fuzz {

class Connection {
 public:
  // To a port of the loopback address. A connection that is refused says and hears nothing.
  explicit Connection(std::uint16_t port) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ =
        connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const linger at_once{1, 0};  // no port is kept for a while
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(descriptor_); }

  void say(const void* bytes, std::size_t size) const {
    if (is_open_) static_cast<void>(::send(descriptor_, bytes, size, MSG_NOSIGNAL));
  }
  void end() const { shutdown(descriptor_, SHUT_WR); }

  // What the other side says until it closes, of which at most `most` bytes are kept.
  std::string hear(std::size_t most) const {
    std::string heard;
    char bytes[4096];
    for (ssize_t count; (count = recv(descriptor_, bytes, sizeof bytes, 0)) > 0;) {
      heard.append(bytes, static_cast<std::size_t>(count));
      heard.resize(std::min(heard.size(), most));
    }
    return heard;
  }
  // Until the other side has said something or has closed.
  void hear_something() const {
    char byte;
    static_cast<void>(recv(descriptor_, &byte, 1, 0));
  }

 private:
  int descriptor_;
  bool is_open_ = false;
};

}  // namespace weft::fuzz
