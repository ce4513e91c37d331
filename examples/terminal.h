// SPDX-License-Identifier: MIT
// What a standard stream can show, text to stdout and stderr, and the progress bar of training.
//
// stdout carries results and stderr everything else. A reader that closes stdout early (`| head`)
// is not an error: what follows is dropped and the work goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

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

// Text from a file or the command line made safe to show: control characters become '?'.
std::string printable(std::string_view text);
std::string shell_quoted(std::string_view text);
int display_width(std::string_view text);  // code points; escape sequences are not counted

// Throws Error{data} when stdout cannot take the text (a full disk), but not when it was closed.
void write_out(std::string_view text);
void write_log(std::string_view text);        // to stderr; failures are ignored
void print_error(std::string_view message);   // "weft: error: ..." in one line
void print_notice(std::string_view message);  // "weft: ..." in one line

std::string format_duration(double seconds);  // "12.3 s", "4:05", "1:02:03"
std::string format_count(std::int64_t n);     // "60 000"
std::string format_bytes(double bytes);       // "1.4 MiB"
std::string time_left(double seconds);        // "12 s", "4:05": an estimate, without tenths

// "before ━━━━──── after" as wide as the terminal allows, ready to be drawn over.
std::string progress_bar(const Terminal& terminal, std::string_view before, double fraction,
                         std::string_view after);

enum class ProgressMode { automatic, on, off };

// A bar with images/s and time left on a terminal, a plain line now and then elsewhere.
class Progress {
 public:
  Progress(ProgressMode mode, int first_epoch, int last_epoch);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int epoch, std::int64_t images_done, std::int64_t images_total);
  void finish_epoch();  // takes the bar off the screen and starts the next epoch's clock
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw_bar(int epoch, double fraction, double rate, double left);

  Terminal terminal_;
  bool bar_ = false, lines_ = false, visible_ = false;
  int first_epoch_, last_epoch_;
  Clock::time_point start_ = Clock::now(), epoch_start_ = start_, last_shown_ = start_;
};

}  // namespace weft::cli
