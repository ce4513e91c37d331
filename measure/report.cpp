// SPDX-License-Identifier: MIT
// The HTML report: one page with its styles and pictures inside it, and no scripts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "measure/run.h"

namespace weft::measure {
namespace {

constexpr const char* kStyle = R"(
:root{--ink:#1b1f24;--dim:#667078;--grid:#d9dee3;--own:#2563a8;--peer:#c2701c;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--dim:#98a2ab;--grid:#39424a;--own:#6aa9ea;
--peer:#eba35a;--bad:#ff8a80}body{background:#14181c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:960px;margin:2em auto;
padding:0 1em}
h1,h2,h3{line-height:1.2}.dim{color:var(--dim)}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.5em 0 2em}
th,td{padding:.2em .8em .2em 0;text-align:right;border-bottom:1px solid var(--grid);
white-space:nowrap}
th:first-child,td:first-child{text-align:left}.bad{color:var(--bad)}
svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
.grid{stroke:var(--grid)}.roof{stroke:var(--ink);stroke-width:1.5;fill:none}
.own{fill:var(--own)}.peer{fill:var(--peer)}svg .note{fill:var(--dim)}
)";

double rate(const Row& row) {
  return row.by_flops ? row.flops_per_second() : row.bytes_per_second();
}

const char* label_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::tf32     ? "tf32, computed"
         : arithmetic == Arithmetic::tf32x3 ? "a third of tf32, computed"
         : arithmetic == Arithmetic::fp16x3 ? "a third of fp16, computed"
                                            : "bf16, computed";
}

// What the bound of this work in fp32 comes from.
const char* bound_name(const Row& row, const Machine& machine) {
  if (row.bound(machine, Arithmetic::fp32) <= machine.bound(0, row.flops, Arithmetic::fp32)) {
    return "fp32 bound";
  }
  return row.traffic == Traffic::shared_memory ? "shared-memory bound" : "memory bound";
}

// One bar for each variant and yardstick of one problem; the line is the roofline bound.
std::string ladder_svg(const std::vector<const Row*>& rows, const Machine& machine) {
  constexpr double kLeft = 210, kWidth = 520, kRow = 26, kTop = 26;
  double most = 0;
  for (const Row* row : rows) {
    const double bound = row->bound(machine, Arithmetic::fp32);
    most = std::max({most, rate(*row), (row->by_flops ? row->flops : row->bytes) / bound});
  }
  const Row& first = *rows.front();
  const double fp32 =
      (first.by_flops ? first.flops : first.bytes) / first.bound(machine, Arithmetic::fp32);
  const double height = kTop + kRow * static_cast<double>(rows.size()) + 8;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 860 {:.0f}\" width=\"860\" role=\"img\" aria-label=\"ladder of {}\">\n",
      height, html_text(first.problem));
  const double roof = kLeft + kWidth * fp32 / most;
  svg += fmt::format(
      "<line class=\"roof\" stroke-dasharray=\"4 3\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" "
      "y2=\"{2:.0f}\"/><text class=\"note\" text-anchor=\"middle\" x=\"{0:.1f}\" y=\"14\">{3}"
      "</text>\n",
      roof, kTop - 6, height - 6, bound_name(first, machine));
  double y = kTop;
  for (const Row* row : rows) {
    const double width = kWidth * rate(*row) / most;
    svg += fmt::format(
        "<text text-anchor=\"end\" x=\"{}\" y=\"{:.0f}\">{}</text><rect class=\"{}\" x=\"{}\" "
        "y=\"{:.0f}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\"/><text x=\"{:.1f}\" "
        "y=\"{:.0f}\">{}</text>\n",
        kLeft - 8, y + 15, html_text(row->name), row->peer ? "peer" : "own", kLeft, y + 2,
        std::max(1.0, width), kRow - 8, kLeft + width + 6, y + 15, rate_text(*row));
    y += kRow;
  }
  return svg + "</svg>\n";
}

// FLOP/s over FLOP/byte, both logarithmic, with the measured ceilings of the device.
// The axes of a roofline, both logarithmic: FLOP per byte, and FLOP/s. Positions are in pixels.
struct RooflineAxes {
  static constexpr double kLeft = 70, kRight = 760, kTop = 20, kBottom = 300;
  double x0, x1, y0, y1;  // powers of ten

  RooflineAxes(const std::vector<const Row*>& rows, const Machine& machine) {
    double low_x = machine.fp32 / machine.bandwidth, high_x = low_x;
    double low_y = machine.fp32, high_y = low_y;
    for (const Row* row : rows) {
      low_x = std::min(low_x, row->flops / row->bytes);
      high_x = std::max(high_x, row->flops / row->bytes);
      low_y = std::min(low_y, row->flops_per_second());
      // A cache can be faster than the memory that a roof is of.
      high_y = std::max({high_y, machine.peak(row->arithmetic), row->flops_per_second()});
    }
    x0 = std::floor(std::log10(low_x) - 0.1), x1 = std::ceil(std::log10(high_x) + 0.1);
    y0 = std::floor(std::log10(low_y) - 0.1), y1 = std::ceil(std::log10(high_y) + 0.1);
  }
  double x_of(double x) const {
    return kLeft + (kRight - kLeft) * (std::log10(x) - x0) / (x1 - x0);
  }
  double y_of(double y) const {
    return kBottom - (kBottom - kTop) * (std::log10(y) - y0) / (y1 - y0);
  }
  std::string svg() const;
};

std::string RooflineAxes::svg() const {
  std::string svg;
  for (double e = x0; e <= x1; ++e) {
    const double x = x_of(std::pow(10, e));
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text "
        "class=\"note\" text-anchor=\"middle\" x=\"{0:.1f}\" y=\"{3}\">{4:g}</text>\n",
        x, kTop, kBottom, kBottom + 18, std::pow(10, e));
  }
  for (double e = y0; e <= y1; ++e) {
    const double y = y_of(std::pow(10, e));
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text "
        "class=\"note\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{:g}</text>\n",
        kLeft, kRight, y, y, kLeft - 6, y + 4, std::pow(10, e - 9));
  }
  svg += fmt::format(
      "<text class=\"note\" text-anchor=\"middle\" x=\"{}\" y=\"336\">FLOP per byte of least "
      "traffic</text><text class=\"note\" x=\"4\" y=\"12\">GFLOP/s</text>\n",
      (kLeft + kRight) / 2);
  return svg;
}

std::string roofline_svg(const std::vector<const Row*>& rows, const Machine& machine) {
  const RooflineAxes axes(rows, machine);
  std::string svg =
      "<svg viewBox=\"0 0 860 340\" width=\"860\" role=\"img\" aria-label=\"roofline\">\n";
  svg += axes.svg();
  std::vector<std::pair<double, const char*>> roofs = {{machine.fp32, "fp32, measured"}};
  for (const Row* row : rows) {
    if (row->arithmetic == Arithmetic::fp32 || machine.peak(row->arithmetic) <= machine.fp32) {
      continue;
    }
    const std::pair<double, const char*> roof = {machine.peak(row->arithmetic),
                                                 label_of(row->arithmetic)};
    if (std::find(roofs.begin(), roofs.end(), roof) == roofs.end()) roofs.push_back(roof);
  }
  for (const auto& [peak, label] : roofs) {
    const double knee = peak / machine.bandwidth;
    const double start = std::max(std::pow(10, axes.x0), std::pow(10, axes.y0) / machine.bandwidth);
    svg += fmt::format(
        "<path class=\"roof\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{} {:.1f}\"/><text "
        "text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
        axes.x_of(start), axes.y_of(start * machine.bandwidth), axes.x_of(std::max(knee, start)),
        axes.y_of(peak), axes.kRight, axes.y_of(peak), axes.kRight - 4, axes.y_of(peak) - 5, label);
  }
  for (const Row* row : rows) {
    svg += fmt::format(
        "<circle class=\"{}\" fill-opacity=\".8\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
        "r=\"5\"><title>{}: {}, {}</title></circle>\n",
        row->peer ? "peer" : "own", axes.x_of(row->flops / row->bytes),
        axes.y_of(row->flops_per_second()), html_text(row->name), html_text(row->problem),
        rate_text(*row));
  }
  return svg + "</svg>\n";
}

std::string table_html(const std::vector<const Row*>& rows, const Machine& machine) {
  double yardstick = 0;
  for (const Row* row : rows) {
    if (row->peer && row->ok()) yardstick = std::max(yardstick, rate(*row));
  }
  std::string html =
      "<div class=\"scroll\"><table><tr><th>variant</th><th>median</th><th>from</th><th>to</th>"
      "<th>samples</th><th>rate</th><th>of bound</th>";
  if (yardstick > 0) html += "<th>of best yardstick</th>";
  html += "<th>check</th></tr>\n";
  for (const Row* row : rows) {
    if (!row->error.empty()) {
      html += fmt::format("<tr><td>{}</td><td colspan=\"{}\" class=\"bad\">{}</td></tr>\n",
                          html_text(row->name), yardstick > 0 ? 8 : 7, html_text(row->error));
      continue;
    }
    const Interval interval = row->turns.empty()
                                  ? Interval{row->timing.p10, row->timing.median, row->timing.p90}
                                  : interval_of(row->turns);
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} x {}</td><td>{}</td>"
        "<td>{}</td>{}<td{}>{}</td></tr>\n",
        html_text(row->name), time_text(row->timing.median), time_text(interval.low),
        time_text(interval.high), row->timing.count, row->timing.calls, rate_text(*row),
        share_text(*row, machine),
        yardstick > 0 ? fmt::format("<td>{:.2f}</td>", rate(*row) / yardstick) : "",
        row->ok() ? "" : " class=\"bad\"", row->ok() ? "ok" : html_text(fault_text(*row)));
  }
  return html + "</table></div>\n";
}

std::string series_html(const Series& series) {
  std::string html = fmt::format("<h3>{}</h3>\n<div class=\"scroll\"><table><tr><th></th>",
                                 html_text(series.title));
  for (const std::string& column : series.columns) {
    html += fmt::format("<th>{}</th>", html_text(column));
  }
  html += "</tr>\n";
  for (std::size_t i = 0; i < series.names.size(); ++i) {
    html += fmt::format("<tr><td>{}</td>", html_text(series.names[i]));
    for (const Row* row : series.cells[i]) {
      html += row == nullptr ? "<td></td>"
                             : fmt::format("<td{}>{}</td>", row->ok() ? "" : " class=\"bad\"",
                                           cell_text(*row));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

// The rows that belong in a chart: timed ones with a bound to be drawn beside.
std::vector<const Row*> timed(const std::vector<const Row*>& rows, const Machine& machine) {
  std::vector<const Row*> out;
  for (const Row* row : rows) {
    if (row->error.empty() && row->bytes > 0 && row->bound(machine) > 0) out.push_back(row);
  }
  return out;
}

}  // namespace

std::string report_html(const std::vector<Row>& rows, const Machine& machine) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{2}<meta "
      "name=\"viewport\" content=\"width=device-width\"><title>Weft kernels on "
      "{0}</title><style>{1}</style></head>"
      "<body>\n<h1>Weft kernels on {0}</h1>\n",
      html_text(machine.name), kStyle, policy_element());
  html += fmt::format(
      "<p>Measured in this run: {}. {}</p>\n", peaks_text(machine),
      html_text(machine.device.is_cuda()
                    ? fmt::format("{} SMs at {} MHz, driver {}, CUDA {}.", machine.multiprocessors,
                                  machine.clock_mhz, machine.driver, machine.cuda)
                    : fmt::format("{} threads, kernels for {}.", machine.threads, machine.isa)));
  if (!machine.commit.empty())
    html += fmt::format("<p>Commit {}.</p>\n", html_text(machine.commit));
  html +=
      "<p class=\"dim\">A sample is many calls queued at once, through buffers that together pass "
      "three times the cache. What is shown of a problem took turns; from and to hold the median "
      "with "
      "95 %. Each row is compared with the double oracle. "
      "Blue is Weft, orange a vendor's library. The bound is the roofline: least traffic at the "
      "measured bandwidth or arithmetic at its peak, whichever takes longer.</p>\n";
  std::vector<std::string> families;
  for (const Row& row : rows) {
    if (std::find(families.begin(), families.end(), row.family) == families.end()) {
      families.push_back(row.family);
    }
  }
  for (const std::string& family : families) {
    html += fmt::format("<h2 id=\"{0}\">{0}</h2>\n", html_text(family));
    std::vector<const Row*> all;
    std::vector<std::string> problems;
    for (const Row& row : rows) {
      if (row.family != family) continue;
      all.push_back(&row);
      if (!row.table.empty() && row.error.empty()) continue;  // shown in a table of its own
      if (std::find(problems.begin(), problems.end(), row.problem) == problems.end()) {
        problems.push_back(row.problem);
      }
    }
    for (const std::string& problem : problems) {
      std::vector<const Row*> group;
      for (const Row* row : all) {
        if (row->problem == problem) group.push_back(row);
      }
      html += fmt::format("<h3>{}</h3>\n", html_text(problem));
      if (!timed(group, machine).empty()) html += ladder_svg(timed(group, machine), machine);
      html += table_html(group, machine);
    }
    for (const Series& series : series_of(rows, family)) html += series_html(series);
    std::vector<const Row*> with_flops = timed(all, machine);
    std::erase_if(with_flops, [](const Row* row) { return !(row->flops > 0); });
    if (!with_flops.empty() && machine.fp32 > 0) {
      html += "<h3>Roofline</h3>\n" + roofline_svg(with_flops, machine);
    }
  }
  return html + "</body></html>\n";
}

}  // namespace weft::measure
