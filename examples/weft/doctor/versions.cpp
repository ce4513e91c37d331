// SPDX-License-Identifier: MIT
#include "examples/weft/doctor/versions.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <CLI/Version.hpp>

#include "data/versions/build_info.h"
#include "data/versions/library_versions.h"
#include "distributed/mpi.h"
#include "distributed/reducer.h"
#include "engine/device.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

using data::LibraryVersion;

std::string cuda_text(int version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// The oldest ones are Debian 12's, but for CUDA: no older ones were tried.
std::vector<LibraryVersion> all_versions() {
  std::vector<LibraryVersion> all = {
#ifdef __clang__
      {"clang", __clang_version__, "", "14.0"},
#else
      {"g++", __VERSION__, "", "12.2"},
#endif
      {"glibc", fmt::format("{}.{}", __GLIBC__, __GLIBC_MINOR__), gnu_get_libc_version(), "2.36"},
      {"libstdc++", fmt::format("{}", _GLIBCXX_RELEASE), "", "12"},
      {"OpenMP", fmt::format("{}", _OPENMP), "", "201511"},
      {"fmt",
       fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100), "",
       "9.1.0"},
      {"CLI11", CLI11_VERSION, "", "2.1.2"},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                   NLOHMANN_JSON_VERSION_PATCH),
       "", "3.11.2"}};
  for (LibraryVersion& library : data::library_versions()) all.push_back(std::move(library));
#ifdef WEFT_PROTOBUF_VERSION
  all.push_back({"protobuf", WEFT_PROTOBUF_VERSION, "", "3.21.12"});
#endif
  if (distributed::mpi_reason().empty()) {
    all.push_back({"MPI", "", distributed::mpi_library(), "Open MPI v4.1.4"});
  }
  if (distributed::nccl_reason().empty()) {
    all.push_back({"NCCL", "", distributed::nccl_version(), ""});
  }
  if (cuda_status().device_count > 0) {
    const DeviceProperties& gpu = device_properties(Device::cuda());
    all.push_back(
        {"CUDA runtime", cuda_text(gpu.runtime_version), cuda_text(gpu.runtime_version), "13.0"});
    all.push_back({"CUDA driver", "", cuda_text(gpu.driver_version), "13.0"});
  }
  return all;
}

}  // namespace

int show_versions(bool json) {
  const std::vector<LibraryVersion> all = all_versions();
  const BuildInfo& build = build_info();
  if (json) {
    nlohmann::ordered_json event =
        json_event("versions", {{"weft", build.version},
                                {"commit", build.commit},
                                {"commit_date", build.commit_date},
                                {"flags", WEFT_BUILD_FLAGS},
                                {"libraries", nlohmann::ordered_json::array()}});
    for (const LibraryVersion& library : all) {
      event["libraries"].push_back({{"name", library.name},
                                    {"built", library.built},
                                    {"running", library.running},
                                    {"oldest_tested", library.oldest}});
    }
    write_out(json_line(event));
    return 0;
  }
  const auto shown = [](const std::string& text) { return text.empty() ? "-" : text; };
  std::vector<Cells> rows = {{"weft", build.version, "-", "-"}};
  for (const LibraryVersion& library : all) {
    rows.push_back(
        {library.name, shown(library.built), shown(library.running), shown(library.oldest)});
  }
  const Terminal terminal = detect_terminal(kStdout);
  write_out(format_pairs({{"commit", build.commit.empty() ? "not known" : build.commit},
                          {"of", build.commit_date.empty() ? "not known" : build.commit_date},
                          {"flags", WEFT_BUILD_FLAGS}},
                         terminal) +
            "\n");
  write_out(format_table({{"library", Align::left},
                          {"built with", Align::left},
                          {"runs with", Align::left},
                          {"oldest tested", Align::left}},
                         rows, terminal));
  return 0;
}

}  // namespace weft::cli
