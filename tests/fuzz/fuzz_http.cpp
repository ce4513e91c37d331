// SPDX-License-Identifier: MIT
// Whatever bytes come over a connection: `weft serve` answers with a page, an answer or one error,
// or with nothing.
//
// The input is what a client says before it ends its side of the connection. Zeros follow, unless
// the last byte is an X: a client may have more to say than its request. The page, the model and
// answers go only to who asked this machine by its own name.
#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "examples/weft/serve/reader.h"
#include "examples/weft/serve/server.h"
#include "tests/cli/untrained_model.h"
#include "tests/fuzz/connection.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

// One server for all inputs: what one of them leaves behind, the next one meets.
class Server {
 public:
  Server() {
    std::promise<int> port;
    thread_ = std::thread([this, &port] {
      cli::serve(reader_, 0, "", stop_, [&port](int bound) { port.set_value(bound); });
    });
    port_ = static_cast<std::uint16_t>(port.get_future().get());
  }
  ~Server() {
    stop_ = true;
    thread_.join();
  }

  std::uint16_t port() const { return port_; }

 private:
  models::Model model_ = test::untrained_model();
  cli::Reader reader_{model_};
  std::atomic<bool> stop_ = false;
  std::thread thread_;
  std::uint16_t port_ = 0;
};

bool names_this_machine(std::string said) {
  for (char& c : said) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (said.find(name) != said.npos) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static Server server;
  const fuzz::TimeLimit limit(2);
  const fuzz::Connection client(server.port());
  std::string said(fuzz::text_of({bytes, size}));
  if (!said.ends_with('X')) said.append(4096, '\0');
  client.say(said.data(), said.size());
  client.end();
  const std::string answer = client.hear(4096);
  if (answer.empty()) return 0;
  fuzz::require(answer.starts_with("HTTP/1.1 ") && answer.size() > 12, "no answer of HTTP");
  const std::string status = answer.substr(9, 3);
  if (status == "100") return 0;  // "go on": what follows was looked at without the header Expect
  fuzz::require(answer.find("\r\nX-Content-Type-Options: nosniff\r\n") != answer.npos,
                "an answer without its headers");
  fuzz::require(status[0] == '2' || status[0] == '4', "an error of the server");
  if (status[0] == '2') {
    fuzz::require(names_this_machine(said), "an answer to who asked for another host");
  }
  return 0;
}
