// SPDX-License-Identifier: MIT
// Atomic writing: the old content or the new, no temporaries left, errors that name the path.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "data/files/file_io.h"
#include "tests/support/folder.h"
#include "tests/support/stranger.h"

namespace weft::data {
namespace {

using test::read_text;
using test::TemporaryFolder;
using test::throws;
using test::write_text;
using Names = std::vector<std::string>;

TEST(AtomicWrite, CreatesAndReplaces) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.txt", "first");
  EXPECT_EQ(read_text(folder / "a.txt"), "first");
  write_file_atomically(folder / "a.txt", "the second, longer");
  EXPECT_EQ(read_text(folder / "a.txt"), "the second, longer");
  write_file_atomically(folder / "a.txt", "");
  EXPECT_EQ(read_text(folder / "a.txt"), "");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(AtomicWrite, PartsAppearTogetherOrNotAtAll) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "old");
  {
    AtomicFile file(folder / "a.txt");
    file.write("never ");
    file.write("seen");
  }
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
  AtomicFile file(folder / "a.txt");
  file.write("new, ");
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  file.write(std::as_bytes(std::span("in parts", 8)));
  file.commit();
  EXPECT_EQ(read_text(folder / "a.txt"), "new, in parts");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(AtomicWrite, MissingFolderIsDataErrorNamingThePath) {
  const TemporaryFolder folder;
  EXPECT_TRUE(throws(ErrorKind::data, (folder / "missing/a.txt").string() + ": No such file",
                     [&] { write_file_atomically(folder / "missing/a.txt", "x"); }));
}

// What the user names may be a pipe, a device or a descriptor: it is written into.
TEST(AtomicWrite, APipeIsWrittenInto) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(is_stream(folder / "pipe"));
  std::string got;
  std::thread reader([&] { got = read_text(folder / "pipe"); });
  write_file_atomically(folder / "pipe", "through the pipe");
  reader.join();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_EQ(folder.names(), Names{"pipe"});
  EXPECT_TRUE(throws(ErrorKind::data, (folder / "pipe").string() + ": nobody reads this pipe",
                     [&] { write_file_atomically(folder / "pipe", "x"); }));
}

TEST(AtomicWrite, ADescriptorIsWrittenIntoWhereItIs) {
  const TemporaryFolder folder;
  const int file = ::open((folder / "a.txt").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "first ", 6), 6);
  for (const char* place : {"/dev/fd/", "/proc/self/fd/"}) {
    write_file_atomically(place + std::to_string(file), "second ");
  }
  EXPECT_EQ(::write(file, "third", 5), 5);
  ::close(file);
  EXPECT_EQ(read_text(folder / "a.txt"), "first second second third");
  EXPECT_TRUE(throws(ErrorKind::data, "Bad file descriptor",
                     [&] { write_file_atomically("/dev/fd/" + std::to_string(file), "x"); }));
  EXPECT_TRUE(is_stream("/dev/null"));
  EXPECT_NO_THROW(write_file_atomically("/dev/null", "x"));
  EXPECT_TRUE(throws(ErrorKind::data, "/dev/full: No space left on device",
                     [&] { write_file_atomically("/dev/full", "x"); }));
  EXPECT_FALSE(is_stream(folder / "a.txt"));
  EXPECT_FALSE(is_stream(folder / "none"));
}

TEST(AtomicWrite, ALinkIsReplacedAndNotFollowed) {
  const TemporaryFolder folder;
  write_text(folder / "victim", "precious");
  std::filesystem::create_symlink("victim", folder / "a.txt");
  std::filesystem::create_symlink("none", folder / "b.txt");
  std::filesystem::create_hard_link(folder / "victim", folder / "c.txt");
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) {
    write_file_atomically(folder / name, "new");
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(folder / name)));
    EXPECT_EQ(read_text(folder / name), "new");
  }
  EXPECT_EQ(read_text(folder / "victim"), "precious");
  EXPECT_EQ(folder.names(), (Names{"a.txt", "b.txt", "c.txt", "victim"}));
  std::filesystem::create_symlink("/dev/null", folder / "d.txt");
  EXPECT_TRUE(throws(ErrorKind::data, "d.txt: not a regular file",
                     [&] { write_file_atomically(folder / "d.txt", "x"); }));
}

TEST(AtomicWrite, InAFolderThatMayBeAStrangersOnlyOnesOwnFilesAreReplaced) {
  for (const test::Planted& planted : test::what_strangers_plant()) {
    SCOPED_TRACE(planted.kind);
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "run");
    planted.plant(folder / "run/a.txt", folder / "victim");
    const std::string before = test::state_of(folder.path());
    EXPECT_TRUE(throws(ErrorKind::data, "found " + planted.found,
                       [&] { write_file_atomically(Directory(folder / "run") / "a.txt", "x"); }));
    EXPECT_EQ(test::state_of(folder.path()), before);
  }
}

TEST(AtomicWrite, DirectoryInTheWayIsDataErrorAndLeavesNothing) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.txt");
  EXPECT_TRUE(throws(ErrorKind::data, (folder / "a.txt").string(),
                     [&] { write_file_atomically(folder / "a.txt", "x"); }));
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(AtomicWrite, ForbiddenFolderIsDataError) {
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0555);
  const uid_t user = ::geteuid();
  constexpr uid_t kNobody = 65534;  // root may write everywhere
  if (user == 0) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const auto result = throws(ErrorKind::data, (folder / "a.txt").string() + ": Permission denied",
                             [&] { write_file_atomically(folder / "a.txt", "x"); });
  if (user == 0) {
    ASSERT_EQ(::seteuid(user), 0);
  }
  ::chmod(folder.path().c_str(), 0700);
  EXPECT_TRUE(result);
  EXPECT_TRUE(folder.names().empty());
}

// A limit on the size of files stands in for a full disk: write() fails half-way all the same.
TEST(AtomicWrite, FailureHalfWayKeepsTheOldContent) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.txt", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto result =
      throws(ErrorKind::data, (folder / "a.txt").string() + ": File too large",
             [&] { write_file_atomically(folder / "a.txt", std::string(100'000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(result);
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(AtomicWrite, SeveralFilesOrNone) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "old");
  const std::vector<NewFile> files = {{folder / "a.txt", bytes_of("first")},
                                      {folder / "b.txt", bytes_of("")},
                                      {folder / "c.txt", bytes_of("third")}};
  write_files_atomically(files);
  EXPECT_EQ(read_text(folder / "a.txt"), "first");
  EXPECT_EQ(read_text(folder / "b.txt"), "");
  EXPECT_EQ(read_text(folder / "c.txt"), "third");
  write_files_atomically({});

  // The last cannot be written: those before it stay as they were.
  const std::vector<NewFile> broken = {{folder / "a.txt", bytes_of("other")},
                                       {folder / "missing" / "d.txt", bytes_of("x")}};
  EXPECT_TRUE(
      throws(ErrorKind::data, "d.txt: No such file", [&] { write_files_atomically(broken); }));
  EXPECT_EQ(read_text(folder / "a.txt"), "first");
  EXPECT_EQ(folder.names(), (Names{"a.txt", "b.txt", "c.txt"}));
}

// What create_folder() would fail with, without a folder being made.
TEST(IsFolder, TellsWhatCreateFolderWouldTell) {
  const TemporaryFolder folder;
  write_text(folder / "file", "x");
  std::filesystem::create_symlink("nowhere", folder / "link");
  for (const std::string& name :
       Names{"new", "new/a/b", "new/", "file", "file/a", "link", ".", std::string(300, 'x')}) {
    SCOPED_TRACE(name);
    std::error_code told, failed;
    const bool is_there = is_folder(folder / name, told);
    EXPECT_EQ(is_there, name == ".");
    EXPECT_EQ(folder.names().size(), 2u);
    create_folder(folder / name, failed);
    EXPECT_EQ(told.value(), failed.value()) << told.message() << ", " << failed.message();
    std::filesystem::remove_all(folder / "new");
  }
}

TEST(InputFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(throws(ErrorKind::data, "No such file", [&] { InputFile(folder / "none"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "regular file", [&] { InputFile(folder.path()); }));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(throws(ErrorKind::data, "regular file", [&] { InputFile(folder / "pipe"); }));
}

TEST(InputFile, ReadsRangesAndReportsAnEarlyEnd) {
  const TemporaryFolder folder;
  write_text(folder / "a", "0123456789");
  const InputFile file(folder / "a");
  EXPECT_EQ(file.size(), 10u);
  std::string part(4, ' ');
  file.read(std::as_writable_bytes(std::span(part)), 3);
  EXPECT_EQ(part, "3456");
  EXPECT_TRUE(throws(ErrorKind::data, "ends at byte 10",
                     [&] { file.read(std::as_writable_bytes(std::span(part)), 8); }));
}

}  // namespace
}  // namespace weft::data
