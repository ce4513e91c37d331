// SPDX-License-Identifier: MIT
// weft data: downloads, verifies and lists the data sets.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/load_data.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

struct DataCommandFlags {
  DataFlags data;
  bool json = false;
  std::string name() const { return data.dataset.empty() ? kDefaultDataset : data.dataset; }
};

int run_fetch(const DataCommandFlags& flags) {
  check_data_flags(flags.data);
  const std::filesystem::path folder =
      data::fetch_dataset(flags.name(), find_options(flags.data.data_dir));
  if (flags.json) {
    print_event("data_fetch", {{"dataset", flags.name()}, {"folder", folder.string()}});
  } else {
    write_out(fmt::format("{} is in {}\n", flags.name(), printable(folder.string())));
  }
  return 0;
}

int run_verify(const DataCommandFlags& flags) {
  check_data_flags(flags.data);
  const std::vector<data::FileCheck> checks =
      data::verify_dataset(flags.name(), find_options(flags.data.data_dir));
  std::vector<std::vector<std::string>> rows;
  std::string damaged;
  for (const data::FileCheck& check : checks) {
    if (!check.ok()) damaged += (damaged.empty() ? "" : ", ") + check.path.string();
    if (flags.json) {
      print_event("data_verify", {{"file", check.path.string()},
                                  {"bytes", check.bytes},
                                  {"sha256", check.sha256},
                                  {"expected", or_null(!check.expected.empty(), check.expected)},
                                  {"ok", check.ok()}});
    }
    rows.push_back({printable(check.path.string()),
                    format_count(static_cast<std::int64_t>(check.bytes)),
                    check.sha256.substr(0, 16),
                    !check.ok()              ? "WRONG"
                    : check.expected.empty() ? "well formed"
                                             : "right"});
  }
  if (!flags.json) {
    write_out(format_table(
        {{"file", Align::left}, {"bytes, inflated"}, {"SHA-256", Align::left}, {"", Align::left}},
        rows, detect_terminal(kStdout)));
  }
  if (!damaged.empty()) {
    throw Error(ErrorKind::data, fmt::format("wrong SHA-256 (of the inflated data): {}", damaged));
  }
  return 0;
}

std::string state_of(const data::DatasetInfo& info) {
  if (info.generated) return "built in";
  if (!info.folder) return info.downloadable ? "not here; can be downloaded" : "not here";
  const std::string folder = printable(info.folder->string());
  return info.files.size() == 4 ? folder : fmt::format("incomplete in {}", folder);
}

int run_info(const DataCommandFlags& flags) {
  check_data_flags(flags.data);
  data::FindOptions options = find_options(flags.data.data_dir);
  options.allow_download = false;
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view name : data::dataset_names()) {
    if (!flags.data.dataset.empty() && name != flags.data.dataset) continue;
    const data::DatasetInfo info = data::describe_dataset(name, options);
    rows.push_back({std::string(info.name), std::string(info.title), state_of(info)});
    if (!flags.json) continue;
    print_event("data_info",
                {{"dataset", info.name},
                 {"title", info.title},
                 {"homepage", info.homepage},
                 {"downloadable", info.downloadable},
                 {"generated", info.generated},
                 {"folder", or_null(info.folder.has_value(), info.folder.value_or("").string())},
                 {"complete", info.generated || info.files.size() == 4}});
  }
  if (!flags.json) {
    write_out(format_table({{"name", Align::left}, {"what", Align::left}, {"where", Align::left}},
                           rows, detect_terminal(kStdout)));
  }
  return 0;
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  CLI::App* data = app.add_subcommand("data", "Fetch, verify or list data sets");
  data->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, const char* default_text,
                       int (*run)(const DataCommandFlags&)) {
    auto flags = std::make_shared<DataCommandFlags>();
    CLI::App* sub = data->add_subcommand(name, help);
    add_data_flags(*sub, flags->data, default_text);
    sub->add_flag("--json", flags->json, "JSON lines instead of text");
    sub->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
  };
  add("fetch", "Download what is missing", "mnist", run_fetch);
  add("verify", "Check every file against its SHA-256", "mnist", run_verify);
  add("info", "List the data sets and where they were found", "all", run_info);
}

}  // namespace weft::cli
