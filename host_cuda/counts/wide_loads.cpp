// SPDX-License-Identifier: MIT
#include "host_cuda/counts/wide_loads.h"

#include <algorithm>

#include "host_cuda/counts/access_cost.h"

namespace weft::host_cuda {
namespace {

constexpr std::uint32_t kWidest = 16;  // bytes of a load

// The same number of bytes behind the address of `of` in each lane of `request`, or -1.
std::int64_t distance(const Request& request, const Request& of) {
  if (request.lanes != of.lanes) return -1;
  std::int64_t apart = -1;
  bool same = true;
  each_lane(request.lanes, [&](std::size_t lane) {
    const auto here = static_cast<std::int64_t>(request.address[lane] - of.address[lane]);
    same = same && (apart < 0 || here == apart) && here >= 0;
    apart = here;
  });
  return same ? apart : -1;
}

bool all_aligned(const Request& request, std::uint32_t offset, std::uint32_t bytes) {
  bool aligned = true;
  each_lane(request.lanes, [&](std::size_t lane) {
    aligned = aligned && (request.address[lane] + offset) % bytes == 0;
  });
  return aligned;
}

}  // namespace

void WideLoads::request(const Request& request) {
  const Place& place = *request.place;
  const bool same_block =
      place.block.x == block_.x && place.block.y == block_.y && place.block.z == block_.z;
  if (!same_block || place.warp != warp_ || place.phase != phase_) {
    finish();
    block_ = place.block;
    warp_ = place.warp;
    phase_ = place.phase;
  }
  if (is_global(request.kind)) return;
  if (request.kind != AccessKind::shared_load) return finish();
  ++loads_;
  if (put(request)) return;
  if (open_.size() == kMostOpen) {
    make(open_.front());
    open_.erase(open_.begin());
  }
  open_.push_back({request, request.bytes});
  open_.back().asked[0] = loads_;
}

bool WideLoads::put(const Request& request) {
  for (Open& open : open_) {
    const std::int64_t apart = distance(request, open.first);
    if (apart < 0) continue;
    std::uint64_t& asked = open.asked[std::min<std::size_t>(apart / 4, open.asked.size() - 1)];
    const bool is_there = apart + request.bytes <= open.bytes;
    const bool follows =
        apart == open.bytes && request.bytes == open.first.bytes && apart < kMostBytes;
    if (is_there ? loads_ - asked > kNear : !follows) continue;
    asked = loads_;
    if (follows) open.bytes += request.bytes;
    return true;
  }
  return false;
}

void WideLoads::make(const Open& open) {
  for (std::uint32_t done = 0; done < open.bytes;) {
    std::uint32_t bytes = kWidest;
    while (bytes > open.first.bytes &&
           (bytes > open.bytes - done || !all_aligned(open.first, done, bytes))) {
      bytes /= 2;
    }
    bytes = std::max(bytes, open.first.bytes);
    Request request = open.first;
    request.bytes = bytes;
    each_lane(request.lanes, [&](std::size_t lane) { request.address[lane] += done; });
    made_(request);
    done += bytes;
  }
}

void WideLoads::finish() {
  for (const Open& open : open_) make(open);
  open_.clear();
}

}  // namespace weft::host_cuda
