// SPDX-License-Identifier: MIT
#include "host_cuda/printing.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "host_cuda/sample/repeats.h"
#include "host_cuda/workers/unchecked.h"

namespace weft::host_cuda {
namespace {

constexpr std::size_t kMost = 65536;  // texts that a block keeps

// What a lane has printed, in order, and how often it is at each statement from `next` on.
struct Lane {
  std::vector<const Printed*> all;
  std::size_t next = 0;
  std::map<const void*, std::size_t> left;

  const void* head() const { return next < all.size() ? all[next]->site : nullptr; }
  // Does it come to the statement only after another one?
  bool comes_later_to(const void* site) const {
    const auto found = left.find(site);
    return head() != site && found != left.end() && found->second > 0;
  }
};

// The statement that goes next: no lane comes to it only after another one, and of several it is
// the one whose lane has the most to print from there on, since that lane is behind the others.
// Where there is none, that of the first lane. Null where all is printed.
const void* next_statement(const std::array<Lane, 32>& lanes) {
  const void *of_first_lane = nullptr, *next = nullptr;
  std::size_t most = 0;
  for (const Lane& lane : lanes) {
    const void* const site = lane.head();
    if (site == nullptr) continue;
    if (of_first_lane == nullptr) of_first_lane = site;
    const std::size_t left = lane.all.size() - lane.next;
    if (left <= most) continue;
    const bool all_are_there = std::none_of(
        lanes.begin(), lanes.end(), [&](const Lane& other) { return other.comes_later_to(site); });
    if (!all_are_there) continue;
    next = site;
    most = left;
  }
  return next != nullptr ? next : of_first_lane;
}

void print_warp(std::array<Lane, 32>& lanes) {
  for (Lane& lane : lanes) {
    for (const Printed* one : lane.all) ++lane.left[one->site];
  }
  while (const void* const site = next_statement(lanes)) {
    for (Lane& lane : lanes) {
      if (lane.head() != site) continue;
      const std::string& text = lane.all[lane.next++]->text;
      std::fwrite(text.data(), 1, text.size(), stdout);
      --lane.left[site];
    }
  }
}

}  // namespace

void print_later(const void* site, std::string text) {
  Block& block = *running->block;
  kernel_has_effects();
  block.printed.push_back({running->id, site, std::move(text)});
  if (block.printed.size() >= kMost) flush_printed(block);
}

void flush_printed(Block& block) {
  if (block.printed.empty()) return;
  const std::vector<Printed> printed = std::exchange(block.printed, {});
  std::map<int, std::array<Lane, 32>> warps;
  for (const Printed& one : printed) {
    warps[one.thread / 32][static_cast<std::size_t>(one.thread % 32)].all.push_back(&one);
  }
  for (auto& [number, lanes] : warps) print_warp(lanes);
  if (runs_unchecked_blocks()) std::fflush(stdout);
}

}  // namespace weft::host_cuda
