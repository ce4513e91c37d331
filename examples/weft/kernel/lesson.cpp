// SPDX-License-Identifier: MIT
#include "examples/weft/kernel/lesson.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/error.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "measure/machine/occupancy.h"
#include "measure/measured.h"
#include "measure/run.h"

namespace weft::cli {
namespace {

struct RungHeader {
  std::string_view file, comment;  // "kernels/gemm/rungs/tiled.cu"
};
constexpr RungHeader kRungHeaders[] = {
#include "rung_headers.inc"
};

const RungHeader* header_of(const KernelName& name) {
  const std::string folder = fmt::format("kernels/{}/rungs/", name.family->folder);
  for (const RungHeader& header : kRungHeaders) {
    const std::filesystem::path file(header.file);
    if (header.file.starts_with(folder) && file.stem() == name.variant->name) return &header;
  }
  return nullptr;
}

const kernels::Rung* rung_before(const KernelName& name) {
  const kernels::Rung* before = nullptr;
  for (const kernels::Rung& rung : name.family->rungs()) {
    if (&rung == name.variant) return before;
    if (rung.operation != name.variant->operation) continue;
    if (rung.on_cuda || !name.variant->on_cuda) before = &rung;
  }
  return nullptr;
}

bool runs_on(const kernels::Rung& rung, const measure::Gpu& gpu) {
  return rung.on_cuda && gpu.compute_capability >= rung.compute_capability &&
         (!rung.exactly_sm_90a || gpu.compute_capability == 90);
}

// "H100" of the name "h100".
std::string upper_case(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// For the kernel that was measured, with the registers that it had there.
void tell_occupancy(const measure::MeasuredRung& measured, const measure::Gpu& gpu, Pairs& pairs,
                    nlohmann::ordered_json& event) {
  const measure::BlockUse block{measured.threads, measured.registers, measured.shared_bytes, 0};
  const measure::Occupancy found = measure::occupancy(block, gpu.sm);
  std::string text = fmt::format(
      "{} has blocks of {} threads, {} registers and {} of shared memory, as measured on the "
      "{}. ",
      measured.kernel, measured.threads, measured.registers,
      format_bytes(static_cast<double>(measured.shared_bytes)), upper_case(measured.gpu));
  if (found.blocks == 0) {
    text += fmt::format("No block fits on an SM of the {}: it has too little {}", gpu.model,
                        fmt::join(found.limits, " and "));
  } else {
    text += fmt::format("An SM of the {} holds {}: {} of {} warps, {}; what runs out first: {}",
                        gpu.model, counted(found.blocks, "block"), found.warps, gpu.sm.threads / 32,
                        percent_text(found.of_warps), fmt::join(found.limits, " and "));
  }
  pairs.emplace_back("occupancy", text);
  event["occupancy"] = {{"kernel", measured.kernel},       {"threads_per_block", measured.threads},
                        {"registers", measured.registers}, {"shared_bytes", measured.shared_bytes},
                        {"blocks", found.blocks},          {"warps", found.warps},
                        {"occupancy", found.of_warps},     {"limited_by", found.limits}};
}

void tell_measured(const measure::MeasuredRung& measured, Pairs& pairs,
                   nlohmann::ordered_json& event) {
  std::string text =
      fmt::format("measured at commit {}: {} in {}, {}", measured.commit, measured.problem,
                  measure::time_text(measured.seconds), measured.rate);
  if (measured.share > 0) text += fmt::format(", {} of the bound", percent_text(measured.share));
  if (measured.gain > 0) {
    text += fmt::format("; {:.2f} times as fast as {}", measured.gain, measured.before);
  }
  pairs.emplace_back(fmt::format("{}{}", kMeasuredOn, upper_case(measured.gpu)), text);
  nlohmann::ordered_json& told = event["measured"] = {
      {"gpu", measured.gpu},         {"commit", measured.commit}, {"problem", measured.problem},
      {"seconds", measured.seconds}, {"share_of_bound", nullptr}, {"gain", nullptr},
      {"gain_over", nullptr}};
  if (measured.share > 0) told["share_of_bound"] = measured.share;
  if (measured.gain > 0) {
    told["gain"] = measured.gain;
    told["gain_over"] = measured.before;
  }
}

void tell_roofline(const measure::Work& work, kernels::Arithmetic arithmetic,
                   const measure::Gpu& gpu, Pairs& pairs, nlohmann::ordered_json& event,
                   const std::vector<measure::Fact>& facts) {
  const double peak = gpu.peak(arithmetic);
  if (work.traffic != measure::Traffic::device_memory || !(work.flops > 0)) return;
  if (!(peak > 0)) {
    pairs.emplace_back("roofline", fmt::format("the {} has no instructions for {}", gpu.model,
                                               kernels::name_of(arithmetic)));
    return;
  }
  const measure::RooflinePlace place =
      measure::place_on_roofline(work.flops, work.bytes, gpu.bandwidth, peak);
  pairs.emplace_back(
      "roofline",
      fmt::format(
          "the {} is in balance at {:.3g} FLOP per byte ({} of {}, {}). This problem has "
          "{:.3g}: {} bounds it, at {} or more, {}, {} of the peak",
          gpu.model, place.balance, measure::rate_text(peak, "FLOP/s"),
          kernels::name_of(arithmetic), measure::rate_text(gpu.bandwidth, "B/s"), place.intensity,
          place.by_memory ? "the memory" : "the arithmetic", measure::time_text(place.bound),
          measure::rate_text(place.flops_per_second, "FLOP/s"), percent_text(place.share_of_peak)));
  event["roofline"] = {{"balance", place.balance},
                       {"intensity", place.intensity},
                       {"bound_seconds", place.bound},
                       {"bound_by", place.by_memory ? "memory" : "arithmetic"},
                       {"share_of_peak", place.share_of_peak}};
  for (const measure::Fact& fact : facts) {
    if (fact.name != "intensity of its accesses") continue;
    const measure::RooflinePlace bare =
        measure::place_on_roofline(fact.value, 1, gpu.bandwidth, peak);
    pairs.emplace_back(
        "without caches",
        fmt::format("its own accesses have {:.3g} FLOP per byte: {} at most, {} of the peak",
                    fact.value, measure::rate_text(bare.flops_per_second, "FLOP/s"),
                    percent_text(bare.share_of_peak)));
    event["roofline"]["share_of_peak_without_caches"] = bare.share_of_peak;
  }
}

// Where the words to the right of a drawing begin: behind the last gap of three spaces. 0: nowhere.
std::size_t words_beside(std::string_view line) {
  const std::size_t gap = line.rfind("   ");
  return gap == std::string_view::npos || line.find_first_not_of(' ') > gap ? 0 : gap + 3;
}

// A paragraph of a comment in `width` columns: prose is wrapped, and of a drawing that is too wide
// the words beside it go below it.
std::string fitted(const std::vector<std::string>& lines, int width) {
  const auto columns = static_cast<std::size_t>(width);
  std::string drawing, words;
  std::size_t beside = 0;
  bool drawn = false;
  for (const std::string& line : lines) {
    drawn = drawn || line.starts_with(' ') || line.find("  ") != std::string::npos;
    if (line.size() <= columns) continue;
    const std::size_t at = words_beside(line);
    if (at > 0 && (beside == 0 || at < beside)) beside = at;
  }
  for (const std::string& line : lines) {
    const bool split =
        beside > 1 && line.size() > beside && line[beside - 1] == ' ' && line[beside - 2] == ' ';
    const std::string left = split ? line.substr(0, beside) : line;
    const std::string right = split ? line.substr(beside) : "";
    if (drawn) {
      const std::size_t indent = std::min(left.find_first_not_of(' '), columns / 2);
      const std::size_t end = left.find_last_not_of(' ') + 1;
      drawing += left.size() <= columns || end <= columns
                     ? left.substr(0, end)
                     : std::string(indent, ' ') +
                           wrapped(left.substr(indent), width, static_cast<int>(indent));
      drawing += "\n";
    }
    const std::string& more = drawn ? right : left;
    if (!more.empty()) words += (words.empty() ? "" : " ") + more;
  }
  return drawing + (drawn && !words.empty() ? "\n" : "") +
         (words.empty() ? "" : wrapped(words, width, 0) + "\n");
}

}  // namespace

std::string default_gpu() {
  return std::string(measure::measured_rungs().front().gpu);
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string rung_header(const KernelName& name, int width) {
  const RungHeader* header = header_of(name);
  if (header == nullptr) return "";
  std::string text, line;
  std::vector<std::string> paragraph;
  std::istringstream in{std::string(header->comment)};
  const auto finish = [&] {
    if (!paragraph.empty()) text += (text.empty() ? "" : "\n") + fitted(paragraph, width);
    paragraph.clear();
  };
  while (std::getline(in, line)) {
    if (line.empty()) {
      finish();
    } else {
      paragraph.push_back(line);
    }
  }
  finish();
  return text;
}

void tell_source(const KernelName& name, Pairs& pairs, nlohmann::ordered_json& event) {
  if (const kernels::Rung* before = rung_before(name)) {
    pairs.emplace_back("rung before", fmt::format("{}: {}", before->name, before->summary));
    event["rung_before"] = before->name;
  }
  if (const RungHeader* header = header_of(name)) {
    pairs.emplace_back("source", std::string(header->file));
    event["source"] = header->file;
    event["header"] = header->comment;
  }
}

void tell_gpu(const KernelName& name, const measure::Work& work, const std::string& gpu_name,
              Pairs& pairs, nlohmann::ordered_json& event) {
  const kernels::Rung& rung = *name.variant;
  if (!rung.on_cuda) return;
  // A rung with other tiles than its own was never measured.
  const std::string_view configured = work.configured_rung(rung.name);
  const measure::MeasuredRung* measured =
      configured.empty() ? nullptr
                         : measure::measured_rung(name.family->name, configured, gpu_name);
  const measure::Gpu& gpu = parse_gpu(!gpu_name.empty()     ? gpu_name
                                      : measured != nullptr ? std::string(measured->gpu)
                                                            : default_gpu());
  event["gpu"] = gpu.name;
  if (!runs_on(rung, gpu)) {
    pairs.emplace_back(
        "GPU", fmt::format("the {} cannot run it: its compute capability is {}.{}", gpu.model,
                           gpu.compute_capability / 10, gpu.compute_capability % 10));
    event["runs_on_gpu"] = false;
  } else {
    if (measured != nullptr && !measured->kernel.empty()) {
      tell_occupancy(*measured, gpu, pairs, event);
    }
    tell_roofline(work, work.arithmetic_of(rung), gpu, pairs, event, work.facts(rung.name));
  }
  if (measured != nullptr) return tell_measured(*measured, pairs, event);
  pairs.emplace_back("on a GPU",
                     configured.empty() ? "not measured with this tile or block" : "not measured");
  event["measured"] = nullptr;
}

void refuse_rung_flags(const KernelRun& run) {
  std::vector<std::string_view> flags = run.parameters.given();
  if (!run.gpu.empty()) flags.emplace_back("--gpu");
  if (flags.empty()) return;
  throw Error(ErrorKind::usage, fmt::format("{}: name a rung, {}/...; {} kernel show {} lists them",
                                            flags[0], run.name, program_name(), run.name));
}

void check_parameters(const KernelRun& run, std::string_view variant, const measure::Work& work) {
  for (const std::string_view flag : run.parameters.given()) {
    if (work.takes_flag(flag, variant)) continue;
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} has no such parameter; {} kernel show --help says which have",
                            flag, run.name, program_name()));
  }
}

}  // namespace weft::cli
