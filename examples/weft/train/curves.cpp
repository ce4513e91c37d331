// SPDX-License-Identifier: MIT
#include "examples/weft/train/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "examples/weft/output/plot.h"

namespace weft::cli {
namespace {

constexpr double kPanelTop = 84, kPanelBottom = 330, kPanelWidth = 330;

struct Panel {
  double left = 0;
  const char* heading;
  const char* unit;    // of the x axis
  bool dotted = true;  // a dot at each point
};

struct EpochPoint {
  double x = 0, y = 0, error = 0;
};

struct Series {
  const char* name;
  Ink ink;
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

Area dot(Point at, Ink ink, const std::string& hint) {
  constexpr double kRadius = 3.2;
  Area area{{}, ink, 1, hint};
  for (int i = 0; i < 16; ++i) {
    const double angle = i * std::numbers::pi / 8;
    area.outline.push_back({at.x + kRadius * std::cos(angle), at.y + kRadius * std::sin(angle)});
  }
  return area;
}

void add_panel(Plot& plot, const Panel& panel, const std::vector<Series>& series,
               const Axis& axis) {
  const double left = panel.left, right = left + kPanelWidth;
  const double first = series.front().points.front().x, last = series.front().points.back().x;
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(axis.step) + 1e-9)));
  const auto x_of = [&](double epoch) {
    if (first == last) return (left + right) / 2;
    return left + 14 + (epoch - first) / (last - first) * (kPanelWidth - 28);
  };
  const auto y_of = [&](double value) {
    return kPanelBottom - (value - axis.low) / (axis.high - axis.low) * (kPanelBottom - kPanelTop);
  };
  plot.shapes.push_back(Text{{left, kPanelTop - 18}, panel.heading, Ink::title, 13});
  const int ticks = static_cast<int>(std::lround((axis.high - axis.low) / axis.step));
  for (int i = 0; i <= ticks; ++i) {
    const double value = std::min(axis.high, axis.low + i * axis.step), y = y_of(value);
    plot.shapes.push_back(Line{{{left, y}, {right, y}}, i == 0 ? Ink::axis : Ink::grid});
    plot.shapes.push_back(Text{
        {left - 8, y + 4}, fmt::format("{:.{}f}", value, decimals), Ink::label, 11, Anchor::end});
  }
  const double stride = std::max(1.0, nice_step(last - first + 1, 10));
  for (double epoch = first; epoch <= last; ++epoch) {
    if ((epoch != first || !panel.dotted) && std::fmod(epoch, stride) != 0) continue;
    plot.shapes.push_back(Text{{x_of(epoch), kPanelBottom + 18},
                               fmt::format("{}", epoch),
                               Ink::label,
                               11,
                               Anchor::middle});
  }
  plot.shapes.push_back(
      Text{{(left + right) / 2, kPanelBottom + 38}, panel.unit, Ink::label, 11, Anchor::middle});
  for (const Series& s : series) {
    Line curve{{}, s.ink, 2};
    for (const EpochPoint& point : s.points) curve.points.push_back({x_of(point.x), y_of(point.y)});
    plot.shapes.push_back(curve);
    if (!panel.dotted) continue;
    for (const EpochPoint& point : s.points) {
      const double x = x_of(point.x);
      const double upper = y_of(std::min(axis.high, point.y + point.error));
      const double lower = y_of(std::max(axis.low, point.y - point.error));
      for (const Line& whisker : {Line{{{x, upper}, {x, lower}}, s.ink, 1.2},
                                  Line{{{x - 4, upper}, {x + 4, upper}}, s.ink, 1.2},
                                  Line{{{x - 4, lower}, {x + 4, lower}}, s.ink, 1.2}}) {
        if (point.error > 0) plot.shapes.push_back(whisker);
      }
      plot.shapes.push_back(
          dot({x, y_of(point.y)}, s.ink,
              fmt::format("{}, epoch {}: {:.{}f}", s.name, point.x, point.y, decimals + 2)));
    }
  }
}

struct Curves {
  std::vector<Series> loss, accuracy;
};

Curves curves_of(const std::vector<models::EpochRecord>& history) {
  Curves curves;
  curves.loss = {
      {"training", Ink::red, {}}, {"validation", Ink::green, {}}, {"test", Ink::blue, {}}};
  curves.accuracy = curves.loss;
  const auto add = [&](std::size_t which, int epoch, const models::Metrics& metrics, bool error) {
    if (!std::isfinite(metrics.loss)) return;
    const double whisker = error ? 100 * metrics.standard_error() : 0, x = epoch;
    curves.loss[which].points.push_back({x, metrics.loss, 0});
    curves.accuracy[which].points.push_back({x, 100 * metrics.accuracy, whisker});
  };
  for (const models::EpochRecord& record : history) {
    add(0, record.epoch, record.train, false);
    if (record.validation) add(1, record.epoch, *record.validation, false);
    add(2, record.epoch, record.test, true);
  }
  const auto is_empty = [](const Series& s) { return s.points.empty(); };
  std::erase_if(curves.loss, is_empty);
  std::erase_if(curves.accuracy, is_empty);
  return curves;
}

void add_legend(Plot& plot, const std::vector<Series>& series, double y) {
  double x = plot.width - 46 - 110 * static_cast<double>(series.size());
  for (const Series& s : series) {
    plot.shapes.push_back(Line{{{x, y}, {x + 24, y}}, s.ink, 2});
    plot.shapes.push_back(dot({x + 12, y}, s.ink, s.name));
    plot.shapes.push_back(Text{{x + 32, y + 4}, s.name, Ink::label, 12});
    x += 110;
  }
}

constexpr double kLoss = 64, kAccuracy = 484;  // left edges
constexpr const char *kLossHeading = "Loss per image", *kAccuracyHeading = "Accuracy, %";

std::string panel_svg(Panel panel, const std::vector<Series>& series, double floor,
                      double ceiling) {
  if (series.empty() || series.front().points.empty()) return "";
  Plot plot{kPanelWidth + 80, 380, panel.heading, {}};
  panel.left = 54;
  if (panel.dotted) add_legend(plot, series, 30);
  add_panel(plot, panel, series, value_axis(series, floor, ceiling));
  return plot_svg(plot);
}

}  // namespace

std::string curves_svg(const std::vector<models::EpochRecord>& history, std::string_view title) {
  const auto [loss, accuracy] = curves_of(history);
  Plot plot{860, 380, std::string(title), {Text{{64, 35}, std::string(title), Ink::title, 16}}};
  if (!loss.empty()) {
    add_legend(plot, loss, 30);
    add_panel(plot, {kLoss, kLossHeading, "epoch"}, loss, value_axis(loss, 0, 1e30));
    add_panel(plot, {kAccuracy, kAccuracyHeading, "epoch"}, accuracy, value_axis(accuracy, 0, 100));
  }
  return plot_svg(plot);
}

std::vector<std::string> curve_panels(const std::vector<models::EpochRecord>& history,
                                      const std::vector<models::StepRecord>& log,
                                      const std::vector<float>& rates) {
  const auto [loss, accuracy] = curves_of(history);
  std::vector<Series> steps = {{"training", Ink::red, {}}};
  for (const models::StepMetrics& metrics : models::step_metrics(log)) {
    steps[0].points.push_back({static_cast<double>(metrics.step), metrics.train.loss, 0});
  }
  constexpr std::size_t kPoints = 200;
  std::vector<Series> rate = {{"learning rate", Ink::blue, {}}};
  for (std::size_t i = 0; i < rates.size(); i += std::max<std::size_t>(1, rates.size() / kPoints)) {
    rate[0].points.push_back({static_cast<double>(i + 1), static_cast<double>(rates[i]), 0});
  }
  return {panel_svg({0, kLossHeading, "epoch"}, loss, 0, 1e30),
          panel_svg({0, kAccuracyHeading, "epoch"}, accuracy, 0, 100),
          panel_svg({0, "Training loss by step", "step", false}, steps, 0, 1e30),
          panel_svg({0, "Learning rate by step", "step", false}, rate, 0, 1e30)};
}

}  // namespace weft::cli
