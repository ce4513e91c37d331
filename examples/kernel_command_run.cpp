// SPDX-License-Identifier: MIT
// weft kernel run and show: one problem of a family on this machine.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "bench/run.h"
#include "engine/error.h"
#include "engine/kernel_usage.h"
#include "examples/json_lines.h"
#include "examples/kernel_command.h"
#include "examples/tables.h"

namespace weft::cli {
namespace {

using bench::Row;

const bench::FamilyBench& bench_of(const kernels::Family& family) {
  const bench::FamilyBench* found = bench::find_family_bench(family.name);
  if (found != nullptr) return *found;
  std::string known;
  for (const bench::FamilyBench* one : bench::family_benches()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one->family);
  }
  throw Error(ErrorKind::usage, fmt::format("kernel family {} has no problem to run alone; those "
                                            "that have: {}",
                                            family.name, known));
}

bench::Row measure_variant(bench::Work& work, const kernels::Family& family,
                           const std::string& variant, const bench::TimingOptions& options) {
  return bench::run_one(work, family.name, variant, bench::arithmetic_of(variant),
                        {[&](int set) { work.call(variant, set); }, {}}, options);
}

void check_runs_here(const KernelName& name, const bench::Work& work) {
  const Device device = work.context.stream.device();
  const kernels::VariantInfo& info = *name.variant;
  if (device.is_cpu() && !info.on_cpu) {
    const std::string& reason = cuda_status().reason;
    throw Error(ErrorKind::usage, fmt::format("{}/{} runs on a GPU only{}", name.family->name,
                                              info.name, reason.empty() ? "" : ": " + reason));
  }
  if (device.is_cuda() && !info.on_cuda) {
    throw Error(ErrorKind::usage, fmt::format("{}/{} runs on the CPU only; use --device cpu",
                                              name.family->name, info.name));
  }
  for (const std::string& runnable : bench::runnable_variants(name.family->name, work)) {
    if (runnable == info.name) return;
  }
  throw Error(ErrorKind::usage, fmt::format("{}/{} cannot run {} on {}", name.family->name,
                                            info.name, work.problem, to_string(device)));
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// Consecutive rows of one problem as a table.
void print_rows(std::span<const Row> rows, const bench::Machine& machine) {
  const Terminal terminal = detect_terminal(kStdout);
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    if (!row.error.empty()) {
      cells.push_back({row.name, "", "", "", "", "", "", row.error});
      continue;
    }
    cells.push_back({row.name, bench::time_text(row.timing.median),
                     bench::time_text(row.timing.p10), bench::time_text(row.timing.p90),
                     fmt::format("{}", row.timing.count), bench::rate_text(row),
                     bench::share_text(row, machine),
                     (row.ok() ? "" : "WRONG: ") + row.verdict.text});
  }
  write_out(fmt::format("{} on {}\n", rows.front().problem, printable(machine.name)) +
            format_table({{"variant", Align::left},
                          {"median"},
                          {"p10"},
                          {"p90"},
                          {"samples"},
                          {"rate"},
                          {"of bound"},
                          {"check", Align::left}},
                         cells, terminal));
}

std::string usage_text(const KernelUsage& kernel) {
  return fmt::format(
      "{}: grid {}x{}x{}, block {}x{}x{}, {} registers, {} of shared memory{}, {} blocks per SM, "
      "occupancy {}, limited by {}",
      kernel.name, kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.block[0], kernel.block[1],
      kernel.block[2], kernel.registers, format_bytes(static_cast<double>(kernel.shared_bytes)),
      kernel.local_bytes > 0 ? fmt::format(", {} of local memory", kernel.local_bytes) : "",
      kernel.blocks_per_multiprocessor, percent(kernel.occupancy), kernel.limit);
}

std::string bound_text(const bench::Work& work, double bound, const bench::Machine& machine) {
  if (!(bound > 0)) return "none: the peak of what it uses is not known";
  const bool arithmetic =
      bound > machine.bound(work.bytes, 0, bench::Arithmetic::fp32, work.traffic);
  const bool shared = work.traffic == bench::Traffic::shared_memory;
  return fmt::format("{}, by {} of {}", bench::time_text(bound),
                     arithmetic ? "the arithmetic"
                     : shared   ? "the shared memory"
                                : "the memory",
                     printable(machine.name));
}

bool runs_on(const kernels::VariantInfo& info, Device device) {
  return device.is_cpu() ? info.on_cpu
                         : info.on_cuda && device_properties(device).compute_capability >=
                                               info.compute_capability;
}

int show_family(const kernels::Family& family, bool json) {
  const bench::FamilyBench* problem = bench::find_family_bench(family.name);
  if (json) {
    nlohmann::ordered_json event = json_event("family");
    event["family"] = family.name;
    event["summary"] = family.summary;
    event["size"] = problem == nullptr ? "" : problem->size_meaning;
    event["variants"] = nlohmann::ordered_json::array();
    for (const kernels::VariantInfo& info : family.variants()) {
      event["variants"].push_back(info.name);
    }
    write_out(json_line(event));
    return 0;
  }
  const Terminal terminal = detect_terminal(kStdout);
  std::string text = fmt::format("{}: {}\n", paint(terminal, "1", family.name), family.summary);
  if (problem != nullptr) text += fmt::format("--size counts {}.\n", problem->size_meaning);
  for (const kernels::VariantInfo& info : family.variants()) {
    text += fmt::format("\n  {}\n      {}\n", paint(terminal, "1", info.name), info.summary);
  }
  write_out(text);
  return 0;
}

// The problem of `family` that was asked for; `variant` may be empty.
std::unique_ptr<bench::Work> make_work(const KernelRun& run, const bench::FamilyBench& family,
                                       std::string_view variant, const Stream& stream) {
  return bench::make_problem(
      family, run.size,
      {stream, static_cast<std::uint64_t>(run.seed), static_cast<int>(run.block), variant});
}

// What `automatic` takes for the size that was asked for.
int show_choices(const KernelRun& run, const kernels::Family& family) {
  const bench::FamilyBench& problems = bench_of(family);
  bench::check_size(problems, run.size);
  if (problems.choices == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("--size: {} has no choice to explain; show {}/VARIANT takes a size",
                            family.name, family.name));
  }
  const Device device = select_device(run.device);
  const std::vector<bench::NamedChoice> choices = problems.choices(run.size, device);
  if (run.json) {
    for (const bench::NamedChoice& choice : choices) {
      nlohmann::ordered_json event = json_event("choice");
      event["family"] = family.name;
      event["size"] = run.size;
      event["device"] = to_string(device);
      event["call"] = choice.call;
      event["variant"] = choice.choice.variant;
      event["reason"] = choice.choice.reason;
      write_out(json_line(event));
    }
    return 0;
  }
  std::vector<std::vector<std::string>> cells;
  for (const bench::NamedChoice& choice : choices) {
    cells.push_back(
        {choice.call, std::string(choice.choice.variant), std::string(choice.choice.reason)});
  }
  write_out(
      fmt::format("{} {} on {}\n", family.name, fmt::join(run.size, " x "), to_string(device)) +
      format_table({{"call", Align::left}, {"automatic", Align::left}, {"why", Align::left}}, cells,
                   detect_terminal(kStdout)));
  return 0;
}

}  // namespace

int run_kernel(const KernelRun& run) {
  const KernelName name = parse_kernel_name(run.name);
  const bench::FamilyBench& family = bench_of(*name.family);
  bench::check_size(family, run.size);
  const Device device = select_device(run.device);
  if (built_for_host_cuda() && device.is_cuda()) return run_on_host_cuda(run);
  announce_device(run.device, device);
  const Stream stream(device);
  std::unique_ptr<bench::Work> work =
      make_work(run, family, name.variant == nullptr ? "" : name.variant->name, stream);
  if (run.block > 0 && !work->takes_block()) {
    throw Error(ErrorKind::usage, fmt::format("--block: kernel family {} takes no block size on {}",
                                              name.family->name, to_string(device)));
  }
  if (name.variant != nullptr) check_runs_here(name, *work);
  bench::TimingOptions options;
  if (run.iterations > 0) options = {0, static_cast<int>(run.iterations)};
  const bench::Machine machine = bench::measure_machine(stream);
  std::vector<Row> rows;
  const auto measure = [&](std::string_view variant) {
    rows.push_back(measure_variant(*work, *name.family, std::string(variant), options));
    // One variant that was asked for by name and fails is an error and not a row.
    if (name.variant != nullptr && !rows.back().error.empty()) {
      throw Error(ErrorKind::usage, rows.back().error);
    }
    if (run.json) write_out(bench::row_json(rows.back(), machine) + "\n");
  };
  if (name.variant != nullptr) {
    measure(name.variant->name);
  } else {
    for (const std::string& variant : bench::runnable_variants(name.family->name, *work)) {
      measure(variant);
    }
    // Families of several operations have a problem for each.
    for (const kernels::VariantInfo& info : name.family->variants()) {
      if (!runs_on(info, device) || work->can_run(info.name)) continue;
      const bool done = std::any_of(rows.begin(), rows.end(),
                                    [&](const Row& row) { return row.name == info.name; });
      std::unique_ptr<bench::Work> other =
          done ? nullptr : make_work(run, family, info.name, stream);
      if (other == nullptr || !other->can_run(info.name)) continue;
      work = std::move(other);
      for (const std::string& variant : bench::runnable_variants(name.family->name, *work)) {
        measure(variant);
      }
    }
  }
  for (std::size_t first = 0, last = 0; !run.json && first < rows.size(); first = last) {
    while (last < rows.size() && rows[last].problem == rows[first].problem) ++last;
    print_rows(std::span(rows).subspan(first, last - first), machine);
  }
  int wrong = 0;
  for (const Row& row : rows) wrong += row.ok() ? 0 : 1;
  if (run.check && wrong > 0) {
    throw Error(ErrorKind::check_failed,
                fmt::format("{} of {} variants disagree with the oracle", wrong, rows.size()));
  }
  return 0;
}

int show_kernel(const KernelRun& run) {
  if (run.counts) {
    DeviceFlags flags;
    flags.device = "host-cuda";
    static_cast<void>(select_device(flags));
    return run_on_host_cuda(run);
  }
  const KernelName name = parse_kernel_name(run.name);
  const bool json = run.json;
  if (name.variant == nullptr) {
    return run.size.empty() ? show_family(*name.family, json) : show_choices(run, *name.family);
  }
  const kernels::VariantInfo& info = *name.variant;
  const bench::FamilyBench& family = bench_of(*name.family);
  bench::check_size(family, run.size);
  const Device device = select_device(run.device);

  std::vector<std::pair<std::string, std::string>> pairs = {
      {"kernel", fmt::format("{}/{}", name.family->name, info.name)},
      {"family", std::string(name.family->summary)},
      {"this rung", std::string(info.summary)}};
  std::string needs(info.needs);
  if (info.compute_capability > 0) {
    needs = fmt::format("sm_{}{}{}", info.compute_capability, needs.empty() ? "" : "; ", needs);
  }
  pairs.emplace_back("needs", needs.empty() ? "nothing special" : needs);
  pairs.emplace_back("runs on", info.on_cpu && info.on_cuda ? "CPU and GPU"
                                : info.on_cpu               ? "CPU"
                                                            : "GPU");
  nlohmann::ordered_json event = json_event("show");
  event["family"] = name.family->name;
  event["variant"] = info.name;
  event["summary"] = info.summary;
  event["needs"] = needs;
  event["on_cpu"] = info.on_cpu;
  event["on_cuda"] = info.on_cuda;
  event["device"] = to_string(device);

  const Stream stream(device);
  const std::unique_ptr<bench::Work> work = make_work(run, family, info.name, stream);
  const bench::Machine machine = bench::measure_machine(stream);
  const bench::Arithmetic arithmetic = bench::arithmetic_of(info.name);
  const double bound = machine.bound(work->bytes, work->flops, arithmetic, work->traffic);
  event["problem"] = work->problem;
  event["bytes"] = work->bytes;
  event["flops"] = work->flops;
  event["flops_per_byte"] = work->flops / work->bytes;
  event["bound_seconds"] = bound;
  pairs.emplace_back("problem", work->problem);
  pairs.emplace_back("intensity", fmt::format("{:.3g} FLOP per byte: {:.3g} FLOP, {:.3g} bytes",
                                              work->flops / work->bytes, work->flops, work->bytes));
  event["by_hand"] = nlohmann::ordered_json::array();
  for (const bench::Fact& fact : work->facts(info.name)) {
    pairs.emplace_back(fact.name, fact.text);
    event["by_hand"].push_back({{"name", fact.name}, {"value", fact.value}, {"text", fact.text}});
  }
  pairs.emplace_back("bound here", bound_text(*work, bound, machine));
  if (!runs_on(info, device) || !work->can_run(info.name)) {
    pairs.emplace_back("measured", fmt::format("no: it does not run on {}", to_string(device)));
  } else {
    const std::string variant(info.name);
    const Row row = measure_variant(*work, *name.family, variant, {0.1, 20});
    if (!row.error.empty()) throw Error(ErrorKind::device, row.error);
    const std::string share = bench::share_text(row, machine);
    pairs.emplace_back(
        "measured",
        fmt::format("{}, {}{}; {}", bench::time_text(row.timing.median), bench::rate_text(row),
                    share.empty() ? "" : fmt::format(", {} of the bound", share),
                    row.ok() ? "the result is right" : "the result is WRONG"));
    event["seconds"] = row.timing.median;
    event["share_of_bound"] = row.share(machine);
    event["ok"] = row.ok();
    event["kernels"] = nlohmann::ordered_json::array();
    for (const KernelUsage& kernel : bench::usage_of(*work, variant)) {
      pairs.emplace_back("launches", usage_text(kernel));
      event["kernels"].push_back(nlohmann::ordered_json::parse(bench::usage_json(kernel)));
    }
  }
  write_out(json ? json_line(event) : format_pairs(pairs, detect_terminal(kStdout)));
  return 0;
}

}  // namespace weft::cli
