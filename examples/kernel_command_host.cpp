// SPDX-License-Identifier: MIT
// weft kernel run and show --counts on host-cuda: nothing is timed; the threads are checked, run in
// several orders, and their memory accesses are counted.
#include <fmt/core.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "bench/run.h"
#include "engine/access_counts.h"
#include "engine/error.h"
#include "examples/json_lines.h"
#include "examples/kernel_command.h"
#include "examples/tables.h"

namespace weft::cli {
namespace {

// A problem of little work, unless a size is asked for: here a GPU's problem would take hours.
std::unique_ptr<bench::Work> small_work(const KernelRun& run, const bench::FamilyBench& family,
                                        std::string_view variant, const Stream& stream) {
  const bench::Context context{stream, static_cast<std::uint64_t>(run.seed),
                               static_cast<int>(run.block), variant};
  if (!run.size.empty()) return bench::make_problem(family, run.size, context);
  constexpr double kEnough = 1e5;  // bytes and FLOP
  for (std::int64_t size = 1; size < family.default_size; size *= 2) {
    try {
      std::unique_ptr<bench::Work> work = family.sized(size, context);
      if (work->bytes + work->flops >= kEnough) return work;
    } catch (const Error&) {  // smaller than this family goes
    }
  }
  return family.sized(family.default_size, context);
}

struct Outcome {
  std::string variant, problem;
  bench::Verdict verdict;
  std::vector<KernelCounts> kernels;
};

Outcome run_variant(const KernelRun& run, const bench::FamilyBench& family,
                    std::string_view variant, const Stream& stream) {
  const std::unique_ptr<bench::Work> work = small_work(run, family, variant, stream);
  Outcome outcome{std::string(variant), work->problem, {}, {}};
  if (!work->can_run(variant)) {
    throw Error(ErrorKind::usage,
                fmt::format("{}/{} cannot run {}", family.family, variant, work->problem));
  }
  work->reset();
  const auto call = [&] { work->call(variant, 0); };
  if (run.counts) {
    outcome.kernels = count_accesses(call);
  } else {
    call();
  }
  work->runs = 1;
  outcome.verdict = work->check(0, bench::arithmetic_of(variant));
  return outcome;
}

nlohmann::ordered_json to_json(const KernelCounts& kernel) {
  nlohmann::ordered_json object = {{"kernel", kernel.kernel},
                                   {"launches", kernel.launches},
                                   {"blocks", kernel.blocks},
                                   {"threads", kernel.threads},
                                   {"barriers", kernel.barriers},
                                   {"atomics", kernel.atomics},
                                   {"atomic_addresses", kernel.atomic_addresses},
                                   {"most_on_an_address", kernel.most_on_an_address},
                                   {"lines", nlohmann::ordered_json::array()}};
  for (const LineCounts& line : kernel.lines) {
    object["lines"].push_back({{"line", line.line},
                               {"access", name_of(line.kind)},
                               {"requests", line.requests},
                               {"lanes", line.lanes},
                               {"transactions", line.transactions},
                               {"least", line.least}});
  }
  return object;
}

std::string per_request(std::uint64_t total, const LineCounts& line) {
  return fmt::format("{:.1f}", static_cast<double>(total) / static_cast<double>(line.requests));
}

// "kernels/a/x.cuh:3, called at ..., called at kernels/b/y.cu:5": "kernels/a/x.cuh:3 from y.cu:5"
std::string short_line(const std::string& line) {
  const std::size_t first = line.find(','), last = line.rfind('/');
  if (first == std::string::npos || last == std::string::npos) return line;
  return fmt::format("{} from {}", line.substr(0, first), line.substr(last + 1));
}

std::string counts_text(const KernelCounts& kernel, const Terminal& terminal) {
  std::string text =
      fmt::format("\n{}: {} launch{}, {} blocks, {} threads, {} barriers of a block\n",
                  paint(terminal, "1", kernel.kernel), kernel.launches,
                  kernel.launches == 1 ? "" : "es", kernel.blocks, kernel.threads, kernel.barriers);
  if (kernel.atomics > 0) {
    text += fmt::format("{} atomic operations on {} addresses, {} on one of them\n", kernel.atomics,
                        kernel.atomic_addresses, kernel.most_on_an_address);
  }
  std::vector<std::vector<std::string>> cells;
  for (const LineCounts& line : kernel.lines) {
    cells.push_back({name_of(line.kind), fmt::format("{}", line.requests),
                     per_request(line.lanes, line), per_request(line.transactions, line),
                     per_request(line.least, line), short_line(line.line)});
  }
  return text + format_table({{"access", Align::left},
                              {"requests"},
                              {"lanes"},
                              {"transactions"},
                              {"at best"},
                              {"line", Align::left}},
                             cells, terminal);
}

void print(const KernelRun& run, const KernelName& name, const std::vector<Outcome>& outcomes) {
  const Terminal terminal = detect_terminal(kStdout);
  for (const Outcome& one : outcomes) {
    if (run.json) {
      nlohmann::ordered_json event = json_event("host_cuda");
      event["family"] = name.family->name;
      event["variant"] = one.variant;
      event["problem"] = one.problem;
      event["ok"] = one.verdict.ok;
      for (const KernelCounts& kernel : one.kernels) event["kernels"].push_back(to_json(kernel));
      write_out(json_line(event));
      continue;
    }
    write_out(fmt::format("{}/{} on {}: {}\n", name.family->name, one.variant, one.problem,
                          one.verdict.ok ? "the result is right, no thread broke a rule"
                                         : "WRONG: " + one.verdict.text));
    for (const KernelCounts& kernel : one.kernels) write_out(counts_text(kernel, terminal));
  }
  if (run.counts && !run.json) {
    write_out(
        "\nPer request of a warp: lanes that take part; transactions, which are sectors of 32\n"
        "bytes of global memory or passes over the banks of shared memory; and how many these\n"
        "lanes would need at best.\n");
  }
}

}  // namespace

int run_on_host_cuda(const KernelRun& run) {
  const KernelName name = parse_kernel_name(run.name);
  const bench::FamilyBench* family = bench::find_family_bench(name.family->name);
  if (family == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("kernel family {} has no problem to run alone", name.family->name));
  }
  setenv("WEFT_HOST_CUDA_SCHEDULES", "4", 0);  // orders of the threads, on the same data
  const Stream stream(Device::cuda());
  const int capability = device_properties(stream.device()).compute_capability;
  std::vector<Outcome> outcomes;
  for (const kernels::VariantInfo& info : name.family->variants()) {
    const bool asked = name.variant != nullptr && info.name == name.variant->name;
    if (name.variant != nullptr && !asked) continue;
    if (!info.on_cuda || info.compute_capability > capability) {
      if (!asked) continue;
      throw Error(ErrorKind::usage,
                  info.on_cuda
                      ? fmt::format("{} needs a GPU of sm_{}: host-cuda runs kernels up to sm_{}",
                                    run.name, info.compute_capability, capability)
                      : fmt::format("{} runs on the CPU only; use --device cpu", run.name));
    }
    outcomes.push_back(run_variant(run, *family, info.name, stream));
  }
  if (outcomes.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("no variant of {} runs here: host-cuda runs kernels up to sm_{}",
                            name.family->name, capability));
  }
  print(run, name, outcomes);
  for (const Outcome& one : outcomes) {
    if (!one.verdict.ok && run.check) {
      throw Error(ErrorKind::check_failed,
                  fmt::format("{}/{} disagrees with the oracle", name.family->name, one.variant));
    }
  }
  return 0;
}

}  // namespace weft::cli
