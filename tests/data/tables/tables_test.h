// SPDX-License-Identifier: MIT
// A folder of small tables and arrays for tests.
#pragma once

#include "data/own_data.h"
#include "tests/data/files.h"

namespace weft::test {

class TableFiles : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const std::string& text) {
    write_bytes(path(name), Bytes(text.begin(), text.end()));
  }
  // Images of 2 x 2 with the labels 0, 1, 2 in turn. Pixels tell image and place; the last is 0.
  static std::string row(int image, const std::string& label, char delimiter = ',') {
    std::string text = label;
    for (int pixel = 0; pixel < 4; ++pixel) {
      text += delimiter + std::to_string(pixel == 3 ? 0 : 10 * image + pixel);
    }
    return text + "\n";
  }
  static std::string rows(int count, int first = 0) {
    std::string text;
    for (int i = first; i < first + count; ++i) text += row(i, std::to_string(i % 3));
    return text;
  }
  data::Dataset load(const std::string& name = "", const data::FolderOptions& options = {}) {
    data::FolderOptions logged = options;
    lines_.clear();
    logged.log = [&](const std::string& line) { lines_ += line + "\n"; };
    return data::load_own_data(name.empty() ? folder_.path() : path(name), logged);
  }
  void expect_refused(const std::string& name, const std::string& part,
                      const data::FolderOptions& options = {}) {
    expect_error(ErrorKind::data, {part}, [&] { load(name, options); });
  }
  bool said(const std::string& part) const { return lines_.find(part) != std::string::npos; }

  TempFolder folder_;
  std::string lines_;
};

}  // namespace weft::test
