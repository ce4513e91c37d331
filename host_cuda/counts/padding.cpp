// SPDX-License-Identifier: MIT
// What requests to shared memory would cost if the rows of its arrays had no padding.
#include <algorithm>
#include <map>

#include "host_cuda/access/access_trace.h"
#include "host_cuda/counts/access_cost.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {
namespace {

struct Seen {
  WithoutPadding sum;
  std::uint64_t worst = 0;  // passes that the told request costs more
};

class Unpadded : public RequestListener {
 public:
  explicit Unpadded(const Padding& padding) : padding_(padding) {}

  void block_begin(const Block& block) override {
    dynamic_ = reinterpret_cast<std::uintptr_t>(block.dynamic.get());
  }
  void launch(const Grid& grid) override { dynamic_bytes_ = grid.shared_bytes; }

  void request(const Request& request) override {
    if (is_global(request.kind)) return;
    Request moved = request;
    each_lane(request.lanes,
              [&](std::size_t lane) { moved.address[lane] = unpadded(request.address[lane]); });
    Seen& seen = sites_[request.site];
    const AccessCost before = cost_of(request), after = cost_of(moved);
    ++seen.sum.requests;
    seen.sum.with += before.transactions;
    seen.sum.without += after.transactions;
    if (after.transactions <= before.transactions + seen.worst) return;
    seen.worst = after.transactions - before.transactions;
    seen.sum.sentence = sentence_of(moved, after);
  }

  std::vector<WithoutPadding> result() {
    std::vector<const void*> sites;
    for (const auto& [site, seen] : sites_) sites.push_back(site);
    find_source_lines(sites);
    std::vector<WithoutPadding> lines;
    for (auto& [site, seen] : sites_) {
      if (seen.worst == 0) continue;
      seen.sum.line = source_line(site);
      lines.push_back(std::move(seen.sum));
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const WithoutPadding& a, const WithoutPadding& b) {
                       return a.without - a.with > b.without - b.with;
                     });
    return lines;
  }

 private:
  std::uintptr_t unpadded(std::uintptr_t address) const {
    std::uintptr_t begin = dynamic_, bytes = dynamic_bytes_;
    if (address - begin >= bytes) {
      const Variable* variable = nearest_shared_variable(address);
      if (variable == nullptr) return address;
      begin = variable->begin;
      bytes = variable->bytes;
    }
    if (bytes % padding_.row_bytes != 0) return address;  // an array of other rows
    const std::uintptr_t at = address - begin, row = at / padding_.row_bytes;
    return begin + row * (padding_.row_bytes - padding_.padding_bytes) + at % padding_.row_bytes;
  }

  const Padding padding_;
  std::uintptr_t dynamic_ = 0, dynamic_bytes_ = 0;
  std::map<const void*, Seen> sites_;
};

}  // namespace
}  // namespace weft::host_cuda

namespace weft {

std::vector<WithoutPadding> count_without_padding(const Padding& padding,
                                                  const std::function<void()>& work) {
  host_cuda::Unpadded listener(padding);
  work();
  return listener.result();
}

}  // namespace weft
