// SPDX-License-Identifier: MIT
#include "examples/weft/kernel/counts_text.h"

#include <fmt/format.h>

#include <vector>

#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

std::string per_request(std::uint64_t total, const LineCounts& line) {
  return fmt::format("{:.1f}", static_cast<double>(total) / static_cast<double>(line.requests));
}

// "kernels/a/x.cuh:3, called at ..., called at kernels/b/y.cu:5": "kernels/a/x.cuh:3 from y.cu:5"
std::string short_line(const std::string& line) {
  const std::size_t first = line.find(','), last = line.rfind('/');
  if (first == std::string::npos || last == std::string::npos) return line;
  return fmt::format("{} from {}", line.substr(0, first), line.substr(last + 1));
}

std::string atomics_text(const char* memory, const AtomicCounts& atomics) {
  if (atomics.operations == 0) return "";
  return fmt::format("{} atomic operations on {} addresses of {} memory, {} on one of them\n",
                     atomics.operations, atomics.addresses, memory, atomics.most_on_an_address);
}

std::string wide_text(const KernelCounts& kernel) {
  std::uint64_t asked = 0, wide = 0;
  for (const LineCounts& line : kernel.lines) {
    if (line.kind != AccessKind::shared_load) continue;
    asked += line.transactions;
    wide += line.wide_transactions;
  }
  if (asked == wide) return "";
  return fmt::format(
      "\nnvcc reads neighbouring words of shared memory at once where it unrolls a loop: then\n"
      "{} passes instead of {}.\n",
      wide, asked);
}

}  // namespace

std::string counts_text(const KernelCounts& kernel, const Terminal& terminal) {
  std::string text =
      fmt::format("\n{}: {} launch{}, {} blocks, {} threads, {} barriers of a block\n",
                  paint(terminal, "1", kernel.kernel), kernel.launches,
                  kernel.launches == 1 ? "" : "es", kernel.blocks, kernel.threads, kernel.barriers);
  text += atomics_text("global", kernel.global_atomics);
  text += atomics_text("shared", kernel.shared_atomics);
  std::vector<Cells> cells;
  for (const LineCounts& line : kernel.lines) {
    cells.push_back({name_of(line.kind), fmt::format("{}", line.requests),
                     per_request(line.lanes, line), per_request(line.transactions, line),
                     per_request(line.least, line), short_line(line.line)});
  }
  text += format_table({{"access", Align::left},
                        {"requests"},
                        {"lanes"},
                        {"transactions"},
                        {"at best"},
                        {"line", Align::left}},
                       cells, terminal);
  text += wide_text(kernel);
  cells.clear();
  std::uint64_t executed = 0, divergent = 0;
  for (const BranchCounts& branch : kernel.branches) {
    executed += branch.executed;
    divergent += branch.divergent;
    if (branch.divergent == 0) continue;
    cells.push_back({"branch", fmt::format("{}", branch.executed),
                     fmt::format("{}", branch.divergent), short_line(branch.line)});
  }
  text += fmt::format("\nlanes part at {} of {} branches, in {} of {} warps\n", divergent, executed,
                      kernel.divergent_warps, kernel.warps);
  if (cells.empty()) return text;
  return text +
         format_table({{"", Align::left}, {"by warps"}, {"divergent"}, {"line", Align::left}},
                      cells, terminal);
}

}  // namespace weft::cli
