// SPDX-License-Identifier: MIT
// Downloads end: at their size and at their time, whatever the server and curl do.
#include "data/files/download.h"

#include <fstream>

#include "data/files/gzip.h"
#include "tests/data/files.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;

// A curl of the test's own.
class Download : public ::testing::Test {
 protected:
  void curl_does(const std::string& work) {
    const fs::path curl = folder_.path() / "curl";
    std::ofstream(curl) << "#!/bin/sh\n" << work << "\n";
    fs::permissions(curl, fs::perms::owner_all);
  }
  std::string download(std::uint64_t max_bytes, int seconds = 60) {
    return download_with_curl("http://localhost/", target_, max_bytes,
                              std::chrono::seconds(seconds));
  }

  test::TempFolder folder_;
  fs::path target_ = folder_.path() / "target";
  test::ScopedVariable path_{"PATH", (folder_.path().string() + ":/usr/bin:/bin").c_str()};
};

TEST_F(Download, EndsWhereTheFileIsAsLargeAsItMayBe) {
  curl_does("exec cat /dev/zero");  // as a chunked answer that says no length
  EXPECT_EQ(download(1 << 20), "it has more than 1048576 bytes");
  EXPECT_LE(fs::file_size(target_), 1u << 20);
  curl_does("exec head -c 1048576 /dev/zero");
  EXPECT_EQ(download(1 << 20), "");
  EXPECT_EQ(fs::file_size(target_), 1u << 20);
}

TEST_F(Download, EndsInTimeAlsoWhereCurlDoesNotLookAtTheClock) {
  curl_does("echo begins >&2; exec sleep 60");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(download(1 << 20, 1), "it takes longer than 3 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(Download, WhatCurlSaysIsOneLineOfBoundedLength) {
  curl_does("echo 'curl: (22) 404' >&2; exit 22");
  EXPECT_EQ(download(1 << 20), "curl: (22) 404");
  curl_does("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1");
  EXPECT_EQ(download(1 << 20), std::string(4096, 'x'));
  curl_does("exit 7");
  EXPECT_EQ(download(1 << 20), "curl ended with exit code 7");
}

}  // namespace
}  // namespace weft::data
