// SPDX-License-Identifier: MIT
#include "examples/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
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

}  // namespace

Terminal detect_terminal(int fd) {
  Terminal terminal;
  terminal.unicode = locale_is_unicode();
  terminal.interactive = isatty(fd) == 1;
  if (!terminal.interactive) return terminal;
  const std::string term = environment("TERM"), depth = environment("COLORTERM");
  terminal.colour = environment("NO_COLOR").empty() && !term.empty() && term != "dumb";
  terminal.truecolour = depth == "truecolor" || depth == "24bit";
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  terminal.width = std::clamp(terminal.width, 40, 240);
  return terminal;
}

std::string paint(const Terminal& terminal, std::string_view style, std::string_view text) {
  if (!terminal.colour) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", style, text);
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
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

void write_out(std::string_view text) {
  if (std::ferror(stdout) != 0) return;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) return;
  throw Error(ErrorKind::data, str("cannot write to standard output: ", std::strerror(errno)));
}

void write_log(std::string_view text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void print_error(std::string_view message) {
  const Terminal terminal = detect_terminal(kStderr);
  write_log(fmt::format("weft: {} {}\n", paint(terminal, "1;31", "error:"), one_line(message)));
}

void print_notice(std::string_view message) {
  write_log(fmt::format("weft: {}\n", one_line(message)));
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0)) return "-";
  if (seconds < 0.0995) return fmt::format("{:.1f} ms", 1e3 * seconds);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", 1e3 * seconds);
  if (seconds < 99.95) return fmt::format("{:.1f} s", seconds);
  return clock_text(seconds);
}

std::string time_left(double seconds) {
  return seconds < 59.5 ? fmt::format("{:.0f} s", seconds) : clock_text(seconds);
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

std::string progress_bar(const Terminal& terminal, std::string_view before, double fraction,
                         std::string_view after) {
  const std::string end = fmt::format(" {:3.0f} %  {}", 100 * fraction, after);
  const int room = terminal.width - 2 - display_width(before) - display_width(end);
  const int cells = std::clamp(room, 0, 40);
  const int full = static_cast<int>(std::lround(fraction * cells));
  std::string done, rest;
  for (int i = 0; i < cells; ++i) {
    (i < full ? done : rest) += terminal.unicode ? (i < full ? "━" : "─") : (i < full ? "=" : "-");
  }
  return fmt::format("\r{} {}{}{}\033[K", before, paint(terminal, "36", done),
                     paint(terminal, "2", rest), end);
}

Progress::Progress(ProgressMode mode, int first_epoch, int last_epoch)
    : terminal_(detect_terminal(kStderr)), first_epoch_(first_epoch), last_epoch_(last_epoch) {
  bar_ = mode == ProgressMode::on || (mode == ProgressMode::automatic && terminal_.interactive);
  lines_ = mode == ProgressMode::automatic && !terminal_.interactive;
}

void Progress::update(int epoch, std::int64_t images_done, std::int64_t images_total) {
  if ((!bar_ && !lines_) || images_total <= 0 || images_done <= 0) return;
  const auto now = Clock::now();
  const auto seconds_since = [&](Clock::time_point then) {
    return std::max(1e-6, std::chrono::duration<double>(now - then).count());
  };
  const double fraction = static_cast<double>(images_done) / static_cast<double>(images_total);
  const double rate = static_cast<double>(images_done) / seconds_since(epoch_start_);
  const double epochs_done = epoch - first_epoch_ + fraction;
  const double left = (last_epoch_ - first_epoch_ + 1 - epochs_done) * seconds_since(start_) /
                      std::max(epochs_done, 1e-9);
  const double wait = bar_ ? 0.1 : 5;  // seconds between two pictures, or lines
  if ((visible_ || lines_) && seconds_since(last_shown_) < wait) return;
  last_shown_ = now;
  if (bar_) {
    draw_bar(epoch, fraction, rate, left);
  } else {
    write_log(fmt::format("weft: epoch {}/{}: {:.0f} %, {} images/s, {} left\n", epoch, last_epoch_,
                          100 * fraction, format_count(std::llround(rate)), time_left(left)));
  }
}

void Progress::draw_bar(int epoch, double fraction, double rate, double left) {
  write_log(progress_bar(
      terminal_, fmt::format("epoch {}/{}", epoch, last_epoch_), fraction,
      fmt::format("{} images/s  {} left", format_count(std::llround(rate)), time_left(left))));
  visible_ = true;
}

void Progress::finish_epoch() {
  clear();
  epoch_start_ = Clock::now();
}

void Progress::clear() {
  if (visible_) write_log("\r\033[K");
  visible_ = false;
}

}  // namespace weft::cli
