// SPDX-License-Identifier: MIT
#include "host_cuda/workers/share.h"

#include <algorithm>
#include <set>

#include "host_cuda/counts/requests.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {
namespace {

std::set<const void*> kernels_in_order;

}  // namespace

std::uint64_t WorkerShare::run(std::uint64_t done, std::uint64_t next, std::uint64_t total,
                               const std::function<bool(std::uint64_t, std::uint64_t)>& run) {
  constexpr Time::duration kLongest = std::chrono::milliseconds(800);
  const std::uint64_t left = total - next;
  if (done == 0 || left < 2 || in_order() || recording() || workers() == 1) return 0;
  const Time::time_point now = Time::now();
  if (done == next) {  // no worker has run yet
    per_block_ = std::max<Time::duration>(Time::duration(1), (now - began_) / done);
  }
  if (per_block_ * left < workers_pay_from() || kernels_in_order.contains(kernel_)) return 0;
  const auto each = static_cast<std::uint64_t>(piece_ / per_block_) + 1;
  const std::uint64_t count = std::min(left, each * static_cast<std::uint64_t>(workers()));
  make_room_for_accesses();
  const bool all_ran = run_on_workers(next, next + count, run);
  const bool pays = Time::now() - now < per_block_ * count * 9 / 10;
  if (!all_ran || !pays) kernels_in_order.insert(kernel_);
  piece_ = std::min(piece_ * 2, kLongest);
  return all_ran ? count : 0;
}

}  // namespace weft::host_cuda
