// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "engine/text.h"
#include "examples/weft/output/plot.h"

namespace weft::cli {
namespace {

constexpr std::string_view kStyle = R"(<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.ground { fill: #ffffff; }
.title { fill: #24292f; font-weight: 600; }
.label { fill: #57606a; }
.axis { stroke: #8c959f; }
.grid { stroke: #8c959f; stroke-opacity: 0.28; }
.line { fill: none; stroke-linejoin: round; }
.area.bar { fill: #3b7dd8; } .line.bar { stroke: #3b7dd8; }
.area.red { fill: #e5484d; } .line.red { stroke: #e5484d; }
.area.green { fill: #30a46c; } .line.green { stroke: #30a46c; }
.area.blue { fill: #3b7dd8; } .line.blue { stroke: #3b7dd8; }
.area.neutral { fill: #6e7781; } .line.neutral { stroke: #6e7781; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; }
.title { fill: #e6edf3; }
.label { fill: #adb6c0; }
.area.neutral { fill: #c3cad1; } .line.neutral { stroke: #c3cad1; }
}
</style>
)";

std::string_view class_of(Ink ink) {
  constexpr std::string_view kNames[] = {"title", "label", "axis", "grid",   "bar",
                                         "red",   "green", "blue", "neutral"};
  return kNames[static_cast<std::size_t>(ink)];
}

std::string path_of(const std::vector<Point>& points) {
  std::string path;
  for (const Point& point : points) {
    path += fmt::format("{}{:.2f},{:.2f}", path.empty() ? "" : " ", point.x, point.y);
  }
  return path;
}

std::string svg_of(const Area& area) {
  const std::string start =
      fmt::format("<polygon class=\"area {}\" fill-opacity=\"{:.2f}\" points=\"{}\"",
                  class_of(area.ink), area.opacity, path_of(area.outline));
  if (area.hint.empty()) return start + "/>\n";
  return start + "><title>" + html_text(area.hint) + "</title></polygon>\n";
}

std::string svg_of(const Line& line) {
  return fmt::format("<polyline class=\"line {}\" stroke-width=\"{}\" points=\"{}\"/>\n",
                     class_of(line.ink), line.width, path_of(line.points));
}

std::string svg_of(const Text& text) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  return fmt::format(
      "<text class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{}\" text-anchor=\"{}\">{}"
      "</text>\n",
      class_of(text.ink), text.at.x, text.at.y, text.size,
      kAnchors[static_cast<std::size_t>(text.anchor)], html_text(text.text));
}

}  // namespace

double nice_step(double range, int parts) {
  const double power = std::pow(10.0, std::floor(std::log10(range / parts)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= parts + 1e-9) return factor * power;
  }
  return 10 * power;
}

std::string plot_svg(const Plot& plot) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n{3}"
      "<rect class=\"ground\" width=\"{0}\" height=\"{1}\" rx=\"8\"/>\n",
      plot.width, plot.height, html_text(plot.title), kStyle);
  for (const auto& shape : plot.shapes) {
    svg += std::visit([](const auto& one) { return svg_of(one); }, shape);
  }
  return svg + "</svg>\n";
}

}  // namespace weft::cli
