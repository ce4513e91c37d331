// SPDX-License-Identifier: MIT
// docs/own-data.md has the table of layouts that the program has.
#include "data/layouts.h"

#include <fmt/format.h>

#include "tests/data/files.h"

namespace weft::test {
namespace {

TEST(ReadLayouts, AreTheTableOfThePage) {
  std::string table = "| data | files | from |\n|---|---|---|\n";
  for (const data::ReadLayout& layout : data::read_layouts()) {
    table += fmt::format("| {} | {} | {} |\n", layout.kind, layout.files, layout.from);
  }
  std::ifstream file(WEFT_SOURCE_DIR "/docs/own-data.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(page.find("\n" + table + "\n"), std::string::npos)
      << "docs/own-data.md lacks this table:\n"
      << table;
}

}  // namespace
}  // namespace weft::test
