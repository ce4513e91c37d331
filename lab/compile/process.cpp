// SPDX-License-Identifier: MIT
#include "lab/compile/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <sstream>

#include "engine/error.h"
#include "engine/leftovers.h"
#include "engine/text.h"

extern char** environ;

namespace weft::lab {
namespace {

volatile pid_t running_child = 0;

void hand_on(int signal) {
  if (running_child > 0) kill(running_child, signal);
}

// While this lives, signals that end a program end the child, but for those that are ignored. The
// terminal sends its own to both.
class LeaveSignalsToChild {
 public:
  LeaveSignalsToChild() {
    struct sigaction action {};
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      action.sa_handler = kSignals[i] == SIGQUIT ? SIG_IGN : hand_on;
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  LeaveSignalsToChild(const LeaveSignalsToChild&) = delete;
  LeaveSignalsToChild& operator=(const LeaveSignalsToChild&) = delete;
  ~LeaveSignalsToChild() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
    running_child = 0;
  }

  bool ignored_at_first(int signal) const {
    const auto at = std::find(kSignals.begin(), kSignals.end(), signal) - kSignals.begin();
    return before_[static_cast<std::size_t>(at)].sa_handler == SIG_IGN;
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// While this lives, these signals wait.
class BlockSignals {
 public:
  explicit BlockSignals(std::initializer_list<int> signals) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : signals) sigaddset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
  }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

  sigset_t before{};
};

// What a child gets beside its words.
struct Start {
  Start() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;
  ~Start() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// Starts a program whose signals are blocked as `mask` has it. What this program has come to
// ignore, its child does not: those of `normal`.
pid_t start_child(const std::vector<std::string>& words, Start& start, const sigset_t& mask,
                  std::initializer_list<int> normal, short flags) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : normal) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&start.attributes, &defaults);
  posix_spawnattr_setsigmask(&start.attributes, &mask);
  posix_spawnattr_setflags(&start.attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF |
                                                                 POSIX_SPAWN_SETSIGMASK | flags));
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &start.actions, &start.attributes,
                                  arguments.data(), environ);
  if (failed == 0) return child;
  throw Error(ErrorKind::device,
              fmt::format("cannot start {}: {}", words.front(), std::strerror(failed)));
}

int exit_code_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// A compiler or the like at work, in a group of its own, which ends with this program.
class Tool {
 public:
  Tool(const std::vector<std::string>& words, bool keeps_output) {
    Start start;
    int ends[2] = {-1, -1};
    if (keeps_output) {
      if (pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorKind::device, "no pipe can be opened");
      posix_spawn_file_actions_adddup2(&start.actions, ends[1], STDOUT_FILENO);
      posix_spawn_file_actions_adddup2(&start.actions, ends[1], STDERR_FILENO);
    }
    posix_spawnattr_setpgroup(&start.attributes, 0);
    // A group of its own may write to the terminal whatever stty says.
    const auto before = std::signal(SIGTTOU, SIG_IGN);
    try {
      const BlockSignals wait({SIGINT, SIGTERM, SIGHUP});
      process_ = start_child(words, start, wait.before, {SIGPIPE, SIGXFSZ}, POSIX_SPAWN_SETPGROUP);
      group_.emplace(-process_, SIGTERM);
    } catch (...) {
      std::signal(SIGTTOU, before);
      for (const int end : ends) {
        if (end >= 0) close(end);
      }
      throw;
    }
    std::signal(SIGTTOU, before);
    if (keeps_output) close(ends[1]);
    output_ = ends[0];
  }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  ~Tool() {
    if (output_ >= 0) close(output_);
    if (group_) kill(-process_, SIGTERM);
  }

  int output() const { return output_; }  // to read from

  // Takes what it has printed meanwhile; false when there will be no more.
  bool read_some(std::string& text) {
    char buffer[4096];
    const ssize_t got = read(output_, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }
  int wait() {
    const int code = exit_code_of(process_);
    group_.reset();
    return code;
  }

 private:
  pid_t process_ = 0;
  int output_ = -1;
  std::optional<ChildProcess> group_;
};

// A tool of several, and which one.
struct Running {
  std::size_t number = 0;
  std::unique_ptr<Tool> tool;
};

// Waits until one of them has printed something or has ended.
void wait_for_any(const std::vector<Running>& running, std::vector<pollfd>& ready) {
  ready.clear();
  for (const Running& one : running) ready.push_back({one.tool->output(), POLLIN, 0});
  if (poll(ready.data(), ready.size(), -1) < 0) {
    for (pollfd& one : ready) one.revents = 0;
  }
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  const LeaveSignalsToChild until_it_ended;
  Start start;
  {
    // A signal that comes now is for the child as soon as there is one.
    const BlockSignals wait({SIGINT, SIGTERM, SIGHUP});
    running_child = until_it_ended.ignored_at_first(SIGQUIT)
                        ? start_child(words, start, wait.before, {SIGPIPE, SIGXFSZ}, 0)
                        : start_child(words, start, wait.before, {SIGPIPE, SIGXFSZ, SIGQUIT}, 0);
  }
  return exit_code_of(running_child);
}

std::vector<ToolResult> run_tools(const std::vector<std::vector<std::string>>& commands,
                                  std::size_t at_once) {
  std::vector<ToolResult> results(commands.size());
  std::vector<Running> running;
  std::vector<pollfd> ready;
  std::size_t next = 0;
  bool goes_on = true;
  while (!running.empty() || (goes_on && next < commands.size())) {
    while (goes_on && next < commands.size() &&
           running.size() < std::max<std::size_t>(at_once, 1)) {
      running.push_back({next, std::make_unique<Tool>(commands[next], true)});
      ++next;
    }
    wait_for_any(running, ready);
    for (std::size_t i = ready.size(); i-- > 0;) {
      ToolResult& result = results[running[i].number];
      if (ready[i].revents == 0 || running[i].tool->read_some(result.output)) continue;
      result.code = running[i].tool->wait();
      goes_on = goes_on && result.code == 0;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return results;
}

int run_tool(const std::vector<std::string>& words, std::string* output) {
  if (output == nullptr) return Tool(words, false).wait();
  ToolResult result = run_tools({words}, 1).front();
  *output = std::move(result.output);
  return result.code;
}

std::filesystem::path shell_folder() {
  const char* folder = std::getenv("WEFT_LAB_SHELL");
  return folder == nullptr || *folder != '/' ? "" : folder;
}

std::string find_command(const std::string& name) {
  const std::string stand_ins = (shell_folder() / "bin").string();
  const std::size_t slash = name.rfind('/');
  if (slash != std::string::npos) {
    if (name.substr(0, slash) == stand_ins) return find_command(name.substr(slash + 1));
    return access(name.c_str(), X_OK) == 0 ? name : "";
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.starts_with('/') || folder == stand_ins) continue;
    const std::string candidate = folder + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += fmt::format("{}{}", line.empty() ? "" : " ", shell_quoted(word));
  }
  return line;
}

}  // namespace weft::lab
