// SPDX-License-Identifier: MIT
// A folder of its own for a test, removed afterwards, and the errors that file tests expect.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/error.h"

namespace weft::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      out.push_back(entry.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::filesystem::path path_;
};

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Passes when `work` throws Error of this kind, in one line that contains `text`.
inline testing::AssertionResult throws(ErrorKind kind, const std::string& text,
                                       const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.kind() != kind) {
      return testing::AssertionFailure() << "kind " << error.exit_code() << ": " << message;
    }
    if (message.find(text) == std::string::npos || message.find('\n') != std::string::npos) {
      return testing::AssertionFailure() << "expected \"" << text << "\" in: " << message;
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was thrown, expected \"" << text << "\"";
}

}  // namespace weft::test
