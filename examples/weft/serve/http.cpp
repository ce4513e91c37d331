// SPDX-License-Identifier: MIT
#include "examples/weft/serve/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weft::cli {
namespace {

constexpr std::size_t kMaxLineBytes = 1024;  // of a chunk's size with its extensions, or a trailer

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return small(x) == small(y); });
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (small(c) >= 'a' && small(c) <= 'z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != kMarks.npos;
  });
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 127; });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// A number of digits only. What does not fit into 64 bits is the largest number.
std::optional<std::uint64_t> number_of(std::string_view text, int base) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  return code == std::errc::result_out_of_range ? ~std::uint64_t{0} : number;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

std::vector<std::string_view> HttpHead::values_of(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields) {
    if (same_word(key, name)) values.push_back(value);
  }
  return values;
}

std::string_view HttpHead::value_of(std::string_view name) const {
  const std::vector<std::string_view> values = values_of(name);
  return values.size() == 1 ? values.front() : std::string_view();
}

HttpRefusal too_large(std::size_t most) {
  return {413,
          fmt::format("the body has more than {:.1f} MiB", static_cast<double>(most) / (1 << 20))};
}

std::string to_text(const HttpResponse& response, bool with_body) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
      response.status, reason_of(response.status), response.type, response.body.size());
  for (const auto& [name, value] : response.fields) text += name + ": " + value + "\r\n";
  text += "\r\n";
  return with_body ? text + response.body : text;
}

void HttpReader::refuse(int status, std::string why) {
  refuse({status, std::move(why)});
}

void HttpReader::refuse(HttpRefusal refusal) {
  refusal_ = std::move(refusal);
  place_ = Place::whole;
}

void HttpReader::take(std::string_view bytes) {
  while (!bytes.empty() && !is_whole()) {
    switch (place_) {
      case Place::head:
        bytes = take_head(bytes);
        break;
      case Place::body:
        bytes = take_body(bytes, Place::whole);
        break;
      case Place::chunk:
        bytes = take_body(bytes, Place::chunk_end);
        break;
      default:
        bytes = take_line(bytes);
        break;
    }
  }
}

void HttpReader::end(const std::string& when) {
  if (is_whole()) return;
  refuse(400, fmt::format("the {} did not arrive completely{}",
                          place_ == Place::head ? "request" : "picture", when));
}

HttpRequest HttpReader::release() {
  return {std::move(method_), std::move(path_), std::move(coding_), std::move(body_)};
}

std::string_view HttpReader::take_head(std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t before = head_.size();
  head_ += bytes.substr(0, kMaxHeadBytes - before);
  const std::size_t end = head_.find(kEnd, before - std::min(before, kEnd.size() - 1));
  if (end == head_.npos) {
    if (head_.size() == kMaxHeadBytes) {
      refuse(431, fmt::format("the headers have more than {} KiB", kMaxHeadBytes >> 10));
    }
    return {};
  }
  head_.resize(end + 2);  // each line ends with a CRLF
  place_ = Place::whole;
  read_head();
  head_ = std::string();
  return bytes.substr(end + kEnd.size() - before);
}

bool HttpReader::read_request_line(std::string_view line, HttpHead& head) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == last || has_controls(line)) return false;
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  head.method = line.substr(0, first);
  head.path = target.substr(0, target.find('?'));
  return is_token(head.method) && !target.empty() && target.find(' ') == target.npos &&
         (version == "HTTP/1.1" || version == "HTTP/1.0");
}

void HttpReader::read_head() {
  HttpHead head;
  std::string_view text = head_;
  for (std::size_t end; (end = text.find("\r\n")) != text.npos; text.remove_prefix(end + 2)) {
    const std::string_view line = text.substr(0, end);
    if (head.method.empty()) {
      if (!read_request_line(line, head)) return refuse(400, "expected a request of HTTP/1.1");
      continue;
    }
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    if (colon == line.size() || !is_token(name) || has_controls(line)) {
      return refuse(400, "expected header fields, each NAME: VALUE");
    }
    head.fields.emplace_back(name, trimmed(line.substr(colon + 1)));
  }
  refusal_ = check_(head);
  if (refusal_) return;
  method_ = head.method;
  path_ = head.path;
  if (head.method == "POST") begin_body(head);
}

void HttpReader::begin_body(const HttpHead& head) {
  const auto lengths = head.values_of("Content-Length");
  const auto codings = head.values_of("Transfer-Encoding");
  const auto packings = head.values_of("Content-Encoding");
  if (lengths.size() + codings.size() > 1) {
    return refuse(400, "expected one length of the body, in Content-Length or in chunks");
  }
  if (lengths.empty() && codings.empty()) {
    return refuse(411, "expected the length of the body, as Content-Length or in chunks");
  }
  if (!codings.empty() && !same_word(codings.front(), "chunked")) {
    return refuse(501, "Transfer-Encoding: expected chunked");
  }
  if (packings.size() > 1 || (!packings.empty() && !same_word(packings.front(), "gzip") &&
                              !same_word(packings.front(), "identity"))) {
    return refuse(415, "Content-Encoding: expected gzip, or none");
  }
  if (!packings.empty() && same_word(packings.front(), "gzip")) coding_ = "gzip";
  place_ = Place::chunk_size;
  if (!lengths.empty()) {
    const std::optional<std::uint64_t> length = number_of(lengths.front(), 10);
    if (!length) return refuse(400, "Content-Length: expected a number of bytes");
    if (*length > most_body_) {
      return refuse(too_large(most_body_));
    }
    left_ = most_body_ = static_cast<std::size_t>(*length);
    place_ = left_ > 0 ? Place::body : Place::whole;
  }
  asks_first_ = same_word(head.value_of("Expect"), "100-continue");
}

std::string_view HttpReader::take_body(std::string_view bytes, Place next) {
  const std::string_view part = bytes.substr(0, left_);
  // Memory follows what has come, and not what was announced.
  if (const std::size_t needed = body_.size() + part.size(); needed > body_.capacity()) {
    body_.reserve(std::min(most_body_, std::max(needed, 2 * body_.capacity())));
  }
  body_.insert(body_.end(), part.begin(), part.end());
  left_ -= part.size();
  if (left_ == 0) place_ = next;
  return bytes.substr(part.size());
}

// The lines between chunks: their sizes, the end of each, and the trailer.
std::string_view HttpReader::take_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  line_ += bytes.substr(0, std::min(end, kMaxLineBytes + 1));
  const bool is_cut = end == bytes.npos;
  if (line_.size() > kMaxLineBytes || (!is_cut && !line_.ends_with('\r'))) {
    refuse(400,
           fmt::format("expected lines of at most {} bytes between the chunks", kMaxLineBytes));
    return {};
  }
  if (is_cut) return {};
  line_.pop_back();
  if (place_ == Place::chunk_size) {
    begin_chunk();
  } else if (place_ == Place::trailer) {
    if (line_.empty()) place_ = Place::whole;
  } else if (line_.empty()) {
    place_ = Place::chunk_size;
  } else {
    refuse(400, "expected the end of a chunk where its size says");
  }
  line_.clear();
  return bytes.substr(end + 1);
}

void HttpReader::begin_chunk() {
  const std::string_view digits = trimmed(std::string_view(line_).substr(0, line_.find(';')));
  const std::optional<std::uint64_t> size = number_of(digits, 16);
  if (!size) return refuse(400, "expected the size of a chunk in hexadecimal digits");
  if (*size > most_body_ - body_.size()) {
    return refuse(too_large(most_body_));
  }
  left_ = static_cast<std::size_t>(*size);
  place_ = left_ > 0 ? Place::chunk : Place::trailer;
}

}  // namespace weft::cli
