// SPDX-License-Identifier: MIT
// Runs variants and yardsticks on a problem and keeps one Row for each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/families.h"
#include "bench/machine.h"
#include "engine/kernel_usage.h"

namespace weft::bench {

// A vendor's library at the same work.
struct PeerCall {
  Call call;    // empty when the library cannot do this problem
  Call finish;  // or empty: brings the output into the form that Work::check() reads, untimed
};

struct Peer {
  std::string name;  // "cuBLAS fp32"
  Arithmetic arithmetic = Arithmetic::fp32;
  std::function<PeerCall(Work&)> bind;
};

struct Row {
  std::string family, problem, name;
  std::string table, column;  // of Work
  bool peer = false, by_flops = false;
  Arithmetic arithmetic = Arithmetic::fp32;
  double bytes = 0, flops = 0;
  Traffic traffic = Traffic::device_memory;
  int sets = 1;
  Timing timing;
  Verdict verdict;
  std::vector<KernelUsage> kernels;  // of one call, in the order of their launch; GPU only
  std::string error;                 // why there is no timing

  bool ok() const { return error.empty() && verdict.ok; }
  double flops_per_second() const { return flops / timing.median; }
  double bytes_per_second() const { return bytes / timing.median; }
  double bound(const Machine& machine) const {  // roofline, seconds; 0: none is known
    return machine.bound(bytes, flops, arithmetic, traffic);
  }
  double share(const Machine& machine) const { return bound(machine) / timing.median; }
};

// Times `call` on `work` and verifies what the last timed call wrote.
Row run_one(Work& work, std::string_view family, const std::string& name, Arithmetic arithmetic,
            const PeerCall& call, const TimingOptions& options);

// What one call of a variant launches; empty on the CPU, and for what cannot be captured, as a copy
// from pageable memory.
std::vector<KernelUsage> usage_of(Work& work, const std::string& variant);

// The variants of a family that this problem and device can run, in the order of the ladder.
std::vector<std::string> runnable_variants(std::string_view family, const Work& work);

// Every variant and peer on every problem of the family; `seen` gets each row as it is done.
std::vector<Row> run_family(const FamilyBench& family, const std::vector<Peer>& peers,
                            const Context& context, const TimingOptions& options,
                            const std::function<void(const Row&)>& seen);

// The rows of one Work::table: a line for each variant, a column for each problem.
struct Series {
  std::string title;
  std::vector<std::string> columns, names;
  std::vector<std::vector<const Row*>> cells;  // [name][column]; null where nothing was measured
};
std::vector<Series> series_of(const std::vector<Row>& rows, std::string_view family);

std::string rate_text(const Row& row);  // "37.20 TFLOP/s", "4.26 TB/s"
std::string cell_text(const Row& row);  // of a Series: TFLOP/s or GB/s, the number alone
std::string share_text(const Row& row, const Machine& machine);  // "87.2 %", or "" without a bound
std::string time_text(double seconds);                           // "12.3 us"
std::string row_json(const Row& row, const Machine& machine);    // one JSON object
std::string usage_json(const KernelUsage& kernel);               // one JSON object
std::string machine_json(const Machine& machine);
// A self-contained page: per family and problem a ladder chart, a roofline plot and the table.
std::string report_html(const std::vector<Row>& rows, const Machine& machine);

}  // namespace weft::bench
