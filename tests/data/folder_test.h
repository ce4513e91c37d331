// SPDX-License-Identifier: MIT
// A folder of pictures that a test fills and loads.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/folder/folder.h"
#include "tests/data/picture_folder.h"

namespace weft::data {

class Folder : public testing::Test {
 protected:
  std::filesystem::path operator/(const std::string& name) const { return folder_.path() / name; }
  Dataset load(const FolderOptions& options = {}) {
    log_.clear();
    FolderOptions logging = options;
    logging.log = [this](const std::string& line) { log_.push_back(line); };
    return load_folder(folder_.path(), logging);
  }
  // Two classes of 10 grey pictures of 4 x 4.
  void write_two_classes() {
    test::write_class(*this / "cat", 10, 0);
    test::write_class(*this / "dog", 10, 100);
  }

  test::TempFolder folder_;
  std::vector<std::string> log_;
};

}  // namespace weft::data
