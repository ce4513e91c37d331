// SPDX-License-Identifier: MIT
#include "measure/command.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/timer.h"
#include "kernels/catalogue.h"
#include "measure/errors.h"

namespace weft::measure {
namespace {

// A file that grows. It is replaced whole each time, so that a run that is ended early keeps what
// it measured; a pipe gets what is new. A path that cannot be written is an error at the start.
class GrowingFile {
 public:
  explicit GrowingFile(const std::string& path) : path_(path) {
    if (path.empty()) return;
    stream_.emplace(path);
    if (!data::is_stream(path)) stream_.reset();
  }

  void add(const std::string& text) {
    text_ += text;
    if (stream_) {
      stream_->write(text);
    } else if (!path_.empty()) {
      data::write_file_atomically(path_, text_);
    }
  }

 private:
  std::string path_, text_;
  std::optional<data::AtomicFile> stream_;
};

std::vector<FamilyBench> chosen(const std::vector<std::string>& names) {
  std::vector<FamilyBench> families;
  for (const std::string& word : names) {
    const std::string name = word.substr(0, word.find('/'));
    if (name == "all") {
      families.clear();
      for (const FamilyBench* family : family_benches()) families.push_back(*family);
      return families;
    }
    const std::size_t colon = std::min(name.find(':'), name.size());
    const FamilyBench* family = find_family_bench(name.substr(0, colon));
    if (family == nullptr || (colon < name.size() && name.substr(colon + 1) != family->more_name)) {
      throw Error(ErrorKind::usage, str("no benchmark '", name, "' of kernel families"));
    }
    families.push_back(*family);
    if (colon < name.size()) families.back().problems = family->more;
    if (name.size() < word.size()) {
      families.back().only = kernels::rung_name(family->family, word.substr(name.size() + 1));
    }
  }
  return families;
}

void print_row(const Row& row, const Machine& machine) {
  if (!row.error.empty()) {
    fmt::print("  {:<26} {}\n", row.name, row.error);
  } else {
    const Interval interval = interval_of(row.turns);
    const std::string warm = row.warm_seconds > 0 ? time_text(row.warm_seconds) : "";
    const std::string clock = row.gpu.readings.empty() ? ""
                                                       : fmt::format("{:.0f} MHz, {:.0f} W",
                                                                     row.gpu.median().sm_clock_mhz,
                                                                     row.gpu.median().power_watts);
    fmt::print("  {:<26} {:>9} {:>9} {:>9} {:>6} {:>15} {:>9} {:>6} {:>8} {:>9} {:>15}  {}\n",
               row.name, time_text(row.timing.median), time_text(interval.low),
               time_text(interval.high), row.timing.count, rate_text(row), share_text(row, machine),
               row.yardstick.empty() ? "" : ratio_text(row.ratio), row.l2, warm, clock,
               row.ok() ? "ok" : fault_text(row));
    if (!row.which.empty()) fmt::print("  {:<26}   {}\n", "", row.which);
  }
  std::fflush(stdout);
}

void print_series(const Series& series) {
  fmt::print("\n{}\n  {:<26}", series.title, "");
  for (const std::string& column : series.columns) fmt::print(" {:>8}", column);
  for (std::size_t i = 0; i < series.names.size(); ++i) {
    fmt::print("\n  {:<26}", series.names[i]);
    for (const Row* row : series.cells[i]) {
      fmt::print(" {:>8}", row == nullptr ? "" : cell_text(*row));
    }
  }
  fmt::print("\n");
}

int run_errors(const BenchRequest& request, const std::vector<Peer>& peers) {
  GrowingFile json(request.json);
  const Stream stream(request.device);
  Machine machine;
  machine.device = request.device;
  machine.name = device_properties(request.device).name;
  machine.commit = measured_commit();
  fmt::print(
      "{}: the largest error over the sum of the terms' absolute values, in 2^-24, by the bits "
      "over which exponents are spread\n",
      machine.name);
  std::string problem, lines = machine_json(machine) + "\n";
  bool numbers = true;
  measure_errors(stream, static_cast<std::uint64_t>(request.seed), peers, [&](const ErrorRow& row) {
    if (row.problem != problem) {
      problem = row.problem;
      fmt::print("\n{}: {}\n  {:<34}", row.family, row.problem, "variant");
      for (const double spread : kSpreads) fmt::print(" {:>8.0f}", spread);
      fmt::print("\n");
    }
    fmt::print("  {:<34}", row.name);
    for (const double error : row.errors) {
      fmt::print(" {:>8.2f}", error);
      numbers = numbers && (std::isfinite(error) || row.peer);
    }
    fmt::print(" {}\n", row.error);
    std::fflush(stdout);
    lines += error_json(row, machine) + "\n";
    numbers = numbers && (row.error.empty() || row.peer);
  });
  json.add(lines);
  if (!numbers) fmt::print(stderr, "weft: error: a result was no number\n");
  return numbers ? 0 : static_cast<int>(ErrorKind::check_failed);
}

}  // namespace

int run_bench(const BenchRequest& request, const std::vector<Peer>& peers) {
  if (request.families == std::vector<std::string>{std::string(kErrors)}) {
    if (request.threads > 0) omp_set_num_threads(static_cast<int>(request.threads));
    return run_errors(request, peers);
  }
  const std::vector<FamilyBench> families = chosen(request.families);
  if (request.threads > 0) omp_set_num_threads(static_cast<int>(request.threads));
  GrowingFile json(request.json), report(request.report);
  const Context context{Stream(request.device), static_cast<std::uint64_t>(request.seed)};
  const Machine machine = measure_machine(context.stream);
  fmt::print("{}, measured: {}\n", machine.name, peaks_text(machine));
  std::vector<Row> rows;
  std::string times, lines = machine_json(machine) + "\n";
  for (const FamilyBench& family : families) {
    const Timer timer;
    const std::size_t before = rows.size();
    std::string problem;
    const auto seen = [&](const Row& row) {
      if (row.problem != problem) {
        problem = row.problem;
        fmt::print(
            "\n{}: {}\n  {:<26} {:>9} {:>9} {:>9} {:>6} {:>15} {:>9} {:>6} {:>8} {:>9} {:>15}"
            "  {}\n",
            row.family, row.problem, "variant", "median", "from", "to", "count", "rate", "of bound",
            "ratio", "L2", "warm", "clock, power", "check");
      }
      print_row(row, machine);
    };
    Counts left_out;
    for (Row& row : run_family(family, peers, context, {request.seconds, 30}, seen, &left_out)) {
      lines += row_json(row, machine) + "\n";
      rows.push_back(std::move(row));
    }
    const auto own = std::count_if(rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end(),
                                   [](const Row& row) { return !row.peer; });
    if (own == 0 && !family.only.empty()) {
      throw Error(ErrorKind::usage,
                  str("no problem that is measured of ", family.family, " is one that '",
                      family.only, "' takes on ", to_string(request.device)));
    }
    json.add(std::exchange(lines, {}));
    fmt::print("\n{}\n", left_out_text(family.family, left_out, static_cast<std::size_t>(own)));
    for (const Series& series : series_of(rows, family.family)) print_series(series);
    times += fmt::format("  {:<26} {:>9} {:>12}\n", family.family, time_text(timer.seconds()),
                         rows.size() - before);
  }
  fmt::print("\n  {:<26} {:>9} {:>12}\n{}", "family", "took", "measurements", times);
  report.add(report_html(rows, machine));
  int wrong = 0;  // a yardstick that misses a bound is shown, and is not this program's failure
  for (const Row& row : rows) wrong += row.ok() || row.peer ? 0 : 1;
  if (wrong > 0) {
    fmt::print(stderr, "weft: error: {} of {} measurements failed\n", wrong, rows.size());
  }
  return wrong == 0 ? 0 : static_cast<int>(ErrorKind::check_failed);
}

std::vector<std::string> to_arguments(const BenchRequest& request) {
  std::vector<std::string> words = {
      to_string(request.device), str(request.seconds), str(request.seed),
      str(request.threads),      request.json,         request.report};
  words.insert(words.end(), request.families.begin(), request.families.end());
  return words;
}

BenchRequest parse_arguments(const std::vector<std::string>& words) {
  if (words.size() < 7) {
    throw Error(ErrorKind::usage, "weft-bench is started by `weft bench`: see weft bench --help");
  }
  BenchRequest request;
  request.device = parse_device(words[0]);
  request.seconds = std::strtod(words[1].c_str(), nullptr);
  request.seed = std::strtoll(words[2].c_str(), nullptr, 10);
  request.threads = std::strtoll(words[3].c_str(), nullptr, 10);
  request.json = words[4];
  request.report = words[5];
  request.families.assign(words.begin() + 6, words.end());
  return request;
}

}  // namespace weft::measure
