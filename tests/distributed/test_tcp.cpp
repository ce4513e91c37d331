// SPDX-License-Identifier: MIT
// Ranks over TCP: they meet, exchange, and tell what keeps them from it. Each rank is a thread.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <mutex>
#include <random>
#include <thread>

#include "distributed/communicator.h"
#include "distributed/lifeline.h"
#include "distributed/socket.h"
#include "distributed/tcp.h"
#include "tests/distributed/ranks_in_threads.h"
#include "tests/support/folder.h"

namespace weft::distributed {
namespace {

using test::throws;

TEST(Endpoint, IsReadAndRefused) {
  EXPECT_EQ(to_string(parse_endpoint("node7:29500")), "node7:29500");
  EXPECT_EQ(parse_endpoint("[::1]:80").host, "::1");
  EXPECT_EQ(to_string(parse_endpoint("[::1]:80")), "[::1]:80");
  for (const char* text :
       {"", "node", ":80", "node:", "node:x", "node:70000", "node:-1", "[]:80"}) {
    EXPECT_TRUE(throws(ErrorKind::usage, "HOST:PORT", [&] { parse_endpoint(text); })) << text;
  }
}

TEST(Tcp, SumsGathersAndBroadcasts) {
  for (const int size : {1, 2, 3, 5}) {
    const auto errors = run_ranks(size, [&](Communicator& ranks) {
      for (const int n : {0, 1, 2, 7, 100'003}) {
        std::vector<float> values;
        std::vector<float> expected(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) {
          const auto of_rank = [&](int r) { return 0.1f * static_cast<float>(i % 91 + 7 * r); };
          values.push_back(of_rank(ranks.rank()));
          float& sum = expected[static_cast<std::size_t>(i)] = of_rank(0);
          for (int r = 1; r < size; ++r) sum += of_rank(r);
        }
        ranks.all_reduce(std::span(values));
        ASSERT_TRUE(values == expected) << "the order of the ranks is the order of the sum";
      }
      Bytes bytes(static_cast<std::size_t>(3 * ranks.rank()), std::byte(ranks.rank()));
      const std::vector<Bytes> all = ranks.all_gather(bytes);
      for (int r = 0; r < size; ++r) {
        ASSERT_EQ(all[static_cast<std::size_t>(r)],
                  Bytes(static_cast<std::size_t>(3 * r), std::byte(r)));
      }
      bytes = ranks.is_first() ? Bytes(100'000, std::byte(42)) : Bytes(3);
      ranks.broadcast(bytes);
      ASSERT_EQ(bytes, Bytes(100'000, std::byte(42)));
      ASSERT_EQ(ranks.any(ranks.rank() == size - 1), true);
      ASSERT_EQ(ranks.any(false), false);
      ASSERT_EQ(ranks.places().machines, 1);
      ASSERT_EQ(ranks.places().local_rank, ranks.rank());
      ASSERT_EQ(ranks.places().local_size, size);
    });
    EXPECT_EQ(errors, std::vector<std::string>(static_cast<std::size_t>(size)));
  }
}

TEST(Tcp, GathersSharesInPlace) {
  const auto errors = run_ranks(3, [](Communicator& ranks) {
    const Stream stream(Device::cpu());
    ranks.attach(stream);
    constexpr std::int64_t kUnits = 10, kUnit = 4;
    std::vector<float> values(kUnits * kUnit, -1);
    const Share share = ranks.share_of(kUnits);
    for (std::int64_t i = share.first * kUnit; i < (share.first + share.count) * kUnit; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<float>(i);
    }
    ranks.all_gather(values.data(), kUnits * kUnit, kUnit, stream);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(i));
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST(Tcp, RanksThatDifferAreToldApart) {
  const auto errors = run_ranks(3, [](Communicator& ranks) {
    ranks.require_same({{"seed", "7"}, {"batch_size", ranks.rank() == 2 ? "32" : "64"}});
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "rank 2 differs from rank 0 in batch_size: 32 instead of 64");
  }
}

TEST(Tcp, AnotherWorldSizeIsRefusedOnBothSides) {
  const auto errors = run_ranks(
      2, [](Communicator&) {},
      [](TcpOptions& options) {
        options.size += options.rank;
        options.token = kOurs;
      });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("rank 0 was started with a world size of 2, this one with 3"),
              std::string::npos)
        << error;
  }
}

TEST(Tcp, ARankOfAnotherRunOrASecondOneIsRefused) {
  const std::string rendezvous = free_rendezvous();
  auto first = std::async(std::launch::async, [&] { tcp_transport(options_of(0, 2, rendezvous)); });
  TcpOptions other = options_of(1, 2, rendezvous);
  other.token = kTheirs;
  EXPECT_TRUE(throws(ErrorKind::usage, "another run", [&] { tcp_transport(other); }));
  EXPECT_TRUE(
      throws(ErrorKind::usage, "rank", [&] { tcp_transport(options_of(0, 0, rendezvous)); }));
  tcp_transport(options_of(1, 2, rendezvous));
  first.get();
}

TEST(Lifeline, NamesARankThatHasStopped) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Socket stopped(ends[1]);  // it is open, and says nothing
  std::promise<std::string> told;
  std::vector<Socket> connections(2);
  connections[1] = Socket(ends[0]);
  const auto begin = Clock::now();
  Lifeline lifeline(0, std::move(connections), {"rank 0", "rank 1 (node7, process 4711)"}, 1,
                    [&](const std::string& line) { told.set_value(line); });
  EXPECT_EQ(told.get_future().get(), "rank 1 (node7, process 4711) has been silent for 1 s");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(8));
}

// Rank 0 may write and draw for long when the others are done.
TEST(Lifeline, BothSidesSayThatTheyAreThereAndLeaveTogether) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::vector<Socket> of_first(2), of_second(1);
  of_first[1] = Socket(ends[0]);
  of_second[0] = Socket(ends[1]);
  std::atomic<int> lost = 0;
  const auto count = [&](const std::string&) { ++lost; };
  Lifeline first(0, std::move(of_first), {"rank 0", "rank 1"}, 0.5, count);
  Lifeline second(1, std::move(of_second), {"rank 0", "rank 1"}, 0.5, count);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  auto leaving = std::async(std::launch::async, [&] { second.leave(); });
  EXPECT_EQ(leaving.wait_for(std::chrono::seconds(11)), std::future_status::timeout);
  first.leave();
  leaving.get();
  EXPECT_EQ(lost, 0);
}

TEST(Tcp, AnAddressInUseAndARankThatIsMissingAreErrors) {
  const Socket listener = listen_at({"127.0.0.1", 0});
  const std::string taken = to_string(listener.local());
  EXPECT_TRUE(throws(ErrorKind::device, "in use", [&] { tcp_transport(options_of(0, 2, taken)); }));
  const std::string free = free_rendezvous();
  EXPECT_TRUE(throws(ErrorKind::device, "no word from ranks 1, 2",
                     [&] { tcp_transport(options_of(0, 3, free, 0.5)); }));
  EXPECT_TRUE(throws(ErrorKind::device, "could not reach",
                     [&] { tcp_transport(options_of(1, 2, free, 0.5)); }));
  EXPECT_TRUE(throws(ErrorKind::device, "no.such.host.invalid",
                     [&] { tcp_transport(options_of(1, 2, "no.such.host.invalid:80", 0.5)); }));
}

TEST(Tcp, ARankThatEndsIsNamedByTheFirst) {
  for (const int loser : {0, 1, 2}) {
    std::mutex mutex;
    std::vector<std::string> told;
    const auto errors = run_ranks(
        3,
        [&](Communicator& ranks) {
          ranks.barrier();
          if (ranks.rank() == loser) throw std::runtime_error("it has failed");
          ranks.barrier();
        },
        [&](TcpOptions& options) {
          options.lost = [&](const std::string& line) {
            const std::lock_guard lock(mutex);
            if (!line.empty()) told.push_back(line);
          };
        });
    for (int rank = 0; rank < 3; ++rank) EXPECT_NE(errors[static_cast<std::size_t>(rank)], "");
    if (loser == 0) continue;  // rank 0 tells of itself
    ASSERT_EQ(told.size(), 1u) << "one line, by rank 0";
    EXPECT_NE(told[0].find(str("rank ", loser)), std::string::npos) << told[0];
  }
}

TEST(Tcp, ASilentRankIsGivenUp) {
  const auto begin = Clock::now();
  const auto errors = run_ranks(
      2,
      [](Communicator& ranks) {
        if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
        ranks.barrier();
      },
      [](TcpOptions& options) { options.timeout = 2; });
  EXPECT_NE(errors[0].find("rank 1"), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find("silent for 2 s"), std::string::npos) << errors[0];
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
}

// Ranks come late, not at all, or with another number of ranks: all ends soon, one way or the
// other.
TEST(Tcp, NothingHangs) {
  std::mt19937 random(1);
  const auto check = [](int run, int delay) {
    const int kind = run % 4;
    const auto begin = Clock::now();
    const auto errors = run_ranks(
        3, [](Communicator& ranks) { ranks.barrier(); },
        [=](TcpOptions& options) {
          options.timeout = 1;
          if (options.rank != run % 3) return;
          std::this_thread::sleep_for(std::chrono::milliseconds(delay));
          if (kind == 1) throw std::runtime_error("does not come");
          if (kind == 2) options.size = 4;
          if (kind == 3) options.token = kTheirs;
        });
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(15)) << "run " << run;
    const bool all_well = errors == std::vector<std::string>(3);
    EXPECT_EQ(all_well, kind == 0) << "run " << run;
  };
  for (int run = 0; run < 20;) {
    std::vector<std::future<void>> at_once;  // they wait most of the time
    for (const int end = run + 5; run < end; ++run) {
      at_once.push_back(std::async(std::launch::async, check, run, random() % 300));
    }
  }
}

}  // namespace
}  // namespace weft::distributed
