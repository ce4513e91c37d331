// SPDX-License-Identifier: MIT
// Runs curl as a child process and listens to what it says on stderr.
#include "data/files/download.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
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

using Clock = std::chrono::steady_clock;

// Is closed at both ends when it goes.
struct Pipe {
  Pipe() { is_open = pipe2(ends, O_CLOEXEC) == 0; }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    if (ends[0] >= 0) close(ends[0]);
    close_write();
  }
  void close_write() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  int ends[2] = {-1, -1};
  bool is_open;
};

// Takes what curl downloads and what it says, until it closes both.
class Listener {
 public:
  Listener(const std::filesystem::path& target, std::uint64_t max_bytes)
      : target_(target), file_(target, std::ios::binary | std::ios::trunc), room_(max_bytes) {}

  // Why it must be ended, or "".
  std::string listen(int out, int err, std::chrono::seconds most_time) {
    const auto deadline = Clock::now() + most_time;
    pollfd entries[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    char bytes[std::size_t{64} << 10];
    while (entries[0].fd >= 0 || entries[1].fd >= 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return str("it takes longer than ", most_time.count(), " s");
      if (poll(entries, std::size(entries), static_cast<int>(left.count())) < 0) continue;
      for (pollfd& entry : entries) {
        if (entry.fd < 0 || entry.revents == 0) continue;
        const ssize_t count = read(entry.fd, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR) continue;
        const std::string_view part(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        const std::string failure = entry.fd == out ? write(part) : hear(part);
        if (!failure.empty()) return failure;
        if (count <= 0) entry.fd = -1;
      }
    }
    file_.close();
    return write("");
  }

  const std::string& said() const { return said_; }

 private:
  std::string write(std::string_view part) {
    if (part.size() > room_) return str("it has more than ", written_ + room_, " bytes");
    room_ -= part.size();
    written_ += part.size();
    if (file_.write(part.data(), static_cast<std::streamsize>(part.size()))) return "";
    return str("could not write ", target_.string());
  }
  std::string hear(std::string_view part) {
    constexpr std::size_t kKept = 4096;
    said_ += part.substr(0, kKept - said_.size());
    return "";
  }

  const std::filesystem::path& target_;
  std::ofstream file_;
  std::uint64_t room_, written_ = 0;  // bytes
  std::string said_;
};

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string download_with_curl(const std::string& url, const std::filesystem::path& target,
                               std::uint64_t max_bytes, std::chrono::seconds most_time) {
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
                                    str(most_time.count()),
                                    "--max-filesize",
                                    str(max_bytes),
                                    "--",
                                    url};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  Pipe out, err;
  if (!out.is_open || !err.is_open) return std::strerror(errno);
  FileActions child;
  posix_spawn_file_actions_addopen(&child.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&child.actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&child.actions, err.ends[1], STDERR_FILENO);
  pid_t pid = 0;
  const int failure =
      posix_spawnp(&pid, "curl", &child.actions, nullptr, arguments.data(), environ);
  out.close_write();
  err.close_write();
  if (failure != 0) {
    return failure == ENOENT ? "the program curl is not installed"
                             : str("curl: ", std::strerror(failure));
  }
  std::optional<ChildProcess> curl(std::in_place, pid, SIGTERM);
  // --max-time is curl's own clock; this one also holds for a curl that does not look at it.
  constexpr std::chrono::seconds kGrace{2};
  Listener listener(target, max_bytes);
  const std::string too_much = listener.listen(out.ends[0], err.ends[0], most_time + kGrace);
  if (!too_much.empty()) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return str("curl: ", std::strerror(errno));
  }
  curl.reset();
  if (!too_much.empty()) return too_much;
  const std::string said = one_line(listener.said());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (!said.empty()) return said;
  return WIFEXITED(status) ? str("curl ended with exit code ", WEXITSTATUS(status))
                           : str("curl was ended by signal ", WTERMSIG(status));
}

}  // namespace weft::data
