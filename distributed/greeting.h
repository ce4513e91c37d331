// SPDX-License-Identifier: MIT
// How two ranks that have a connection prove to each other that they belong to one run.
//
//   the side that listens                    the side that connects
//   -- Challenge: a nonce -->
//                              <-- Hello --  who it is, what for, a nonce of its own, and a tag
//   -- Welcome: a tag, or a refusal -->
//
// Both tags are HMACs with the run's token over both nonces, so neither side learns it, and what
// one connection has said is worth nothing on another one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "distributed/run_token.h"
#include "distributed/socket.h"

namespace weft::distributed {

enum class Purpose : std::uint32_t { report = 1, lifeline = 2, pair = 3 };

constexpr std::array<char, 8> kMagic{'w', 'e', 'f', 't', 'r', 'u', 'n', '2'};

struct Challenge {
  std::array<char, 8> magic = kMagic;
  Nonce nonce{};
};

// What the side that connects says of itself.
struct Introduction {
  std::array<char, 8> magic = kMagic;
  Purpose purpose = Purpose::report;
  std::int32_t rank = 0, size = 0;
  std::uint32_t port = 0;  // where this rank listens for its pairs
  std::int64_t process = 0;
  std::array<char, 64> host{};  // its name for people
  Nonce nonce{};
};
struct Hello {
  Introduction introduction;
  Tag tag{};
};

struct Welcome {
  std::array<char, 200> refusal{};  // empty: welcome
  Tag tag{};
};

// Text in a field of fixed size, cut off where it does not fit.
template <std::size_t kSize>
void put(std::array<char, kSize>& field, const std::string& text) {
  std::copy_n(text.data(), std::min(text.size(), kSize - 1), field.data());
}
template <std::size_t kSize>
std::string text_in(const std::array<char, kSize>& field) {
  return {field.data(), strnlen(field.data(), kSize)};
}

// A connection on which both sides have drawn their nonces.
class Greeted {
 public:
  Greeted() = default;
  Greeted(Socket socket, const RunToken& token, const Nonce& listener, const Nonce& caller)
      : socket_(std::move(socket)), token_(token), listener_(listener), caller_(caller) {}

  Socket& socket() { return socket_; }
  const Socket& socket() const { return socket_; }

  // Proves that a message of the side that listens is for this connection.
  Tag tag(std::string_view label, std::span<const std::byte> message) const {
    return token_.tag(label, {listener_, caller_, message});
  }

 private:
  Socket socket_;
  RunToken token_;
  Nonce listener_{}, caller_{};
};

// A rank that has connected and has proved that it knows the token.
struct Guest {
  Greeted connection;
  Introduction introduction;
};
// Answers a guest; an empty refusal lets it in.
void answer(const Guest& guest, const std::string& refusal, Deadline deadline);

// Guests have connected to a listener and have not said yet who they are. Up to 64 are listened to
// side by side, for five seconds each. One more takes the place of the guest that has been there
// longest, so a stranger costs its own connection only.
class Reception {
 public:
  Reception(const Socket& listener, const RunToken& token) : listener_(listener), token_(token) {}

  // The next guest, or nothing when the deadline passes. Who does not know the token is told that
  // this is another run.
  std::optional<Guest> next(Deadline deadline);

 private:
  struct Waiting {
    Socket socket;
    Nonce nonce;
    Deadline until;
    std::array<std::byte, sizeof(Hello)> said;
    std::size_t count;  // bytes of said
  };

  void let_in();
  bool hears(Waiting& waiting);  // false when nothing more is to be expected of it
  std::optional<Guest> guest_of(Waiting& waiting);

  const Socket& listener_;
  const RunToken& token_;
  std::deque<Waiting> waiting_;
};

// Connects, and proves both sides. `introduction` needs no nonce, and its port is that of
// `listen`, which is given the new connection. Tries again when that is closed before there was an
// answer. Throws usage when it is refused or belongs to another run,
// device when nobody answers in time or who answers is no rank.
Greeted call(const Endpoint& endpoint, Introduction introduction, const RunToken& token,
             Deadline deadline, const std::string& peer,
             const std::function<std::uint16_t(const Socket&)>& listen = {});

}  // namespace weft::distributed
