// SPDX-License-Identifier: MIT
#include "host_cuda/findings/findings.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "host_cuda/checks/report.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/workers/unchecked.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {
namespace {

FindingListener listener{nullptr, nullptr, nullptr, nullptr};

// By kind, kernel, line, and the line of a race's earlier access or nothing.
using Lines = std::tuple<std::string, std::string, std::string, std::string>;
// The same by addresses, so that what was told before needs no text.
using Sites = std::tuple<const char*, const void*, const void*, const void*>;

// Never destroyed: the last to ask may be behind all destructors.
struct Known {
  std::recursive_mutex mutex;  // a listener may tell something itself
  std::deque<Told> all;
  std::map<Lines, Told*> by_lines;
  std::map<Sites, Told*> by_sites;
  bool in_this_launch = false;
  std::size_t times_found = 0;
};
Known& known() {
  static auto& made = *new Known;
  return made;
}

const void* kernel_address() {
  return running_grid == nullptr ? nullptr : running_grid->call->kernel();
}
std::string name_of_kernel() {
  return running_grid == nullptr ? "" : kernel_name(*running_grid->call);
}

// The two lines of a race may come in either order.
Told* finding_of(const char* kind, const std::string& line, const std::string& other_line) {
  const std::map<Lines, Told*>& lines = known().by_lines;
  auto found = lines.find({kind, name_of_kernel(), line, ""});
  if (found == lines.end() && !other_line.empty()) {
    found = lines.find({kind, name_of_kernel(), line, other_line});
  }
  return found == lines.end() ? nullptr : found->second;
}

Told& remember(Told made, const std::string& other_line) {
  Known& all = known();
  Told& kept = all.all.emplace_back(std::move(made));
  all.by_lines[{kept.kind, kept.kernel, kept.line, ""}] = &kept;
  if (!other_line.empty()) all.by_lines[{kept.kind, kept.kernel, other_line, kept.line}] = &kept;
  all.in_this_launch = true;
  if (!kept.is_note) ++all.times_found;
  return kept;
}

}  // namespace

void listen_to_findings(const FindingListener& told) {
  listener = told;
}
bool lists_findings() {
  return listener.told != nullptr;
}
const std::deque<Told>& all_findings() {
  return known().all;
}
std::size_t times_found() {
  return known().times_found;
}

bool told_before(const char* kind, const void* site, const void* other) {
  order_matters();
  const std::lock_guard lock(known().mutex);
  const Sites sites{kind, kernel_address(), site, other};
  const auto found = known().by_sites.find(sites);
  Told* told = found != known().by_sites.end() ? found->second : nullptr;
  if (told == nullptr) {
    told = finding_of(kind, source_line(site), other == nullptr ? "" : source_line(other));
    if (told == nullptr) return false;
    known().by_sites[sites] = told;
  }
  ++told->more;
  if (!told->is_note) ++known().times_found;
  if (runs_unchecked_blocks()) forward_again(kind, site, other);
  return true;
}

void tell(const char* kind, const std::string& text, const void* site, const void* other) {
  if (told_before(kind, site, other)) return;
  const std::lock_guard lock(known().mutex);
  const Told& kept = remember({kind, name_of_kernel(), with_remedy(text), source_line(site)},
                              other == nullptr ? "" : source_line(other));
  if (runs_unchecked_blocks()) return forward(kind, text, site, other);
  if (recording() && running != nullptr) record_finding(kept.text, site);
  listener.told(kept);
}

void tell_at(const char* kind, const std::string& text, const std::string& line, bool is_note) {
  order_matters();
  if (runs_unchecked_blocks()) return forward_at(kind, text, line, is_note);
  const std::lock_guard lock(known().mutex);
  if (Told* told = finding_of(kind, line, "")) {
    ++told->more;
    if (!told->is_note) ++known().times_found;
    return;
  }
  listener.told(remember({kind, name_of_kernel(), with_remedy(text), line, is_note}, ""));
}

void launch_ended() {
  if (lists_findings() && std::exchange(known().in_this_launch, false)) listener.launch_ended();
}

void launch_with_finding_takes_long() {
  if (lists_findings()) listener.takes_long();
}

void end_after_findings() {
  listener.end();
  std::abort();  // which it does not come to
}

}  // namespace weft::host_cuda
