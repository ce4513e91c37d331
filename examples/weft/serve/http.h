// SPDX-License-Identifier: MIT
// HTTP/1.1 (RFC 9112) as far as `weft serve` speaks it: one request of a connection and its answer.
//
// A request is read from bytes in whatever parts they come. What is not well-formed is refused, and
// what is kept of it is bounded: 64 KiB for the head, and for the body what the caller allows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::cli {

inline constexpr std::size_t kMaxHeadBytes = std::size_t{64} << 10;

// The request line and the header fields; all are views of what came.
struct HttpHead {
  std::string_view method;
  std::string_view path;  // without the query
  std::vector<std::pair<std::string_view, std::string_view>> fields;

  // The values of the fields with this name, in any case of letters.
  std::vector<std::string_view> values_of(std::string_view name) const;
  std::string_view value_of(std::string_view name) const;  // of the only one, else ""
};

struct HttpRequest {
  std::string method, path;
  std::string coding;  // of the body: "gzip"; "" for none
  std::vector<std::uint8_t> body;
};

struct HttpRefusal {
  int status = 400;
  std::string why;
};

HttpRefusal too_large(std::size_t most);  // 413: the body has more than `most` bytes

struct HttpResponse {
  int status = 200;
  std::string type, body;
  std::vector<std::pair<std::string, std::string>> fields = {};
};

// As it is sent, without the body when the request was HEAD. The connection ends with it.
std::string to_text(const HttpResponse& response, bool with_body);

class HttpReader {
 public:
  // Looks at the head before a body is read; a refusal ends the request.
  using Check = std::function<std::optional<HttpRefusal>(const HttpHead&)>;

  // A body may have `most_body` bytes, and only POST has one.
  HttpReader(std::size_t most_body, Check check)
      : most_body_(most_body), check_(std::move(check)) {}

  // Bytes behind the request are left out: a connection has one.
  void take(std::string_view bytes);
  // The client says no more, or took longer than it may.
  void end(const std::string& when);

  bool has_begun() const { return place_ != Place::head || !head_.empty(); }
  bool is_whole() const { return place_ == Place::whole; }
  bool waits_for_go_ahead() const { return asks_first_ && body_.empty() && !is_whole(); }
  const std::optional<HttpRefusal>& refusal() const { return refusal_; }
  std::size_t held_bytes() const { return head_.capacity() + line_.capacity() + body_.capacity(); }
  HttpRequest release();  // the whole request; once

 private:
  enum class Place { head, body, chunk_size, chunk, chunk_end, trailer, whole };

  void refuse(int status, std::string why);
  void refuse(HttpRefusal refusal);
  std::string_view take_head(std::string_view bytes);  // these return what they leave
  std::string_view take_body(std::string_view bytes, Place next);
  std::string_view take_line(std::string_view bytes);
  void read_head();
  bool read_request_line(std::string_view line, HttpHead& head);
  void begin_body(const HttpHead& head);
  void begin_chunk();

  std::size_t most_body_;  // what is allowed; then what was announced
  Check check_;
  Place place_ = Place::head;
  std::string head_, line_, method_, path_, coding_;
  std::vector<std::uint8_t> body_;
  std::size_t left_ = 0;  // bytes of the body or of the chunk that are still to come
  bool asks_first_ = false;
  std::optional<HttpRefusal> refusal_;
};

}  // namespace weft::cli
