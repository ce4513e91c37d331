// SPDX-License-Identifier: MIT
#include "examples/weft/histogram/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "data/arrays/number_text.h"
#include "engine/extent.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMostRows = 32, kPictureRows = 16;

// A bar of whole and eighth blocks; what is not zero shows.
std::string bar(double share, int cells, const Terminal& terminal) {
  const int eighths = static_cast<int>(std::ceil(std::clamp(share, 0.0, 1.0) * cells * 8 - 1e-9));
  std::string text;
  if (!terminal.unicode) return std::string(static_cast<std::size_t>(divide_up(eighths, 8)), '#');
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  constexpr std::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  return text + std::string(kParts[eighths % 8]);
}

std::string range_text(const Histogram& histogram, std::size_t first, std::size_t last,
                       bool unicode) {
  const double lower = histogram.edges[first], upper = histogram.edges[last];
  if (histogram.is_picture) {
    const std::string begin = fmt::format("{}", lower), end = fmt::format("{}", upper - 1);
    return begin == end ? begin : begin + (unicode ? "–" : "-") + end;
  }
  const bool closed = last == histogram.bins();
  // Enough digits to tell neighbouring edges apart.
  const double size = std::max(std::abs(histogram.edges.front()), std::abs(histogram.edges.back()));
  const double width = histogram.edges.back() - histogram.edges.front();
  const int digits =
      std::clamp(static_cast<int>(std::ceil(std::log10(std::max(1.0, size / width)))) + 4, 4, 17);
  return fmt::format("{:.{}g} to {:.{}g}{}", lower, digits, upper, digits, closed ? " incl." : "");
}

std::string_view style_of(const std::string& channel) {
  if (channel == "red") return "31";
  if (channel == "green") return "32";
  if (channel == "blue") return "34";
  return "36";
}

std::string share_text(std::int64_t count, std::int64_t total) {
  if (total == 0) return "-";
  return fmt::format("{:.2f} %", 100 * static_cast<double>(count) / static_cast<double>(total));
}

}  // namespace

std::string histogram_table(const Histogram& histogram, const Terminal& terminal) {
  const std::size_t most = histogram.is_picture ? kPictureRows : kMostRows;
  const std::size_t together = divide_up(histogram.bins(), most);
  const std::size_t rows = divide_up(histogram.bins(), together);
  std::vector<std::vector<std::int64_t>> counts;  // of each channel, of each row
  std::vector<std::int64_t> totals;
  std::int64_t fullest = 1;
  for (const Channel& channel : histogram.channels) {
    counts.emplace_back(rows);
    for (std::size_t b = 0; b < channel.counts.size(); ++b) {
      counts.back()[b / together] += channel.counts[b];
    }
    totals.push_back(std::reduce(channel.counts.begin(), channel.counts.end()));
    fullest = std::max(fullest, *std::max_element(counts.back().begin(), counts.back().end()));
  }
  std::vector<Cells> cells(rows);
  std::vector<Column> columns = {{histogram.is_picture ? "value" : "range", Align::left}};
  for (std::size_t row = 0; row < rows; ++row) {
    cells[row].emplace_back(range_text(histogram, row * together,
                                       std::min(histogram.bins(), (row + 1) * together),
                                       terminal.unicode));
  }
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const std::string& name = histogram.channels[c].name;
    columns.push_back({histogram.is_picture ? name : "count"});
    if (!histogram.is_picture) columns.push_back({"share"});
    columns.push_back({"", Align::left});
  }
  int used = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    int width = display_width(cells[row][0].text) + 2;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      width += 2 + (histogram.is_picture
                        ? std::max<int>(8, static_cast<int>(histogram.channels[c].name.size()))
                        : 9 + std::max(5, display_width(format_count(counts[c][row]))) + 2);
    }
    used = std::max(used, width);
  }
  const int room = (terminal.width - used) / static_cast<int>(counts.size());
  const int length = std::clamp(room - (histogram.is_picture ? 2 : 0), 3, 40);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const std::int64_t count = counts[c][row];
      if (!histogram.is_picture) cells[row].emplace_back(format_count(count));
      cells[row].emplace_back(share_text(count, totals[c]));
      cells[row].emplace_back(
          bar(static_cast<double>(count) / static_cast<double>(fullest), length, terminal),
          style_of(histogram.channels[c].name));
    }
  }
  std::string text = format_table(columns, cells, terminal);
  if (together > 1) {
    text += fmt::format("Each row adds up {} bins; --out FILE.csv writes all {}.\n", together,
                        format_count(static_cast<std::int64_t>(histogram.bins())));
  }
  return text;
}

std::string histogram_csv(const Histogram& histogram) {
  std::string text = "lower,upper";
  for (const Channel& channel : histogram.channels) text += "," + channel.name;
  text += "\n";
  for (std::size_t b = 0; b < histogram.bins(); ++b) {
    text += data::number_text(histogram.edges[b]) + "," + data::number_text(histogram.edges[b + 1]);
    for (const Channel& channel : histogram.channels) {
      text += "," + std::to_string(channel.counts[b]);
    }
    text += "\n";
  }
  return text;
}

data::NpyArray histogram_npy(const Histogram& histogram) {
  data::NpyArray array{"i8", {static_cast<std::int64_t>(histogram.bins())}, {}};
  if (histogram.is_picture) {
    array.shape.insert(array.shape.begin(), std::ssize(histogram.channels));
  }
  for (const Channel& channel : histogram.channels) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(channel.counts));
    array.bytes.insert(array.bytes.end(), bytes.begin(), bytes.end());
  }
  return array;
}

}  // namespace weft::cli
