// SPDX-License-Identifier: MIT
// weft kernel run and show --counts on host-cuda: nothing is timed; the threads are checked, run in
// several orders, and their memory accesses are counted.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "examples/weft/kernel/counts_text.h"
#include "examples/weft/kernel/lesson.h"
#include "examples/weft/output/json_lines.h"
#include "host_cuda/access/access_counts.h"
#include "measure/run.h"

namespace weft::cli {

std::unique_ptr<measure::Work> small_work(const KernelRun& run, const measure::FamilyBench& family,
                                          std::string_view variant, const Stream& stream) {
  const measure::Context context{stream, static_cast<std::uint64_t>(run.seed),
                                 static_cast<int>(run.block), variant, run.parameters};
  if (!run.size.empty()) return measure::make_problem(family, run.size, context);
  constexpr double kEnough = 1e5;  // bytes and FLOP
  for (std::int64_t size = 1; size < family.default_size; size *= 2) {
    try {
      std::unique_ptr<measure::Work> work = family.sized(size, context);
      if (work->bytes + work->flops >= kEnough) return work;
    } catch (const Error&) {  // smaller than this family goes
    }
  }
  return family.sized(family.default_size, context);
}

void require_host_cuda(const std::string& name, const kernels::Rung& rung, const Stream& stream) {
  const int capability = device_properties(stream.device()).compute_capability;
  if (rung.on_cuda && rung.compute_capability <= capability) return;
  throw Error(ErrorKind::usage,
              rung.on_cuda
                  ? fmt::format("{} needs a GPU of sm_{}: host-cuda runs kernels up to sm_{}", name,
                                rung.compute_capability, capability)
                  : fmt::format("{} runs on the CPU only; use --device cpu", name));
}

namespace {

struct Outcome {
  std::string variant, problem;
  measure::Verdict verdict;
  std::vector<KernelCounts> kernels;
};

Outcome run_variant(const KernelRun& run, const measure::FamilyBench& family,
                    const kernels::Rung& rung, const Stream& stream) {
  const std::string_view variant = rung.name;
  const std::unique_ptr<measure::Work> work = small_work(run, family, variant, stream);
  check_parameters(run, variant, *work);
  Outcome outcome{std::string(variant), work->problem, {}, {}};
  if (!work->can_run(variant)) {
    if (run.name == family.family) return {};  // of a whole family, those that can
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
  outcome.verdict = work->check(0, measure::variant_of(*work, rung).arithmetic);
  return outcome;
}

nlohmann::ordered_json to_json(const AtomicCounts& atomics) {
  return {{"operations", atomics.operations},
          {"addresses", atomics.addresses},
          {"most_on_an_address", atomics.most_on_an_address}};
}

nlohmann::ordered_json to_json(const KernelCounts& kernel) {
  nlohmann::ordered_json object = {{"kernel", kernel.kernel},
                                   {"launches", kernel.launches},
                                   {"blocks", kernel.blocks},
                                   {"threads", kernel.threads},
                                   {"barriers", kernel.barriers},
                                   {"warps", kernel.warps},
                                   {"divergent_warps", kernel.divergent_warps},
                                   {"global_atomics", to_json(kernel.global_atomics)},
                                   {"shared_atomics", to_json(kernel.shared_atomics)},
                                   {"lines", nlohmann::ordered_json::array()},
                                   {"branches", nlohmann::ordered_json::array()}};
  for (const LineCounts& line : kernel.lines) {
    object["lines"].push_back({{"line", line.line},
                               {"access", name_of(line.kind)},
                               {"requests", line.requests},
                               {"lanes", line.lanes},
                               {"transactions", line.transactions},
                               {"least", line.least}});
    if (line.kind != AccessKind::shared_load) continue;
    object["lines"].back()["wide_requests"] = line.wide_requests;
    object["lines"].back()["wide_transactions"] = line.wide_transactions;
  }
  for (const BranchCounts& branch : kernel.branches) {
    object["branches"].push_back(
        {{"line", branch.line}, {"executed", branch.executed}, {"divergent", branch.divergent}});
  }
  return object;
}

void print(const KernelRun& run, const KernelName& name, const std::vector<Outcome>& outcomes) {
  const Terminal terminal = detect_terminal(kStdout);
  for (const Outcome& one : outcomes) {
    if (run.json) {
      nlohmann::ordered_json event = json_event("host_cuda", {{"family", name.family->name},
                                                              {"variant", one.variant},
                                                              {"problem", one.problem},
                                                              {"ok", one.verdict.ok}});
      if (run.counts) event["kernels"] = nlohmann::ordered_json::array();
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
    write_out(kCountsLegend);
  }
}

}  // namespace

int run_on_host_cuda(const KernelRun& run) {
  const KernelName name = parse_kernel_name(run.name);
  const measure::FamilyBench* family = measure::find_family_bench(name.family->name);
  if (family == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("kernel family {} has no problem to run alone", name.family->name));
  }
  setenv("WEFT_HOST_CUDA_SCHEDULES", "4", 0);  // orders of the threads, on the same data
  const Stream stream(Device::cuda());
  const int capability = device_properties(stream.device()).compute_capability;
  std::vector<Outcome> outcomes;
  for (const kernels::Rung& info : name.family->rungs()) {
    const bool asked = name.variant != nullptr && info.name == name.variant->name;
    if (name.variant != nullptr && !asked) continue;
    if (!asked && (!info.on_cuda || info.compute_capability > capability)) continue;
    require_host_cuda(run.name, info, stream);
    Outcome outcome = run_variant(run, *family, info, stream);
    if (!outcome.variant.empty()) outcomes.push_back(std::move(outcome));
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
