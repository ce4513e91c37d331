// SPDX-License-Identifier: MIT
// What a signal handler removes: files, whole folders and child processes, while their objects
// live.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/leftovers.h"
#include "tests/support/folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

void write(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
}

TEST(Leftovers, FilesAndFoldersAreRemovedWhileTheirObjectsLive) {
  const TemporaryFolder folder;
  write(folder / "kept");
  write(folder / "file");
  for (int i = 0; i < 300; ++i) write(folder / ("tree/a/b/" + std::to_string(i)));  // several reads
  fs::create_symlink(folder / "kept", folder / "tree/link");
  fs::create_directory_symlink(folder.path(), folder / "tree/a/up");
  write(folder / "finished");
  { const TemporaryPath finished((folder / "finished").string()); }
  const TemporaryPath file((folder / "file").string()), tree((folder / "tree").string()),
      none((folder / "none").string());
  remove_leftovers();
  EXPECT_FALSE(fs::exists(folder / "file"));
  EXPECT_FALSE(fs::exists(folder / "tree"));
  EXPECT_TRUE(fs::exists(folder / "kept")) << "a link was followed";
  EXPECT_TRUE(fs::exists(folder / "finished"));
  write(folder / "file");
  remove_leftovers();
  EXPECT_TRUE(fs::exists(folder / "file")) << "it was removed twice";
}

TEST(Leftovers, ProcessesAndGroupsEnd) {
  const auto sleeping = [](bool in_group) {
    const pid_t child = fork();
    if (child != 0) return child;
    signal(SIGTERM, SIG_DFL);
    if (in_group) setpgid(0, 0);
    for (;;) pause();
  };
  const pid_t one = sleeping(false), group = sleeping(true), spared = sleeping(false);
  setpgid(group, group);  // whoever is first
  { const ChildProcess ended(spared, SIGTERM); }
  const ChildProcess first(one, SIGKILL), second(-group, SIGTERM);
  remove_leftovers();
  const auto signal_of = [](pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  };
  EXPECT_EQ(signal_of(one), SIGKILL);
  EXPECT_EQ(signal_of(group), SIGTERM);
  EXPECT_EQ(kill(spared, 0), 0);
  kill(spared, SIGUSR1);
  EXPECT_EQ(signal_of(spared), SIGUSR1);
}

}  // namespace
}  // namespace weft
