// SPDX-License-Identifier: MIT
// Whoever connects to a waiting rank 0 and whatever they say: it meets its own rank within seconds.
//
// The input is what strangers say one after another: the number of bytes, then these. Bit 7 of the
// number puts the start of a rank's own greeting before them. The right rank comes last.
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "distributed/greeting.h"
#include "distributed/rendezvous.h"
#include "tests/fuzz/connection.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

constexpr std::size_t kMostStrangers = 4;
const distributed::RunToken& token() {
  static const distributed::RunToken token = distributed::RunToken::from_text("of this run alone");
  return token;
}

void talk(fuzz::Input input, std::uint16_t port) {
  for (std::size_t i = 0; i < kMostStrangers && !input.empty(); ++i) {
    const std::size_t kind = input[0], size = std::min<std::size_t>(kind % 128, input.size() - 1);
    std::vector<std::uint8_t> said(input.begin() + 1, input.begin() + 1 + std::ptrdiff_t(size));
    input = input.subspan(1 + size);
    if (kind >= 128) {  // the bytes change the greeting: where, and to what
      distributed::Hello hello;
      auto* out = reinterpret_cast<std::uint8_t*>(&hello);
      for (std::size_t at = 0; at + 1 < said.size(); at += 2) {
        out[said[at] % sizeof hello] = said[at + 1];
      }
      said.assign(out, out + sizeof hello);
    }
    const fuzz::Connection stranger(port);
    stranger.say(said.data(), said.size());
    stranger.end();
    static_cast<void>(stranger.hear(1));  // until it is sent away
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  std::thread others;
  distributed::TcpOptions options;
  options.size = 2;
  options.rendezvous = "127.0.0.1:0";
  options.timeout = 20;
  options.token = token();
  options.listening = [&](const std::string& at) {
    others = std::thread([=] {
      talk({bytes, size}, distributed::parse_endpoint(at).port);
      distributed::TcpOptions second = options;
      second.rank = 1;
      second.rendezvous = at;
      second.listening = {};
      const distributed::Meeting meeting = distributed::meet(second);
      fuzz::require(meeting.peers[0].is_open(), "a rank without its first");
    });
  };
  const auto begin = distributed::Clock::now();
  const distributed::Meeting meeting = distributed::meet(options);  // which throws nothing
  fuzz::require(meeting.peers.size() == 2 && meeting.peers[1].is_open() &&
                    meeting.lifelines[1].is_open() && meeting.names.size() == 2,
                "a meeting without its ranks");
  fuzz::require(meeting.names[1].starts_with("rank 1 ("), "a rank without its name");
  fuzz::require(distributed::Clock::now() - begin < std::chrono::seconds(5), "was kept waiting");
  others.join();
  return 0;
}
