// SPDX-License-Identifier: MIT
// weft kernel run and show: one problem of a family on this machine.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "engine/cuda/kernel_usage.h"
#include "engine/error.h"
#include "examples/weft/kernel/lesson.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "measure/run.h"

namespace weft::cli {
namespace {

using measure::Row;

const measure::FamilyBench& bench_of(const kernels::Family& family) {
  const measure::FamilyBench* found = measure::find_family_bench(family.name);
  if (found != nullptr) return *found;
  std::string known;
  for (const measure::FamilyBench* one : measure::family_benches()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one->family);
  }
  throw Error(ErrorKind::usage, fmt::format("kernel family {} has no problem to run alone; those "
                                            "that have: {}",
                                            family.name, known));
}

measure::Row measure_variant(measure::Work& work, const kernels::Family& family,
                             const measure::Variant& variant,
                             const measure::TimingOptions& options) {
  return measure::run_one(work, family.name, variant,
                          {[&](int set) { work.call(variant.name, set); }, {}}, options);
}

void check_runs_here(const KernelName& name, const measure::Work& work) {
  const Device device = work.context.stream.device();
  const kernels::Rung& info = *name.variant;
  if (device.is_cpu() && !info.on_cpu) {
    throw Error(ErrorKind::usage,
                fmt::format("{}/{} runs on a GPU only{}", name.family->name, info.name,
                            info.on_host_cuda()
                                ? "; --device host-cuda runs its source on this CPU, and checks it"
                                : ""));
  }
  if (device.is_cuda() && !info.on_cuda) {
    throw Error(ErrorKind::usage, fmt::format("{}/{} runs on the CPU only; use --device cpu",
                                              name.family->name, info.name));
  }
  for (const measure::Variant& runnable : measure::runnable_variants(name.family->name, work)) {
    if (runnable.name == info.name) return;
  }
  throw Error(ErrorKind::usage, fmt::format("{}/{} cannot run {} on {}", name.family->name,
                                            info.name, work.problem, to_string(device)));
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// Consecutive rows of one problem as a table.
void print_rows(std::span<const Row> rows, const measure::Machine& machine) {
  const Terminal terminal = detect_terminal(kStdout);
  std::vector<Cells> cells;
  for (const Row& row : rows) {
    if (!row.error.empty()) {
      cells.push_back({row.name, "", "", "", "", "", "", row.error});
      continue;
    }
    cells.push_back({row.name, measure::time_text(row.timing.median),
                     measure::time_text(row.timing.p10), measure::time_text(row.timing.p90),
                     fmt::format("{}", row.timing.count), measure::rate_text(row),
                     measure::share_text(row, machine),
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

std::string usage_text(const measure::LaunchedKernel& launched) {
  const KernelUsage& kernel = launched.usage;
  const std::string launch =
      fmt::format("{}: {}grid {}x{}x{}, block {}x{}x{}", kernel.name,
                  launched.launches > 1 ? fmt::format("{} times, first ", launched.launches) : "",
                  kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.block[0], kernel.block[1],
                  kernel.block[2]);
  if (kernel.registers == 0) return launch;  // on host-cuda
  return fmt::format(
      "{}, {} registers, {} of shared memory{}, {} blocks per SM, occupancy {}, limited by {}",
      launch, kernel.registers, format_bytes(static_cast<double>(kernel.shared_bytes)),
      kernel.local_bytes > 0 ? fmt::format(", {} of local memory", kernel.local_bytes) : "",
      kernel.blocks_per_multiprocessor, percent(kernel.occupancy), kernel.limit);
}

std::string bound_text(const measure::Work& work, double bound, measure::Arithmetic arithmetic,
                       const measure::Machine& machine) {
  if (!(bound > 0)) return "none: the peak of what it uses is not known";
  const bool by_arithmetic = bound <= machine.bound(0, work.flops, arithmetic);
  const bool shared = work.traffic == measure::Traffic::shared_memory;
  const bool cached = machine.bandwidth_of(work.touched()) > machine.bandwidth;
  return fmt::format("{}, by {} of {}", measure::time_text(bound),
                     by_arithmetic ? "the arithmetic"
                     : shared      ? "the shared memory"
                     : cached      ? "the caches"
                                   : "the memory",
                     machine.name);
}

bool runs_on(const kernels::Rung& info, Device device) {
  return device.is_cpu() ? info.on_cpu
                         : info.on_cuda && device_properties(device).compute_capability >=
                                               info.compute_capability;
}

int show_family(const kernels::Family& family, bool json) {
  const measure::FamilyBench* problem = measure::find_family_bench(family.name);
  if (json) {
    nlohmann::ordered_json event =
        json_event("family", {{"family", family.name},
                              {"summary", family.summary},
                              {"size", problem == nullptr ? "" : problem->size_meaning},
                              {"variants", nlohmann::ordered_json::array()}});
    for (const kernels::Rung& info : family.rungs()) {
      event["variants"].push_back(info.name);
    }
    write_out(json_line(event));
    return 0;
  }
  const Terminal terminal = detect_terminal(kStdout);
  const auto paragraph = [&](const std::string& words, int indent) {
    return wrapped(words, terminal.width, indent) + "\n";
  };
  std::string text =
      paragraph(fmt::format("{}: {}", paint(terminal, "1", family.name), family.summary), 0);
  if (problem != nullptr) {
    text += paragraph(fmt::format("--size counts {}.", problem->size_meaning), 0);
  }
  for (const kernels::Rung& info : family.rungs()) {
    text += fmt::format("\n  {}\n      {}", paint(terminal, "1", info.name),
                        paragraph(std::string(info.summary), 6));
  }
  write_out(text);
  return 0;
}

// The problem of `family` that was asked for; `variant` may be empty.
std::unique_ptr<measure::Work> make_work(const KernelRun& run, const measure::FamilyBench& family,
                                         std::string_view variant, const Stream& stream) {
  return measure::make_problem(family, run.size,
                               {stream, static_cast<std::uint64_t>(run.seed),
                                static_cast<int>(run.block), variant, run.parameters});
}

// What `automatic` takes for the size that was asked for.
int show_choices(const KernelRun& run, const kernels::Family& family) {
  const measure::FamilyBench& problems = bench_of(family);
  measure::check_size(problems, run.size);
  if (problems.choices == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("--size: {} has no choice to explain; show {}/VARIANT takes a size",
                            family.name, family.name));
  }
  const Device device = select_device(run.device);
  const std::vector<measure::NamedChoice> choices = problems.choices(run.size, device);
  if (run.json) {
    for (const measure::NamedChoice& choice : choices) {
      print_event("choice", {{"family", family.name},
                             {"size", run.size},
                             {"device", to_string(device)},
                             {"call", choice.call},
                             {"variant", choice.choice.rung},
                             {"reason", choice.choice.reason}});
    }
    return 0;
  }
  std::vector<Cells> cells;
  for (const measure::NamedChoice& choice : choices) {
    cells.push_back(
        {choice.call, std::string(choice.choice.rung), std::string(choice.choice.reason)});
  }
  write_out(
      fmt::format("{} {} on {}\n", family.name, fmt::join(run.size, " x "), to_string(device)) +
      format_table({{"call", Align::left}, {"automatic", Align::left}, {"why", Align::left}}, cells,
                   detect_terminal(kStdout)));
  return 0;
}

// Times the rung, and lists the kernels that it launches.
void show_measured(measure::Work& work, const kernels::Family& family, const kernels::Rung& info,
                   const measure::Machine& machine, nlohmann::ordered_json& event, Pairs& pairs) {
  const Row row = measure_variant(work, family, measure::variant_of(work, info), {0.1, 20});
  if (!row.error.empty()) throw Error(ErrorKind::device, row.error);
  const std::string share = measure::share_text(row, machine);
  pairs.emplace_back(
      "measured",
      fmt::format("{}, {}{}; {}", measure::time_text(row.timing.median), measure::rate_text(row),
                  share.empty() ? "" : fmt::format(", {} of the bound", share),
                  row.ok() ? "the result is right" : "the result is WRONG"));
  event["seconds"] = row.timing.median;
  event["share_of_bound"] = nullptr;
  if (row.share(machine) > 0) event["share_of_bound"] = row.share(machine);
  event["ok"] = row.ok();
  event["kernels"] = nlohmann::ordered_json::array();
  const std::vector<KernelUsage> usages = measure::usage_of(work, std::string(info.name));
  for (const KernelUsage& kernel : usages) {
    event["kernels"].push_back(nlohmann::ordered_json::parse(measure::usage_json(kernel)));
  }
  for (const measure::LaunchedKernel& kernel : measure::heaviest_first(usages)) {
    pairs.emplace_back("launches", usage_text(kernel));
  }
}

// What bounds it on this machine, and how fast it is here.
void show_here(measure::Work& work, const KernelName& name, nlohmann::ordered_json& event,
               Pairs& pairs) {
  const kernels::Rung& info = *name.variant;
  const Device device = work.context.stream.device();
  if (!runs_on(info, device) || !work.can_run(info.name)) {
    pairs.emplace_back("measured", fmt::format("no: it does not run on {}", to_string(device)));
    return;
  }
  const measure::Machine machine = measure::measure_machine(work.context.stream);
  const measure::Arithmetic arithmetic = measure::variant_of(work, info).arithmetic;
  const double bound =
      machine.bound(work.bytes, work.flops, arithmetic, work.traffic, work.touched());
  event["bound_seconds"] = bound;
  pairs.emplace_back("bound here", bound_text(work, bound, arithmetic, machine));
  show_measured(work, *name.family, info, machine, event, pairs);
}

}  // namespace

int run_kernel(const KernelRun& run) {
  const KernelName name = parse_kernel_name(run.name);
  const measure::FamilyBench& family = bench_of(*name.family);
  measure::check_size(family, run.size);
  const Device device = select_device(run.device);
  if (built_for_host_cuda() && device.is_cuda()) return run_on_host_cuda(run);
  announce_device(run.device, device);
  const Stream stream(device);
  std::unique_ptr<measure::Work> work =
      make_work(run, family, name.variant == nullptr ? "" : name.variant->name, stream);
  check_parameters(run, name.variant == nullptr ? "" : name.variant->name, *work);
  if (run.block > 0 && !work->takes_block()) {
    throw Error(ErrorKind::usage, fmt::format("--block: kernel family {} takes no block size on {}",
                                              name.family->name, to_string(device)));
  }
  if (name.variant != nullptr) check_runs_here(name, *work);
  measure::TimingOptions options;
  if (run.iterations > 0) options = {0, static_cast<int>(run.iterations)};
  const measure::Machine machine = measure::measure_machine(stream);
  std::vector<Row> rows;
  const auto measure = [&](const measure::Variant& variant) {
    rows.push_back(measure_variant(*work, *name.family, variant, options));
    // One variant that was asked for by name and fails is an error and not a row.
    if (name.variant != nullptr && !rows.back().error.empty()) {
      throw Error(ErrorKind::usage, rows.back().error);
    }
    if (run.json) write_out(measure::row_json(rows.back(), machine) + "\n");
  };
  if (name.variant != nullptr) {
    measure(measure::variant_of(*work, *name.variant));
  } else {
    for (const measure::Variant& variant : measure::runnable_variants(name.family->name, *work)) {
      measure(variant);
    }
    // Families of several operations have a problem for each.
    for (const kernels::Rung& info : name.family->rungs()) {
      if (!runs_on(info, device) || work->can_run(info.name)) continue;
      const bool done = std::any_of(rows.begin(), rows.end(),
                                    [&](const Row& row) { return row.name == info.name; });
      std::unique_ptr<measure::Work> other =
          done ? nullptr : make_work(run, family, info.name, stream);
      if (other == nullptr || !other->can_run(info.name)) continue;
      work = std::move(other);
      for (const measure::Variant& variant : measure::runnable_variants(name.family->name, *work)) {
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

// What the row of a rung says, for people and for programs. `asked` is the name that was given.
std::pair<Pairs, nlohmann::ordered_json> told_of(const KernelName& told, const KernelName& asked) {
  const kernels::Rung& info = *told.variant;
  Pairs pairs = {
      {"kernel", fmt::format("{}/{}{}", told.family->name, info.name,
                             info.name == asked.variant->name
                                 ? ""
                                 : fmt::format(", {} with this tile", asked.variant->name))},
      {"family", std::string(told.family->summary)},
      {"this rung", std::string(info.summary)}};
  if (!info.operation.empty()) pairs.emplace_back("a version of", std::string(info.operation));
  std::string needs(info.needs);
  if (info.compute_capability > 0) {
    needs = fmt::format("sm_{}{}{}", info.compute_capability, needs.empty() ? "" : "; ", needs);
  }
  pairs.emplace_back("needs", needs.empty() ? "nothing special" : needs);
  pairs.emplace_back("runs on", info.on_cpu && info.on_cuda ? "CPU and GPU"
                                : info.on_cpu               ? "CPU"
                                                            : "GPU");
  nlohmann::ordered_json event = json_event("show", {{"family", told.family->name},
                                                     {"variant", info.name},
                                                     {"operation", info.operation},
                                                     {"summary", info.summary},
                                                     {"needs", needs},
                                                     {"on_cpu", info.on_cpu},
                                                     {"on_cuda", info.on_cuda}});
  return {std::move(pairs), std::move(event)};
}

int show_kernel(const KernelRun& run) {
  if (run.counts) {
    DeviceFlags flags;
    flags.device = "host-cuda";
    static_cast<void>(select_device(flags));  // refuses where it is not there
    return run_on_host_cuda(run);
  }
  const KernelName name = parse_kernel_name(run.name);
  const bool json = run.json;
  if (name.variant == nullptr) {
    refuse_rung_flags(run);
    return run.size.empty() ? show_family(*name.family, json) : show_choices(run, *name.family);
  }
  const measure::FamilyBench& family = bench_of(*name.family);
  measure::check_size(family, run.size);
  const Device device = select_device(run.device);
  const Stream stream(device);
  const std::unique_ptr<measure::Work> work = make_work(run, family, name.variant->name, stream);
  check_parameters(run, name.variant->name, *work);
  // With the tile of another rung, it is that rung which is told of.
  const std::string_view configured = work->configured_rung(name.variant->name);
  const KernelName told =
      configured.empty() ? name
                         : parse_kernel_name(fmt::format("{}/{}", name.family->name, configured));
  auto [pairs, event] = told_of(told, name);
  event["device"] = to_string(device);
  tell_source(told, pairs, event);
  if (configured.empty() && !run.parameters.tile.empty()) {
    pairs.emplace_back("tile",
                       fmt::format("{}, for the arithmetic below; the source and its comment "
                                   "have a tile of their own",
                                   fmt::join(run.parameters.tile, " x ")));
  }
  event["problem"] = work->problem;
  event["bytes"] = work->bytes;
  event["flops"] = work->flops;
  event["flops_per_byte"] = work->flops / work->bytes;
  pairs.emplace_back("problem", work->problem);
  pairs.emplace_back("intensity", fmt::format("{:.3g} FLOP per byte: {:.3g} FLOP, {:.3g} bytes",
                                              work->flops / work->bytes, work->flops, work->bytes));
  event["by_hand"] = nlohmann::ordered_json::array();
  for (const measure::Fact& fact : work->facts(name.variant->name)) {
    pairs.emplace_back(fact.name, fact.text);
    event["by_hand"].push_back({{"name", fact.name}, {"value", fact.value}, {"text", fact.text}});
  }
  tell_gpu(told, *work, run.gpu, pairs, event);
  if (run.gpu.empty()) show_here(*work, told, event, pairs);
  if (json) {
    write_out(json_line(event));
    return 0;
  }
  const Terminal terminal = detect_terminal(kStdout);
  const std::string header = rung_header(told, terminal.width);
  write_out(header + (header.empty() ? "" : "\n") + format_pairs(pairs, terminal));
  return 0;
}

}  // namespace weft::cli
