// SPDX-License-Identifier: MIT
// Whoever connects to a waiting rank 0 and whatever they say: it meets its own ranks, or ends with
// one error of kind usage or device. Nothing that strangers say keeps it waiting.
//
// The input is what strangers say one after another: the number of bytes, then these. Bit 7 of the
// number puts the start of a rank's own greeting before them. The right rank comes last.
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "distributed/rendezvous.h"
#include "tests/fuzz/connection.h"
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
    const fuzz::Connection stranger(port);
    stranger.say(said.data(), said.size());
    stranger.end();
    stranger.hear_something();
  }
  Hello hello;
  const fuzz::Connection rank(port);
  rank.say(&hello, sizeof hello);
  rank.hear_something();
  hello.purpose = 2;
  const fuzz::Connection lifeline(port);
  lifeline.say(&hello, sizeof hello);
  lifeline.hear_something();  // nothing comes; rank 0 closes it in the end
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
