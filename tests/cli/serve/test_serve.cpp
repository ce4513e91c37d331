// SPDX-License-Identifier: MIT
// weft serve, request by request over sockets of its own: what it answers, and what it refuses.
#include <algorithm>
#include <future>

#include "tests/cli/serve/serve.h"
#include "tests/e2e/photograph.h"

namespace weft::test {
namespace {

TEST_F(Serve, ThePageAllowsItselfOnly) {
  const Reply page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("<!doctype html>"), page.body.npos);
  EXPECT_EQ(page.body.find("{{"), page.body.npos);
  for (const char* part : {"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"}) {
    EXPECT_NE(page.headers.find(part), page.headers.npos) << part;
  }
  // No address but the name of SVG's namespace, and no other file.
  for (std::size_t at = 0; (at = page.body.find("http", at)) != page.body.npos; ++at) {
    EXPECT_EQ(page.body.substr(at, 26), "http://www.w3.org/2000/svg");
  }
  for (const char* word : {"src=", "url(", "@import", "//cdn"}) {
    EXPECT_EQ(page.body.find(word), page.body.npos) << word;
  }
  EXPECT_NE(get("/").body, page.body) << "the nonce is used twice";
}

TEST_F(Serve, SaysWhatPredictSays) {
  const nlohmann::json model = nlohmann::json::parse(get("/model").body);
  EXPECT_EQ(model.at("network"), "lenet5");
  EXPECT_EQ(model.at("classes").size(), 10u);
  std::size_t expected = 784;
  for (const nlohmann::json& layer : model.at("layers")) {
    std::size_t count = 1;
    for (const std::size_t extent : layer.at("shape")) count *= extent;
    expected += count;
  }
  EXPECT_EQ(model.at("layers")[0].at("shape").dump(), "[6,28,28]");
  for (int digit = 0; digit < 10; ++digit) {
    write("digit.png", digit_png(digit));
    const nlohmann::json told = json_lines(
        weft({"predict", "model.safetensors", "digit.png", "--json", "--top-k", "10"}).out)[0];
    const auto [answer, bytes] = parts(read_picture(read("digit.png")));
    EXPECT_EQ(answer.at("label"), told.at("label"));
    for (const nlohmann::json& entry : told.at("top_k")) {
      const double probability = answer.at("probabilities")[entry.at("label").get<std::size_t>()];
      EXPECT_NEAR(probability, entry.at("probability").get<double>(), 1e-5);
    }
    EXPECT_EQ(answer.at("scales").size(), model.at("layers").size());
    ASSERT_EQ(bytes.size(), expected);
    // The second layer is the ReLU of the first: both show the same where that is positive.
    const double before = answer.at("scales")[0], behind = answer.at("scales")[1];
    int positive = 0;
    for (std::size_t i = 784; i < 784 + 4704; ++i) {
      const double x = before * (static_cast<std::uint8_t>(bytes[i]) - 128) / 127;
      const double y = behind * (static_cast<std::uint8_t>(bytes[i + 4704]) - 128) / 127;
      EXPECT_NEAR(y, std::max(0.0, x), 0.004 * (before + behind)) << i;
      positive += y > 0 ? 1 : 0;
    }
    EXPECT_GT(positive, 0);
  }
}

TEST_F(Serve, SaysThatALargeJpegWasReduced) {
  if (!data::reads_large_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  for (const std::int64_t width : {8000, 8200}) {
    constexpr std::int64_t kHeight = 1200, kInkFrom = 300, kInkWidth = 100, kLeft = 4000;
    data::Bytes rgb(static_cast<std::size_t>(3 * width * kHeight), 230);
    for (std::int64_t y = kInkFrom; y < kHeight - kInkFrom; ++y) {
      std::fill_n(rgb.begin() + 3 * (y * width + kLeft), 3 * kInkWidth, 20);
    }
    const auto [answer, bytes] =
        parts(read_picture(bytes_of(encode_jpeg(rgb, width, kHeight, 85))));
    EXPECT_EQ(answer.at("reduced"), width > data::kMaxImageSide
                                        ? "a large JPEG: it is read at half of its width and height"
                                        : "");
  }
}

TEST_F(Serve, RefusesOtherHostsAndOtherSites) {
  const std::string picture = digit_png(3), port = ":" + std::to_string(port_) + "\r\n";
  for (const std::string& headers :
       {std::string("Host: example.com\r\n"), "Host: example.com" + port,
        "Host: 127.0.0.1.example.com" + port, "Host: 192.168.0.1" + port, std::string(),
        host() + host(), host() + "Origin: http://example.com\r\n", host() + "Origin: null\r\n",
        host() + "Origin: http://127.0.0.1:1\r\n", host() + "Origin: https://127.0.0.1" + port}) {
    SCOPED_TRACE(headers);
    expect_refused(exchange("GET / HTTP/1.1\r\n" + headers + "\r\n"), 403, "only pages of this");
    if (!headers.empty()) expect_refused(read_picture(picture, headers), 403, "only pages of this");
  }
  for (const std::string& headers :
       {"Host: localhost" + port, "Host: [::1]" + port, host() + "Origin: http://127.0.0.1" + port,
        std::string("Host: localhost\r\n")}) {
    EXPECT_EQ(read_picture(picture, headers).status, 200) << headers;
  }
  const int elsewhere = connect_to("127.0.0.2");  // it listens on 127.0.0.1, not on every address
  EXPECT_EQ(elsewhere, -1);
  if (elsewhere >= 0) close(elsewhere);
}

TEST_F(Serve, RefusesOtherPathsMethodsAndForms) {
  for (const char* path :
       {"/favicon.ico", "/read", "/../model.safetensors", "//", "/model/", "/%00"}) {
    SCOPED_TRACE(path);
    expect_refused(get(path), 404, "expected GET /");
  }
  for (const char* line : {"POST / ", "POST /elsewhere ", "PUT /read ", "OPTIONS /read "}) {
    SCOPED_TRACE(line);
    expect_refused(exchange(line + ("HTTP/1.1\r\n" + host()) + "Content-Length: 1\r\n\r\nx"), 404,
                   "expected GET /");
  }
  expect_refused(read_picture("--x", host() + "Content-Type: multipart/form-data; boundary=x\r\n"),
                 415, "form");
  EXPECT_EQ(exchange("nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(Serve, CapsBodies) {
  const std::size_t cap = std::size_t{32} << 20;
  expect_refused(read_picture(std::string(cap + 1, 'x')), 413, "32.0 MiB");
  // In chunks, which announce no length: one more than fits.
  const std::string chunk = "100000\r\n" + std::string(1 << 20, 'x') + "\r\n";
  std::string chunks = "POST /read HTTP/1.1\r\n" + host() + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 33; ++i) chunks += chunk;
  const Reply reply = exchange(chunks + "0\r\n\r\n");
  if (reply.status != 0) expect_refused(reply, 413, "32.0 MiB");  // 0: closed while we were sending
  expect_refused(exchange("POST /read HTTP/1.1\r\n" + host() + "Content-Length: 9\r\n\r\nshort"),
                 400, "completely");
  EXPECT_EQ(read_picture(digit_png(1)).status, 200);
}

TEST_F(Serve, SaysWhatIsWrongWithAPicture) {
  expect_refused(read_picture(""), 422, "the picture");
  expect_refused(read_picture("no picture"), 422, "the picture");
  expect_refused(read_picture(digit_png(4).substr(0, 100)), 422, "the picture");
  const std::vector<std::uint8_t> blank(100 * 100, 255);
  expect_refused(read_picture(bytes_of(data::encode_png(blank, 100, 100, 1))), 422, "the picture");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(WEFT_TESTS_DIR) / "data/hostile")) {
    const std::string kind = entry.path().extension();
    if (kind != ".png" && kind != ".jpg" && kind != ".bmp") continue;
    ++files;
    SCOPED_TRACE(entry.path());
    expect_refused(read_picture(read_file(entry.path())), 422, "the picture");
  }
  EXPECT_GE(files, 6);
}

TEST_F(Serve, AnswersEachOfManyAtOnce) {
  const auto ask = [&](int digit) {
    auto [answer, bytes] = parts(read_picture(digit_png(digit)));
    answer.erase("milliseconds");
    return answer.dump() + bytes;
  };
  std::vector<std::string> alone;
  for (int digit = 0; digit < 10; ++digit) alone.push_back(ask(digit));
  for (int digit = 1; digit < 10; ++digit)
    EXPECT_NE(alone[0], alone[static_cast<std::size_t>(digit)]);
  const int idle = connect_to("127.0.0.1");  // says nothing, and holds nobody up
  std::vector<std::future<int>> wrong;
  for (int thread = 0; thread < 12; ++thread) {
    wrong.push_back(std::async(std::launch::async, [&, thread] {
      int count = 0;
      for (int i = 0; i < 10; ++i) {
        const int digit = (thread + i) % 10;
        count += ask(digit) != alone[static_cast<std::size_t>(digit)] ? 1 : 0;
      }
      return count;
    }));
  }
  for (std::future<int>& count : wrong) EXPECT_EQ(count.get(), 0);
  close(idle);
}

TEST_F(Serve, SaysThatAPortIsTaken) {
  const std::string port = std::to_string(port_);
  expect_error(weft({"serve", "model.safetensors", "--port", port}), 2,
               "port " + port + " of 127.0.0.1: Address already in use");
  expect_error(weft({"serve", "model.safetensors", "--port", "65536"}), 2, "--port");
  expect_error(weft({"serve", "missing.safetensors", "--port", "0"}), 3, "missing.safetensors");
}

TEST_F(Serve, EndsWithTheSignal) {
  const int idle = connect_to("127.0.0.1");
  EXPECT_EQ(get("/").status, 200);
  kill(server_->pid(), SIGINT);
  const Outcome outcome = server_->wait();
  server_.reset();
  close(idle);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(lines_of(outcome.out).size(), 1u) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace weft::test
