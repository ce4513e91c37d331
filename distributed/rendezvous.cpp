// SPDX-License-Identifier: MIT
#include "distributed/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "distributed/greeting.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::distributed {
namespace {

// Where a rank listens, and its name.
struct Entry {
  std::array<char, 64> host{}, name{};
  std::uint32_t port = 0;
  std::int64_t process = 0;
};

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
  Introduction introduction(Purpose purpose) const {
    Introduction one;
    one.purpose = purpose;
    one.rank = options_.rank;
    one.size = options_.size;
    one.process = getpid();
    one.host = host_;
    return one;
  }

  // The next rank that comes for this purpose and is expected: above `least`, and not among those
  // that are there. Others are told why not. Nothing when the time is over.
  std::optional<Guest> next_rank(Reception& reception, Purpose purpose, int least,
                                 const std::vector<Socket>& there) {
    while (true) {
      const Deadline next = std::min(deadline_, Clock::now() + std::chrono::milliseconds(200));
      std::optional<Guest> guest = reception.next(next);
      if (options_.waiting) options_.waiting();
      if (!guest && Clock::now() >= deadline_) return {};
      if (!guest) continue;
      const std::string refusal = refusal_of(guest->introduction, purpose, least, there);
      try {
        answer(*guest, refusal, deadline_);
      } catch (const Error&) {  // it has gone, and may come again
        continue;
      }
      if (refusal.empty()) return guest;
      refused_ = str("rank ", guest->introduction.rank, ": ", refusal);
      const bool is_other_size = guest->introduction.size != options_.size;
      // Whoever reaches the address could say so where there is no token.
      if (is_other_size && options_.token.is_given()) throw Error(ErrorKind::usage, refused_);
    }
  }

  static bool is_missing(const std::vector<Socket>& sockets, int rank) {
    return !sockets[static_cast<std::size_t>(rank)].is_open();
  }

  [[noreturn]] void throw_missing(const std::vector<Socket>& sockets) const {
    std::string missing;
    int count = 0;
    for (int rank = options_.rank + 1; rank < options_.size; ++rank) {
      if (is_missing(sockets, rank)) missing += str(count++ == 0 ? "" : ", ", rank);
    }
    throw Error(ErrorKind::device,
                str(count == 1 ? "no word from rank " : "no word from ranks ", missing, " at ",
                    to_string(at_), " within ", options_.timeout, " s",
                    refused_.empty() ? "" : "; refused was ", refused_));
  }

  std::string refusal_of(const Introduction& guest, Purpose purpose, int least,
                         const std::vector<Socket>& there) const {
    if (guest.size != options_.size) {
      return str("rank ", options_.rank, " was started with a world size of ", options_.size,
                 ", this one with ", guest.size);
    }
    if (guest.rank < least || guest.rank >= options_.size) return "there is no such rank";
    const std::string& name = meeting_.names[static_cast<std::size_t>(guest.rank)];
    if (!is_missing(there, guest.rank)) return str("there is a ", name, " already");
    if (guest.purpose == purpose) return {};
    return purpose == Purpose::lifeline ? str("there is a ", name, " already")
                                        : "it comes for something else";
  }

  // Rank 0: waits for the reports, then for the lifelines.
  void gather() {
    const Socket listener = listen_at(at_);
    at_.port = listener.local().port;
    if (options_.listening) options_.listening(to_string(at_));
    note({host_, host_, 0, getpid()}, 0);
    Reception reception(listener, options_.token);
    std::vector<Guest> guests(table_.size());
    for (int found = 1; found < options_.size; ++found) {
      std::optional<Guest> guest = next_rank(reception, Purpose::report, 1, meeting_.peers);
      if (!guest) throw_missing(meeting_.peers);
      const Introduction& one = guest->introduction;
      const auto at = static_cast<std::size_t>(one.rank);
      Entry entry;
      put(entry.host, guest->connection.socket().remote().host);
      entry.name = one.host;
      entry.port = one.port;
      entry.process = one.process;
      note(entry, one.rank);
      guests[at] = *std::move(guest);
      meeting_.peers[at] = std::move(guests[at].connection.socket());
    }
    const auto table = std::as_bytes(std::span(table_));
    for (std::size_t at = 1; at < guests.size(); ++at) {
      const Tag tag = guests[at].connection.tag("table", table);
      meeting_.peers[at].send(table, deadline_, meeting_.names[at]);
      meeting_.peers[at].send(std::as_bytes(std::span(tag)), deadline_, meeting_.names[at]);
    }
    meeting_.lifelines.resize(meeting_.peers.size());
    for (int found = 1; found < options_.size; ++found) {
      std::optional<Guest> guest = next_rank(reception, Purpose::lifeline, 1, meeting_.lifelines);
      if (!guest) throw_missing(meeting_.lifelines);
      meeting_.lifelines[static_cast<std::size_t>(guest->introduction.rank)] =
          std::move(guest->connection.socket());
    }
  }

  void note(const Entry& entry, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    table_[at] = entry;
    meeting_.names[at] =
        str("rank ", rank, " (", printable(text_in(entry.name)), ", process ", entry.process, ")");
  }

  // Every other rank: reports to rank 0, then meets the others.
  void report() {
    const std::string first = str("rank 0 at ", options_.rendezvous);
    Socket listener;
    // The address by which this machine reaches rank 0 is where the others reach it.
    const auto listen = [&](const Socket& connection) {
      listener = listen_at({connection.local().host, 0});
      return listener.local().port;
    };
    Greeted to_first =
        call(at_, introduction(Purpose::report), options_.token, deadline_, first, listen);
    std::vector<Entry> table(table_.size());
    Tag tag;
    to_first.socket().receive(std::as_writable_bytes(std::span(table)), deadline_, first);
    to_first.socket().receive(std::as_writable_bytes(std::span(tag)), deadline_, first);
    if (!are_same(tag, to_first.tag("table", std::as_bytes(std::span(table))))) {
      throw Error(ErrorKind::device, str(first, ": the table of ranks is not its own"));
    }
    for (int rank = 0; rank < options_.size; ++rank) {
      note(table[static_cast<std::size_t>(rank)], rank);
    }
    meeting_.lifelines.push_back(std::move(
        call(at_, introduction(Purpose::lifeline), options_.token, deadline_, first).socket()));
    meeting_.peers[0] = std::move(to_first.socket());
    for (int rank = 1; rank < options_.rank; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const Endpoint there{text_in(table_[at].host), static_cast<std::uint16_t>(table_[at].port)};
      meeting_.peers[at] = std::move(
          call(there, introduction(Purpose::pair), options_.token, deadline_, meeting_.names[at])
              .socket());
    }
    Reception reception(listener, options_.token);
    for (int missing = options_.size - options_.rank - 1; missing > 0; --missing) {
      std::optional<Guest> guest =
          next_rank(reception, Purpose::pair, options_.rank + 1, meeting_.peers);
      if (!guest) throw_missing(meeting_.peers);
      meeting_.peers[static_cast<std::size_t>(guest->introduction.rank)] =
          std::move(guest->connection.socket());
    }
  }

  const TcpOptions& options_;
  Endpoint at_;
  Deadline deadline_;
  std::array<char, 64> host_{};
  std::string refused_;  // who was refused last, and why
  std::vector<Entry> table_;
  Meeting meeting_;
};

}  // namespace

Meeting meet(const TcpOptions& options) {
  return Rendezvous(options).meet();
}

}  // namespace weft::distributed
