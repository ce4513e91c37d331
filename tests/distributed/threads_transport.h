// SPDX-License-Identifier: MIT
// Ranks as threads of one process, for tests: they exchange through shared memory.
//
//   run_ranks(3, [](Communicator& ranks) { ranks.barrier(); });
//
// A rank that ends by an exception ends the others' exchange() with an Error{device} too.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "distributed/communicator.h"
#include "engine/error.h"

namespace weft::test {

// Where the ranks meet.
class MeetingPlace {
 public:
  explicit MeetingPlace(int size) : offers_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(offers_.size()); }
  // What each rank offers to the others.
  std::span<const std::span<const std::byte>>& offer(int rank) {
    return offers_[static_cast<std::size_t>(rank)];
  }

  // Waits until all ranks are here.
  void wait() {
    std::unique_lock lock(mutex_);
    const std::int64_t round = round_;
    if (++here_ == size()) {
      here_ = 0;
      ++round_;
      changed_.notify_all();
    }
    const bool in_time = changed_.wait_for(lock, std::chrono::seconds(60),
                                           [&] { return round_ != round || is_lost_; });
    if (round_ == round) {
      throw Error(ErrorKind::device, in_time ? "a rank has ended" : "a rank is silent");
    }
  }
  void lose() {
    const std::lock_guard lock(mutex_);
    is_lost_ = true;
    changed_.notify_all();
  }

 private:
  std::vector<std::span<const std::span<const std::byte>>> offers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t round_ = 0;
  int here_ = 0;
  bool is_lost_ = false;
};

class ThreadsTransport final : public distributed::Transport {
 public:
  ThreadsTransport(int rank, MeetingPlace& place) : rank_(rank), place_(place) {}

  int rank() const override { return rank_; }
  int size() const override { return place_.size(); }
  std::string_view name() const override { return "threads"; }

  void exchange(std::span<const std::span<const std::byte>> out,
                std::span<const std::span<std::byte>> in) override {
    place_.offer(rank_) = out;
    place_.wait();  // all offers are there
    for (int r = 0; r < size(); ++r) {
      if (r == rank_) continue;
      const auto theirs = place_.offer(r)[static_cast<std::size_t>(rank_)];
      const auto mine = in[static_cast<std::size_t>(r)];
      if (theirs.size() != mine.size()) {
        throw Error(ErrorKind::device, str("rank ", r, " sends ", theirs.size(), " bytes, rank ",
                                           rank_, " expects ", mine.size()));
      }
      if (!mine.empty()) std::memcpy(mine.data(), theirs.data(), mine.size());
    }
    place_.wait();  // and may be taken back
  }
  void fail(const std::string&) noexcept override { place_.lose(); }

 private:
  int rank_;
  MeetingPlace& place_;
};

// Runs the ranks, each with a Communicator of its own, until all have ended. Throws what the first
// of them to fail has thrown.
inline void run_ranks(int size, const std::function<void(distributed::Communicator&)>& rank_work) {
  MeetingPlace place(size);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](int rank) {
    try {
      distributed::Communicator ranks(std::make_unique<ThreadsTransport>(rank, place));
      rank_work(ranks);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      place.lose();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace weft::test
