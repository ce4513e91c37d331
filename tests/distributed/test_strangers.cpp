// SPDX-License-Identifier: MIT
// Who reaches the rendezvous and is no rank of the run costs it nothing.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "distributed/communicator.h"
#include "distributed/greeting.h"
#include "distributed/socket.h"
#include "distributed/tcp.h"
#include "tests/distributed/ranks_in_threads.h"
#include "tests/support/folder.h"

namespace weft::distributed {
namespace {

using test::throws;

TEST(Strangers, AtTheRendezvousAreSentAway) {
  const std::string rendezvous = free_rendezvous();
  auto first = std::async(std::launch::async, [&] {
    Communicator(tcp_transport(options_of(0, 2, rendezvous))).barrier();
  });
  {
    const std::string request =
        "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n" + std::string(200, 'x');
    const Socket stranger =
        connect_to(parse_endpoint(rendezvous), Clock::now() + std::chrono::seconds(5));
    stranger.send(std::as_bytes(std::span(request)), Clock::now() + std::chrono::seconds(5), "");
  }
  Communicator(tcp_transport(options_of(1, 2, rendezvous))).barrier();
  first.get();
}

// A raw connection to rank 0.
class Stranger {
 public:
  explicit Stranger(const std::string& rendezvous)
      : socket_(connect_to(parse_endpoint(rendezvous), Clock::now() + std::chrono::seconds(5))) {}

  template <class T>
  void say(const T& value) const {
    socket_.send(std::as_bytes(std::span(&value, 1)), soon(), "rank 0");
  }
  template <class T>
  T hear() const {
    T value;
    socket_.receive(std::as_writable_bytes(std::span(&value, 1)), soon(), "rank 0");
    return value;
  }
  void reset() {  // without a word, as a port scanner does
    const linger at_once{1, 0};
    setsockopt(socket_.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_.close();
  }

 private:
  static Deadline soon() { return Clock::now() + std::chrono::seconds(10); }
  Socket socket_;
};

TEST(Strangers, CostTheirOwnConnectionOnly) {
  const std::string rendezvous = free_rendezvous();
  auto first = std::async(std::launch::async, [&] {
    TcpOptions options = options_of(0, 2, rendezvous);
    options.token = kOurs;
    Communicator(tcp_transport(options)).barrier();
  });
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 64; ++i) {  // silent, cut off, of another kind, gone, without the token
    strangers.push_back(std::make_unique<Stranger>(rendezvous));
    Hello hello;
    hello.introduction.rank = 1;
    hello.introduction.size = i % 2 == 0 ? 2 : 3;
    if (i % 5 == 1) strangers.back()->say(kMagic);
    if (i % 5 == 2) strangers.back()->say('x');
    if (i % 5 == 3) strangers.back()->reset();
    if (i % 5 == 4) strangers.back()->say(hello);
  }
  const auto begin = Clock::now();
  TcpOptions options = options_of(1, 2, rendezvous);
  options.token = kOurs;
  Communicator(tcp_transport(options)).barrier();
  first.get();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

// They come again and again, through the reports, the lifelines and the pairs.
TEST(Strangers, AFloodOfStrangersHoldsNobodyUp) {
  const std::string rendezvous = free_rendezvous();
  std::atomic<bool> is_over = false;
  std::atomic<int> came = 0;
  const auto bother = [&](int kind) {
    std::vector<std::unique_ptr<Stranger>> strangers;
    while (!is_over) {
      try {
        strangers.push_back(std::make_unique<Stranger>(rendezvous));
        ++came;
        Hello hello;  // without the token: as each rank, for each purpose, of each size
        hello.introduction.rank = came % 4;
        hello.introduction.size = 2 + came % 3;
        hello.introduction.purpose = static_cast<Purpose>(1 + came % 3);
        if (kind == 1) strangers.back()->say(hello);
        if (kind == 2) strangers.back()->say(kMagic);
        if (kind == 3) strangers.back()->reset();
        if (kind == 4) strangers.back()->say(std::array<char, 1000>{});
        if (kind == 5) {  // says what was said to it
          hello.introduction.nonce = strangers.back()->hear<Challenge>().nonce;
          strangers.back()->say(hello);
          strangers.back()->hear<Welcome>();
        }
      } catch (const Error&) {  // rank 0 listens no more, or has sent this one away
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (strangers.size() == 16) strangers.erase(strangers.begin());
    }
  };
  std::vector<std::future<std::string>> ranks;
  const auto join = [&](int rank) {
    ranks.push_back(std::async(std::launch::async, [=]() -> std::string {
      try {
        TcpOptions options = options_of(rank, 4, rendezvous);
        options.token = kOurs;
        Communicator(tcp_transport(options)).barrier();
        return "";
      } catch (const std::exception& error) {
        return error.what();
      }
    }));
  };
  join(0);
  std::vector<std::future<void>> strangers;
  for (int i = 0; i < 12; ++i) {
    strangers.push_back(std::async(std::launch::async, bother, i % 6));
  }
  while (came < 64) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto begin = Clock::now();
  for (const int rank : {1, 2, 3}) join(rank);
  for (auto& rank : ranks) EXPECT_EQ(rank.get(), "");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  is_over = true;
}

TEST(Strangers, ATokenIsProvedOnBothSidesAndForOneConnection) {
  const std::string rendezvous = free_rendezvous();
  auto first = std::async(std::launch::async, [&] {
    TcpOptions options = options_of(0, 2, rendezvous, 4);
    options.token = kOurs;
    return throws(ErrorKind::device, "no word from rank 1", [&] { tcp_transport(options); });
  });
  Stranger eavesdropper(rendezvous), again(rendezvous);
  const auto heard = eavesdropper.hear<Challenge>(), second = again.hear<Challenge>();
  EXPECT_NE(heard.nonce, second.nonce);
  Hello hello;  // as rank 1 says it on a connection of its own
  hello.introduction.rank = 1;
  hello.introduction.size = 2;
  hello.tag = kOurs.tag("hello", {heard.nonce, std::as_bytes(std::span(&hello.introduction, 1))});
  again.say(hello);
  EXPECT_NE(text_in(again.hear<Welcome>().refusal), "") << "it was said on another connection";
  hello.tag = kTheirs.tag("hello", {heard.nonce, std::as_bytes(std::span(&hello.introduction, 1))});
  eavesdropper.say(hello);
  EXPECT_NE(text_in(eavesdropper.hear<Welcome>().refusal), "");
  EXPECT_TRUE(first.get());

  // Somebody else has the address of rank 0: it learns no more than what rank 1 is called.
  const Socket squatter = listen_at({"127.0.0.1", 0});
  auto rank = std::async(std::launch::async, [&] {
    TcpOptions options = options_of(1, 2, to_string(squatter.local()), 4);
    options.token = kOurs;
    return throws(ErrorKind::usage, "another run", [&] { tcp_transport(options); });
  });
  const RunToken none;
  Reception reception(squatter, none);
  EXPECT_FALSE(reception.next(Clock::now() + std::chrono::seconds(2)).has_value());
  EXPECT_TRUE(rank.get());
}

TEST(RunToken, HasAtLeast128BitsAndIsNotItsText) {
  EXPECT_TRUE(
      throws(ErrorKind::usage, "at least 16", [] { RunToken::from_text("fifteen letters"); }));
  EXPECT_TRUE(RunToken::from_text("sixteen letters.").is_given());
  EXPECT_FALSE(RunToken().is_given());
  EXPECT_EQ(RunToken::draw_text().size(), 64u);
  EXPECT_NE(RunToken::draw_text(), RunToken::draw_text());
  EXPECT_NE(draw_nonce(), draw_nonce());
}

// A peer of which each length comes true but the last one, which is half a terabyte.
class Boaster final : public Transport {
 public:
  explicit Boaster(std::size_t& asked) : asked_(asked) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::string_view name() const override { return "boaster"; }
  void fail(const std::string&) noexcept override {}
  void exchange(std::span<const std::span<const std::byte>>,
                std::span<const std::span<std::byte>> in) override {
    asked_ = in[1].size();
    if (calls_ > 2) throw Error(ErrorKind::device, "nothing comes");
    const std::uint64_t length = calls_ == 0 ? 4 : std::uint64_t{1} << 39;
    if (calls_++ != 1) std::memcpy(in[1].data(), &length, sizeof length);
  }

 private:
  int calls_ = 0;
  std::size_t& asked_;
};

TEST(Strangers, MemoryGrowsWithWhatComesAndNotWithWhatIsSaid) {
  std::size_t asked = 0;
  Communicator ranks(std::make_unique<Boaster>(asked));
  EXPECT_TRUE(throws(ErrorKind::device, "nothing comes", [&] { ranks.all_gather({}); }));
  EXPECT_EQ(asked, std::size_t{64} << 10) << "bytes of the first part";
  Communicator bounded(std::make_unique<Boaster>(asked));
  EXPECT_TRUE(
      throws(ErrorKind::device, "at most 100 are expected", [&] { bounded.all_gather({}, 100); }));
  EXPECT_EQ(asked, sizeof(std::uint64_t));
}

TEST(Strangers, WhoeverElseListensThereIsNoRank) {
  const Socket listener = listen_at({"127.0.0.1", 0});
  auto server = std::async(std::launch::async, [&] {
    const auto client = accept_from(listener, Clock::now() + std::chrono::seconds(10));
    const std::string answer(1000, 'x');
    client->send(std::as_bytes(std::span(answer)), Clock::now() + std::chrono::seconds(10), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  EXPECT_TRUE(throws(ErrorKind::device, "is no rank of Weft's",
                     [&] { tcp_transport(options_of(1, 2, to_string(listener.local()))); }));
  server.get();
}

}  // namespace
}  // namespace weft::distributed
