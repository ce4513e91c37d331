// SPDX-License-Identifier: MIT
#include "measure/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "kernels/catalogue.h"

namespace weft::measure {

Row row_of(const Work& work, std::string_view family, const Variant& variant) {
  Row row;
  row.family = family;
  row.problem = work.problem;
  row.table = work.table;
  row.column = work.column;
  row.name = variant.name;
  row.rung = variant.rung;
  row.by_flops = work.by_flops;
  row.arithmetic = variant.arithmetic;
  row.bytes = work.bytes;
  row.flops = work.flops;
  row.touched = work.touched();
  row.traffic = work.traffic;
  row.sets = work.sets;
  return row;
}

Row run_one(Work& work, std::string_view family, const Variant& variant, const PeerCall& call,
            const TimingOptions& options) {
  Row row = row_of(work, family, variant);
  row.which = call.which;
  try {
    work.reset();
    TimingOptions timing = options;
    timing.graph = options.graph && !work.one_by_one;
    // Tensor cores draw all the power that a GPU may, but only after 50 ms or so does it slow down,
    // by a sixth. What lasts is measured, of ours and of the yardsticks.
    if (work.context.stream.device().is_cuda() && work.by_flops &&
        row.arithmetic != Arithmetic::fp32) {
      timing.warm_up = options.seconds;
    }
    row.timing = measure(call.call, work.sets, timing, work.context.stream);
    work.runs = row.timing.runs;
    if (call.finish) call.finish(row.timing.last_set);
    row.verdict = work.check(row.timing.last_set, row.arithmetic);
  } catch (const Error& error) {
    row.error = error.what();
  }
  return row;
}

std::vector<KernelUsage> usage_of(Work& work, const std::string& variant) {
  work.reset();
  return kernels_launched_by([&] { work.call(variant, 0); }, work.context.stream.device());
}

std::vector<LaunchedKernel> heaviest_first(std::span<const KernelUsage> launches) {
  std::vector<LaunchedKernel> kernels;
  for (const KernelUsage& usage : launches) {
    const auto same = std::find_if(kernels.begin(), kernels.end(), [&](const LaunchedKernel& one) {
      return one.usage.kernel == usage.kernel && one.usage.shared_bytes == usage.shared_bytes;
    });
    if (same != kernels.end()) {
      ++same->launches;
    } else {
      kernels.push_back({usage, 1});
    }
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const LaunchedKernel& a, const LaunchedKernel& b) {
                     return std::pair(a.usage.shared_bytes, a.usage.registers) >
                            std::pair(b.usage.shared_bytes, b.usage.registers);
                   });
  return kernels;
}

Variant variant_of(const Work& work, const kernels::Rung& rung) {
  const bool on_cpu = work.context.stream.device().is_cpu();
  return {std::string(rung.name), rung.name, on_cpu ? Arithmetic::fp32 : work.arithmetic_of(rung)};
}

std::vector<Variant> runnable_variants(std::string_view family, const Work& work,
                                       Counts* left_out) {
  const Device device = work.context.stream.device();
  const kernels::Family* entry = kernels::find_family(family);
  std::vector<Variant> variants;
  if (entry == nullptr) return variants;
  const auto offer = [&](const Variant& variant) {
    if (work.can_run(variant.name)) {
      variants.push_back(variant);
    } else if (left_out != nullptr) {
      ++(*left_out)[variant.name];
    }
  };
  for (const kernels::Rung& rung : entry->rungs()) {
    const bool there = device.is_cpu()
                           ? rung.on_cpu
                           : rung.on_cuda && device_properties(device).compute_capability >=
                                                 rung.compute_capability;
    if (there) offer(variant_of(work, rung));
  }
  for (const Variant& variant : work.further_variants()) offer(variant);
  return variants;
}

std::string left_out_text(std::string_view family, const Counts& left_out, std::size_t measured) {
  std::string names;
  std::size_t total = 0;
  for (const auto& [name, count] : left_out) {
    names += fmt::format("{} {} {}", names.empty() ? ":" : ",", name, count);
    total += static_cast<std::size_t>(count);
  }
  return fmt::format("{}: {} of {} combinations of problem and variant were not taken{}", family,
                     total, total + measured, names);
}

void check_launches(Row& row, std::span<Row> earlier, const Work& work) {
  if (!row.error.empty()) return;
  if (row.kernels.empty()) {
    if (work.traffic != Traffic::host_bus) row.misnamed = "launched no kernel";
    return;
  }
  const auto same = [](const KernelUsage& a, const KernelUsage& b) {
    return a.kernel == b.kernel && a.grid == b.grid && a.block == b.block;
  };
  for (Row& other : earlier) {
    if (other.problem != row.problem || work.one_kernel ||
        !std::equal(row.kernels.begin(), row.kernels.end(), other.kernels.begin(),
                    other.kernels.end(), same)) {
      continue;
    }
    const bool chosen = row.rung == kernels::kAutomatic || other.rung == kernels::kAutomatic;
    const bool one_arithmetic = row.arithmetic == other.arithmetic;
    if (one_arithmetic && (chosen || row.rung == other.rung)) continue;
    const auto blame = [&](Row& of, const Row& with) {
      of.misnamed =
          str("launched the kernels of ", with.name, ", with the same grid",
              one_arithmetic ? ""
                             : str(", which is to compute in ", kernels::name_of(with.arithmetic)));
    };
    blame(row, other);
    blame(other, row);
  }
}

Arithmetic accuracy_of(Arithmetic arithmetic) {
  const bool parts = arithmetic == Arithmetic::tf32x3 || arithmetic == Arithmetic::fp16x3;
  return parts ? Arithmetic::fp32 : arithmetic;
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

std::string fault_text(const Row& row) {
  return row.misnamed.empty() ? "WRONG: " + row.verdict.text : "MISNAMED: it " + row.misnamed;
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string rate_text(double rate, const char* unit) {
  if (rate >= 1e12) return fmt::format("{:.2f} T{}", rate * 1e-12, unit);
  if (rate >= 1e9) return fmt::format("{:.2f} G{}", rate * 1e-9, unit);
  return fmt::format("{:.2f} M{}", rate * 1e-6, unit);
}

std::string rate_text(const Row& row) {
  return row.by_flops ? rate_text(row.flops_per_second(), "FLOP/s")
                      : rate_text(row.bytes_per_second(), "B/s");
}

std::string peaks_text(const Machine& machine) {
  return fmt::format("{} of memory ({} copying), {} of fp32", rate_text(machine.bandwidth, "B/s"),
                     rate_text(machine.copy, "B/s"), rate_text(machine.fp32, "FLOP/s"));
}

}  // namespace weft::measure
