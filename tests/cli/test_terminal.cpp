// SPDX-License-Identifier: MIT
// What a person sees on a terminal: bars that follow its width, a dumb one, one without UTF-8, and
// texts that fit 80 columns.
#include <sys/ioctl.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "data/picture/image.h"
#include "engine/error.h"
#include "tests/cli/program.h"
#include "tests/cli/untrained_model.h"

namespace weft::test {
namespace {

void set_columns(int terminal, int columns) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  EXPECT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
}

class OnTerminal : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    environment_["TERM"] = "xterm-256color";
  }

  // What the program writes to a terminal of columns_. `seen` is called with all of it so far.
  std::string run(const std::vector<std::string>& arguments,
                  const std::function<void(int, const std::string&)>& seen = {}) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    set_columns(terminal, columns_);
    const std::string program = tested_program();
    const ExecArguments exec(program, arguments, environment_);
    const std::string name = ptsname(terminal);
    const pid_t pid = fork();
    if (pid == 0) {
      setsid();
      const int end = open(name.c_str(), O_RDWR);
      for (const int stream : {0, 1, 2}) dup2(end, stream);
      if (chdir(folder().c_str()) == 0) execve(program.c_str(), exec.argv.data(), exec.envp.data());
      _exit(127);
    }
    std::string text;
    char part[4096];
    for (ssize_t count; (count = ::read(terminal, part, sizeof part)) > 0;) {
      text.append(part, static_cast<std::size_t>(count));
      if (seen) seen(terminal, text);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    close(terminal);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
    return text;
  }

  int columns_ = 100;
  const std::vector<std::string> kTraining = {"train", "--dataset", "digits", "--limit-train",
                                              "6000",  "--epochs",  "1",      "--device",
                                              "cpu",   "--out",     "run"};
};

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

// Columns of `text` without its escape sequences, a code point each.
std::size_t columns_of(const std::string& text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
    } else {
      columns += (text[i] & 0xc0) != 0x80 ? 1 : 0;
    }
  }
  return columns;
}

TEST_F(OnTerminal, HelpAndTablesFitANarrowOne) {
  write_untrained_model(folder() / "model.safetensors");
  columns_ = 40;
  environment_["WEFT_PROGRAM"] = "weft";
  const std::string help = run({"train", "--help"});
  EXPECT_NE(help.find("  --epochs N\r\n      "), std::string::npos) << help;
  const std::string table = run({"inspect", "model.safetensors"});
  for (const std::string& text : {help, table, run({"kernel", "list"})}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      const bool is_word = line.find(' ', line.find_first_not_of(' ')) == line.npos;
      EXPECT_TRUE(is_word || columns_of(line) <= 40) << line;
    }
  }
}

TEST_F(OnTerminal, ABarIsRemovedWhenTheTerminalBecomesNarrow) {
  constexpr int kNarrow = 30;
  std::size_t resized = 0;
  const std::string text = run(kTraining, [&](int terminal, const std::string& so_far) {
    if (resized > 0 || so_far.find(" left") == std::string::npos) return;
    set_columns(terminal, kNarrow);
    resized = so_far.size();
  });
  ASSERT_GT(resized, 0u) << text;
  // The bar of at most 80 columns fills two or three rows of 30: back to the first one of them.
  const std::size_t up = text.find("A\r\033[J", resized);
  ASSERT_NE(up, std::string::npos) << text;
  EXPECT_TRUE(text[up - 1] == '1' || text[up - 1] == '2') << text;
  int bars = 0;
  for (std::size_t at = up; (at = text.find('\r', at + 1)) != std::string::npos;) {
    if (text[at + 1] == '\n') continue;  // the end of a row of the table
    const std::string bar = text.substr(at + 1, text.find("\033[K", at) - at - 1);
    EXPECT_LT(columns_of(bar), kNarrow) << bar;
    ++bars;
  }
  EXPECT_GE(bars, 1) << text;
}

TEST_F(OnTerminal, ThatTheCpuComputesIsNeverSaidInAPipe) {
  environment_["CUDA_VISIBLE_DEVICES"] = "";  // as on a machine without a GPU
  write_untrained_model(folder() / "model.safetensors");
  data::write_png(folder() / "one.png", std::vector<std::uint8_t>(28 * 28), 28, 28, 1);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"eval", "model.safetensors", "--dataset", "digits"},
        {"histogram", "one.png"}}) {
    EXPECT_NE(run(command).find("running on the CPU: "), std::string::npos) << command[0];
    const Outcome piped = weft(command);
    EXPECT_EQ(piped.exit_code, 0) << piped.err;
    EXPECT_EQ((piped.out + piped.err).find("running on the CPU"), std::string::npos) << piped.err;
  }
}

TEST_F(OnTerminal, ADumbTerminalGetsNoControlCodes) {
  environment_["TERM"] = "dumb";
  std::string text = run(kTraining);
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  for (std::size_t at = 0; (at = text.find('\r', at)) != std::string::npos; ++at) {
    EXPECT_EQ(text[at + 1], '\n') << text;
  }
  text = run({"eval", "run", "--dataset", "digits", "--device", "cpu", "--confusion"});
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
}

TEST_F(OnTerminal, ALocaleWithoutUtf8GetsAsciiOnly) {
  write_untrained_model(folder() / "model.safetensors");
  std::vector<std::uint8_t> pixels(28 * 28);
  for (std::size_t y = 4; y < 24; ++y) pixels[28 * y + 13] = pixels[28 * y + 14] = 255;
  data::write_png(folder() / "one.png", pixels, 28, 28, 1);
  const std::vector<std::string> show = {"predict", "model.safetensors", "one.png", "--show"};
  EXPECT_NE(run(show).find("▀"), std::string::npos);
  environment_["LC_ALL"] = "C";
  EXPECT_TRUE(is_ascii(run(show)));
  std::vector<std::string> training = kTraining;
  training.push_back("--augment");
  EXPECT_TRUE(is_ascii(run(training)));
  EXPECT_TRUE(is_ascii(run({"nbody", "--bodies", "200", "--steps", "4", "--frames", "2",
                            "--image-size", "64", "--device", "cpu", "--out", "bodies"})));
  EXPECT_TRUE(is_ascii(run({"histogram", "one.png", "--device", "cpu"})));
}

class Texts : public ProgramTest {
 protected:
  void expect_80_columns(const std::vector<std::string>& arguments) {
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out, "");
    for (const std::string& line : lines_of(outcome.out)) {
      EXPECT_LE(columns_of(line), 80u) << arguments[0] << " " << arguments.back() << "\n" << line;
    }
  }
};

TEST_F(Texts, HelpFits80Columns) {
  expect_80_columns({"--help"});
  for (const char* command : {"train", "predict", "eval", "inspect", "data", "doctor", "kernel",
                              "bench", "nbody", "scan", "histogram"}) {
    expect_80_columns({command, "--help"});
  }
  for (const char* command : {"list", "show", "run"}) {
    expect_80_columns({"kernel", command, "--help"});
  }
}

TEST_F(Texts, KernelShowFits80Columns) {
  for (const nlohmann::json& event : json_lines(weft({"kernel", "list", "--json"}).out)) {
    expect_80_columns({"kernel", "show", event.at("family").get<std::string>()});
  }
  expect_80_columns({"kernel", "show", "gemm/tiled", "--size", "64", "--device", "cpu"});
  expect_80_columns({"kernel", "show", "scan/decoupled_lookback", "--device", "cpu"});
}

}  // namespace
}  // namespace weft::test
