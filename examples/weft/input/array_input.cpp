// SPDX-License-Identifier: MIT
#include "examples/weft/input/array_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "data/arrays/npy_header.h"
#include "data/arrays/number_text.h"
#include "data/files/file_io.h"
#include "data/picture/other_formats.h"
#include "engine/error.h"
#include "engine/names.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextPart = std::size_t{1} << 20;  // bytes of text parsed at a time

// A file or standard input, read once from its beginning.
class Source {
 public:
  explicit Source(const std::string& path) {
    if (path != "-") file_.emplace(path);
  }

  // The next bytes, at most `size` and fewer at the end only.
  std::vector<std::byte> next(std::size_t size) {
    std::vector<std::byte> bytes(size);
    if (file_) {
      bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size, file_->size() - at_)));
      file_->read(bytes, at_);
    } else {
      bytes.resize(read_standard_input(bytes));
    }
    at_ += bytes.size();
    return bytes;
  }

 private:
  std::optional<data::InputFile> file_;
  std::uint64_t at_ = 0;
};

std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_file(const std::string& path) {
  std::error_code code;
  if (fs::exists(path, code) || code) return;
  const fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> names;
  constexpr std::size_t kMostNames = 10'000;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, code), end;
       !code && entry != end && names.size() < kMostNames; entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  const std::string near = nearest_name(fs::path(path).filename().string(), names);
  throw Error(ErrorKind::data,
              str(path, ": no such file",
                  near.empty() ? "" : "; did you mean '" + (folder / near).string() + "'?"));
}

char delimiter_of(const std::string& text) {
  const std::pair<std::string_view, char> kNames[] = {{"comma", ','}, {"semicolon", ';'},
                                                      {"tab", '\t'},  {"\\t", '\t'},
                                                      {"blank", ' '}, {"space", ' '}};
  for (const auto& [name, delimiter] : kNames) {
    if (text == name || text == std::string(1, delimiter)) return delimiter;
  }
  if (text == "|" || text == ":") return text[0];
  throw Error(ErrorKind::usage,
              fmt::format("--delimiter: expected ',' ';' '|' ':' tab or blank, found '{}'", text));
}

data::TextOptions text_options(const TextFlags& flags) {
  return {flags.column, flags.delimiter.empty() ? '\0' : delimiter_of(flags.delimiter), flags.skip};
}

void refuse_text_flags(const TextFlags& flags, const std::string& name, const char* what) {
  const char* const flag = !flags.column.empty()      ? "--column"
                           : !flags.delimiter.empty() ? "--delimiter"
                           : flags.skip > 0           ? "--skip"
                                                      : nullptr;
  if (flag != nullptr) {
    throw Error(ErrorKind::usage, fmt::format("{} is for text, and {} is {}", flag, name, what));
  }
}

data::NpyArray read_text(Source& source, const std::string& name, std::vector<std::byte> part,
                         const TextFlags& flags) {
  if (as_text(part).starts_with("PK\3\4")) {
    throw Error(ErrorKind::data, str(name,
                                     ": a zip archive (.npz?), expected one array: save it "
                                     "with numpy.save()"));
  }
  data::NumberReader reader(name, text_options(flags));
  for (; !part.empty(); part = source.next(kTextPart)) reader.feed(as_text(part));
  data::NpyArray array = reader.finish();
  for (const std::string& note : reader.notes()) {
    print_notice(fmt::format("{}: {}", name, note));
  }
  return array;
}

void check_source(const std::string& path, std::string_view command) {
  if (path.empty() && isatty(STDIN_FILENO) == 1) {
    throw Error(
        ErrorKind::usage,
        str("weft ", command, " needs a file, or numbers from a pipe: seq 1 10 | weft ", command));
  }
  if (!path.empty() && path != "-") require_file(path);
}

// An array from a pipe. The header says how long it is: no more is waited for or kept.
data::NpyArray read_piped_npy(Source& source, std::vector<std::byte> bytes) {
  const auto read_to = [&](std::uint64_t wanted) {
    while (bytes.size() < wanted) {
      const std::vector<std::byte> part = source.next(kTextPart);
      if (part.empty()) return;
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  };
  const std::string name = input_name("-");
  constexpr std::size_t kPrefixBytes = 12;
  read_to(data::kMaxNpyHeaderBytes + kPrefixBytes);
  const data::NpyTextRange range = data::find_npy_header(bytes, bytes.size(), name);
  const std::string text(as_text(bytes).substr(range.begin, range.size));
  const std::uint64_t header_bytes = range.begin + range.size;
  const std::uint64_t data_bytes = data::parse_npy_header(text, name).data_bytes;
  read_to(header_bytes + data_bytes + 1);
  if (bytes.size() > header_bytes + data_bytes) {
    throw Error(ErrorKind::data, str(name, ": trailing bytes: the npy header asks for ", data_bytes,
                                     " bytes of elements, found more"));
  }
  return data::parse_npy(bytes, name);
}

}  // namespace

std::size_t read_standard_input(std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t count = ::read(STDIN_FILENO, out.data() + filled, out.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw Error(ErrorKind::data, str("cannot read standard input: ", std::strerror(errno)));
    }
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

std::string input_name(const std::string& path) {
  return path.empty() || path == "-" ? "standard input" : path;
}

void add_text_flags(CLI::App& app, TextFlags& flags) {
  app.add_option("--column", flags.column,
                 "of a table as text: a name in its header, a number from 1, or all")
      ->type_name("NAME|N");
  app.add_option(
         "--delimiter", flags.delimiter,
         "of fields: ',' ';' '|' ':' tab or blank; default: the text tells. With another one "
         "than ',', 1,5 is 1.5")
      ->type_name("C");
  add_whole(app, "--skip", flags.skip, 0, 1'000'000'000, "lines at the beginning of a text");
}

std::variant<data::NpyArray, data::RgbImage> read_array_or_picture(const std::string& path,
                                                                   std::string_view command,
                                                                   const TextFlags& flags) {
  static_cast<void>(text_options(flags));  // before anything is waited for
  check_source(path, command);
  const bool is_file = !path.empty() && path != "-";
  Source source(is_file ? path : "-");
  std::vector<std::byte> first = source.next(kTextPart);
  const std::span<const std::uint8_t> start(reinterpret_cast<const std::uint8_t*>(first.data()),
                                            first.size());
  if (data::is_npy(first)) {
    refuse_text_flags(flags, input_name(path), "a .npy array");
    if (is_file) return data::read_npy(path);
    return read_piped_npy(source, std::move(first));
  }
  if (data::is_picture(start)) {
    refuse_text_flags(flags, input_name(path), "a picture");
    if (is_file) return data::load_rgb_image(path);
    for (std::vector<std::byte> part;
         first.size() <= data::kMaxImageFileBytes && !(part = source.next(kTextPart)).empty();) {
      first.insert(first.end(), part.begin(), part.end());
    }
    return data::decode_rgb_image(
        {reinterpret_cast<const std::uint8_t*>(first.data()), first.size()}, input_name(path));
  }
  if (const std::string refusal = data::refusal_of_format(start); !refusal.empty()) {
    throw Error(ErrorKind::data, str(input_name(path), ": ", refusal));
  }
  return read_text(source, input_name(path), std::move(first), flags);
}

data::NpyArray read_array(const std::string& path, std::string_view command,
                          const TextFlags& flags) {
  std::variant<data::NpyArray, data::RgbImage> input = read_array_or_picture(path, command, flags);
  if (data::NpyArray* array = std::get_if<data::NpyArray>(&input)) return std::move(*array);
  throw Error(ErrorKind::data, str(input_name(path), ": a picture, expected numbers"));
}

std::string numpy_name(std::string_view dtype) {
  const char* const kind = dtype[0] == 'f' ? "float" : dtype[0] == 'u' ? "uint" : "int";
  return fmt::format("{}{}", kind, 8 * data::npy_element_bytes(dtype));
}

std::string shape_text(const data::NpyArray& array) {
  std::string text;
  for (const std::int64_t extent : array.shape) {
    text += (text.empty() ? "" : " x ") + format_count(extent);
  }
  return (text.empty() ? "1" : text) + " " + numpy_name(array.dtype);
}

std::string output_ending(std::string_view option, const std::string& path,
                          std::initializer_list<std::string_view> endings) {
  const std::string found = fs::path(path).extension().string();
  if (std::find(endings.begin(), endings.end(), found) == endings.end()) {
    const std::string near = nearest_name(found, endings);
    throw Error(ErrorKind::usage,
                str(option, ": expected a name ending in ", joined(endings), "; found '", path, "'",
                    near.empty() || found.size() < 3 ? "" : "; did you mean '" + near + "'?"));
  }
  require_folder_of(std::string(option), path);
  return found;
}

}  // namespace weft::cli
