// SPDX-License-Identifier: MIT
#include "data/tables/table_text.h"

#include <algorithm>
#include <span>
#include <utility>

#include "data/arrays/number_fields.h"
#include "engine/error.h"

namespace weft::data {
namespace {

std::string_view first_line(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank_line(std::string_view line) {
  return std::all_of(line.begin(), line.end(), is_blank);
}

}  // namespace

TableText::TableText(std::unique_ptr<InputFile> file)
    : bytes_(file->size()), file_(std::move(file)) {}

void TableText::fill() {
  piece_.erase(0, at_);
  at_ = 0;
  const std::size_t kept = piece_.size();
  if (kept > kLongestLine) {
    throw Error(ErrorKind::data,
                str(file_->path().string(), ": a line of more than ", kLongestLine >> 20, " MiB"));
  }
  // Twice as much for a long line, so that few of its bytes are copied.
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes_ - read_, std::max(kPiece, kept)));
  piece_.resize(kept + count);
  file_->read(std::as_writable_bytes(std::span(piece_).subspan(kept)), read_);
  read_ += count;
  whole_ = piece_;
}

std::optional<std::string_view> TableText::next() {
  std::size_t end = left().find('\n');
  while (end == std::string_view::npos && file_ && read_ < bytes_) {
    fill();
    end = left().find('\n');
  }
  const std::string_view rest = left();
  if (rest.empty()) return std::nullopt;
  at_ += std::min(end == std::string_view::npos ? rest.size() : end + 1, rest.size());
  return first_line(rest);
}

std::string TableText::line_behind(std::uint64_t at) const {
  if (!file_) {
    const std::size_t end = whole_.find('\n', static_cast<std::size_t>(at));
    return end == std::string_view::npos ? "" : std::string(first_line(whole_.substr(end + 1)));
  }
  std::string part;
  constexpr std::size_t kFirst = std::size_t{1} << 14;
  for (std::size_t wanted = kFirst; wanted <= kLongestLine; wanted *= 4) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_ - at, wanted));
    part.resize(count);
    file_->read(std::as_writable_bytes(std::span(part)), at);
    const std::size_t begin = part.find('\n') + 1;  // 0 where there is none
    const bool ends = begin > 0 && part.find('\n', begin) != std::string::npos;
    if (ends || at + count == bytes_) {
      return begin == 0 ? "" : std::string(first_line(std::string_view(part).substr(begin)));
    }
  }
  return "";
}

std::vector<std::string> TableText::sample() const {
  constexpr std::uint64_t kRows = 500;
  std::vector<std::string> rows;
  const std::uint64_t given = file_ ? read_ - left().size() : at_;
  const std::uint64_t rest = bytes_ - given;
  if (rest < kPiece / 4 && (!file_ || read_ == bytes_)) {  // all of a short table
    TableText text(left());
    while (const std::optional<std::string_view> line = text.next()) {
      if (!is_blank_line(*line)) rows.emplace_back(*line);
      if (rows.size() == 4 * kRows) break;
    }
    return rows;
  }
  if (!left().empty()) rows.emplace_back(first_line(left()));
  for (std::uint64_t i = 1; i < kRows; ++i) {
    std::string line = line_behind(given + rest / kRows * i);
    if (!is_blank_line(line) && (rows.empty() || rows.back() != line)) {
      rows.push_back(std::move(line));
    }
  }
  return rows;
}

}  // namespace weft::data
