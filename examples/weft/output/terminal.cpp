// SPDX-License-Identifier: MIT
#include "examples/weft/output/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/error.h"

namespace weft::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool locale_is_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = environment(name);
    if (value.empty()) continue;
    for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return true;  // containers often set no locale while the terminal outside is UTF-8
}

std::string one_line(std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  return printable(message);
}

std::string clock_text(double seconds) {  // "4:05", "1:02:03"
  const long total = std::lround(std::min(seconds, 3.6e8));
  const long hours = total / 3600, minutes = total / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

int columns_of(int fd, int otherwise) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

}  // namespace

Terminal detect_terminal(int fd) {
  Terminal terminal;
  terminal.unicode = locale_is_unicode();
  terminal.interactive = isatty(fd) == 1;
  if (!terminal.interactive) return terminal;
  const std::string term = environment("TERM"), depth = environment("COLORTERM");
  terminal.colour = environment("NO_COLOR").empty() && !term.empty() && term != "dumb";
  terminal.truecolour = depth == "truecolor" || depth == "24bit";
  terminal.width = std::clamp(columns_of(fd, terminal.width), 40, 240);
  return terminal;
}

std::string paint(const Terminal& terminal, std::string_view style, std::string_view text) {
  if (!terminal.colour) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", style, text);
}

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string wrapped(std::string_view text, int width, int indent) {
  std::string out;
  int column = indent;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const int cells = display_width(text.substr(at, end - at));
    if (at > 0) {
      const bool fits = column + 1 + cells <= width;
      out += fits ? " " : "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      column = fits ? column + 1 : indent;
    }
    out += text.substr(at, end - at);
    column += cells;
    at = end + 1;
  }
  return out;
}

std::string_view plus_minus() {
  return locale_is_unicode() ? "±" : "+-";
}

namespace {

// After a write that failed: was it to a terminal whose window is gone?
bool terminal_is_closed() {
  struct stat status {};
  return errno == EIO && fstat(STDOUT_FILENO, &status) == 0 && S_ISCHR(status.st_mode);
}

void write_unchanged(std::string_view text) {  // to stderr
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string printed(std::string_view text, const Terminal& terminal) {
  return printable(text, {.lines = true,
                          .tabs = true,
                          .styles = terminal.colour,
                          .beyond_ascii = terminal.unicode || !terminal.interactive});
}

}  // namespace

void write_out(std::string_view content) {
  static bool failed = false;  // it was said once
  static const Terminal terminal = detect_terminal(kStdout);
  const std::string safe = printed(content, terminal);
  std::string_view text = safe;
  while (!failed && !text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    failed = written < 0;
    if (failed && (errno == EPIPE || terminal_is_closed())) return;
    if (failed) {
      throw Error(ErrorKind::data, str("cannot write to standard output: ", std::strerror(errno)));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_log(std::string_view text) {
  write_unchanged(printed(text, detect_terminal(kStderr)));
}

void clear_bar() {
  write_unchanged("\r\033[K");
}

void print_error(std::string_view message) {
  const Terminal terminal = detect_terminal(kStderr);
  write_log(fmt::format("weft: {} {}\n", paint(terminal, "1;31", "error:"), one_line(message)));
}

namespace {
bool silent = false;
}

void silence_notices() {
  silent = true;
}

bool notices_are_shown() {
  return !silent;
}

namespace {

void print_line(std::string_view message) {
  write_log(fmt::format("weft: {}\n", one_line(message)));
}

}  // namespace

void print_notice(std::string_view message) {
  if (!silent) print_line(message);
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0)) return "-";
  if (seconds < 0.0995) return fmt::format("{:.1f} ms", 1e3 * seconds);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", 1e3 * seconds);
  if (seconds < 99.95) return fmt::format("{:.1f} s", seconds);
  return clock_text(seconds);
}

std::string format_count(std::int64_t n) {
  std::string digits = fmt::format("{}", n);
  const std::ptrdiff_t first = n < 0 ? 1 : 0;
  for (std::ptrdiff_t i = std::ssize(digits) - 3; i > first; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ' ');
  }
  return digits;
}

std::string format_bytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, units[unit]);
}

namespace {

std::string time_left(double seconds) {  // an estimate, without tenths
  return seconds < 59.5 ? fmt::format("{:.0f} s", seconds) : clock_text(seconds);
}

// " before ━━━━──── after" in less than `width` columns, so that it takes one row.
std::string progress_bar(const Terminal& terminal, int width, std::string_view before,
                         double fraction, std::string_view after) {
  const std::string end = fmt::format(" {:3.0f} %  {}", 100 * fraction, after);
  const int room = width - 2 - display_width(before) - display_width(end);
  if (room < 0)
    return fmt::format(" {}{}", before, end).substr(0, static_cast<std::size_t>(width - 1));
  const int cells = std::min(room, 40);
  const int full = static_cast<int>(std::lround(fraction * cells));
  std::string done, rest;
  for (int i = 0; i < cells; ++i) {
    (i < full ? done : rest) += terminal.unicode ? (i < full ? "━" : "─") : (i < full ? "=" : "-");
  }
  return fmt::format(" {} {}{}{}", before, paint(terminal, "36", done), paint(terminal, "2", rest),
                     end);
}

}  // namespace

Progress::Progress(std::string_view mode, double seconds_between_lines)
    : terminal_(detect_terminal(kStderr)) {
  const std::string term = environment("TERM");
  bar_ = term != "dumb" &&
         (mode == "on" || (mode == "auto" && terminal_.interactive && !term.empty()));
  lines_ = !bar_ && mode != "off";
  wait_ = bar_ ? 0.1 : seconds_between_lines;
}

bool Progress::due() const {
  if (bar_ && shown_ == 0) return true;  // at once, so that a short run shows one too
  return (bar_ || lines_) && since_shown_.seconds() >= wait_;
}

void Progress::show(std::string_view place, double part, std::string_view pace,
                    double seconds_left) {
  const std::string left = time_left(seconds_left);
  if (bar_) {
    constexpr int kMostColumns = 80;  // a wider terminal can become narrower and not wrap it
    const int width = std::min(columns_of(kStderr, kMostColumns), kMostColumns);
    const std::string bar = progress_bar(terminal_, width, printable(place), part,
                                         printable(fmt::format("{}  {} left", pace, left)));
    write_unchanged(to_begin() + bar + "\033[K");
    shown_ = display_width(bar);
  } else {
    print_line(fmt::format("{}: {:.0f} %, {}, {} left", place, 100 * part, pace, left));
  }
  since_shown_.restart();
}

void Progress::clear() {
  if (shown_ > 0) write_unchanged(to_begin() + "\033[K");
  shown_ = 0;
}

// To where the bar begins. A terminal that became narrower has wrapped it.
std::string Progress::to_begin() const {
  const int rows_above = (shown_ - 1) / columns_of(kStderr, shown_ + 1);
  return shown_ > 0 && rows_above > 0 ? fmt::format("\033[{}A\r\033[J", rows_above) : "\r";
}

}  // namespace weft::cli
