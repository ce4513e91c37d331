// SPDX-License-Identifier: MIT
// Starting other programs.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "engine/error.h"
#include "examples/weft/lab/compile.h"

extern char** environ;

namespace weft::cli::lab {
namespace {

volatile pid_t running_child = 0;

void hand_on(int signal) {
  if (running_child > 0) kill(running_child, signal);
}

// While this lives, signals that end a program end the child. The terminal sends its own to both.
class LeaveSignalsToChild {
 public:
  LeaveSignalsToChild() {
    struct sigaction action {};
    action.sa_handler = hand_on;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
    action.sa_handler = SIG_IGN;
    sigaction(SIGQUIT, &action, &quit_);
  }
  LeaveSignalsToChild(const LeaveSignalsToChild&) = delete;
  LeaveSignalsToChild& operator=(const LeaveSignalsToChild&) = delete;
  ~LeaveSignalsToChild() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
    running_child = 0;
  }

 private:
  struct sigaction interrupt_ {
  }, terminate_{}, quit_{};
};

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(descriptor);
  return text;
}

}  // namespace

int run_program(const std::vector<std::string>& words, std::string* output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int ends[2] = {-1, -1};
  if (output != nullptr) {
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorKind::device, "no pipe can be opened");
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  }
  // What this program ignores, its child does not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t normal;
  sigemptyset(&normal);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGXFSZ}) sigaddset(&normal, signal);
  posix_spawnattr_setsigdefault(&attributes, &normal);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  const LeaveSignalsToChild until_it_ended;
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  if (failed == 0) running_child = child;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (output != nullptr) close(ends[1]);
  if (failed != 0) {
    if (output != nullptr) close(ends[0]);
    throw Error(ErrorKind::device,
                fmt::format("cannot start {}: {}", words.front(), std::strerror(failed)));
  }
  if (output != nullptr) *output = read_all(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string find_command(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace weft::cli::lab
