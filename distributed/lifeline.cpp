// SPDX-License-Identifier: MIT
#include "distributed/lifeline.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/error.h"

namespace weft::distributed {
namespace {

constexpr std::size_t kLongestLine = 1000;  // bytes of a line that is passed on
constexpr std::chrono::seconds kMessageTime{5};
// A rank whose thread was late is not one that has stopped.
constexpr std::chrono::seconds kGrace{2};

Deadline soon() {
  return Clock::now() + kMessageTime;
}

}  // namespace

Lifeline::Lifeline(int rank, std::vector<Socket> connections, std::vector<std::string> names,
                   double timeout, Lost lost)
    : rank_(rank),
      connections_(std::move(connections)),
      names_(std::move(names)),
      timeout_(timeout),
      lost_(std::move(lost)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorKind::device, str("could not make a pipe: ", error_text(errno)));
  }
  wake_read_ = Socket(ends[0]);
  wake_write_ = Socket(ends[1]);
  thread_ = std::thread([this] { watch(); });
}

Lifeline::~Lifeline() {
  wake_write_.close();  // the thread sees the end of the pipe
  thread_.join();
}

void Lifeline::say(const Socket& socket, Kind kind, const std::string& text) const noexcept {
  if (!socket.is_open()) return;
  const std::array<std::uint32_t, 2> head{static_cast<std::uint32_t>(kind),
                                          static_cast<std::uint32_t>(text.size())};
  const std::lock_guard lock(saying_);
  try {
    socket.send(std::as_bytes(std::span(head)), soon(), "a rank");
    socket.send(std::as_bytes(std::span(text)), soon(), "a rank");
  } catch (const std::exception&) {  // who does not hear it sees the connection close
  }
}

void Lifeline::say_to_all(Kind kind) const noexcept {
  for (const Socket& socket : connections_) say(socket, kind, "");
}

void Lifeline::fail(const std::string& line) noexcept {
  if (rank_ == 0) {
    {
      const std::lock_guard lock(mutex_);
      is_lost_ = told_ = true;
    }
    say_to_all(Kind::failed);
    return;
  }
  // What fails on every rank is told by rank 0: it gets a second to do so.
  if (is_lost(Clock::now() + std::chrono::seconds(1))) return;
  say(connections_.front(), Kind::failed, line.substr(0, kLongestLine));
  is_lost(Clock::now() + std::chrono::seconds(2));
}

void Lifeline::leave() noexcept {
  std::unique_lock lock(mutex_);
  leaving_ = true;
  if (rank_ != 0) {
    say(connections_.front(), Kind::leaving, "");
  } else if (left_ + 1 == connections_.size()) {
    all_left_ = true;
    say_to_all(Kind::leaving);
  }
  // wait() without a limit is of GCC 12's library, and manylinux_2_34 has that of GCC 11.
  while (!changed_.wait_for(lock, std::chrono::hours(1), [&] { return all_left_ || told_; })) {
  }
}

bool Lifeline::is_lost(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return told_; });
}

void Lifeline::lose(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (is_lost_ || all_left_) return;
    is_lost_ = true;
  }
  if (rank_ == 0) say_to_all(Kind::failed);
  lost_(line);
  {
    const std::lock_guard lock(mutex_);
    told_ = true;
  }
  changed_.notify_all();
}

// Reads one message of connection `at`.
bool Lifeline::read_from(std::size_t at) {
  const std::string& name = rank_ == 0 ? names_[at] : names_.front();
  std::string ended = name + " has ended before the run was over";
  // Without rank 0 it is rank 1 that says so.
  if (rank_ > 1) ended.clear();
  try {
    std::array<std::uint32_t, 2> head{};
    const Socket& socket = connections_[at];
    socket.receive(std::as_writable_bytes(std::span(head)), soon(), name);
    std::string text(std::min<std::size_t>(head[1], kLongestLine), ' ');
    socket.receive(std::as_writable_bytes(std::span(text)), soon(), name);
    if (head[0] == static_cast<std::uint32_t>(Kind::here)) return true;
    if (head[0] == static_cast<std::uint32_t>(Kind::leaving)) {
      const std::lock_guard lock(mutex_);
      ++left_;
      if (rank_ != 0 || (leaving_ && left_ + 1 == connections_.size())) {
        if (rank_ == 0) say_to_all(Kind::leaving);
        all_left_ = true;
        changed_.notify_all();
      }
      return true;
    }
    lose(rank_ == 0 ? str(name, ": ", text) : std::string());
  } catch (const Error&) {
    bool has_left = false;
    {
      const std::lock_guard lock(mutex_);
      has_left = all_left_;
    }
    if (!has_left) lose(ended);
  }
  return false;
}

// A run with a rank of which nothing was heard for too long is lost.
void Lifeline::require_word(std::span<pollfd> entries, std::span<const Deadline> heard) {
  const auto most = std::chrono::duration<double>(timeout_) + kGrace;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (entries[i].fd < 0 || Clock::now() - heard[i] < most) continue;
    entries[i].fd = -1;
    const std::string& name = rank_ == 0 ? names_[i] : names_.front();
    // As for one that has ended, rank 1 tells of rank 0.
    lose(rank_ > 1 ? std::string() : str(name, " has been silent for ", timeout_, " s"));
  }
}

void Lifeline::watch() {
  const auto interval = std::chrono::milliseconds(
      std::clamp(static_cast<std::int64_t>(250 * timeout_), std::int64_t{100}, std::int64_t{5000}));
  std::vector<pollfd> entries(connections_.size() + 1);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    entries[i] = {connections_[i].descriptor(), POLLIN, 0};  // a negative one is left out
  }
  entries.back() = {wake_read_.descriptor(), POLLIN, 0};
  std::vector<Deadline> heard(connections_.size(), Clock::now());
  Deadline woken = Clock::now(), said = woken - interval;
  while (true) {
    if (poll(entries.data(), entries.size(), static_cast<int>(interval.count())) < 0 &&
        errno != EINTR) {
      return;
    }
    if (entries.back().revents != 0) return;
    const Deadline now = Clock::now();
    // It is this process that was stopped, as by Ctrl-Z: what the others have said is still to
    // read.
    if (now - woken > 2 * interval + kGrace) std::ranges::fill(heard, now);
    woken = now;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (entries[i].revents == 0) continue;
      heard[i] = now;
      if (!read_from(i)) entries[i].fd = -1;
    }
    if (now - said >= interval) {
      say_to_all(Kind::here);
      said = now;
    }
    require_word(entries, heard);
  }
}

}  // namespace weft::distributed
