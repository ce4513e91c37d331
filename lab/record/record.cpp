// SPDX-License-Identifier: MIT
#include "lab/record/record.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/error.h"

// MessagePack (msgpack.org) and no JSON text: lines of source need not be UTF-8.
namespace weft {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LineCounts, line, kind, requests, lanes, transactions, least,
                                   wide_requests, wide_transactions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AtomicCounts, operations, addresses, most_on_an_address)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BranchCounts, line, executed, divergent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelCounts, kernel, launches, blocks, threads, barriers, warps,
                                   divergent_warps, steps, lanes_of_steps, global_atomics,
                                   shared_atomics, lines, branches)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TracedEvent, what, kind, block, phase, warp, lanes, line,
                                   sentence, array, bytes, transactions, least, together, offsets,
                                   trips, parting, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TracedPointer, argument, array, offset)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TracedLaunch, kernel, grid, block, shared_bytes, first_block,
                                   blocks, warps, left_out, pointers, events)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TracedArray, name, bytes, shared)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AccessTrace, launches, launches_left_out, lines, sentences,
                                   arrays, sources)

namespace lab {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Record, counts, trace)

void write_record(const Record& record, const std::string& path) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(record);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  if (!file.flush()) throw Error(ErrorKind::data, str(path, ": cannot be written"));
}

Record read_record(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    return nlohmann::json::from_msgpack(bytes).get<Record>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::data, "the program has left no whole record of its accesses");
  }
}

}  // namespace lab
}  // namespace weft
