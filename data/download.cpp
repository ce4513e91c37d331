// SPDX-License-Identifier: MIT
// Runs curl as a child process and listens to what it says on stderr.
#include "data/download.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/error.h"
#include "engine/leftovers.h"

namespace weft::data {
namespace {

struct FileActions {
  FileActions() { posix_spawn_file_actions_init(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions;
};

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = read(descriptor, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string download_with_curl(const std::string& url, const std::filesystem::path& target,
                               std::uint64_t max_bytes) {
  std::vector<std::string> words = {"curl",
                                    "--fail",
                                    "--silent",
                                    "--show-error",
                                    "--location",
                                    "--connect-timeout",
                                    "5",
                                    "--speed-limit",
                                    "1000",
                                    "--speed-time",
                                    "20",
                                    "--max-time",
                                    "600",
                                    "--max-filesize",
                                    str(max_bytes),
                                    "--output",
                                    target.string(),
                                    "--",
                                    url};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return std::strerror(errno);
  FileActions child;
  posix_spawn_file_actions_addopen(&child.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&child.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&child.actions, pipe_ends[1], STDERR_FILENO);
  pid_t pid = 0;
  const int failure =
      posix_spawnp(&pid, "curl", &child.actions, nullptr, arguments.data(), environ);
  close(pipe_ends[1]);
  if (failure != 0) {
    close(pipe_ends[0]);
    return failure == ENOENT ? "the program curl is not installed"
                             : str("curl: ", std::strerror(failure));
  }
  std::optional<ChildProcess> curl(std::in_place, pid, SIGTERM);
  const std::string said = one_line(read_all(pipe_ends[0]));
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return str("curl: ", std::strerror(errno));
  }
  curl.reset();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (!said.empty()) return said;
  return WIFEXITED(status) ? str("curl ended with exit code ", WEXITSTATUS(status))
                           : str("curl was ended by signal ", WTERMSIG(status));
}

}  // namespace weft::data
