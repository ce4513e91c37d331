// SPDX-License-Identifier: MIT
// The sources of a student's program and the local headers that they include, translated for the
// host compiler.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::lab {

struct TranslatedFile {
  std::filesystem::path original;  // as messages name it
  std::string text;
};

struct Translation {
  std::vector<TranslatedFile> files;
  std::vector<std::string> missing;  // headers in quotes that are in none of the folders
  bool has_main = false, has_openmp = false;
};

// The program's sources come first. In their texts and the headers', an included file with number i
// is named "file-i" (the caller writes it there). `folders` are searched for quoted includes behind
// the including file's own, and for those in angle brackets. Throws usage with file and line for
// what the lab does not do, and data for a file that cannot be read.
Translation translate(const std::vector<std::filesystem::path>& program,
                      const std::vector<std::string>& folders);

// Does the source, or one of the program's own headers that it includes, include a header of CUDA's
// runtime? False for a file that cannot be read.
bool includes_cuda(const std::filesystem::path& source, const std::vector<std::string>& folders);

}  // namespace weft::lab
