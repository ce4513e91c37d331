// SPDX-License-Identifier: MIT
// weft data: downloads, verifies and lists the data sets.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "data/folder/folder.h"
#include "data/tables/write.h"
#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/load_data.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

struct DataCommandFlags {
  DataFlags data;
  bool json = false;
  std::string name() const { return data.dataset.value_or(kDefaultDataset); }
};

struct DataConvertFlags {
  std::string from, to;
  std::optional<std::string> as;
  OwnDataFlags own;
};

struct DataExportFlags {
  std::string name, out;
  std::optional<std::string> data_dir;
  std::optional<std::int64_t> limit;
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

int run_data_export(const DataExportFlags& flags) {
  const data::Dataset dataset = [&] {
    data::Dataset all = load_images(flags.name, flags.data_dir, flags.limit);
    for (data::ImageSet* set : {&all.train, &all.test}) {
      set->count = std::min(set->count, flags.limit.value_or(set->count));
    }
    return all;
  }();
  data::write_folder(dataset, flags.out);
  write_out(fmt::format("{} training and {} test pictures are in {}\n",
                        format_count(dataset.train.count), format_count(dataset.test.count),
                        printable(flags.out)));
  return 0;
}

// What a data set is written as when its place ends so.
std::string format_of(const DataConvertFlags& flags) {
  return flags.as.value_or(flags.to.ends_with(".npz") ? "npz" : "folders");
}

int run_convert(DataConvertFlags flags) {
  flags.own.path = flags.from;
  const std::string format = format_of(flags);
  std::error_code unknown;
  const auto status = std::filesystem::symlink_status(flags.to, unknown);
  if (format != "npz" && std::filesystem::exists(status)) {  // before all is read
    throw Error(ErrorKind::data, fmt::format("could not write {}: it exists already", flags.to));
  }
  const data::Dataset dataset =
      load_own(own_data_from(flags.own), flags.own, data::Holding::tenth, "auto");
  if (format == "csv") {
    data::write_csv(dataset, flags.to);
  } else if (format == "npz") {
    data::write_npz(dataset, flags.to);
  } else if (format == "idx") {
    data::write_idx(dataset, flags.to);
  } else {
    data::write_folder(dataset, flags.to);
  }
  const bool has_names = format == "csv" || format == "folders";
  for (std::size_t label = 0; !has_names && label < dataset.class_names.size(); ++label) {
    if (dataset.class_names[label] == std::to_string(label)) continue;
    print_notice(
        fmt::format("{} has numbers for classes: {} is {}, and so on in the order of `{} "
                    "data info`",
                    format, label, printable(dataset.class_names[label]), program_name()));
    break;
  }
  write_out(fmt::format("{} training, {} validation and {} test images are in {}\n",
                        format_count(dataset.train.count), format_count(dataset.validation.count),
                        format_count(dataset.test.count), printable(flags.to)));
  return 0;
}

int run_verify(const DataCommandFlags& flags) {
  check_data_flags(flags.data);
  const std::vector<data::FileCheck> checks =
      data::verify_dataset(flags.name(), find_options(flags.data.data_dir));
  std::vector<Cells> rows;
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
    rows.push_back({check.path.string(), format_count(static_cast<std::int64_t>(check.bytes)),
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
  const std::string folder = info.folder->string();
  return info.files.size() == 4 ? folder : fmt::format("incomplete in {}", folder);
}

// What a folder of the user's own holds, as --data would read it.
int run_own_info(const DataCommandFlags& flags) {
  const data::Dataset dataset = load_own(own_data_from(flags.data.own), flags.data.own,
                                         data::Holding::tenth, flags.json ? "off" : "auto");
  tell_doubts(dataset);
  const data::ImageSet* sets[] = {&dataset.train, &dataset.validation, &dataset.test};
  std::vector<std::vector<std::int64_t>> counts(dataset.class_names.size(), {0, 0, 0});
  for (std::size_t set = 0; set < std::size(sets); ++set) {
    for (const std::int32_t label : sets[set]->labels)
      ++counts[static_cast<std::size_t>(label)][set];
  }
  const std::string shape = fmt::format("{} x {} x {}", dataset.train.channels,
                                        dataset.train.height, dataset.train.width);
  if (flags.json) {
    nlohmann::ordered_json event = json_event("data_info", {{"dataset", dataset.name},
                                                            {"folder", dataset.source},
                                                            {"channels", dataset.train.channels},
                                                            {"height", dataset.train.height},
                                                            {"width", dataset.train.width},
                                                            {"train_images", sets[0]->count},
                                                            {"validation_images", sets[1]->count},
                                                            {"test_images", sets[2]->count}});
    event["classes"] = nlohmann::ordered_json::array();
    for (std::size_t label = 0; label < counts.size(); ++label) {
      event["classes"].push_back({{"class", dataset.class_names[label]},
                                  {"train", counts[label][0]},
                                  {"validation", counts[label][1]},
                                  {"test", counts[label][2]}});
    }
    write_out(json_line(event));
    return 0;
  }
  std::vector<Cells> rows;
  for (std::size_t label = 0; label < counts.size(); ++label) {
    rows.push_back({dataset.class_names[label], format_count(counts[label][0]),
                    format_count(counts[label][1]), format_count(counts[label][2])});
  }
  write_out(format_table({{"class", Align::left}, {"training"}, {"validation"}, {"test"}}, rows,
                         detect_terminal(kStdout)));
  write_out(fmt::format("\n{}: {} training, {} validation and {} test images of {}\n",
                        printable(dataset.source), format_count(sets[0]->count),
                        format_count(sets[1]->count), format_count(sets[2]->count), shape));
  return 0;
}

int run_info(const DataCommandFlags& flags) {
  check_data_flags(flags.data);
  if (!own_data_from(flags.data.own).path.empty()) return run_own_info(flags);
  data::FindOptions options = find_options(flags.data.data_dir);
  options.allow_download = false;
  std::vector<Cells> rows;
  for (const std::string_view name : data::dataset_names()) {
    if (name != flags.data.dataset.value_or(std::string(name))) continue;
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
    if (run == run_info) add_own_data_flags(*sub, flags->data.own, true);
    sub->add_flag("--json", flags->json, "JSON lines instead of text");
    sub->callback([flags, run, &action] { action.run = [flags, run] { return run(*flags); }; });
  };
  add("fetch", "Download what is missing", "mnist", run_fetch);
  add("verify", "Check every file against its SHA-256", "mnist", run_verify);
  add("info", "List the data sets and where they were found, or what --data holds", "all",
      run_info);
  auto convert = std::make_shared<DataConvertFlags>();
  CLI::App* to = data->add_subcommand("convert", "Write data of your own in another format");
  add_own_data_flags(*to, convert->own, true);
  to->remove_option(to->get_option("--data"));
  to->add_option("FROM", convert->from, "a file or folder, as of --data")
      ->type_name("")
      ->required();
  to->add_option("TO", convert->to, "a new folder, or of npz a file")->type_name("")->required();
  add_choice(*to, "--as", convert->as, {"folders", "csv", "npz", "idx"},
             "default: npz where TO ends in .npz, else folders of pictures");
  to->callback([convert, &action] { action.run = [convert] { return run_convert(*convert); }; });
  auto flags = std::make_shared<DataExportFlags>();
  CLI::App* sub = data->add_subcommand("export", "Write a data set as folders of PNG files");
  sub->add_option("NAME", flags->name, joined(data::dataset_names()))->type_name("")->required();
  sub->add_option("--out", flags->out, "the folder, which must not exist")
      ->type_name("DIR")
      ->required();
  sub->add_option("--data-dir", flags->data_dir, "folder with the files of the data set")
      ->type_name("DIR");
  add_whole(*sub, "--limit", flags->limit, 1, 1'000'000'000,
            "write only the first N training and N test images");
  sub->callback([flags, &action] { action.run = [flags] { return run_data_export(*flags); }; });
}

}  // namespace weft::cli
