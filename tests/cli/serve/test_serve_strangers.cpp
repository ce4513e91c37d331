// SPDX-License-Identifier: MIT
// What strangers do to `weft serve`: they are slow, send without end, or ask for too much, and a
// right request gets its answer all the same.
#include <zlib.h>

#include <algorithm>
#include <future>

#include "tests/cli/serve/serve.h"

namespace weft::test {
namespace {

using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

// AddressSanitizer keeps what was freed, so memory is not judged there.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kJudgesMemory = false;
#else
constexpr bool kJudgesMemory = true;
#endif

double seconds_since(Clock::time_point begin) {
  return Seconds(Clock::now() - begin).count();
}

class ServeStrangers : public Serve {
 protected:
  void TearDown() override {
    for (const int socket : strangers_) close(socket);
    Serve::TearDown();
  }

  int stranger(std::string_view says) {
    strangers_.push_back(connect_to("127.0.0.1"));
    say(strangers_.back(), says);
    return strangers_.back();
  }

  // MiB of memory, "VmRSS" now or "VmHWM" at most so far.
  double memory(const std::string& name) const {
    if (!kJudgesMemory) return 0;
    const std::string status = read_file("/proc/" + std::to_string(server_->pid()) + "/status");
    return std::stod(status.substr(status.find(name + ":") + name.size() + 1)) / 1024;
  }
  // The memory goes back within a second or two.
  void expect_memory_returns(double before) const {
    double now = 0;
    for (int i = 0; i < 30 && (now = memory("VmRSS")) > before + 4; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_LE(now, before + 4) << "MiB, " << before << " before";
  }

  void expect_right_answer_within(double seconds) {
    const auto begin = Clock::now();
    EXPECT_EQ(read_picture(digit_png(3)).status, 200);
    EXPECT_EQ(get("/model").status, 200);
    EXPECT_LT(seconds_since(begin), seconds);
  }

  std::string begin_of_post() const { return "POST /read HTTP/1.1\r\n" + host(); }

  std::vector<int> strangers_;
};

TEST_F(ServeStrangers, BytesWithoutEndAreRefusedWhereTheyStop) {
  const std::string many_fields = [] {
    std::string text;
    while (text.size() < 1 << 20) text += "X-A: " + std::string(4000, 'a') + "\r\n";
    return text;
  }();
  const std::string one_line(1 << 20, 'a');
  EXPECT_EQ(read_picture(digit_png(3)).status, 200);
  const double before = memory("VmHWM");
  const auto flood = [&](const std::string& head, const std::string& again, int status) {
    const int socket = connect_to("127.0.0.1");
    bool goes_on = say(socket, head);
    for (int i = 0; goes_on && i < 40; ++i) goes_on = say(socket, again);
    const Reply reply = hear(socket);
    // 0: it has closed while we were sending.
    EXPECT_TRUE(reply.status == status || reply.status == 0) << reply.status << reply.body;
  };
  flood("GET / HTTP/1.1\r\n" + host(), many_fields, 431);
  flood("GET / HTTP/1.1\r\n" + host() + "X: ", one_line, 431);
  flood("GET /", one_line, 431);
  flood(begin_of_post() + "Transfer-Encoding: chunked\r\n\r\n", std::string(1 << 20, '0'), 400);
  flood(begin_of_post() + "Transfer-Encoding: chunked\r\n\r\n1;", one_line, 400);
  flood(begin_of_post() + "Content-Length: 33554433\r\n\r\n", one_line, 413);
  EXPECT_LE(memory("VmHWM"), before + 4) << "MiB";
}

TEST_F(ServeStrangers, AHeadMayHave64KiBAndNoMore) {
  const std::string begin = "GET /model HTTP/1.1\r\n" + host() + "X: ", end = "\r\n\r\n";
  const std::size_t room = (64 << 10) - begin.size() - end.size();
  EXPECT_EQ(exchange(begin + std::string(room, 'a') + end).status, 200);
  expect_refused(exchange(begin + std::string(room + 1, 'a') + end), 431, "64 KiB");
}

TEST_F(ServeStrangers, RangesAreNotServed) {
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 2000; ++i) ranges += ",0-";
  const Reply reply = exchange("GET / HTTP/1.1\r\n" + host() + ranges + "\r\n\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body.size(), get("/").body.size());
}

TEST_F(ServeStrangers, ARequestHasTenSecondsWhateverTrickles) {
  EXPECT_EQ(read_picture(digit_png(3)).status, 200);
  const double before = memory("VmRSS");
  const auto begin = Clock::now();
  for (int i = 0; i < 64; ++i) {
    const std::string large_head = "X: " + std::string(60 << 10, 'a') + "\r\n";
    stranger(i % 4 == 0   ? "G"
             : i % 4 == 1 ? "GET / HTTP/1.1\r\nX"
             : i % 4 == 2 ? "GET / HTTP/1.1\r\n" + large_head
                          : begin_of_post() + "Content-Length: 30000000\r\n\r\nx");
  }
  expect_right_answer_within(2);
  std::vector<bool> is_open(64, true);
  double most = 0;
  while (std::ranges::count(is_open, true) > 0 && seconds_since(begin) < 30) {
    most = std::max(most, memory("VmRSS"));
    for (std::size_t i = 0; i < is_open.size(); ++i) {  // a byte now and then keeps none alive
      is_open[i] = is_open[i] && say(strangers_[i], "x");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (seconds_since(begin) > 5 && seconds_since(begin) < 5.3) expect_right_answer_within(2);
  }
  EXPECT_EQ(std::ranges::count(is_open, true), 0) << "still open";
  EXPECT_GT(seconds_since(begin), 9);
  EXPECT_LT(seconds_since(begin), 20);
  EXPECT_LE(most, before + 16) << "MiB, " << before << " before";
  expect_right_answer_within(2);
  expect_memory_returns(before);
}

TEST_F(ServeStrangers, MoreConnectionsThanThereArePlacesKeepNobodyOut) {
  for (int i = 0; i < 600; ++i) stranger(i % 2 == 0 ? "" : "POST /read HTTP/1.1\r\n");
  expect_right_answer_within(2);
  for (int i = 0; i < 300; ++i) stranger("GET / HTTP/1.1\r\n" + host() + "\r\n");
  expect_right_answer_within(2);
}

TEST_F(ServeStrangers, ManyLargeBodiesAtOnceAreBounded) {
  EXPECT_EQ(read_picture(digit_png(3)).status, 200);
  const double before = memory("VmRSS");
  const std::string part(10 << 20, 'x');
  std::vector<std::future<Reply>> replies;
  for (int i = 0; i < 12; ++i) {
    const int socket = connect_to("127.0.0.1");
    replies.push_back(std::async(std::launch::async, [=, this, &part] {
      say(socket, begin_of_post() + "Content-Length: 31457280\r\n\r\n");
      for (int k = 0; k < 3 && say(socket, part); ++k) {
      }
      return hear(socket);
    }));
  }
  expect_right_answer_within(2);
  int too_many = 0;
  for (auto& reply : replies) {
    const int status = reply.get().status;
    EXPECT_TRUE(status == 503 || status == 422 || status == 0) << status;
    too_many += status == 503 ? 1 : 0;
  }
  EXPECT_GT(too_many, 0) << "nothing was refused";
  EXPECT_LE(memory("VmHWM"), before + 100) << "MiB";
  expect_memory_returns(before);
}

TEST_F(ServeStrangers, MemoryReturnsAfterALargePicture) {
  EXPECT_EQ(read_picture(digit_png(3)).status, 200);
  const double before = memory("VmRSS");
  const std::vector<std::uint8_t> pixels(4000 * 4000, 90);
  const Reply reply = read_picture(bytes_of(data::encode_png(pixels, 4000, 4000, 1)));
  EXPECT_EQ(reply.status, 422) << "there is no ink in it";
  if (kJudgesMemory) {
    EXPECT_GT(memory("VmHWM"), before + 15) << "it was not read";
  }
  expect_refused(read_picture(std::string(31 << 20, 'x')), 422, "the picture");
  expect_memory_returns(before);
}

TEST_F(ServeStrangers, ADrawingDoesNotWaitForAllTheLargePicturesBeforeIt) {
  const std::vector<std::uint8_t> pixels(6000 * 6000, 90);
  const std::string picture = bytes_of(data::encode_png(pixels, 6000, 6000, 1));
  for (int i = 0; i < 10; ++i) {
    stranger(begin_of_post() + "Content-Length: " + std::to_string(picture.size()) + "\r\n\r\n" +
             picture);
  }
  EXPECT_EQ(read_picture(digit_png(3)).status, 200);
  char byte;
  EXPECT_GE(std::ranges::count_if(
                strangers_, [&](int s) { return recv(s, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0; }),
            5)
      << "large pictures that still wait";
}

std::string gzip_of(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST_F(ServeStrangers, AGzipInflatesToAsMuchAsABodyMayHave) {
  const std::string packed = host() + "Content-Encoding: gzip\r\n";
  EXPECT_EQ(read_picture(gzip_of(digit_png(3)), packed).status, 200);
  EXPECT_EQ(read_picture(digit_png(3), host() + "Content-Encoding: identity\r\n").status, 200);
  std::string bomb;  // members are put together
  const std::string member = gzip_of(std::string(16 << 20, '\0'));
  for (int i = 0; i < 64; ++i) bomb += member;
  const double before = memory("VmRSS");
  expect_refused(read_picture(bomb, packed), 413, "32.0 MiB");
  expect_refused(read_picture("no gzip", packed), 422, "the picture");
  EXPECT_LE(memory("VmHWM"), before + 100) << "MiB";
  expect_refused(read_picture(digit_png(3), host() + "Content-Encoding: br\r\n"), 415, "gzip");
  expect_memory_returns(before);
}

TEST_F(ServeStrangers, WhatIsNotWellFormedIsRefused) {
  const std::string get = "GET /model HTTP/1.1\r\n" + host();
  for (const std::string& request :
       {std::string("GET /model\r\n"), "GET  /model HTTP/1.1\r\n" + host(),
        "GET /model HTTP/2.0\r\n" + host(), "GET /mo del HTTP/1.1\r\n" + host(),
        "G(T /model HTTP/1.1\r\n" + host(), get + "no colon\r\n", get + " folded: x\r\n",
        get + "Space : x\r\n", get + "X: a\rb\r\n", get + ": x\r\n", "\r\n" + get,
        std::string("GET /\0 HTTP/1.1\r\n", 18) + host(), get + std::string("X: \0\r\n", 6)}) {
    SCOPED_TRACE(request);
    expect_refused(exchange(request + "\r\n"), 400, "expected");
  }
  const std::string chunked = "Transfer-Encoding: chunked\r\n", length = "Content-Length: 3\r\n";
  for (const std::string& request :
       {length + chunked + "\r\nabc", length + length + "\r\nabc", chunked + chunked + "\r\n0\r\n",
        std::string("Content-Length: -1\r\n\r\nabc"), std::string("Content-Length: +3\r\n\r\nabc"),
        std::string("Content-Length: 3 3\r\n\r\nabc"), std::string("Content-Length:\r\n\r\nabc"),
        chunked + "\r\nx\r\n", chunked + "\r\n-1\r\n", chunked + "\r\n3\r\nabcd\r\n",
        chunked + "\r\n3\nabc\n"}) {
    SCOPED_TRACE(request);
    expect_refused(exchange(begin_of_post() + request), 400, "expected");
  }
  expect_refused(exchange(begin_of_post() + "\r\nabc"), 411, "length");
  expect_refused(exchange(begin_of_post() + "Transfer-Encoding: gzip\r\n\r\n"), 501, "chunked");
  for (const char* huge : {"18446744073709551616", "33554433"}) {
    expect_refused(
        exchange(begin_of_post() + "Content-Length: " + std::string(huge) + "\r\n\r\nabc"), 413,
        "32.0 MiB");
  }
  expect_refused(exchange(begin_of_post() + chunked + "\r\nffffffffffffffffff\r\n"), 413, "32.0");
}

TEST_F(ServeStrangers, ARequestMayComeInAnyParts) {
  const std::string picture = digit_png(7);
  std::string chunks =
      begin_of_post() + "Transfer-Encoding: Chunked\r\nExpect: 100-continue\r\n\r\n";
  char size[32];
  for (std::size_t at = 0; at < picture.size(); at += 100) {
    const std::string chunk = picture.substr(at, 100);
    std::snprintf(size, sizeof size, "%zx;name=\"value\"\r\n", chunk.size());
    chunks += size + chunk + "\r\n";
  }
  chunks += "0\r\nTrailer: x\r\n\r\nGET / HTTP/1.1\r\n";
  const int socket = connect_to("127.0.0.1");
  const std::size_t head = chunks.find("\r\n\r\n") + 4;
  say(socket, chunks.substr(0, head));
  char said[64];
  const ssize_t count = recv(socket, said, sizeof said, 0);
  EXPECT_EQ(std::string(said, static_cast<std::size_t>(std::max<ssize_t>(count, 0))),
            "HTTP/1.1 100 Continue\r\n\r\n");
  for (std::size_t at = head; at < chunks.size(); ++at) say(socket, chunks.substr(at, 1));
  const auto [answer, bytes] = parts(hear(socket));
  EXPECT_EQ(answer.at("label"), parts(read_picture(picture)).first.at("label"));
}

TEST_F(ServeStrangers, EndsWithinTwoSecondsWhateverClientsDo) {
  for (int i = 0; i < 64; ++i) stranger(i % 2 == 0 ? "GET / HTTP" : "");
  stranger("GET / HTTP/1.1\r\n" + host() + "\r\n");
  // Pictures that take the server seconds each.
  const std::vector<std::uint8_t> pixels(7000 * 7000, 90);
  const std::string picture = bytes_of(data::encode_png(pixels, 7000, 7000, 1));
  for (int i = 0; i < 8; ++i) {
    stranger(begin_of_post() + "Content-Length: " + std::to_string(picture.size()) + "\r\n\r\n" +
             picture);
  }
  EXPECT_EQ(get("/model").status, 200);
  const auto begin = Clock::now();
  kill(server_->pid(), SIGINT);
  const Outcome outcome = server_->wait();
  server_.reset();
  EXPECT_LT(seconds_since(begin), 2);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ServeStrangers, ATokenKeepsOtherUsersOut) {
  EXPECT_EQ(root_, "/");
  kill(server_->pid(), SIGKILL);
  server_->wait();
  serve({"--token"});
  ASSERT_EQ(root_.size(), 34u) << root_;
  EXPECT_EQ(get(root_).status, 200);
  EXPECT_EQ(get(root_ + "model").status, 200);
  const auto post = [&](const std::string& path) {
    return exchange("POST " + path + " HTTP/1.1\r\n" + host() + "Content-Length: 1\r\n\r\nx");
  };
  EXPECT_EQ(post(root_ + "read").status, 422);
  std::string other = root_;
  other[5] = other[5] == '0' ? '1' : '0';
  for (const std::string& path :
       {std::string("/"), std::string("/model"), std::string("/read"), other, other + "read",
        root_.substr(0, 33), root_.substr(0, 20), "/" + root_}) {
    SCOPED_TRACE(path);
    expect_refused(get(path), 403, "token");
    expect_refused(post(path), 403, "token");
  }
  expect_refused(get(root_ + "other"), 404, "expected GET /");
  expect_refused(exchange("GET " + root_ + " HTTP/1.1\r\nHost: evil.test\r\n\r\n"), 403, "only");
  const std::string first = root_;
  kill(server_->pid(), SIGKILL);
  server_->wait();
  serve({"--token"});
  EXPECT_NE(root_, first);
}

}  // namespace
}  // namespace weft::test
