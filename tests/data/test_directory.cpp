// SPDX-License-Identifier: MIT
// Folders held open: what is refused in them, and temporaries, whose writers live or do not.
#include "data/files/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "tests/support/folder.h"
#include "tests/support/stranger.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;

using test::read_text;
using test::TemporaryFolder;
using test::throws;
using test::write_text;
using Names = std::vector<std::string>;

TEST(Directory, TakesFilesOfOneNameAndOfThisUserOnly) {
  for (const test::Planted& planted : test::what_strangers_plant()) {
    SCOPED_TRACE(planted.kind);
    const TemporaryFolder folder;
    fs::create_directory(folder / "run");
    const Directory run(folder / "run");
    EXPECT_NO_THROW(run.require_own_file("a.txt")) << "nothing is there yet";
    planted.plant(folder / "run/a.txt", folder / "victim");
    for (const auto& use : std::vector<std::function<void()>>{
             [&] { run.require_own_file("a.txt"); }, [&] { run.open_own_file("a.txt", O_RDWR); }}) {
      EXPECT_TRUE(throws(ErrorKind::data, "run/a.txt: expected a file of this user", use));
      EXPECT_TRUE(throws(ErrorKind::data, "found " + planted.found, use));
    }
  }
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "mine");
  const Directory run(folder.path());
  EXPECT_TRUE(run.open_own_file("a.txt", O_RDONLY).is_open());
  EXPECT_FALSE(run.open_own_file("b.txt", O_RDONLY).is_open());
}

TEST(Directory, StaysTheFolderThatWasOpened) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "run");
  fs::create_directory(folder / "other");
  fs::create_directory_symlink("run", folder / "link");
  const Directory run(folder / "link");
  fs::remove(folder / "link");
  fs::create_directory_symlink("other", folder / "link");
  ASSERT_TRUE(run.make_folder("samples").names().empty());
  EXPECT_EQ(run.names(), Names{"samples"});
  EXPECT_TRUE(fs::exists(folder / "run/samples"));
  EXPECT_TRUE(fs::is_empty(folder / "other"));
  EXPECT_TRUE(throws(ErrorKind::data, "could not open the folder " + (folder / "none").string(),
                     [&] { Directory(folder / "none"); }));
}

TEST(Directory, EntersNoLink) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "run");
  fs::create_directory(folder / "other");
  fs::create_directory_symlink("../other", folder / "run/samples");
  write_text(folder / "run/file", "");
  const Directory run(folder / "run");
  EXPECT_TRUE(throws(ErrorKind::data, "samples: expected a folder, found a symbolic link",
                     [&] { run.make_folder("samples"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "file: expected a folder, found a file",
                     [&] { run.folder("file"); }));
}

// As root everything may be used; so this takes on another user for a moment.
TEST(Directory, AnotherUsersFolderIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0777);
  const Directory run(folder.path());
  EXPECT_NO_THROW(run.require_own());
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  const auto result = throws(ErrorKind::data, "found one of the user 0: copy it to write there",
                             [&] { run.require_own(); });
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_TRUE(result);
  EXPECT_TRUE(folder.names().empty());
  ASSERT_EQ(::chown(folder.path().c_str(), kNobody, -1), 0);
  EXPECT_NO_THROW(run.require_own()) << "root writes everywhere, as in a container";
}

TEST(Temporary, HasANameThatNobodyGuessesAndTheModeOfNewFiles) {
  const TemporaryFolder folder;
  const Directory directory(folder.path());
  const mode_t before = ::umask(027);
  const Temporary first(directory, Temporary::Kind::file, "x");
  const Temporary second(directory, Temporary::Kind::folder, "y");
  ::umask(before);
  const Names names = folder.names();
  ASSERT_EQ(names.size(), 2u);
  for (const std::string& name : names) {
    EXPECT_TRUE(is_temporary_name(name)) << name;
    EXPECT_EQ(name.size(), std::string(".weft-.tmp").size() + 32) << "128 random bits";
    EXPECT_EQ(name.find(std::to_string(::getpid())), std::string::npos) << name;
  }
  EXPECT_EQ(directory.status(first.path().filename())->st_mode, mode_t{S_IFREG | 0640});
  EXPECT_EQ(directory.status(second.path().filename())->st_mode, mode_t{S_IFDIR | 0750});
}

TEST(Temporary, GoesWithAllInItUnlessItIsRenamed) {
  const TemporaryFolder folder;
  const Directory directory(folder.path());
  {
    const Temporary gone(directory, Temporary::Kind::folder, "x");
    write_text(gone.path() / "a.txt", "x");
    Temporary kept(directory, Temporary::Kind::file, "y");
    kept.check_written();
    kept.rename("kept");
  }
  EXPECT_EQ(folder.names(), Names{"kept"});
}

// A number of a process says nothing: the writer may live in another container.
TEST(Temporary, ThoseOfKilledWritersAreRemovedAndThoseOfLivingOnesStay) {
  const TemporaryFolder folder;
  const Directory directory(folder.path());
  const std::string locked = ".weft-999999999-0.tmp", killed = ".weft-999999999-1.tmp";
  write_text(folder / locked, "half");
  write_text(folder / killed, "half");
  const int writer = ::open((folder / locked).c_str(), O_WRONLY);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);

  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Temporary file(directory, Temporary::Kind::file, "x");
    const Temporary tree(directory, Temporary::Kind::folder, "y");
    write_text(tree.path() / "a.txt", "x");
    (void)!::write(pipe_ends[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char ready = 0;
  ASSERT_EQ(::read(pipe_ends[0], &ready, 1), 1);
  EXPECT_EQ(folder.names().size(), 3u) << "the child has removed one";
  { const Temporary other(directory, Temporary::Kind::file, "z"); }
  EXPECT_EQ(folder.names().size(), 3u);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  { const Temporary other(directory, Temporary::Kind::file, "z"); }
  EXPECT_EQ(folder.names(), Names{locked});
  ::close(writer);
  { const Temporary other(directory, Temporary::Kind::file, "z"); }
  EXPECT_TRUE(folder.names().empty());
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST(Temporary, WhatStrangersCallSoStays) {
  const std::string name = ".weft-0123456789abcdef0123456789abcdef.tmp";
  for (const test::Planted& planted : test::what_strangers_plant()) {
    if (planted.kind == "a folder") continue;
    SCOPED_TRACE(planted.kind);
    const TemporaryFolder folder;
    fs::create_directory(folder / "run");
    planted.plant(folder / "run" / name, folder / "victim");
    const std::string before = test::state_of(folder.path());
    { const Temporary other(Directory(folder / "run"), Temporary::Kind::file, "z"); }
    EXPECT_EQ(test::state_of(folder.path()), before);
  }
}

TEST(Temporary, IsToldByItsName) {
  for (const char* name : {".weft-1-0.tmp", ".weft-0123456789abcdef0123456789abcdef.tmp"}) {
    EXPECT_TRUE(is_temporary_name(name)) << name;
  }
  for (const char* name :
       {".weft-lock", ".weft-.tmp", ".weft-x.tmp", "a.tmp", ".weft-1-0.tmp.gz"}) {
    EXPECT_FALSE(is_temporary_name(name)) << name;
  }
}

}  // namespace
}  // namespace weft::data
