// SPDX-License-Identifier: MIT
#include "distributed/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/error.h"

namespace weft::distributed {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (code != 0) {
    throw Error(ErrorKind::device,
                str(to_string(endpoint), ": the host is not known: ", gai_strerror(code)));
  }
  return {found, &freeaddrinfo};
}

// Small messages leave at once, and a peer whose machine is gone is noticed within ten seconds.
void tune(int descriptor) {
  const auto set = [&](int level, int option, int value) {
    static_cast<void>(setsockopt(descriptor, level, option, &value, sizeof value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 3);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 9000);
}

Endpoint endpoint_of(const sockaddr_storage& address, socklen_t length) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {"?", 0};
  }
  return {host, static_cast<std::uint16_t>(std::stoi(port))};
}

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

}  // namespace

std::string error_text(int code) {
  return std::generic_category().message(code);
}

Endpoint parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Endpoint endpoint;
  bool good = colon != std::string::npos && colon > 0;
  if (good) {
    endpoint.host = text.substr(0, colon);
    if (endpoint.host.front() == '[' && endpoint.host.back() == ']') {
      endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
    }
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data() + colon + 1, end, endpoint.port);
    good = code == std::errc() && stop == end && !endpoint.host.empty();
  }
  if (!good) {
    throw Error(ErrorKind::usage, str("expected HOST:PORT for the rendezvous, found '", text, "'"));
  }
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return str(is_v6 ? "[" : "", endpoint.host, is_v6 ? "]:" : ":", endpoint.port);
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

Socket::~Socket() {
  close();
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool wait_for_any(std::span<pollfd> entries, Deadline deadline) {
  while (true) {
    const int count = poll(entries.data(), entries.size(), milliseconds_until(deadline));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) {
      throw Error(ErrorKind::device, str("could not wait for a socket: ", error_text(errno)));
    }
    if (Clock::now() >= deadline) return false;
  }
}

bool wait_for(int descriptor, short events, Deadline deadline) {
  pollfd entry{descriptor, events, 0};
  return wait_for_any({&entry, 1}, deadline);
}

bool is_loopback(const Endpoint& endpoint) {
  const Addresses addresses = resolve(endpoint, 0);
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    if (at->ai_family == AF_INET) {
      const auto& address = *reinterpret_cast<const sockaddr_in*>(at->ai_addr);
      if (ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) return false;
    } else if (at->ai_family == AF_INET6) {
      const auto& address = *reinterpret_cast<const sockaddr_in6*>(at->ai_addr);
      if (!IN6_IS_ADDR_LOOPBACK(&address.sin6_addr)) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool is_every_address(const Endpoint& endpoint) {
  return endpoint.host == "0.0.0.0" || endpoint.host == "::";
}

void Socket::send(std::span<const std::byte> bytes, Deadline deadline,
                  const std::string& peer) const {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(descriptor_, POLLOUT, deadline)) {
        throw Error(ErrorKind::device, str(peer, " does not read what it is sent"));
      }
    } else {
      throw Error(ErrorKind::device, str(peer, ": ", error_text(errno)));
    }
  }
}

void Socket::receive(std::span<std::byte> bytes, Deadline deadline, const std::string& peer) const {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      throw Error(ErrorKind::device, str(peer, " has closed the connection"));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(descriptor_, POLLIN, deadline)) {
        throw Error(ErrorKind::device, str(peer, " does not answer"));
      }
    } else {
      throw Error(ErrorKind::device, str(peer, ": ", error_text(errno)));
    }
  }
}

Endpoint Socket::local() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  static_cast<void>(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length));
  return endpoint_of(address, length);
}

Endpoint Socket::remote() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  static_cast<void>(getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &length));
  return endpoint_of(address, length);
}

Socket listen_at(const Endpoint& endpoint) {
  const Addresses addresses = resolve(endpoint, AI_PASSIVE);
  int code = 0;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Socket listener(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    const int yes = 1;
    static_cast<void>(
        setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    if (listener.is_open() && bind(listener.descriptor(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(listener.descriptor(), SOMAXCONN) == 0) {
      return listener;
    }
    code = errno;
  }
  throw Error(ErrorKind::device,
              str("could not listen at ", to_string(endpoint), ": ", error_text(code)));
}

std::optional<Socket> accept_from(const Socket& listener, Deadline deadline) {
  while (wait_for(listener.descriptor(), POLLIN, deadline)) {
    Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.is_open()) {
      tune(socket.descriptor());
      return socket;
    }
    // Who has gone again, or a network that failed for one of them, is nobody's fault here.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ||
        errno == EBADF || errno == EINVAL) {
      throw Error(ErrorKind::device, str("could not accept a connection: ", error_text(errno)));
    }
  }
  return {};
}

Socket connect_to(const Endpoint& endpoint, Deadline deadline) {
  int code = ETIMEDOUT;
  while (true) {
    const Addresses addresses = resolve(endpoint, 0);
    for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
      Socket socket(
          ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
      if (!socket.is_open()) {
        code = errno;
        continue;
      }
      if (connect(socket.descriptor(), at->ai_addr, at->ai_addrlen) != 0) {
        code = errno;
        if (code == EINPROGRESS) {
          if (!wait_for(socket.descriptor(), POLLOUT, deadline)) {
            code = ETIMEDOUT;
          } else {
            socklen_t length = sizeof code;
            static_cast<void>(
                getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &code, &length));
          }
        }
        if (code != 0) continue;
      }
      tune(socket.descriptor());
      return socket;
    }
    if (Clock::now() >= deadline) {
      throw Error(ErrorKind::device,
                  str("could not reach ", to_string(endpoint), ": ", error_text(code)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace weft::distributed
