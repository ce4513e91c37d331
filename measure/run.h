// SPDX-License-Identifier: MIT
// Runs variants and yardsticks on a problem and keeps one Row for each.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/cuda/kernel_usage.h"
#include "measure/families.h"
#include "measure/machine/gpu_state.h"
#include "measure/machine/machine.h"
#include "measure/turns.h"

namespace weft::measure {

// A vendor's library at the same work.
struct PeerCall {
  Call call;    // empty when the library cannot do this problem
  Call finish;  // or empty: brings the output into the form that Work::check() reads, untimed
  std::string which = {};  // the algorithm that was chosen, where there are several
};

struct Peer {
  std::string name;  // "cuBLAS fp32"
  Arithmetic arithmetic = Arithmetic::fp32;
  std::function<PeerCall(Work&)> bind;
};

struct Row {
  std::string family, problem, name, rung;
  std::string table, column;  // of Work
  bool peer = false, by_flops = false;
  Arithmetic arithmetic = Arithmetic::fp32;
  double bytes = 0, flops = 0, touched = 0;
  Traffic traffic = Traffic::device_memory;
  int sets = 1;
  Timing timing;
  // run_family() fills these: the median of each turn; the time of a call that finds its buffers in
  // the L2 cache, where they fit (0 elsewhere); what the GPU did meanwhile.
  std::vector<double> turns;
  double warm_seconds = 0;
  GpuStates gpu;
  std::string_view l2;  // "cold", "warm", or "between": what calls find in the last-level cache
  Verdict verdict;
  std::uint64_t check_seed = 0;  // of the inputs that were checked, which no other row has
  // The fastest yardstick of its accuracy, and how many times as fast as that it is, by turns.
  std::string yardstick;
  Interval ratio;
  std::vector<KernelUsage> kernels;  // of one call, in the order of their launch; GPU only
  std::string which;                 // PeerCall::which
  std::string error;                 // why there is no timing
  std::string misnamed;              // why it is not what its name says: see misnamed()

  bool ok() const { return error.empty() && misnamed.empty() && verdict.ok; }
  double flops_per_second() const { return flops / timing.median; }
  double bytes_per_second() const { return bytes / timing.median; }
  // Roofline, seconds; 0: none is known.
  double bound(const Machine& machine) const { return bound(machine, arithmetic); }
  double bound(const Machine& machine, Arithmetic in) const {
    return machine.bound(bytes, flops, in, traffic, touched);
  }
  // The share of the bound that was reached; 0 where no bound is known. What is faster than a bound
  // shows that it is none.
  double share(const Machine& machine) const {
    const double share = bound(machine) / timing.median;
    return share <= 1 ? share : 0;
  }
};

// All of a row that is known before anything was measured.
Row row_of(const Work& work, std::string_view family, const Variant& variant);
// Times `call` on `work` and verifies what the last timed call wrote.
Row run_one(Work& work, std::string_view family, const Variant& variant, const PeerCall& call,
            const TimingOptions& options);

// What a row competes with: three products of parts are as accurate as fp32.
Arithmetic accuracy_of(Arithmetic arithmetic);

// What one call of a variant launches; empty on the CPU.
std::vector<KernelUsage> usage_of(Work& work, const std::string& variant);

// A kernel that was launched once or several times, as at its first launch.
struct LaunchedKernel {
  KernelUsage usage;
  int launches = 0;
};
// Each kernel once. The one that does the work comes before those that prepare or finish it: it has
// the most shared memory, or else the most registers.
std::vector<LaunchedKernel> heaviest_first(std::span<const KernelUsage> launches);

// A rung of the table, called by its name.
Variant variant_of(const Work& work, const kernels::Rung& rung);

// The variants of a family that this problem and device can run, in the order of the ladder.
// `left_out`, where given, counts each rung of this device that the problem is not measured with.
using Counts = std::map<std::string, int, std::less<>>;
std::vector<Variant> runnable_variants(std::string_view family, const Work& work,
                                       Counts* left_out = nullptr);

// "gemm: 12 of 80 combinations of problem and variant were not taken: naive 2, packed 10".
std::string left_out_text(std::string_view family, const Counts& left_out, std::size_t measured);

// Holds a row of a GPU against the earlier ones: a kernel has to run, and rows of one problem that
// launched the same kernels with the same grid cannot be of two rungs or of two arithmetics. Sets
// Row::misnamed, then of both.
void check_launches(Row& row, std::span<Row> earlier, const Work& work);

// Every variant and peer on every problem of the family. Those of one problem take turns; then each
// is checked on inputs of a seed of its own. `seen` gets each row as its problem is done.
std::vector<Row> run_family(const FamilyBench& family, const std::vector<Peer>& peers,
                            const Context& context, const TimingOptions& options,
                            const std::function<void(const Row&)>& seen,
                            Counts* left_out = nullptr);

// The rows of one Work::table: a line for each variant, a column for each problem.
struct Series {
  std::string title;
  std::vector<std::string> columns, names;
  std::vector<std::vector<const Row*>> cells;  // [name][column]; null where nothing was measured
};
std::vector<Series> series_of(const std::vector<Row>& rows, std::string_view family);

std::string rate_text(double rate, const char* unit);  // "37.20 TFLOP/s", "21.00 GB/s"
std::string rate_text(const Row& row);
std::string peaks_text(const Machine& machine);  // memory, copying and fp32
std::string cell_text(const Row& row);           // of a Series: TFLOP/s or GB/s, the number alone
std::string share_text(const Row& row, const Machine& machine);  // "87.2 %", or "" without a bound
std::string fault_text(const Row& row);  // of one that was timed and is not ok: "WRONG: ..."
std::string time_text(double seconds);   // "12.3 us"
std::string row_json(const Row& row, const Machine& machine);  // one JSON object
std::string usage_json(const KernelUsage& kernel);             // one JSON object
std::string machine_json(const Machine& machine);
// A self-contained page: per family and problem a ladder chart, a roofline plot and the table.
std::string report_html(const std::vector<Row>& rows, const Machine& machine);

}  // namespace weft::measure
