// SPDX-License-Identifier: MIT
#include "examples/weft/serve/server.h"

#include "engine/error.h"

#ifndef WEFT_WITH_HTTPLIB

namespace weft::cli {

void serve(Reader&, int, const std::atomic<bool>&, const std::function<void(int)>&) {
  throw Error(ErrorKind::usage,
              "this build of weft has no web server: install cpp-httplib and pkg-config (Debian: "
              "apt-get install libcpp-httplib-dev pkg-config) and build it again");
}

}  // namespace weft::cli

#else

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <regex>
#include <thread>

#include "examples/weft/output/json_lines.h"

namespace weft::cli {
namespace {

using httplib::Request;
using httplib::Response;

constexpr int kThreads = 8;  // connections at a time: browsers open some ahead and say nothing

void refuse(Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(json_line(json_event("error", {{"error", why}})), "application/json");
}

// A page of another site may send requests here, and may have made its name point here (DNS
// rebinding). A browser then says so in Origin and Host.
bool from_this_host(const Request& request) {
  static const std::regex loopback(R"((127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?)",
                                   std::regex::icase);
  const std::string host = request.get_header_value("Host");
  if (request.get_header_value_count("Host") != 1 || !std::regex_match(host, loopback))
    return false;
  return !request.has_header("Origin") || (request.get_header_value_count("Origin") == 1 &&
                                           request.get_header_value("Origin") == "http://" + host);
}

// Before a body is read: true when there is nothing more to do.
bool answered(const Request& request, Response& response) {
  const bool reads = request.method == "POST" && request.path == "/read";
  const bool shows = (request.method == "GET" || request.method == "HEAD") &&
                     (request.path == "/" || request.path == "/model");
  if (!from_this_host(request)) {
    refuse(response, 403, "only pages of this address may ask: http://127.0.0.1 or localhost");
  } else if (!reads && !shows) {
    refuse(response, 404, "expected GET /, GET /model or POST /read");
  } else if (reads && request.is_multipart_form_data()) {
    refuse(response, 415, "expected the bytes of a picture as the body, found an HTML form");
  } else {
    return false;
  }
  return true;
}

// Scripts and styles are those of this page, and it talks to this server only.
void send_page(const Request&, Response& response) {
  std::random_device random;
  const std::string nonce =
      fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  std::string page = kPage;
  const std::string placeholder = "NONCE";
  for (std::size_t at = 0; (at = page.find(placeholder, at)) != page.npos;) {
    page.replace(at, placeholder.size(), nonce);
  }
  response.set_header("Content-Security-Policy",
                      fmt::format("default-src 'none'; script-src 'nonce-{0}'; style-src "
                                  "'nonce-{0}'; connect-src 'self'; img-src data:; base-uri "
                                  "'none'; form-action 'none'; frame-ancestors 'none'",
                                  nonce));
  response.set_content(page, "text/html; charset=utf-8");
}

void read_picture(Reader& reader, Response& response, const httplib::ContentReader& body) {
  std::string picture;
  bool too_large = false;
  const bool whole = body([&](const char* bytes, std::size_t count) {
    too_large = picture.size() + count > kMaxBodyBytes;  // also of chunks, or unpacked
    if (!too_large) picture.append(bytes, count);
    return !too_large;
  });
  if (too_large || response.status == 413) {
    return refuse(response, 413,
                  fmt::format("the picture has more than {}", format_bytes(kMaxBodyBytes)));
  }
  if (!whole) return refuse(response, 400, "the picture did not arrive completely");
  try {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(picture.data());
    response.set_content(reader.read({bytes, picture.size()}), "application/octet-stream");
  } catch (const Error& error) {
    refuse(response, error.kind() == ErrorKind::data ? 422 : 500, error.what());
  }
}

}  // namespace

void serve(Reader& reader, int port, const std::atomic<bool>& stop,
           const std::function<void(int port)>& listening) {
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // A connection serves one request: what is left of a refused body is never read as another.
  server.set_keep_alive_max_count(1);
  server.set_keep_alive_timeout(1);  // seconds of silence, which Ctrl-C may have to wait for
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(kMaxBodyBytes);
  // Without SO_REUSEPORT, by which a second server would take turns with the first.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-store"}});
  using Handled = httplib::Server::HandlerResponse;
  server.set_pre_routing_handler([](const Request& request, Response& response) {
    return answered(request, response) ? Handled::Handled : Handled::Unhandled;
  });
  server.set_exception_handler([](const Request&, Response& response, std::exception_ptr) {
    refuse(response, 500, "out of memory, or another failure of the server");
  });
  server.Get("/", send_page);
  server.Get("/model", [&](const Request&, Response& response) {
    response.set_content(reader.describe(), "application/json");
  });
  server.Post("/read", [&](const Request&, Response& response, const httplib::ContentReader& body) {
    read_picture(reader, response, body);
  });
  errno = 0;
  const int bound = port == 0                                ? server.bind_to_any_port("127.0.0.1")
                    : server.bind_to_port("127.0.0.1", port) ? port
                                                             : -1;
  if (bound < 0) {
    throw Error(ErrorKind::usage,
                fmt::format("port {} of 127.0.0.1: {}; name another with --port, or --port 0 for "
                            "any free one",
                            port, std::strerror(errno)));
  }
  listening(bound);
  std::atomic<bool> ended = false;
  std::thread thread([&] {
    server.listen_after_bind();
    ended = true;
  });
  while (!server.is_running() && !ended) std::this_thread::yield();
  while (!stop && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.stop();
  thread.join();
  if (!stop) throw Error(ErrorKind::device, "the web server accepts no more connections");
}

}  // namespace weft::cli

#endif
