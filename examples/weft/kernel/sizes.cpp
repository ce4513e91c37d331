// SPDX-License-Identifier: MIT
// Sizes on the command line of weft kernel: "512", "256x512x784", "8K".
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "examples/weft/kernel/kernel.h"

namespace weft::cli {
namespace {

std::vector<std::int64_t> parse_extents(const std::string& flag, const std::string& text,
                                        std::int64_t most) {
  std::vector<std::int64_t> extents;
  for (const char *at = text.c_str(), *end = at + text.size();; ++at) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 1 || extent > most || (next != end && *next != 'x')) {
      throw CLI::ValidationError(
          flag, fmt::format("expected whole numbers from 1 to {}, one or several joined by x, "
                            "found '{}'",
                            most, text));
    }
    extents.push_back(extent);
    if (next == end) return extents;
    at = next;
  }
}

}  // namespace

CLI::Option* add_extents(CLI::App& app, const std::string& name, std::vector<std::int64_t>& extents,
                         std::int64_t most, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [name, most, &extents](const std::string& text) {
            extents = parse_extents(name, text, most);
          },
          help)
      ->type_name("N[xN...]");
}

CLI::Option* add_amount(CLI::App& app, const std::string& name, std::int64_t& value,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &value](const std::string& text) {
            constexpr std::int64_t kMost = 1 << 30;
            std::int64_t amount = 0;
            const char* end = text.c_str() + text.size();
            const auto [next, error] = std::from_chars(text.c_str(), end, amount);
            const std::string_view unit(next, static_cast<std::size_t>(end - next));
            const bool kilo = unit == "K" || unit == "k" || unit == "KiB";
            if (kilo && amount <= kMost) amount *= 1024;
            if (error != std::errc() || amount < 0 || amount > kMost || !(kilo || unit.empty())) {
              throw CLI::ValidationError(
                  name, fmt::format("expected a whole number to {}, with K for 1024, found '{}'",
                                    kMost, text));
            }
            value = amount;
          },
          help)
      ->type_name("N[K]");
}

}  // namespace weft::cli
