// SPDX-License-Identifier: MIT
#include "examples/weft/predict/inputs.h"

#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "data/ink/colour.h"
#include "engine/error.h"
#include "examples/weft/input/array_input.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

bool is_picture_name(const fs::path& path) {
  return !path.filename().string().starts_with('.') &&
         (data::has_picture_ending(path) || data::has_ending_of_unread_picture(path));
}

bool comes_before(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

// What a folder and the folders in it hold.
struct Found {
  std::vector<std::string> paths;
  std::vector<std::string> outside;  // links that lead out of the folder that was named
  std::size_t folders = 0;           // that hold pictures
  std::string problem = "";          // of the first folder that cannot be listed
};

// The pictures of a folder in order, then those of its folders. Links to folders are not entered.
void walk(const fs::path& folder, const fs::path& root, int depth, Found& found) {
  constexpr int kDeepest = 32;
  std::vector<std::string> paths, folders;
  std::error_code code, unknown;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory(unknown)) {
      const bool is_entered = !name.starts_with('.') && !entry->is_symlink(unknown);
      if (is_entered && depth < kDeepest) folders.push_back(entry->path().string());
    } else if (is_picture_name(entry->path())) {
      paths.push_back(entry->path().string());
      if (entry->is_symlink(unknown) && data::leads_out(root, entry->path())) {
        found.outside.push_back(name);
      }
    }
  }
  if (code && found.problem.empty()) {
    found.problem = str(folder.string(), ": cannot be listed: ", code.message());
  }
  found.folders += paths.empty() ? 0 : 1;
  std::sort(paths.begin(), paths.end(), comes_before);
  std::sort(folders.begin(), folders.end(), comes_before);
  found.paths.insert(found.paths.end(), paths.begin(), paths.end());
  for (const std::string& inner : folders) walk(inner, root, depth + 1, found);
}

void add_folder(const std::string& folder, data::Links links, std::vector<PictureInput>& inputs) {
  std::error_code unknown;
  Found found;
  walk(folder, fs::canonical(folder, unknown), 0, found);
  std::sort(found.outside.begin(), found.outside.end());
  data::judge_links(folder, found.outside, links,
                    [](const std::string& line) { print_notice(line); });
  if (found.folders > 1) {
    print_notice(str(folder, ": ", found.paths.size(), " pictures in ", found.folders, " folders"));
  }
  for (std::string& path : found.paths) inputs.push_back({std::move(path), ""});
  if (!found.problem.empty()) {
    inputs.push_back({folder, found.problem});
  } else if (found.paths.empty()) {
    inputs.push_back({folder, folder + ": no pictures in this folder"});
  }
}

void add_path(const std::string& path, data::Links links, std::vector<PictureInput>& inputs) {
  std::error_code code;
  if (fs::is_directory(path, code)) return add_folder(path, links, inputs);
  inputs.push_back({path, ""});
}

void add_matches(const std::string& pattern, data::Links links, std::vector<PictureInput>& inputs) {
  glob_t found = {};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found,
                                                         globfree);  // a folder may be refused
  const int code = glob(pattern.c_str(), 0, nullptr, &found);
  for (std::size_t i = 0; code == 0 && i < found.gl_pathc; ++i) {
    add_path(found.gl_pathv[i], links, inputs);
  }
  if (code != 0) inputs.push_back({pattern, str(pattern, ": no file has a name like this")});
}

}  // namespace

std::vector<PictureInput> expand_inputs(const std::vector<std::string>& arguments,
                                        data::Links links) {
  if (std::count(arguments.begin(), arguments.end(), "-") > 1) {
    throw Error(ErrorKind::usage, "- stands for standard input, which is read once: give it once");
  }
  std::vector<PictureInput> inputs;
  for (const std::string& argument : arguments) {
    std::error_code code;
    const bool is_pattern = argument.find_first_of("*?[") != std::string::npos &&
                            !fs::exists(fs::symlink_status(argument, code));
    is_pattern ? add_matches(argument, links, inputs) : add_path(argument, links, inputs);
  }
  return inputs;
}

namespace {

template <class Image>
Image load_with(const PictureInput& input, int sample_bits, Image (*load)(const fs::path&, int),
                Image (*decode)(std::span<const std::uint8_t>, const std::string&, int)) {
  if (!input.problem.empty()) throw Error(ErrorKind::data, input.problem);
  if (input.path != "-") return load(input.path, sample_bits);
  std::vector<std::byte> bytes(data::kMaxImageFileBytes + 1);
  bytes.resize(read_standard_input(bytes));
  return decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                input_name("-"), sample_bits);
}

}  // namespace

data::GreyImage load_input(const PictureInput& input, int sample_bits) {
  return load_with(input, sample_bits, data::load_grey_image, data::decode_grey_image);
}

data::GreyImage load_ink_input(const PictureInput& input, int sample_bits) {
  return load_with(input, sample_bits, data::load_ink_image, data::decode_ink_image);
}

data::RgbImage load_colour_input(const PictureInput& input, int sample_bits) {
  return load_with(input, sample_bits, data::load_rgb_image, data::decode_rgb_image);
}

}  // namespace weft::cli
