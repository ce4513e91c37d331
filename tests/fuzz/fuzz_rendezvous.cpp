// SPDX-License-Identifier: MIT
// Whoever connects to a waiting rank 0 and whatever they say: it meets its own ranks, or ends with
// one error of kind usage or device. Nothing that strangers say keeps it waiting.
//
// The input is what strangers say one after another: the number of bytes, then these. Bit 7 of the
// number puts the start of a rank's own greeting before them. The right rank comes last.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "distributed/rendezvous.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

constexpr std::uint64_t kToken = 0x1234;
constexpr std::size_t kMostStrangers = 4;

// As distributed/rendezvous.cpp has it.
struct Hello {
  char magic[8] = {'w', 'e', 'f', 't', 'r', 'u', 'n', '1'};
  std::uint32_t purpose = 1;
  std::int32_t rank = 1, size = 2;
  std::uint32_t port = 0;
  std::uint64_t token = kToken;
  std::int64_t process = 0;
  char host[64] = {};
};

class Connection {
 public:
  explicit Connection(std::uint16_t port) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ =
        connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const linger at_once{1, 0};  // no port is kept for a while
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(descriptor_); }

  void say(const void* bytes, std::size_t size) const {
    if (is_open_) static_cast<void>(::send(descriptor_, bytes, size, MSG_NOSIGNAL));
  }
  void end() const { shutdown(descriptor_, SHUT_WR); }
  // Until the other side has answered or has closed.
  void hear(std::size_t size) const {
    std::vector<char> bytes(size);
    static_cast<void>(recv(descriptor_, bytes.data(), size, MSG_WAITALL));
  }

 private:
  int descriptor_;
  bool is_open_ = false;
};

void talk(fuzz::Input input, std::uint16_t port) {
  for (std::size_t i = 0; i < kMostStrangers && !input.empty(); ++i) {
    const std::size_t kind = input[0], size = std::min<std::size_t>(kind % 128, input.size() - 1);
    std::vector<std::uint8_t> said(input.begin() + 1, input.begin() + 1 + std::ptrdiff_t(size));
    input = input.subspan(1 + size);
    if (kind >= 128) {  // the bytes change the greeting: where, and to what
      Hello hello;
      auto* out = reinterpret_cast<std::uint8_t*>(&hello);
      for (std::size_t at = 0; at + 1 < said.size(); at += 2) {
        out[said[at] % sizeof hello] = said[at + 1];
      }
      said.assign(out, out + sizeof hello);
    }
    const Connection stranger(port);
    stranger.say(said.data(), said.size());
    stranger.end();
    stranger.hear(1);
  }
  Hello hello;
  const Connection rank(port);
  rank.say(&hello, sizeof hello);
  rank.hear(1);
  hello.purpose = 2;
  const Connection lifeline(port);
  lifeline.say(&hello, sizeof hello);
  lifeline.hear(1);  // nothing comes; rank 0 closes it in the end
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  std::thread strangers;
  distributed::TcpOptions options;
  options.size = 2;
  options.rendezvous = "127.0.0.1:0";
  options.timeout = 20;
  options.token = kToken;
  options.listening = [&](const std::string& at) {
    const std::uint16_t port = distributed::parse_endpoint(at).port;
    strangers = std::thread([=] { talk({bytes, size}, port); });
  };
  const auto begin = distributed::Clock::now();
  try {
    const distributed::Meeting meeting = distributed::meet(options);
    fuzz::require(meeting.peers.size() == 2 && meeting.peers[1].is_open() &&
                      meeting.lifelines[1].is_open() && meeting.names.size() == 2,
                  "a meeting without its ranks");
    fuzz::require(meeting.names[1].starts_with("rank 1 ("), "a rank without its name");
  } catch (const Error& error) {
    fuzz::require(error.kind() == ErrorKind::usage || error.kind() == ErrorKind::device,
                  "an error of another kind");
    fuzz::require(std::string_view(error.what()).size() < 1000, "an error without end");
  }
  fuzz::require(distributed::Clock::now() - begin < std::chrono::seconds(10), "was kept waiting");
  if (strangers.joinable()) strangers.join();
  return 0;
}
