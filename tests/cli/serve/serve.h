// SPDX-License-Identifier: MIT
// `weft serve`, started for each test, and requests over sockets of the test's own.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

#include "data/picture/image.h"
#include "data/sets/digits.h"
#include "tests/cli/program.h"
#include "tests/cli/untrained_model.h"

namespace weft::test {

struct Reply {
  int status = 0;  // 0: no answer
  std::string headers, body;
};

inline std::string bytes_of(const data::Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

class Serve : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_untrained_model(folder() / "model.safetensors");
    serve();
  }

  void serve(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"serve", "model.safetensors", "--port", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server_.emplace(start(arguments));
    ASSERT_TRUE(server_->wait_for("\n"));
    const std::string out = server_->out(), before = "http://127.0.0.1:";
    ASSERT_NE(out.find(before), out.npos) << out;
    const std::string address = out.substr(out.find(before) + before.size());
    port_ = std::stoi(address);
    root_ = address.substr(address.find('/'), address.find(' ') - address.find('/'));
  }

  void TearDown() override {
    if (server_) {
      kill(server_->pid(), SIGKILL);
      server_->wait();
    }
    ProgramTest::TearDown();
  }

  // A connected socket, or -1.
  int connect_to(const char* address) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port_));
    inet_pton(AF_INET, address, &to.sin_addr);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return socket;
    close(socket);
    return -1;
  }

  // False when the server has closed.
  static bool say(int socket, std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  // Sends these bytes, and reads until the server closes.
  Reply exchange(const std::string& request) const {
    const int socket = connect_to("127.0.0.1");
    EXPECT_GE(socket, 0);
    say(socket, request);
    return hear(socket);
  }
  // Reads until the server closes, and closes too.
  static Reply hear(int socket) {
    std::string text(1 << 16, '\0'), all;
    for (ssize_t count; (count = recv(socket, text.data(), text.size(), 0)) > 0;) {
      all.append(text, 0, static_cast<std::size_t>(count));
    }
    close(socket);
    const std::size_t end = all.find("\r\n\r\n");
    if (!all.starts_with("HTTP/1.1 ") || end == all.npos) return {};
    return {std::stoi(all.substr(9, 3)), all.substr(0, end), all.substr(end + 4)};
  }

  std::string host() const { return "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n"; }
  Reply get(const std::string& path) const {
    return exchange("GET " + path + " HTTP/1.1\r\n" + host() + "\r\n");
  }
  Reply read_picture(const std::string& picture, const std::string& headers = "") const {
    return exchange("POST /read HTTP/1.1\r\n" + (headers.empty() ? host() : headers) +
                    "Content-Length: " + std::to_string(picture.size()) + "\r\n\r\n" + picture);
  }

  void expect_refused(const Reply& reply, int status, const std::string& part) {
    EXPECT_EQ(reply.status, status) << reply.body;
    const std::vector<nlohmann::json> lines = json_lines(reply.body);
    ASSERT_EQ(lines.size(), 1u) << reply.body;
    EXPECT_EQ(lines[0].at("event"), "error");
    const std::string error = lines[0].at("error");
    EXPECT_NE(error.find(part), error.npos) << error;
  }

  // The answer's line of JSON and its bytes.
  static std::pair<nlohmann::json, std::string> parts(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    const std::size_t end = reply.body.find('\n');
    return {nlohmann::json::parse(reply.body.substr(0, end)), reply.body.substr(end + 1)};
  }

  static std::string digit_png(int digit, std::uint64_t index = 0) {
    std::vector<std::uint8_t> pixels(784);
    data::draw_digit(digit, 5, index, pixels.data());
    return bytes_of(data::encode_png(pixels, 28, 28, 1));
  }

  std::optional<Process> server_;
  int port_ = 0;
  std::string root_;  // the path of the page
};

}  // namespace weft::test
