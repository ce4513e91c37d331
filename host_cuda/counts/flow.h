// SPDX-License-Identifier: MIT
// The control flow of a kernel as its threads took it: basic blocks, the ways between them, and how
// the loops among them nest. Internal.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::host_cuda {

class Flow {
 public:
  // The node of the basic block that begins at `site`, reached by the calls that `context` stands
  // for. Nodes are numbered in the order in which threads first came to them.
  std::uint32_t node(const void* site, std::uint64_t context);
  void edge(std::uint32_t from, std::uint32_t to);

  // Orders the nodes after the edges have changed: a node comes before those that it leads to, and
  // the nodes of a loop are neighbours, its header first.
  void order();

  const void* site(std::uint32_t node) const { return nodes_[node].site; }
  // The branch at the end of the basic block, as a return address.
  const void* branch_site(std::uint32_t node) const;

  using Trips = std::vector<std::uint32_t>;  // of the loops around a node, the outermost first
  Trips first_trips(std::uint32_t node) const { return Trips(nodes_[node].loops.size(), 0); }
  // The trips at `to`, coming from `from` with `trips`.
  Trips trips_after(Trips trips, std::uint32_t from, std::uint32_t to) const;
  // Tells the earlier one of two in the program.
  std::strong_ordering compare(std::uint32_t a, const Trips& trips_a, std::uint32_t b,
                               const Trips& trips_b) const;

 private:
  struct Node {
    const void* site = nullptr;
    std::vector<std::uint32_t> next;
    std::vector<std::uint32_t> loops;  // around it, the outermost first, each by its header
    std::uint32_t rank = 0;
  };
  class Components;

  void place(std::span<const std::uint32_t> members, const std::vector<std::uint32_t>& loops);
  std::size_t common_loops(std::uint32_t a, std::uint32_t b) const;
  bool jumps_to_a_way(std::uint32_t node, const unsigned char* past,
                      const unsigned char* hook) const;

  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
  std::vector<const void*> sites_;  // in ascending order
  std::uint32_t next_rank_ = 0;
  bool changed_ = false;
};

}  // namespace weft::host_cuda
