// SPDX-License-Identifier: MIT
// Counts what the requests of warps cost, and where their lanes part.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/extent.h"
#include "host_cuda/counts/access_cost.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/counts/wide_loads.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {
namespace {

struct Branch {
  const void* site = nullptr;
  std::set<std::uint32_t> ways;
  std::uint64_t executed = 0, divergent = 0;
};

struct Kernel {
  KernelCounts counts;
  std::map<std::pair<const void*, AccessKind>, std::size_t> instructions;  // place in `lines`
  std::vector<std::pair<const void*, LineCounts>> lines;  // in the order in which they first ran
  std::map<std::uint32_t, Branch> branches;               // by basic block
  std::unordered_map<std::uintptr_t, std::uint64_t> global_atomics, shared_atomics;  // by address
};

// Adds what went to each address, and forgets it.
void gather(std::unordered_map<std::uintptr_t, std::uint64_t>& on_address, AtomicCounts& counts) {
  counts.addresses += on_address.size();
  for (const auto& [address, times] : on_address) {
    counts.operations += times;
    counts.most_on_an_address = std::max(counts.most_on_an_address, times);
  }
  on_address.clear();
}

KernelCounts summary(Kernel& kernel) {
  KernelCounts counts = std::move(kernel.counts);
  gather(kernel.global_atomics, counts.global_atomics);
  std::vector<const void*> sites;
  for (const auto& [site, found] : kernel.lines) sites.push_back(site);
  for (const auto& [node, branch] : kernel.branches) sites.push_back(branch.site);
  find_source_lines(sites);
  for (const auto& [site, found] : kernel.lines) {
    const std::string line = source_line(site);
    const auto same = std::find_if(counts.lines.begin(), counts.lines.end(),
                                   [&, kind = found.kind](const LineCounts& one) {
                                     return one.line == line && one.kind == kind;
                                   });
    LineCounts& sum = same != counts.lines.end() ? *same : counts.lines.emplace_back();
    sum.line = line;
    sum.kind = found.kind;
    sum.requests += found.requests;
    sum.lanes += found.lanes;
    sum.transactions += found.transactions;
    sum.least += found.least;
    sum.wide_requests += found.wide_requests;
    sum.wide_transactions += found.wide_transactions;
  }
  for (const auto& [node, branch] : kernel.branches) {
    if (branch.ways.size() < 2) continue;
    const std::string line = source_line(branch.site);
    const auto same = std::find_if(counts.branches.begin(), counts.branches.end(),
                                   [&](const BranchCounts& one) { return one.line == line; });
    BranchCounts& sum = same != counts.branches.end() ? *same : counts.branches.emplace_back();
    sum.line = line;
    sum.executed += branch.executed;
    sum.divergent += branch.divergent;
  }
  return counts;
}

class Counter : public RequestListener {
 public:
  void launch(const Grid& grid) override {
    wide_.finish();
    const std::string name = kernel_name(*grid.call);
    const auto same = std::find_if(kernels_.begin(), kernels_.end(),
                                   [&](const Kernel& one) { return one.counts.kernel == name; });
    current_ = same != kernels_.end() ? &*same : &kernels_.emplace_back();
    current_->counts.kernel = name;
    ++current_->counts.launches;
  }

  void request(const Request& request) override {
    wide_.request(request);
    const auto [known, is_new] = current_->instructions.try_emplace(
        std::pair{request.site, request.kind}, current_->lines.size());
    if (is_new) current_->lines.emplace_back(request.site, LineCounts{});
    LineCounts& counts = current_->lines[known->second].second;
    counts.kind = request.kind;
    ++counts.requests;
    counts.lanes += static_cast<std::uint64_t>(std::popcount(request.lanes));
    const AccessCost cost = cost_of(request);
    counts.transactions += cost.transactions;
    counts.least += cost.least;
    if (!is_atomic(request.kind)) return;
    auto& on_address =
        is_global(request.kind) ? current_->global_atomics : current_->shared_atomics;
    each_lane(request.lanes, [&](std::size_t lane) { ++on_address[request.address[lane]]; });
  }

  void step(const Step& step) override {
    ++current_->counts.steps;
    current_->counts.lanes_of_steps += static_cast<std::uint64_t>(std::popcount(step.lanes));
    if (step.ways.empty()) return;
    Branch& branch = current_->branches[step.node];
    branch.site = step.branch_site;
    for (const Way& way : step.ways) branch.ways.insert(way.node);
    ++branch.executed;
    if (step.ways.size() < 2) return;
    ++branch.divergent;
    parted_.insert({block_key(step.place.block), step.place.warp});
  }

  void block_end(const Block& block) override {
    wide_.finish();
    KernelCounts& counts = current_->counts;
    ++counts.blocks;
    counts.threads += static_cast<std::uint64_t>(block.threads);
    counts.barriers += block.phase;
    const auto warps = static_cast<int>(divide_up(block.threads, 32));
    counts.warps += static_cast<std::uint64_t>(warps);
    for (int warp = 0; warp < warps; ++warp) {
      counts.divergent_warps += parted_.erase({block_key(block.index), warp});
    }
    gather(current_->shared_atomics, counts.shared_atomics);
  }

  std::vector<KernelCounts> result() {
    wide_.finish();
    std::vector<KernelCounts> counts;
    for (Kernel& kernel : kernels_) counts.push_back(summary(kernel));
    return counts;
  }

 private:
  static std::array<unsigned, 3> block_key(uint3 block) { return {block.x, block.y, block.z}; }

  // Its place is there: the load that it begins with has been counted.
  void made(const Request& request) {
    const std::size_t at = current_->instructions.at({request.site, request.kind});
    LineCounts& counts = current_->lines[at].second;
    ++counts.wide_requests;
    counts.wide_transactions += cost_of(request).transactions;
  }

  std::vector<Kernel> kernels_;
  Kernel* current_ = nullptr;
  std::set<std::pair<std::array<unsigned, 3>, int>> parted_;  // warps of running blocks
  WideLoads wide_{[this](const Request& request) { made(request); }};
};

}  // namespace
}  // namespace weft::host_cuda

namespace weft {

std::vector<KernelCounts> count_accesses(const std::function<void()>& work) {
  host_cuda::Counter counter;
  work();
  return counter.result();
}

}  // namespace weft
