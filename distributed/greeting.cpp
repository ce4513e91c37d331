// SPDX-License-Identifier: MIT
#include "distributed/greeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/error.h"

namespace weft::distributed {
namespace {

constexpr std::size_t kMostWaiting = 64;
constexpr std::chrono::seconds kPatience{5};
constexpr char kOtherRun[] = "it belongs to another run: the run tokens differ";

template <class T>
std::span<const std::byte> raw_bytes(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(&value, 1));
}

Tag tag_of(const RunToken& token, const Nonce& listener, const Introduction& introduction) {
  return token.tag("hello", {listener, raw_bytes(introduction)});
}

Welcome welcome_of(const Greeted& connection, const std::string& refusal) {
  Welcome welcome;
  put(welcome.refusal, refusal);
  welcome.tag = connection.tag("welcome", raw_bytes(welcome.refusal));
  return welcome;
}

// Few bytes to somebody who has hardly been sent any: they fit, or nobody is there.
void send_now(const Socket& socket, std::span<const std::byte> bytes) {
  static_cast<void>(
      ::send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace

void answer(const Guest& guest, const std::string& refusal, Deadline deadline) {
  const Welcome welcome = welcome_of(guest.connection, refusal);
  guest.connection.socket().send(raw_bytes(welcome), deadline, "a rank");
}

void Reception::let_in() {
  while (true) {
    std::optional<Socket> socket = accept_from(listener_, Clock::now());
    if (!socket) return;
    if (waiting_.size() == kMostWaiting) waiting_.pop_front();
    const Challenge challenge{.nonce = draw_nonce()};
    send_now(*socket, raw_bytes(challenge));
    waiting_.push_back({std::move(*socket), challenge.nonce, Clock::now() + kPatience, {}, 0});
  }
}

bool Reception::hears(Waiting& waiting) {
  while (waiting.count < waiting.said.size()) {
    const ssize_t got = recv(waiting.socket.descriptor(), waiting.said.data() + waiting.count,
                             waiting.said.size() - waiting.count, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Clock::now() < waiting.until;
    if (got <= 0) return false;
    const std::size_t known = std::min(waiting.count, kMagic.size());
    waiting.count += static_cast<std::size_t>(got);
    const std::size_t compared = std::min(waiting.count, kMagic.size());
    if (std::memcmp(waiting.said.data() + known, kMagic.data() + known, compared - known) != 0) {
      return false;  // it is no rank of Weft's
    }
  }
  return true;
}

std::optional<Guest> Reception::guest_of(Waiting& waiting) {
  Hello hello;
  std::memcpy(&hello, waiting.said.data(), sizeof hello);
  const bool is_ours = are_same(hello.tag, tag_of(token_, waiting.nonce, hello.introduction));
  Guest guest{Greeted(std::move(waiting.socket), token_, waiting.nonce, hello.introduction.nonce),
              hello.introduction};
  if (is_ours) return guest;
  const Welcome refusal = welcome_of(guest.connection, kOtherRun);
  send_now(guest.connection.socket(), raw_bytes(refusal));
  return {};
}

std::optional<Guest> Reception::next(Deadline deadline) {
  std::vector<pollfd> entries;
  while (true) {
    for (std::size_t i = 0; i < waiting_.size();) {
      const bool hears_more = hears(waiting_[i]);
      const bool has_all = waiting_[i].count == sizeof(Hello);
      if (hears_more && !has_all) {
        ++i;
        continue;
      }
      Waiting done = std::move(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      if (!hears_more) continue;
      if (std::optional<Guest> guest = guest_of(done)) return guest;
    }
    if (Clock::now() >= deadline) return {};
    entries.assign(1, {listener_.descriptor(), POLLIN, 0});
    Deadline until = deadline;
    for (const Waiting& waiting : waiting_) {
      entries.push_back({waiting.socket.descriptor(), POLLIN, 0});
      until = std::min(until, waiting.until);
    }
    wait_for_any(entries, until);
    if (entries.front().revents != 0) let_in();
  }
}

Greeted call(const Endpoint& endpoint, Introduction introduction, const RunToken& token,
             Deadline deadline, const std::string& peer,
             const std::function<std::uint16_t(const Socket&)>& listen) {
  while (true) {
    Socket socket = connect_to(endpoint, deadline);
    if (listen) introduction.port = listen(socket);
    introduction.nonce = draw_nonce();
    Challenge challenge;
    Welcome welcome;
    try {
      socket.receive(std::as_writable_bytes(std::span(&challenge, 1)), deadline, peer);
      if (challenge.magic == kMagic) {
        const Hello hello{introduction, tag_of(token, challenge.nonce, introduction)};
        socket.send(raw_bytes(hello), deadline, peer);
        socket.receive(std::as_writable_bytes(std::span(&welcome, 1)), deadline, peer);
      }
    } catch (const Error&) {  // it was busy with others, or is going
      if (Clock::now() >= deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    if (challenge.magic != kMagic) {
      throw Error(ErrorKind::device,
                  str(to_string(endpoint), ": who listens there is no rank of Weft's"));
    }
    Greeted connection(std::move(socket), token, challenge.nonce, introduction.nonce);
    const bool is_ours =
        are_same(welcome.tag, connection.tag("welcome", raw_bytes(welcome.refusal)));
    const std::string refusal = is_ours ? text_in(welcome.refusal) : kOtherRun;
    if (refusal.empty()) return connection;
    throw Error(ErrorKind::usage,
                str("rank ", introduction.rank, " was refused by ", peer, ": ", refusal));
  }
}

}  // namespace weft::distributed
