// SPDX-License-Identifier: MIT
#include "examples/curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "examples/plot.h"

namespace weft::cli {
namespace {

constexpr double kWidth = 860, kHeight = 380;
constexpr double kPanelTop = 84, kPanelBottom = 330, kPanelWidth = 330;
constexpr double kPanelLeft[] = {64, 484};

struct EpochPoint {
  double x = 0, y = 0, error = 0;
};

struct Series {
  std::string name, style;  // style is a CSS class: train, validation or test
  std::vector<EpochPoint> points;
};

struct Axis {
  double low = 0, high = 1, step = 1;
};

Axis value_axis(const std::vector<Series>& series, double floor, double ceiling) {
  double low = ceiling, high = floor;
  for (const Series& s : series) {
    for (const EpochPoint& point : s.points) {
      low = std::min(low, point.y - point.error);
      high = std::max(high, point.y + point.error);
    }
  }
  low = std::max(floor, low);
  high = std::min(ceiling, high);
  if (!(high - low > 1e-6)) {
    low = std::max(floor, low - 0.5);
    high = std::min(ceiling, low + 1);
  }
  const double step = nice_step(high - low, 5);
  return {std::max(floor, std::floor(low / step) * step),
          std::min(ceiling, std::ceil(high / step - 1e-9) * step), step};
}

std::string panel(double left, std::string_view heading, const std::vector<Series>& series,
                  const Axis& axis, int first_epoch, int last_epoch, int decimals) {
  const double right = left + kPanelWidth;
  const auto x_of = [&](double epoch) {
    if (first_epoch == last_epoch) return (left + right) / 2;
    return left + 14 + (epoch - first_epoch) / (last_epoch - first_epoch) * (kPanelWidth - 28);
  };
  const auto y_of = [&](double value) {
    return kPanelBottom - (value - axis.low) / (axis.high - axis.low) * (kPanelBottom - kPanelTop);
  };
  std::string svg = fmt::format("<text class=\"heading\" x=\"{}\" y=\"{}\">{}</text>\n", left,
                                kPanelTop - 18, heading);
  const int ticks = static_cast<int>(std::lround((axis.high - axis.low) / axis.step));
  for (int i = 0; i <= ticks; ++i) {
    const double value = std::min(axis.high, axis.low + i * axis.step), y = y_of(value);
    svg += fmt::format(
        "<line class=\"{}\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.{}f}</text>\n",
        i == 0 ? "axis" : "grid", left, y, right, y, left - 8, y + 4, value, decimals);
  }
  const int stride = std::max(1, static_cast<int>(nice_step(last_epoch - first_epoch + 1, 10)));
  for (int epoch = first_epoch; epoch <= last_epoch; ++epoch) {
    if (epoch != first_epoch && epoch % stride != 0) continue;
    svg +=
        fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                    x_of(epoch), kPanelBottom + 18, epoch);
  }
  svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">epoch</text>\n",
                     (left + right) / 2, kPanelBottom + 38);
  for (const Series& s : series) {
    std::string path;
    for (const EpochPoint& point : s.points) {
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x_of(point.x), y_of(point.y));
    }
    svg += fmt::format("<polyline class=\"line {}\" points=\"{}\"/>\n", s.style, path);
    for (const EpochPoint& point : s.points) {
      const double x = x_of(point.x);
      if (point.error > 0) {
        const double upper = y_of(std::min(axis.high, point.y + point.error));
        const double lower = y_of(std::max(axis.low, point.y - point.error));
        svg += fmt::format(
            "<path class=\"whisker {}\" d=\"M{:.1f},{:.1f}V{:.1f}M{:.1f},{:.1f}h8M{:.1f},{:.1f}h8"
            "\"/>",
            s.style, x, upper, lower, x - 4, upper, x - 4, lower);
      }
      svg += fmt::format(
          "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"><title>{}, epoch {}: "
          "{:.{}f}</title></circle>\n",
          s.style, x, y_of(point.y), s.name, point.x, point.y, decimals + 2);
    }
  }
  return svg;
}

std::string legend(const std::vector<Series>& series) {
  std::string svg;
  double x = kWidth - 46 - 110 * static_cast<double>(series.size());
  for (const Series& s : series) {
    svg += fmt::format(
        "<line class=\"line {0}\" x1=\"{1}\" y1=\"30\" x2=\"{2}\" y2=\"30\"/>"
        "<circle class=\"dot {0}\" cx=\"{3}\" cy=\"30\" r=\"3.2\"/>"
        "<text class=\"label\" x=\"{4}\" y=\"34\">{5}</text>\n",
        s.style, x, x + 24, x + 12, x + 32, s.name);
    x += 110;
  }
  return svg;
}

constexpr std::string_view kCurveStyle = R"(<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.title { font-size: 16px; font-weight: 600; fill: #24292f; }
.heading { font-size: 13px; font-weight: 600; fill: #57606a; }
.label { font-size: 12px; fill: #57606a; }
.tick { font-size: 11px; fill: #6e7781; }
.grid { stroke: #8c959f; stroke-opacity: 0.28; }
.axis { stroke: #8c959f; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.whisker { fill: none; stroke-width: 1.2; stroke-opacity: 0.7; }
.train { stroke: #d9822b; }
.dot.train { fill: #d9822b; }
.validation { stroke: #3f9b5c; }
.dot.validation { fill: #3f9b5c; }
.test { stroke: #3b7dd8; }
.dot.test { fill: #3b7dd8; }
@media (prefers-color-scheme: dark) {
.title { fill: #e6edf3; }
.heading, .label { fill: #adb6c0; }
.tick { fill: #8f99a3; }
}
</style>
)";

}  // namespace

std::string curves_svg(const std::vector<models::EpochRecord>& history, std::string_view title) {
  Series series[2][3];  // loss, accuracy; train, validation, test
  const std::string names[] = {"training", "validation", "test"};
  const std::string styles[] = {"train", "validation", "test"};
  for (auto& panel_series : series) {
    for (std::size_t i = 0; i < 3; ++i) panel_series[i] = {names[i], styles[i], {}};
  }
  const auto add = [&](std::size_t which, int epoch, const models::Metrics& metrics, bool error) {
    if (!std::isfinite(metrics.loss)) return;
    const double whisker = error ? 100 * metrics.standard_error() : 0;
    series[0][which].points.push_back({static_cast<double>(epoch), metrics.loss, 0});
    series[1][which].points.push_back(
        {static_cast<double>(epoch), 100 * metrics.accuracy, whisker});
  };
  for (const models::EpochRecord& record : history) {
    add(0, record.epoch, record.train, false);
    if (record.validation) add(1, record.epoch, *record.validation, false);
    add(2, record.epoch, record.test, true);
  }
  std::vector<Series> loss, accuracy;
  for (std::size_t i = 0; i < 3; ++i) {
    if (series[0][i].points.empty()) continue;
    loss.push_back(series[0][i]);
    accuracy.push_back(series[1][i]);
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n{3}"
      "<text class=\"title\" x=\"{4}\" y=\"35\">{2}</text>\n",
      kWidth, kHeight, escaped_for_xml(title), kCurveStyle, kPanelLeft[0]);
  if (!loss.empty()) {
    const int first = history.front().epoch, last = history.back().epoch;
    const Axis loss_axis = value_axis(loss, 0, 1e30), accuracy_axis = value_axis(accuracy, 0, 100);
    const auto decimals = [](const Axis& axis) {
      return std::max(0, static_cast<int>(-std::floor(std::log10(axis.step) + 1e-9)));
    };
    svg += legend(loss);
    svg +=
        panel(kPanelLeft[0], "Loss per image", loss, loss_axis, first, last, decimals(loss_axis));
    svg += panel(kPanelLeft[1], "Accuracy, %", accuracy, accuracy_axis, first, last,
                 decimals(accuracy_axis));
  }
  return svg + "</svg>\n";
}

}  // namespace weft::cli
