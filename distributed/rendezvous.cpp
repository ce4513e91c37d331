// SPDX-License-Identifier: MIT
#include "distributed/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/error.h"

namespace weft::distributed {
namespace {

constexpr std::array<char, 8> kMagic{'w', 'e', 'f', 't', 'r', 'u', 'n', '1'};

enum class Purpose : std::uint32_t { report = 1, lifeline = 2, pair = 3 };

// What the side that connects says first.
struct Hello {
  std::array<char, 8> magic = kMagic;
  Purpose purpose = Purpose::report;
  std::int32_t rank = 0, size = 0;
  std::uint32_t port = 0;  // where this rank listens for its pairs
  std::uint64_t token = 0;
  std::int64_t process = 0;
  std::array<char, 64> host{};  // its name for people
};

// What rank 0 answers to a report.
struct Welcome {
  std::array<char, 8> magic = kMagic;
  std::array<char, 200> refusal{};  // empty: welcome
};

// Where a rank listens, and its name.
struct Entry {
  std::array<char, 64> host{}, name{};
  std::uint32_t port = 0;
  std::int64_t process = 0;
};

template <std::size_t kSize>
void put(std::array<char, kSize>& field, const std::string& text) {
  std::copy_n(text.data(), std::min(text.size(), kSize - 1), field.data());
}

template <std::size_t kSize>
std::string text_of(const std::array<char, kSize>& field) {
  return {field.data(), strnlen(field.data(), kSize)};
}

template <class T>
void send(const Socket& socket, const T& value, Deadline deadline, const std::string& peer) {
  socket.send(std::as_bytes(std::span(&value, 1)), deadline, peer);
}

template <class T>
T receive(const Socket& socket, Deadline deadline, const std::string& peer) {
  T value;
  socket.receive(std::as_writable_bytes(std::span(&value, 1)), deadline, peer);
  return value;
}

class Rendezvous {
 public:
  explicit Rendezvous(const TcpOptions& options)
      : options_(options),
        at_(parse_endpoint(options.rendezvous)),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(options.timeout))) {
    const auto size = static_cast<std::size_t>(options.size);
    meeting_.peers.resize(size);
    meeting_.names.resize(size);
    table_.resize(size);
    gethostname(host_.data(), host_.size() - 1);
  }

  Meeting meet() {
    if (options_.rank == 0) {
      gather();
    } else {
      report();
    }
    return std::move(meeting_);
  }

 private:
  Hello hello(Purpose purpose, std::uint32_t port = 0) const {
    Hello hello;
    hello.purpose = purpose;
    hello.rank = options_.rank;
    hello.size = options_.size;
    hello.port = port;
    hello.token = options_.token;
    hello.process = getpid();
    hello.host = host_;
    return hello;
  }

  // Of who has just connected. Nothing for a stranger, who is sent away.
  std::optional<Hello> hello_of(const Socket& socket) const {
    try {
      const Deadline soon = std::min(deadline_, Clock::now() + std::chrono::seconds(5));
      const auto hello = receive<Hello>(socket, soon, "a stranger");
      if (hello.magic == kMagic) return hello;
    } catch (const Error&) {  // it is no rank of Weft's
    }
    return {};
  }

  std::optional<Socket> next_connection(const Socket& listener) const {
    while (true) {
      const Deadline next = std::min(deadline_, Clock::now() + std::chrono::milliseconds(200));
      if (std::optional<Socket> socket = accept_from(listener, next)) return socket;
      if (options_.waiting) options_.waiting();
      if (Clock::now() >= deadline_) return {};
    }
  }

  static bool is_missing(const std::vector<Socket>& sockets, int rank) {
    return !sockets[static_cast<std::size_t>(rank)].is_open();
  }

  [[noreturn]] void throw_missing(const std::vector<Socket>& sockets) const {
    std::string missing;
    int count = 0;
    for (int rank = 1; rank < options_.size; ++rank) {
      if (is_missing(sockets, rank)) missing += str(count++ == 0 ? "" : ", ", rank);
    }
    throw Error(ErrorKind::device,
                str(count == 1 ? "no word from rank " : "no word from ranks ", missing, " at ",
                    to_string(at_), " within ", options_.timeout, " s"));
  }

  // Rank 0: waits for the reports, then for the lifelines.
  void gather() {
    const Socket listener = listen_at(at_);
    at_.port = listener.local().port;
    if (options_.listening) options_.listening(to_string(at_));
    note({host_, host_, 0, getpid()}, 0);
    for (int found = 1; found < options_.size;) {
      std::optional<Socket> socket = next_connection(listener);
      if (!socket) throw_missing(meeting_.peers);
      const std::optional<Hello> hello = hello_of(*socket);
      if (!hello || hello->purpose != Purpose::report) continue;
      const std::string refusal = refusal_of(*hello);
      Welcome welcome;
      put(welcome.refusal, refusal);
      send(*socket, welcome, deadline_, "a rank");
      if (hello->size != options_.size) {
        throw Error(ErrorKind::usage, str("rank ", hello->rank, ": ", refusal));
      }
      if (!refusal.empty()) continue;
      Entry entry;
      put(entry.host, socket->remote().host);
      entry.name = hello->host;
      entry.port = hello->port;
      entry.process = hello->process;
      note(entry, hello->rank);
      meeting_.peers[static_cast<std::size_t>(hello->rank)] = std::move(*socket);
      ++found;
    }
    for (int rank = 1; rank < options_.size; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      meeting_.peers[at].send(std::as_bytes(std::span(table_)), deadline_, meeting_.names[at]);
    }
    meeting_.lifelines.resize(meeting_.peers.size());
    for (int found = 1; found < options_.size;) {
      std::optional<Socket> socket = next_connection(listener);
      if (!socket) throw_missing(meeting_.lifelines);
      const std::optional<Hello> hello = hello_of(*socket);
      if (!is_expected(hello, Purpose::lifeline) || !is_missing(meeting_.lifelines, hello->rank)) {
        continue;
      }
      meeting_.lifelines[static_cast<std::size_t>(hello->rank)] = std::move(*socket);
      ++found;
    }
  }

  bool is_expected(const std::optional<Hello>& hello, Purpose purpose) const {
    return hello && hello->purpose == purpose && hello->token == options_.token &&
           hello->size == options_.size && hello->rank > 0 && hello->rank < options_.size;
  }

  std::string refusal_of(const Hello& hello) const {
    if (hello.size != options_.size) {
      return str("rank 0 was started with a world size of ", options_.size, ", this one with ",
                 hello.size);
    }
    if (hello.token != options_.token) return "rank 0 belongs to another run";
    if (hello.rank < 1 || hello.rank >= options_.size) return "there is no such rank";
    if (!is_missing(meeting_.peers, hello.rank)) {
      return str("there is a ", meeting_.names[static_cast<std::size_t>(hello.rank)], " already");
    }
    return {};
  }

  void note(const Entry& entry, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    table_[at] = entry;
    meeting_.names[at] =
        str("rank ", rank, " (", text_of(entry.name), ", process ", entry.process, ")");
  }

  // Every other rank: reports to rank 0, then meets the others.
  void report() {
    const std::string first = str("rank 0 at ", options_.rendezvous);
    Socket to_first = connect_to(at_, deadline_);
    const Socket listener = listen_at({to_first.local().host, 0});
    send(to_first, hello(Purpose::report, listener.local().port), deadline_, first);
    const auto welcome = receive<Welcome>(to_first, deadline_, first);
    if (welcome.magic != kMagic) {
      throw Error(ErrorKind::device,
                  str(options_.rendezvous, ": who listens there is no rank of ", "Weft's"));
    }
    if (const std::string refusal = text_of(welcome.refusal); !refusal.empty()) {
      throw Error(ErrorKind::usage, str("rank ", options_.rank, " was refused: ", refusal));
    }
    std::vector<Entry> table(table_.size());
    to_first.receive(std::as_writable_bytes(std::span(table)), deadline_, first);
    for (int rank = 0; rank < options_.size; ++rank) {
      note(table[static_cast<std::size_t>(rank)], rank);
    }
    Socket lifeline = connect_to(at_, deadline_);
    send(lifeline, hello(Purpose::lifeline), deadline_, first);
    meeting_.lifelines.push_back(std::move(lifeline));
    meeting_.peers[0] = std::move(to_first);
    for (int rank = 1; rank < options_.rank; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const Endpoint there{text_of(table_[at].host), static_cast<std::uint16_t>(table_[at].port)};
      meeting_.peers[at] = connect_to(there, deadline_);
      send(meeting_.peers[at], hello(Purpose::pair), deadline_, meeting_.names[at]);
    }
    for (int missing = options_.size - options_.rank - 1; missing > 0;) {
      std::optional<Socket> socket = accept_from(listener, deadline_);
      if (!socket) {
        throw Error(ErrorKind::device, str("rank ", options_.rank,
                                           ": a rank above it has not come "
                                           "within ",
                                           options_.timeout, " s"));
      }
      const std::optional<Hello> hello = hello_of(*socket);
      if (!is_expected(hello, Purpose::pair) || hello->rank <= options_.rank) continue;
      meeting_.peers[static_cast<std::size_t>(hello->rank)] = std::move(*socket);
      --missing;
    }
  }

  const TcpOptions& options_;
  Endpoint at_;
  Deadline deadline_;
  std::array<char, 64> host_{};
  std::vector<Entry> table_;
  Meeting meeting_;
};

}  // namespace

Meeting meet(const TcpOptions& options) {
  return Rendezvous(options).meet();
}

}  // namespace weft::distributed
