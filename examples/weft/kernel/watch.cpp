// SPDX-License-Identifier: MIT
// weft kernel watch: a variant runs on host-cuda, and a page shows what its warps did.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "examples/weft/kernel/kernel.h"
#include "examples/weft/kernel/lesson.h"
#include "examples/weft/output/terminal.h"
#include "examples/weft/watch/page.h"
#include "measure/run.h"

namespace weft::cli {
namespace {

// Runs it once without each barrier that the trace has met.
void break_barriers(measure::Work& work, const kernels::Rung& rung, Watched& watched) {
  constexpr double kEnough = 2;  // seconds, after which no further run begins
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::set<std::string> lines;
  for (const TracedLaunch& launch : watched.trace.launches) {
    for (const TracedEvent& event : launch.events) {
      if (event.what == TracedEvent::What::barrier) {
        lines.insert(watched.trace.lines[event.line]);
      }
    }
  }
  for (const std::string& line : lines) {
    if (seconds() > kEnough) {
      watched.broken.push_back({line, "Not tried: there was no time left."});
      continue;
    }
    work.reset();
    const WithoutBarrier run = run_without_barrier(line, [&] { work.call(rung.name, 0); });
    if (!run.taken_out) continue;  // it also gathers votes
    if (!run.failure.empty()) {
      watched.broken.push_back({line, run.failure.substr(run.failure.find(' ') + 1)});
      continue;
    }
    const bool right = work.check(0, measure::variant_of(work, rung).arithmetic).ok;
    watched.broken.push_back({line, right ? "On this problem no check finds a mistake."
                                          : "No check finds a race, but the result is wrong."});
  }
}

// Counts once as if the rows of its shared arrays had no padding.
void break_padding(measure::Work& work, const kernels::Rung& rung, Watched& watched) {
  if (rung.padded.padding == 0) return;
  const Padding padding{rung.padded.bytes, rung.padded.padding};
  work.reset();
  const auto worse = count_without_padding(padding, [&] { work.call(rung.name, 0); });
  const std::string what = fmt::format("{} bytes of padding in each row of {}, for",
                                       padding.padding_bytes, padding.row_bytes);
  for (const WithoutPadding& line : worse) {
    const auto each = [&](std::uint64_t passes) {
      return static_cast<double>(passes) / static_cast<double>(line.requests);
    };
    watched.broken.push_back({line.line,
                              fmt::format("A bank conflict: {:.1f} passes for each request instead "
                                          "of {:.1f}. {}",
                                          each(line.without), each(line.with), line.sentence),
                              what});
  }
  if (worse.empty()) {
    watched.broken.push_back(
        {"", "On this problem the padding changes no request.", what.substr(0, what.size() - 5)});
  }
}

// The rung of this name, which must run on host-cuda.
KernelName rung_to_watch(const std::string& name, const Stream& stream) {
  const KernelName kernel = parse_kernel_name(name);
  if (kernel.variant == nullptr) {
    for (const kernels::Rung& rung : kernel.family->rungs()) {
      if (!rung.on_host_cuda()) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("watch needs one variant, as in {}/{}", name, rung.name));
    }
    throw Error(ErrorKind::usage, fmt::format("no variant of {} runs on host-cuda", name));
  }
  if (!kernel.variant->on_cuda) {
    throw Error(ErrorKind::usage,
                fmt::format("{} runs on the CPU only: it has no warps to watch", name));
  }
  require_host_cuda(name, *kernel.variant, stream);
  return kernel;
}

// What is known of a rung's work on a GPU: counted by the formula, by hand, or measured there.
void add_figures(Watched& watched, const KernelName& kernel, const measure::Work& work) {
  const auto add = [&](std::string figure, std::string text, const char* origin) {
    watched.figures.push_back({std::move(figure), std::move(text), origin});
  };
  const std::string bytes = grouped(static_cast<std::uint64_t>(work.bytes));
  add("work",
      work.flops == 0 ? fmt::format("{} bytes, no FLOP", bytes)
                      : fmt::format("{} FLOP, {} bytes: {:.3g} FLOP per byte",
                                    grouped(static_cast<std::uint64_t>(work.flops)), bytes,
                                    work.flops / work.bytes),
      "by the formula");
  for (const measure::Fact& fact : work.facts(kernel.variant->name)) {
    add(fact.name, fact.text, "by hand");
  }
  Pairs pairs;
  nlohmann::ordered_json event;
  tell_gpu(kernel, work, "", pairs, event);
  for (const auto& [figure, text] : pairs) {
    const bool timed = figure.starts_with(kMeasuredOn);
    if (figure == "on a GPU") continue;  // not measured
    add(figure, text.text, timed ? "measured there" : "from public figures");
  }
}

Watched watch_variant(const WatchRun& run, const std::string& name, const Stream& stream) {
  const KernelName kernel = rung_to_watch(name, stream);
  const measure::FamilyBench* family = measure::find_family_bench(kernel.family->name);
  if (family == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("kernel family {} has no problem to run alone", kernel.family->name));
  }
  const std::string_view variant = kernel.variant->name;
  const std::unique_ptr<measure::Work> work = small_work(run.problem, *family, variant, stream);
  if (!work->can_run(variant)) {
    throw Error(ErrorKind::usage, fmt::format("{} cannot run {}", name, work->problem));
  }
  work->reset();
  Watched watched{name, std::string(kernel.variant->summary), work->problem};
  watched.bytes = work->bytes;
  TraceOptions options{static_cast<std::uint64_t>(run.first_block),
                       static_cast<std::uint64_t>(run.blocks)};
  if (!run.other.empty()) {  // both are on one page, which is to stay small
    options.launch_events /= 2;
    options.events /= 2;
  }
  watched.counts = count_accesses(
      [&] { watched.trace = trace_accesses([&] { work->call(variant, 0); }, options); });
  work->runs = 1;
  const measure::Verdict verdict =
      work->check(0, measure::variant_of(*work, *kernel.variant).arithmetic);
  if (!verdict.ok) {
    throw Error(ErrorKind::check_failed, fmt::format("{} is wrong: {}", name, verdict.text));
  }
  const auto nothing = [](const TracedLaunch& launch) { return launch.events.empty(); };
  if (watched.trace.launches.empty()) {
    throw Error(ErrorKind::usage, fmt::format("{} launches no kernel on {}", name, work->problem));
  }
  if (std::all_of(watched.trace.launches.begin(), watched.trace.launches.end(), nothing)) {
    throw Error(ErrorKind::usage, fmt::format("{} makes no request on {} that this build records",
                                              name, work->problem));
  }
  add_figures(watched, kernel, *work);
  break_barriers(*work, *kernel.variant, watched);
  break_padding(*work, *kernel.variant, watched);
  return watched;
}

}  // namespace

int watch_kernel(const WatchRun& run) {
  require_folder_of("--out", run.out);
  DeviceFlags flags;
  flags.device = "host-cuda";
  static_cast<void>(select_device(flags));  // refuses where it is not there
  const Stream stream(Device::cuda());
  std::vector<Watched> watched;
  watched.push_back(watch_variant(run, run.problem.name, stream));
  if (!run.other.empty()) watched.push_back(watch_variant(run, run.other, stream));
  const std::string page = watch_page(watched);
  data::write_file_atomically(run.out, std::string_view(page));
  for (const Watched& one : watched) {
    write_out(fmt::format("{} on {}: {}\n", one.title, one.problem, finding(one)));
  }
  if (watched.size() == 2) write_out(difference(watched[0], watched[1]) + "\n");
  write_out(fmt::format("{}: open it in a browser ({:.1f} MB)\n", run.out,
                        static_cast<double>(page.size()) * 1e-6));
  return 0;
}

}  // namespace weft::cli
