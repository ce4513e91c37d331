// SPDX-License-Identifier: MIT
// Runs the weft program, or a shell line with it, in a temporary folder and keeps what it said.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {

namespace fs = std::filesystem;

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// tests/coverage.py has another one than that of the build.
inline std::string tested_program() {
  const char* other = std::getenv("WEFT_TESTED_PROGRAM");
  return other != nullptr ? other : WEFT_BINARY;
}

struct Outcome {
  int exit_code = -1;  // 128 + N when signal N ended the program
  std::string out, err;
  double cpu_seconds = 0;       // of all its threads and children
  std::int64_t peak_bytes = 0;  // of memory, of the largest of them
};

// A program that was started; wait() must be called once.
class Process {
 public:
  Process(pid_t pid, fs::path out, fs::path err)
      : pid_(pid), out_(std::move(out)), err_(std::move(err)) {}

  pid_t pid() const { return pid_; }
  const fs::path& err_path() const { return err_; }
  std::string out() const { return read_file(out_); }  // so far

  // Waits until `text` stands in stdout; false when that takes more than a minute.
  bool wait_for(const std::string& text) const {
    for (int i = 0; i < 6000; ++i) {
      if (out().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  Outcome wait() const {
    int status = 0;
    rusage used{};
    wait4(pid_, &status, 0, &used);
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return {code, read_file(out_), read_file(err_), seconds(used.ru_utime) + seconds(used.ru_stime),
            1024 * std::int64_t{used.ru_maxrss}};
  }

 private:
  pid_t pid_;
  fs::path out_, err_;
};

// What execve() takes.
struct ExecArguments {
  ExecArguments(const std::string& program, const std::vector<std::string>& arguments,
                const std::map<std::string, std::string>& environment)
      : words{program} {
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& setting : settings) envp.push_back(setting.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
  }
  ExecArguments(const ExecArguments&) = delete;
  ExecArguments& operator=(const ExecArguments&) = delete;

  std::vector<std::string> words, settings;
  std::vector<char*> argv, envp;
};

// Does the program have host-cuda beside it?
inline bool has_host_cuda() {
  return fs::exists(fs::path(tested_program()).parent_path() / "weft-host-cuda");
}

// Each test gets an empty folder as working directory and HOME and an environment without data
// and without downloads, so that nothing depends on the machine or on a network.
class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directory(folder_ / "bin");
    fs::create_directory(folder_ / "io");
    // Enough for bash lines, and no curl or wget.
    for (const char* tool : {"bash", "cat", "head", "ls", "true"}) {
      for (const char* bin : {"/usr/bin", "/bin"}) {
        const fs::path target = fs::path(bin) / tool;
        std::error_code ignored;
        if (fs::exists(target)) fs::create_symlink(target, folder_ / "bin" / tool, ignored);
      }
    }
    environment_ = {{"PATH", (folder_ / "bin").string()},
                    {"HOME", folder_.string()},
                    {"WEFT", tested_program()},
                    {"LANG", "C.UTF-8"}};
    for (const char* name : {"OMP_NUM_THREADS", "LLVM_PROFILE_FILE"}) {
      if (const char* value = std::getenv(name)) environment_[name] = value;
    }
  }

  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  Process start(const std::vector<std::string>& arguments) {
    return spawn(tested_program(), arguments);
  }
  Outcome weft(const std::vector<std::string>& arguments) { return start(arguments).wait(); }
  // A line for bash; $WEFT is the program.
  Outcome shell(const std::string& line) { return start_shell(line).wait(); }

  Process start_shell(const std::string& line) {
    return spawn((folder_ / "bin" / "bash").string(), {"-c", line});
  }

  // A small run on the built-in digits in folder()/name.
  Outcome train_small(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "train", "--dataset", "digits", "--limit-train", "3000", "--epochs", "2", "--batch-size",
        "32",    "--device",  "cpu",    "--progress",    "off",  "--out",    name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  }

  const fs::path& folder() const { return folder_; }
  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const { return read_file(folder_ / name); }

  std::map<std::string, std::string> environment_;
  rlim_t file_size_limit_ = 0;  // bytes a file may have; 0: no limit
  // Folders that must not be written are not, by root neither.
  bool obey_permissions_ = false;
  static bool permissions_can_be_obeyed() {
    return geteuid() != 0 || prctl(PR_CAPBSET_READ, CAP_SETPCAP) == 1;
  }

 private:
  Process spawn(const std::string& program, const std::vector<std::string>& arguments) {
    const fs::path out = folder_ / "io" / std::to_string(++started_), err = out.string() + ".err";
    std::map<std::string, std::string> environment = environment_;
    // What coverage counts is larger than a file may be.
    if (file_size_limit_ > 0) environment["LLVM_PROFILE_FILE"] = "/dev/null";
    const ExecArguments exec(program, arguments, environment);
    const pid_t pid = fork();
    if (pid != 0) return {pid, out, err};
    // The tests may run in the background, where these are ignored.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(open(out.c_str(), flags, 0600), 1);
    dup2(open(err.c_str(), flags, 0600), 2);
    if (file_size_limit_ > 0) {
      const rlimit limit = {file_size_limit_, file_size_limit_};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (obey_permissions_) prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
    if (chdir(folder_.c_str()) == 0) execve(program.c_str(), exec.argv.data(), exec.envp.data());
    _exit(127);
  }

  fs::path folder_;
  int started_ = 0;
};

// What was said, but for the line that --devices prints where it starts more processes than cores.
inline std::string without_cores_notice(const std::string& err) {
  std::string rest;
  for (const std::string& line : lines_of(err)) {
    if (!line.starts_with("weft: --devices ")) rest += line + "\n";
  }
  return rest;
}

// The program ended with `exit_code`, and stderr is exactly one line, an error that holds `part`.
inline void expect_error(const Outcome& outcome, int exit_code, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
  const std::vector<std::string> lines = lines_of(outcome.err);
  ASSERT_EQ(lines.size(), 1u) << outcome.err;
  EXPECT_TRUE(lines[0].starts_with("weft: error: ")) << lines[0];
  EXPECT_NE(lines[0].find(part), std::string::npos) << "no '" << part << "' in: " << lines[0];
}

// Every line of `text` as a JSON object with schema_version and event.
inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> events;
  for (const std::string& line : lines_of(text)) {
    nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("schema_version") || !event.contains("event")) {
      ADD_FAILURE() << "not a JSON event: " << line;
      continue;
    }
    events.push_back(std::move(event));
  }
  return events;
}

// The last of them, or an empty object.
inline nlohmann::json end_of(const std::vector<nlohmann::json>& events) {
  return events.empty() ? nlohmann::json::object() : events.back();
}

}  // namespace weft::test
