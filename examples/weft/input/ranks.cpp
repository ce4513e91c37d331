// SPDX-License-Identifier: MIT
#include "examples/weft/input/ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "distributed/mpi.h"
#include "distributed/socket.h"
#include "distributed/tcp.h"
#include "engine/error.h"
#include "engine/leftovers.h"
#include "examples/weft/input/rank_token.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

using distributed::Communicator;

constexpr char kParent[] = "WEFT_RUN_PARENT";  // the process that started them, rank 0

// The processes that this one has started as ranks 1, 2, ...
class Children {
 public:
  void start(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const std::string program = this_program().string();
    const int code =
        posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ);
    if (code != 0) {
      throw Error(ErrorKind::device, fmt::format("could not start rank {}: {}", pids_.size() + 1,
                                                 std::generic_category().message(code)));
    }
    pids_.push_back(child);
    // It writes nothing, and shall not tell that this one is gone.
    ends_.push_back(std::make_unique<ChildProcess>(child, SIGKILL));
  }

  // Throws when one has ended.
  void require_all() {
    for (std::size_t i = 0; i < pids_.size(); ++i) {
      int status = 0;
      if (pids_[i] == 0 || waitpid(pids_[i], &status, WNOHANG) != pids_[i]) continue;
      forget(i);
      throw Error(
          ErrorKind::device,
          fmt::format("rank {} has ended before it met the others ({})", i + 1,
                      WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                          : fmt::format("exit code {}", WEXITSTATUS(status))));
    }
  }

  // Their ends are near when the run is over; who still lingers after `patience` is killed.
  void wait(std::chrono::milliseconds patience) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto pause = std::chrono::milliseconds(5);
    while (Clock::now() - begin < patience) {
      bool all = true;
      for (std::size_t i = 0; i < pids_.size(); ++i) {
        if (pids_[i] != 0 && waitpid(pids_[i], nullptr, WNOHANG) != 0) forget(i);
        all &= pids_[i] == 0;
      }
      if (all) return;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::milliseconds(80));
    }
    stop();
  }

  void stop() {
    for (std::size_t i = 0; i < pids_.size(); ++i) {
      if (pids_[i] == 0) continue;
      kill(pids_[i], SIGKILL);
      waitpid(pids_[i], nullptr, 0);
      forget(i);
    }
  }

 private:
  void forget(std::size_t i) {
    pids_[i] = 0;
    ends_[i].reset();
  }

  std::vector<pid_t> pids_;  // 0: it has ended
  std::vector<std::unique_ptr<ChildProcess>> ends_;
};

Children children;
Communicator* ranks = nullptr;  // ends with leave_ranks(), or with the process

// A rank is lost: this process ends, wherever it is. What rank 0 has saved is whole.
void end_at_once(const std::string& line) {
  if (!line.empty()) {
    if (detect_terminal(kStderr).interactive) clear_bar();
    print_error(line);
  }
  children.stop();  // one that has been stopped does not end by itself
  _exit(static_cast<int>(ErrorKind::device));
}

std::vector<int> parse_list(const std::string& text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    int number = 0;
    const auto [stop, code] = std::from_chars(text.data() + at, text.data() + end, number);
    if (code != std::errc() || stop != text.data() + end || number < 0) {
      throw Error(ErrorKind::usage, fmt::format("--devices: expected a number of devices, or GPUs "
                                                "as in 0,2, found '{}'",
                                                printable(text)));
    }
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

// The --device of each rank.
std::vector<std::string> devices_of(const RankFlags& flags, const DeviceFlags& device) {
  const std::vector<int> numbers = parse_list(*flags.devices);
  const bool is_list = flags.devices->find(',') != std::string::npos;
  if (!is_list && (numbers.front() < 1 || numbers.front() > 1024)) {
    throw Error(ErrorKind::usage,
                fmt::format("--devices: expected 1 to 1024 devices, found {}", numbers.front()));
  }
  const std::string& chosen = device.device;
  if (chosen == "cpu" || (chosen == "auto" && !is_list && cuda_status().device_count == 0)) {
    if (is_list) {
      throw Error(ErrorKind::usage,
                  fmt::format("--devices {} names GPUs, but --device is cpu", *flags.devices));
    }
    return std::vector<std::string>(static_cast<std::size_t>(numbers.front()), chosen);
  }
  if (chosen != "auto" && chosen != "cuda") {
    throw Error(ErrorKind::usage,
                fmt::format("--devices goes with --device cpu or cuda, found --device {}",
                            printable(chosen)));
  }
  if (!cuda_status().reason.empty()) parse_device("cuda");  // throws, with the reason
  std::vector<std::string> devices;
  const int here = cuda_status().device_count;
  for (int i = 0; i < (is_list ? static_cast<int>(numbers.size()) : numbers.front()); ++i) {
    const int gpu = is_list ? numbers[static_cast<std::size_t>(i)] : i;
    if (gpu >= here) {
      throw Error(
          ErrorKind::usage,
          fmt::format("--devices {}: there {} here, numbered from 0; --devices 0,0 lets two "
                      "ranks share the first",
                      *flags.devices, here == 1 ? "is 1 GPU" : fmt::format("are {} GPUs", here)));
    }
    devices.push_back(fmt::format("cuda:{}", gpu));
  }
  return devices;
}

int usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return omp_get_num_procs();
  return CPU_COUNT(&cores);
}

// Has --devices of another process started this one?
bool is_child() {
  return std::getenv(kParent) != nullptr;
}

// This process's words without --devices, and with what makes it rank `rank`.
std::vector<std::string> words_of_rank(int rank, std::size_t size, const std::string& rendezvous,
                                       const std::string& device, std::int64_t threads,
                                       const RankFlags& flags) {
  std::vector<std::string> words;
  const std::vector<std::string> own = command_line();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].starts_with("--devices=")) continue;
    if (own[i] == "--devices") {
      ++i;
      continue;
    }
    words.push_back(own[i]);
  }
  for (const std::string& word :
       {std::string("--device"), device, std::string("--threads"), fmt::format("{}", threads),
        std::string("--rank"), fmt::format("{}", rank), std::string("--world-size"),
        fmt::format("{}", size), std::string("--rendezvous"), rendezvous,
        std::string("--rank-timeout"), fmt::format("{}", flags.timeout)}) {
    words.push_back(word);
  }
  return words;
}

std::unique_ptr<distributed::Transport> launch(const RankFlags& flags, DeviceFlags& device) {
  const std::vector<std::string> devices = devices_of(flags, device);
  if (devices.size() == 1) {
    device.device = devices.front();
    return nullptr;
  }
  const int cores = usable_cores();
  if (!devices.front().starts_with("cuda") && std::cmp_greater(devices.size(), cores)) {
    print_notice(fmt::format("--devices {}: this machine has {}, which the processes share",
                             devices.size(), counted(cores, "core")));
  }
  if (!device.threads) {
    device.threads = std::max(1, cores / static_cast<int>(devices.size()));
  }
  const std::string token = distributed::RunToken::draw_text();
  setenv(kRunTokenVariable, token.c_str(), 1);
  setenv(kParent, fmt::format("{}", getpid()).c_str(), 1);
  distributed::TcpOptions options;
  options.size = static_cast<int>(devices.size());
  options.rendezvous = "127.0.0.1:0";
  options.timeout = flags.timeout;
  options.token = distributed::RunToken(token);
  options.lost = end_at_once;
  options.listening = [&](const std::string& rendezvous) {
    for (std::size_t rank = 1; rank < devices.size(); ++rank) {
      children.start(words_of_rank(static_cast<int>(rank), devices.size(), rendezvous,
                                   devices[rank], *device.threads, flags));
    }
  };
  options.waiting = [] { children.require_all(); };
  device.device = devices.front();
  try {
    return distributed::tcp_transport(options);
  } catch (...) {
    children.stop();
    throw;
  }
}

// Until they have met, a rank that --devices has started ends with rank 0. Then the lifeline takes
// over, and says who is lost.
void end_with_parent() {
  if (!is_child()) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::atoi(std::getenv(kParent)) != getppid()) _exit(static_cast<int>(ErrorKind::device));
}

std::unique_ptr<distributed::Transport> meet(const RankFlags& flags) {
  end_with_parent();
  distributed::TcpOptions options;
  options.rank = static_cast<int>(*flags.rank);
  options.size = static_cast<int>(*flags.world_size);
  options.rendezvous = *flags.rendezvous;
  options.timeout = flags.timeout;
  options.token = token_of(flags);
  options.lost = end_at_once;
  if (flags.rank == 0) {
    options.listening = [](const std::string& at) {
      if (!distributed::is_every_address(distributed::parse_endpoint(at))) return;
      print_notice(fmt::format("rank 0 listens at every address of this machine, {}", at));
    };
  }
  try {
    auto transport = distributed::tcp_transport(options);
    prctl(PR_SET_PDEATHSIG, 0);
    return transport;
  } catch (const Error& error) {
    // Rank 0 has started this one, ends it and tells; but not when it is rank 0 that has stopped.
    if (is_child()) std::this_thread::sleep_for(std::chrono::seconds(1));
    throw;
  }
}

void check(const RankFlags& flags) {
  const bool any = flags.rank || flags.world_size || flags.rendezvous;
  const bool all = flags.rank && flags.world_size && flags.rendezvous;
  if (any != all) {
    throw Error(ErrorKind::usage,
                "--rank, --world-size and --rendezvous belong together: give all three");
  }
  if (!any && (flags.no_token || flags.token_file)) {
    throw Error(ErrorKind::usage, "--run-token-file and --no-token go with --rendezvous");
  }
  if (any && flags.devices) {
    throw Error(
        ErrorKind::usage,
        "--devices starts its ranks itself: leave --rank, --world-size and --rendezvous out");
  }
  if (!any && flags.devices && distributed::started_by_mpi()) {
    throw Error(ErrorKind::usage,
                "mpirun has started this process as one of several: leave --devices out");
  }
}

// GPUs and cores are dealt out to the ranks of a machine.
void deal_out(DeviceFlags& device) {
  const distributed::Places& places = ranks->places();
  const int gpus =
      device.device == "auto" || device.device == "cuda" ? cuda_status().device_count : 0;
  if (gpus > 0) device.device = fmt::format("cuda:{}", places.local_rank % gpus);
  // mpirun may have bound each rank to cores of its own.
  const bool bound = usable_cores() < static_cast<int>(std::thread::hardware_concurrency());
  if (!device.threads) {
    device.threads = std::max(1, bound ? usable_cores() : usable_cores() / places.local_size);
  }
}

void silence() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  silence_notices();
}

}  // namespace

void add_rank_flags(CLI::App& app, RankFlags& flags) {
  const std::string before = app.option_defaults()->get_group();
  app.option_defaults()->group("Several devices");
  app.add_option(
         "--devices", flags.devices,
         "N: run on N GPUs of this machine, or in N processes on the CPU; 0,2: on GPUs 0 and 2")
      ->type_name("N|LIST");
  add_whole(app, "--rank", flags.rank, 0, 1 << 20,
            "without mpirun: the number of this process, 0 to one less than --world-size");
  add_whole(app, "--world-size", flags.world_size, 1, 1 << 20,
            "with --rank: how many processes the run has");
  app.add_option("--rendezvous", flags.rendezvous,
                 "with --rank: where rank 0 listens and the others report")
      ->type_name("HOST:PORT");
  app.add_option(
         "--run-token-file", flags.token_file,
         "with --rank: a file with a text of at least 16 characters that all ranks of the run "
         "know, and nobody else; default: that of WEFT_RUN_TOKEN")
      ->type_name("FILE");
  app.add_flag("--no-token", flags.no_token,
               "with --rank: whoever reaches the rendezvous may join the run");
  add_real(app, "--rank-timeout", flags.timeout, 1, 1e6,
           "seconds that a process waits for another one; default 120");
  add_choice(app, "--reduction", flags.reduction, {"automatic", "one-shot", "nccl", "host-staged"},
             "how GPUs add up their results; automatic, the default: the fastest way there is");
  app.option_defaults()->group(before);
}

distributed::DeviceReduction reduction_of(const RankFlags& flags) {
  using distributed::DeviceReduction;
  if (flags.reduction == "one-shot") return DeviceReduction::one_shot;
  if (flags.reduction == "nccl") return DeviceReduction::nccl;
  if (flags.reduction == "host-staged") return DeviceReduction::host_staged;
  return DeviceReduction::automatic;
}

Communicator& join_ranks(const RankFlags& flags, DeviceFlags& device) {
  check(flags);
  std::unique_ptr<distributed::Transport> transport;
  if (flags.rank) {
    transport = meet(flags);
  } else if (flags.devices) {
    transport = launch(flags, device);
  } else if (distributed::started_by_mpi()) {
    transport = distributed::mpi_transport(flags.timeout);
  }
  if (!transport) return distributed::alone();
  ranks = new Communicator(std::move(transport));
  deal_out(device);
  if (!ranks->is_first()) silence();
  return *ranks;
}

void leave_ranks() {
  delete ranks;
  ranks = nullptr;
  children.wait(std::chrono::seconds(5));
}

void fail_ranks(const std::string& line) {
  if (!ranks || ranks->is_first()) print_error(line);
  if (!ranks || ranks->transport() == nullptr) return;
  ranks->transport()->fail(line);
  // What stands on the transport is not taken down: the other ranks do not take part any more.
  children.wait(std::chrono::seconds(1));
}

}  // namespace weft::cli
