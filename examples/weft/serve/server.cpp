// SPDX-License-Identifier: MIT
#include "examples/weft/serve/server.h"

#include <fmt/format.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <random>
#include <regex>
#include <string>

#include "data/files/gzip.h"
#include "data/files/sha256.h"
#include "distributed/run_token.h"
#include "engine/error.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/page/parts.h"
#include "examples/weft/serve/connections.h"

namespace weft::cli {
namespace {

using distributed::Socket;

// Every answer has these.
HttpResponse with_headers(HttpResponse response) {
  for (const auto& [name, value] : {std::pair{"X-Content-Type-Options", "nosniff"},
                                    {"Cross-Origin-Resource-Policy", "same-origin"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cache-Control", "no-store"},
                                    {"Accept-Ranges", "none"}}) {
    response.fields.emplace_back(name, value);
  }
  return response;
}

HttpResponse refuse(const HttpRefusal& refusal) {
  return with_headers({refusal.status, "application/json",
                       json_line(json_event("error", {{"error", refusal.why}}))});
}

// A page of another site may send requests here, and may have made its name point here (DNS
// rebinding). A browser then says so in Origin and Host.
bool from_this_host(const HttpHead& head) {
  static const std::regex loopback(R"((127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?)",
                                   std::regex::icase);
  const std::string host(head.value_of("Host"));
  if (!std::regex_match(host, loopback)) return false;
  return head.values_of("Origin").empty() || head.value_of("Origin") == "http://" + host;
}

// Compares in a time that tells nothing of where the two differ.
bool are_same(std::string_view a, std::string_view b) {
  const auto digest = [](std::string_view text) {
    return data::sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  return distributed::are_same(digest(a), digest(b));
}

// Scripts and styles are those of this page, and it talks to this server only.
HttpResponse page() {
  std::random_device random;
  const std::string nonce =
      fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  const std::string set = unprintable_set();
  const Part unprintable[] = {{"unprintable", set}};
  const std::string script = filled(kServeJs, unprintable);
  const Part parts[] = {{"nonce", nonce},  {"icon", kPageIcon}, {"style", kPageCss},
                        {"top", kPageTop}, {"shared", kPageJs}, {"script", script}};
  return {200,
          "text/html; charset=utf-8",
          filled(kServeHtml, parts),
          {{"Content-Security-Policy",
            fmt::format("default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; "
                        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'",
                        nonce)}}};
}

// The paths of the site, below the token where there is one.
class Routes {
 public:
  Routes(Reader& reader, const std::string& token)
      : reader_(reader), root_(token.empty() ? "/" : "/" + token + "/") {}

  std::optional<HttpRefusal> check(const HttpHead& head) const {
    const std::string_view root = head.path.substr(0, root_.size());
    const std::string_view rest = head.path.substr(root.size());
    const bool reads = head.method == "POST" && rest == "read";
    const bool shows =
        (head.method == "GET" || head.method == "HEAD") && (rest.empty() || rest == "model");
    if (!from_this_host(head)) {
      return HttpRefusal{403, "only pages of this address may ask: http://127.0.0.1 or localhost"};
    }
    if (root_ != "/" && !are_same(root, root_)) {
      return HttpRefusal{403, "expected the whole address that weft serve printed, with its token"};
    }
    if ((!reads && !shows) || root != root_) {
      return HttpRefusal{404, "expected GET /, GET /model or POST /read"};
    }
    const std::string type(head.value_of("Content-Type"));
    if (reads && type.starts_with("multipart/form-data")) {
      return HttpRefusal{415, "expected the bytes of a picture as the body, found an HTML form"};
    }
    return std::nullopt;
  }

  HttpResponse answer(const HttpRequest& request) const {
    const std::string_view rest = std::string_view(request.path).substr(root_.size());
    if (rest == "read") return read(request);
    if (rest == "model") return with_headers({200, "application/json", reader_.describe()});
    return with_headers(page());
  }

 private:
  HttpResponse read(const HttpRequest& request) const {
    try {
      data::Bytes inflated;
      const bool is_packed = request.coding == "gzip";
      if (is_packed) {
        inflated = data::inflate_gzip_front(request.body, kMaxBodyBytes + 1, "the picture");
      }
      if (inflated.size() > kMaxBodyBytes) return refuse(too_large(kMaxBodyBytes));
      return with_headers(
          {200, "application/octet-stream", reader_.read(is_packed ? inflated : request.body)});
    } catch (const Error& error) {
      return refuse({error.kind() == ErrorKind::data ? 422 : 500, error.what()});
    }
  }

  Reader& reader_;
  std::string root_;
};

Socket listen_on_loopback(int port) {
  Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // Without SO_REUSEPORT, by which a second server would take turns with the first.
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listens =
      listener.is_open() &&
      setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      bind(listener.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      listen(listener.descriptor(), SOMAXCONN) == 0;
  if (listens) return listener;
  throw Error(ErrorKind::usage,
              fmt::format("port {} of 127.0.0.1: {}; name another with --port, or --port 0 for any "
                          "free one",
                          port, distributed::error_text(errno)));
}

}  // namespace

void serve(Reader& reader, int port, const std::string& token, const std::atomic<bool>& stop,
           const std::function<void(int port)>& listening) {
#ifdef __GLIBC__
  // What a large request needed goes back to the system at once. Without this, glibc keeps up to
  // 64 MiB after the first one.
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
  const Routes routes(reader, token);
  const Socket listener = listen_on_loopback(port);
  const Site site{.most_body = kMaxBodyBytes,
                  .check = [&](const HttpHead& head) { return routes.check(head); },
                  .answer = [&](const HttpRequest& request) { return routes.answer(request); },
                  .refuse = refuse};
  listening(listener.local().port);
  answer_connections(listener, site, stop);
  if (!stop) throw Error(ErrorKind::device, "the web server accepts no more connections");
}

}  // namespace weft::cli
