// SPDX-License-Identifier: MIT
// OpenMP beside other programs: idle threads sleep at once while others need the cores, which shows
// in the idle threads that the program adds.
#include <sched.h>

#include <atomic>
#include <thread>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

class OtherWork : public ProgramTest {
 protected:
  // Two cores, which the program and the busy threads share.
  void SetUp() override {
    ProgramTest::SetUp();
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t few;
    CPU_ZERO(&few);
    for (std::size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&few) < 2; ++core) {
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &few);
    }
    sched_setaffinity(0, sizeof few, &few);
    for (std::thread& busy : busy_) {
      busy = std::thread([this] {
        while (!end_) {
        }
      });
    }
  }
  void TearDown() override {
    end_ = true;
    for (std::thread& busy : busy_) busy.join();
    sched_setaffinity(0, sizeof before_, &before_);
    ProgramTest::TearDown();
  }

  // The most threads that a run of two OpenMP threads has within some time, or until `enough`.
  std::int64_t threads_of_a_run(std::int64_t enough, int tenths) {
    const Process process =
        start({"nbody", "--bodies", "256", "--steps", "100000000", "--samples", "1", "--frames",
               "0", "--threads", "2", "--device", "cpu", "--progress", "off"});
    const fs::path tasks = "/proc/" + std::to_string(process.pid()) + "/task";
    std::int64_t most = 0;
    for (int i = 0; i < tenths && most < enough; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      most = std::max(most, std::int64_t{std::distance(fs::directory_iterator(tasks), {})});
    }
    kill(process.pid(), SIGKILL);
    process.wait();
    return most;
  }

 private:
  cpu_set_t before_;
  std::atomic<bool> end_ = false;
  std::thread busy_[2];
};

TEST_F(OtherWork, IdleThreadsAreAddedUnlessTheUserHasSaidHowToWait) {
  constexpr std::int64_t kPlain = 2, kWatched = 5;  // a watcher, and a team of two at least
  for (const auto& [name, value] :
       {std::pair("OMP_WAIT_POLICY", "passive"), std::pair("GOMP_SPINCOUNT", "2000")}) {
    environment_[name] = value;
    EXPECT_EQ(threads_of_a_run(kWatched, 8), kPlain) << name;
    environment_.erase(name);
  }
  EXPECT_GE(threads_of_a_run(kWatched, 300), kWatched);
}

}  // namespace
}  // namespace weft::test
