// SPDX-License-Identifier: MIT
#include "bench/run.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/error.h"
#include "kernels/catalogue.h"
#ifdef WEFT_WITH_CUDA
#include <cuda_runtime.h>
#endif

namespace weft::bench {

Row run_one(Work& work, std::string_view family, const std::string& name, Arithmetic arithmetic,
            const PeerCall& call, const TimingOptions& options) {
  Row row;
  row.family = family;
  row.problem = work.problem;
  row.table = work.table;
  row.column = work.column;
  row.name = name;
  row.by_flops = work.by_flops;
  row.arithmetic = arithmetic;
  row.bytes = work.bytes;
  row.flops = work.flops;
  row.traffic = work.traffic;
  row.sets = work.sets;
  try {
    work.reset();
    TimingOptions timing = options;
    timing.graph = options.graph && !work.one_by_one;
    // Tensor cores draw all the power that a GPU may, but only after 50 ms or so does it slow down,
    // by a sixth. What lasts is measured, of ours and of the yardsticks.
    if (work.context.stream.device().is_cuda() && work.by_flops && arithmetic != Arithmetic::fp32) {
      timing.warm_up = options.seconds;
    }
    row.timing = measure(call.call, work.sets, timing, work.context.stream);
    work.runs = row.timing.runs;
    if (call.finish) call.finish(row.timing.last_set);
    row.verdict = work.check(row.timing.last_set, arithmetic);
  } catch (const Error& error) {
    row.error = error.what();
  }
  return row;
}

std::vector<KernelUsage> usage_of(Work& work, const std::string& variant) {
  try {
    return kernels_launched_by([&] { work.call(variant, 0); }, work.context.stream);
  } catch (const Error&) {
#ifdef WEFT_WITH_CUDA
    static_cast<void>(cudaGetLastError());  // of the capture; the next launch must not report it
#endif
    return {};
  }
}

std::vector<std::string> runnable_variants(std::string_view family, const Work& work) {
  const Device device = work.context.stream.device();
  const kernels::Family* entry = kernels::find_family(family);
  std::vector<std::string> names;
  if (entry == nullptr) return names;
  const auto offer = [&](std::string_view name) {
    if (work.can_run(name)) names.emplace_back(name);
  };
  for (const kernels::VariantInfo& info : entry->variants()) {
    const bool there = device.is_cpu()
                           ? info.on_cpu
                           : info.on_cuda && device_properties(device).compute_capability >=
                                                 info.compute_capability;
    if (there) offer(info.name);
  }
  for (const std::string_view name : work.further_variants()) offer(name);
  return names;
}

std::vector<Row> run_family(const FamilyBench& family, const std::vector<Peer>& peers,
                            const Context& context, const TimingOptions& options,
                            const std::function<void(const Row&)>& seen) {
  std::vector<Row> rows;
  const auto keep = [&](Row row) {
    seen(row);
    rows.push_back(std::move(row));
  };
  for (const auto& make : family.problems(context.stream.device())) {
    std::unique_ptr<Work> work;
    try {
      work = make(context);
    } catch (const Error& error) {
      Row row;
      row.family = family.family;
      row.problem = "a problem that could not be made";
      row.error = error.what();
      keep(std::move(row));
      continue;
    }
    for (const std::string& name : runnable_variants(family.family, *work)) {
      const PeerCall call = {[&](int set) { work->call(name, set); }, {}};
      Row row = run_one(*work, family.family, name, arithmetic_of(name), call, options);
      if (row.error.empty()) row.kernels = usage_of(*work, name);
      keep(std::move(row));
    }
    for (const Peer& peer : peers) {
      Row row;
      try {
        const PeerCall call = peer.bind(*work);
        if (!call.call) continue;
        row = run_one(*work, family.family, peer.name, peer.arithmetic, call, options);
      } catch (const Error& error) {
        row.family = family.family;
        row.problem = work->problem;
        row.name = peer.name;
        row.error = error.what();
      }
      row.peer = true;
      keep(std::move(row));
    }
  }
  return rows;
}

std::vector<Series> series_of(const std::vector<Row>& rows, std::string_view family) {
  const auto place = [](std::vector<std::string>& list, const std::string& word) {
    const auto found = std::find(list.begin(), list.end(), word);
    if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
    list.push_back(word);
    return list.size() - 1;
  };
  std::vector<Series> all;
  std::vector<std::string> titles;
  for (const Row& row : rows) {
    if (row.family != family || row.table.empty() || !row.error.empty()) continue;
    const std::size_t at = place(titles, row.table);
    if (at == all.size()) all.push_back({row.table, {}, {}, {}});
    Series& series = all[at];
    const std::size_t line = place(series.names, row.name);
    const std::size_t column = place(series.columns, row.column);
    if (line == series.cells.size()) series.cells.emplace_back();
    series.cells[line].resize(std::max(series.cells[line].size(), column + 1));
    series.cells[line][column] = &row;
  }
  for (Series& series : all) {
    for (auto& line : series.cells) line.resize(series.columns.size());
  }
  return all;
}

std::string cell_text(const Row& row) {
  return fmt::format("{:.1f}",
                     row.by_flops ? row.flops_per_second() * 1e-12 : row.bytes_per_second() * 1e-9);
}

std::string share_text(const Row& row, const Machine& machine) {
  const double share = row.share(machine);
  return share > 0 ? fmt::format("{:.1f} %", 100 * share) : "";
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string rate_text(const Row& row) {
  const double rate = row.by_flops ? row.flops_per_second() : row.bytes_per_second();
  const char* unit = row.by_flops ? "FLOP/s" : "B/s";
  if (rate >= 1e12) return fmt::format("{:.2f} T{}", rate * 1e-12, unit);
  return fmt::format("{:.2f} G{}", rate * 1e-9, unit);
}

}  // namespace weft::bench
