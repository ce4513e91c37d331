// SPDX-License-Identifier: MIT
// What a standard stream can show, text to stdout and stderr, and the progress bar of long runs.
//
// stdout carries results and stderr everything else. A reader that closes stdout early (`| head`)
// is not an error: what follows is dropped and the work goes on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/text.h"
#include "engine/timer.h"

namespace weft::cli {

struct Terminal {
  bool interactive = false;  // a person is looking at it
  bool colour = false;       // interactive, NO_COLOR unset, TERM not dumb
  bool truecolour = false;   // 24-bit; otherwise the 256-colour palette
  bool unicode = true;       // unless the locale says otherwise
  int width = 80;            // columns
};

Terminal detect_terminal(int fd);
inline constexpr int kStdout = 1, kStderr = 2;

// `text` in the given style ("1" is bold, "2" dim, "31" red), or unchanged without colour.
std::string paint(const Terminal& terminal, std::string_view style, std::string_view text);

int display_width(std::string_view text);  // code points; escape sequences are not counted
// `text` in lines of at most `width` columns, broken at spaces. The first one begins at column
// `indent`, and the others are indented to it.
std::string wrapped(std::string_view text, int width, int indent);
std::string_view plus_minus();  // "±", or "+-" when the locale lacks it

// What is unprintable goes out escaped, whoever has written it: all but ends of lines, tabs, the
// colours of a terminal that has any, and what is beyond ASCII where a terminal has UTF-8. Names in
// `text` are printable() already; here a line end in one could not be told from one of the text.
//
// Throws Error{data} when stdout cannot take the text (a full disk), but not when it was closed.
void write_out(std::string_view text);
void write_log(std::string_view text);        // to stderr; failures are ignored
void clear_bar();                             // takes a progress bar off the terminal
void print_error(std::string_view message);   // "weft: error: ..." in one line
void print_notice(std::string_view message);  // "weft: ..." in one line
void silence_notices();                       // from now on, as on other ranks than the first
bool notices_are_shown();

std::string format_duration(double seconds);  // "12.3 s", "4:05", "1:02:03"
std::string format_count(std::int64_t n);     // "60 000"
std::string format_bytes(double bytes);       // "1.4 MiB"

// How far a long run is: a bar with its pace and the time left on a terminal, a plain line now and
// then elsewhere and where TERM is dumb.
class Progress {
 public:
  Progress(std::string_view mode, double seconds_between_lines);  // mode: auto, on or off
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool due() const;
  // "epoch 2/3", a share of what the bar shows, "1 234 images/s", and an estimate.
  void show(std::string_view place, double part, std::string_view pace, double seconds_left);
  void clear();

 private:
  std::string to_begin() const;

  Terminal terminal_;
  bool bar_ = false, lines_ = false;
  int shown_ = 0;  // columns of the bar that is on the terminal; 0: none is
  double wait_;    // seconds between two lines, or bars
  Timer since_shown_;
};

}  // namespace weft::cli
