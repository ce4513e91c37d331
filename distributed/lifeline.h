// SPDX-License-Identifier: MIT
// Lifeline: notices within seconds that a rank has ended, and within the timeout that one has
// stopped, also while this one waits for a GPU or for a disk.
//
// Each rank has a connection to rank 0 for this alone, and a thread that sleeps on it. Both sides
// say every few seconds that they are there. Rank 0 tells the other ranks when one has ended,
// failed or stopped. A run that is over is left by all ranks together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "distributed/socket.h"

namespace weft::distributed {

class Lifeline {
 public:
  // What to do, in the thread of the lifeline, when the run can't go on. `line` says why, for
  // people; it is empty where another rank says it.
  using Lost = std::function<void(const std::string& line)>;

  // `connections`: rank 0 has one to each rank, at the rank's place; another rank has one, to rank
  // 0, in front. `names` are the ranks', for people. A rank may be silent for `timeout` seconds.
  Lifeline(int rank, std::vector<Socket> connections, std::vector<std::string> names,
           double timeout, Lost lost);
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;
  ~Lifeline();

  // This rank ends its part of the run, because of what `line` says. Rank 0 has told people.
  void fail(const std::string& line) noexcept;
  // Waits until all ranks have called it, or the run is lost. Rank 0 may have long to write.
  void leave() noexcept;
  // Waits until the thread has found the run lost and `lost` has returned, if it does.
  bool is_lost(Deadline deadline);

 private:
  enum class Kind : std::uint32_t { failed = 1, leaving = 2, here = 3 };

  void watch();
  void require_word(std::span<pollfd> entries, std::span<const Deadline> heard);
  bool read_from(std::size_t at);  // false when there is nothing more to hear
  void say(const Socket& socket, Kind kind, const std::string& text) const noexcept;
  void say_to_all(Kind kind) const noexcept;
  void lose(const std::string& line);

  int rank_;
  std::vector<Socket> connections_;
  std::vector<std::string> names_;
  double timeout_;
  Lost lost_;
  Socket wake_read_, wake_write_;
  mutable std::mutex saying_;  // so that no message is in the middle of another one
  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false, all_left_ = false, is_lost_ = false;
  bool told_ = false;     // lost_ has returned
  std::size_t left_ = 0;  // ranks that have said that they leave, for rank 0
  std::thread thread_;
};

}  // namespace weft::distributed
