// SPDX-License-Identifier: MIT
#include "distributed/tcp.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <exception>

#include "distributed/rendezvous.h"
#include "engine/error.h"

namespace weft::distributed {
namespace {

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

class TcpTransport final : public Transport {
 public:
  TcpTransport(const TcpOptions& options, Meeting meeting)
      : rank_(options.rank),
        timeout_(options.timeout),
        peers_(std::move(meeting.peers)),
        names_(meeting.names),
        lifeline_(
            options.rank, std::move(meeting.lifelines), std::move(meeting.names), options.timeout,
            options.lost ? options.lost : [](const std::string&) {}) {}

  ~TcpTransport() override {
    if (std::uncaught_exceptions() > 0) {
      lifeline_.fail("it has ended by an error");
    } else if (!failed_) {
      lifeline_.leave();
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  std::string_view name() const override { return "tcp"; }

  void fail(const std::string& line) noexcept override {
    failed_ = true;
    lifeline_.fail(line);
  }

  void exchange(std::span<const std::span<const std::byte>> out,
                std::span<const std::span<std::byte>> in) override {
    std::vector<std::span<const std::byte>> to_send(out.begin(), out.end());
    std::vector<std::span<std::byte>> to_receive(in.begin(), in.end());
    to_send[static_cast<std::size_t>(rank_)] = {};
    to_receive[static_cast<std::size_t>(rank_)] = {};
    Deadline deadline = Clock::now() + seconds(timeout_);
    std::vector<pollfd> waiting;
    while (true) {
      waiting.clear();
      std::size_t silent = 0;
      bool moved = false;
      for (std::size_t r = 0; r < peers_.size(); ++r) {
        moved |= send_some(r, to_send[r]);
        moved |= receive_some(r, to_receive[r]);
        const bool sends = !to_send[r].empty(), receives = !to_receive[r].empty();
        if (!sends && !receives) continue;
        silent = r;
        waiting.push_back({peers_[r].descriptor(),
                           static_cast<short>((sends ? POLLOUT : 0) | (receives ? POLLIN : 0)), 0});
      }
      if (waiting.empty()) return;
      if (moved) {
        deadline = Clock::now() + seconds(timeout_);
        continue;
      }
      if (poll(waiting.data(), waiting.size(), 1000) < 0 && errno != EINTR) {
        throw Error(ErrorKind::device, str("could not wait for a socket: ", error_text(errno)));
      }
      if (Clock::now() >= deadline) {
        throw Error(ErrorKind::device,
                    str(names_[silent], " has been silent for ", timeout_, " s"));
      }
    }
  }

 private:
  // Both return whether bytes have moved, and shorten what is left.
  bool send_some(std::size_t r, std::span<const std::byte>& left) {
    if (left.empty()) return false;
    const ssize_t sent =
        ::send(peers_[r].descriptor(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EINTR) return false;
      throw_ended(r);
    }
    left = left.subspan(static_cast<std::size_t>(sent));
    return sent > 0;
  }
  bool receive_some(std::size_t r, std::span<std::byte>& left) {
    if (left.empty()) return false;
    const ssize_t got = ::recv(peers_[r].descriptor(), left.data(), left.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) throw_ended(r);
    left = left.subspan(static_cast<std::size_t>(got));
    return true;
  }

  // The lifeline knows best which rank was the first to end.
  [[noreturn]] void throw_ended(std::size_t r) {
    lifeline_.is_lost(Clock::now() + std::chrono::seconds(5));
    throw Error(ErrorKind::device, str(names_[r], " has ended before the run was over"));
  }

  int rank_;
  double timeout_;
  std::vector<Socket> peers_;
  std::vector<std::string> names_;
  bool failed_ = false;
  Lifeline lifeline_;
};

}  // namespace

std::unique_ptr<Transport> tcp_transport(const TcpOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    throw Error(ErrorKind::usage,
                str("expected a rank from 0 to ", options.size - 1, ", found ", options.rank));
  }
  Meeting meeting = meet(options);
  return std::make_unique<TcpTransport>(options, std::move(meeting));
}

}  // namespace weft::distributed
