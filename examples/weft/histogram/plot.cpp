// SPDX-License-Identifier: MIT
// The plot of a histogram: bars for an array, translucent areas for the channels of a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/extent.h"
#include "examples/weft/histogram/report.h"

namespace weft::cli {
namespace {

constexpr double kLeft = 84, kRight = 836, kTop = 84, kBottom = 364;
constexpr std::size_t kMostBars = 94;    // from 8 pixels a bar down, gaps would only flicker
constexpr std::size_t kMostSteps = 752;  // one for each pixel

struct Steps {
  std::vector<double> edges, counts;
};

// The counts of neighbouring bins added up where there are more than can be seen.
Steps visible_steps(const Histogram& histogram, const std::vector<std::int64_t>& counts) {
  const std::size_t together = divide_up(counts.size(), kMostSteps);
  Steps steps;
  for (std::size_t b = 0; b < counts.size(); ++b) {
    if (b % together == 0) {
      steps.edges.push_back(histogram.edges[b]);
      steps.counts.push_back(0);
    }
    steps.counts.back() += static_cast<double>(counts[b]);
  }
  steps.edges.push_back(histogram.edges.back());
  return steps;
}

Ink ink_of(const Histogram& histogram, const std::string& channel) {
  if (!histogram.is_picture) return Ink::bar;
  if (channel == "red") return Ink::red;
  if (channel == "green") return Ink::green;
  return channel == "blue" ? Ink::blue : Ink::neutral;
}

// A picture's blown-out whites and blacks may be so many that nothing else would be seen.
double full_height(const Histogram& histogram, const std::vector<Steps>& all) {
  double highest = 0, inner = 0;
  for (const Steps& steps : all) {
    const auto first = steps.counts.begin(), last = steps.counts.end();
    highest = std::max(highest, *std::max_element(first, last));
    if (steps.counts.size() > 2) inner = std::max(inner, *std::max_element(first + 1, last - 1));
  }
  if (histogram.is_picture && inner > 0 && highest > 2 * inner) return 1.15 * inner;
  return std::max(1.0, highest);
}

std::string tick_text(double value, double step) {
  if (std::abs(value) < step / 2) return "0";
  const double size = std::max(std::abs(value), step);
  if (step >= 1 && size < 1e7) return format_count(std::llround(value));
  if (size >= 1e7 || step < 1e-5) {
    const int digits = std::max(0, static_cast<int>(std::floor(std::log10(size) + 1e-9) -
                                                    std::floor(std::log10(step) + 1e-9)));
    return fmt::format("{:.{}g}", value, digits + 1);
  }
  return fmt::format("{:.{}f}", value, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
}

class Chart {
 public:
  explicit Chart(const Histogram& histogram) : histogram_(histogram) {
    for (const Channel& channel : histogram.channels) {
      steps_.push_back(visible_steps(histogram, channel.counts));
    }
    const double full = full_height(histogram, steps_), step = std::max(1.0, nice_step(full, 5));
    top_ = 1.04 * full;
    plot_.title = "Histogram of " + histogram.title;
    add_text({kLeft, 34}, plot_.title, Ink::title, 16);
    const bool cut = std::any_of(steps_.begin(), steps_.end(), [&](const Steps& steps) {
      return *std::max_element(steps.counts.begin(), steps.counts.end()) > top_;
    });
    add_text({kLeft, 56},
             histogram.subtitle + (cut ? ", first or last value cut off at the top" : ""),
             Ink::label, 12);
    for (double value = 0; value <= top_; value += step) {
      const double y = y_of(value);
      if (value > 0) plot_.shapes.push_back(Line{{{kLeft, y}, {kRight, y}}, Ink::grid, 1});
      add_text({kLeft - 8, y + 4}, tick_text(value, step), Ink::label, 11, Anchor::end);
    }
  }

  Plot finish() {
    for (std::size_t c = 0; c < steps_.size(); ++c) add_channel(c);
    plot_.shapes.push_back(Line{{{kLeft, kBottom}, {kRight, kBottom}}, Ink::axis, 1});
    add_value_axis();
    if (histogram_.is_picture) add_legend();
    return std::move(plot_);
  }

 private:
  double x_of(double value) const {
    const double lower = histogram_.edges.front(), upper = histogram_.edges.back();
    return kLeft + (value - lower) / (upper - lower) * (kRight - kLeft);
  }
  double y_of(double count) const {
    return kBottom - std::min(1.0, count / top_) * (kBottom - kTop);
  }
  void add_text(Point at, std::string text, Ink ink, double size, Anchor anchor = Anchor::start) {
    plot_.shapes.push_back(Text{at, std::move(text), ink, size, anchor});
  }

  void add_channel(std::size_t c) {
    const Steps& steps = steps_[c];
    const Ink ink = ink_of(histogram_, histogram_.channels[c].name);
    if (!histogram_.is_picture && steps.counts.size() <= kMostBars) return add_bars(steps, ink);
    // The outline follows the steps only where they change, which keeps files small.
    std::vector<Point> outline;
    for (std::size_t b = 0; b < steps.counts.size(); ++b) {
      const double y = y_of(steps.counts[b]);
      if (b > 0 && outline.back().y == y) continue;
      if (b > 0) outline.push_back({x_of(steps.edges[b]), outline.back().y});
      outline.push_back({x_of(steps.edges[b]), y});
    }
    outline.push_back({kRight, outline.back().y});
    const bool neutral = ink == Ink::neutral && steps_.size() > 1;
    std::vector<Point> closed = outline;
    closed.push_back({kRight, kBottom});
    closed.push_back({kLeft, kBottom});
    plot_.shapes.push_back(Area{closed, ink, neutral ? 0.18 : 0.4, ""});
    plot_.shapes.push_back(Line{outline, ink, neutral ? 1.2 : 1});
  }

  void add_bars(const Steps& steps, Ink ink) {
    for (std::size_t b = 0; b < steps.counts.size(); ++b) {
      if (steps.counts[b] == 0) continue;
      const double left = x_of(steps.edges[b]) + 0.5, right = x_of(steps.edges[b + 1]) - 0.5;
      // What is counted once in a million still shows.
      const double y = std::min(y_of(steps.counts[b]), kBottom - 0.8);
      const std::string hint =
          fmt::format("{:.6g} to {:.6g}: {}", steps.edges[b], steps.edges[b + 1],
                      format_count(std::llround(steps.counts[b])));
      plot_.shapes.push_back(
          Area{{{left, kBottom}, {left, y}, {right, y}, {right, kBottom}}, ink, 0.85, hint});
    }
  }

  void add_value_axis() {
    const double lower = histogram_.edges.front(), upper = histogram_.edges.back();
    const double step = histogram_.is_picture ? 32 : nice_step(upper - lower, 10);
    constexpr double kAlmost = 3e-3;  // of a step: less than can be seen
    for (double i = std::ceil(lower / step - kAlmost); i <= upper / step + kAlmost; ++i) {
      const double value = i * step, x = std::clamp(x_of(value), kLeft, kRight);
      plot_.shapes.push_back(Line{{{x, kBottom}, {x, kBottom + 4}}, Ink::axis, 1});
      const bool end = histogram_.is_picture && value == upper;
      add_text({x, kBottom + 18}, end ? "255" : tick_text(value, step), Ink::label, 11,
               Anchor::middle);
    }
    add_text({(kLeft + kRight) / 2, kBottom + 40}, histogram_.is_picture ? "pixel value" : "value",
             Ink::label, 12, Anchor::middle);
    add_text({kLeft - 8, kTop - 12}, histogram_.is_picture ? "pixels" : "count", Ink::label, 11,
             Anchor::end);
  }

  void add_legend() {
    const auto width = [](const Channel& channel) {
      return 40 + 6.4 * static_cast<double>(channel.name.size());
    };
    double x = kRight + 20;
    for (const Channel& channel : histogram_.channels) x -= width(channel);
    for (const Channel& channel : histogram_.channels) {
      const Ink ink = ink_of(histogram_, channel.name);
      plot_.shapes.push_back(Area{{{x, 46}, {x + 12, 46}, {x + 12, 57}, {x, 57}}, ink, 0.7, ""});
      add_text({x + 18, 56}, channel.name, Ink::label, 12);
      x += width(channel);
    }
  }

  const Histogram& histogram_;
  std::vector<Steps> steps_;
  double top_ = 1;  // the count at the upper end
  Plot plot_;
};

}  // namespace

Plot histogram_plot(const Histogram& histogram) {
  return Chart(histogram).finish();
}

}  // namespace weft::cli
