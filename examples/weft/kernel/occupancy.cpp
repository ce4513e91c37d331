// SPDX-License-Identifier: MIT
// weft kernel occupancy: how many blocks an SM holds, what limits it, and what another size of
// block would give. From public figures; no GPU is needed.
#include "measure/machine/occupancy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "examples/weft/kernel/lesson.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

using measure::BlockUse;
using measure::Occupancy;
using measure::SmLimits;

struct OccupancyRequest {
  std::string gpu = "h200";
  std::int64_t threads = 0, registers = 0, registers_of_block = 0, shared = 0;
  std::int64_t sm_threads = 0, sm_blocks = 0, sm_registers = 0, sm_shared = 0;  // 0: the GPU's
  std::int64_t wait = 0, work = 0;  // cycles; 0: not asked
  bool on_paper = false, json = false;
};

bool own_sm(const OccupancyRequest& asked) {
  return asked.sm_threads + asked.sm_blocks + asked.sm_registers + asked.sm_shared > 0;
}

SmLimits limits_of(const OccupancyRequest& asked, const measure::Gpu& gpu) {
  SmLimits sm = gpu.sm;
  if (asked.sm_threads > 0) sm.threads = static_cast<int>(asked.sm_threads);
  if (asked.sm_blocks > 0) sm.blocks = static_cast<int>(asked.sm_blocks);
  if (asked.sm_registers > 0) sm.registers = asked.sm_registers;
  if (asked.sm_shared > 0) sm.shared_bytes = sm.shared_of_block = asked.sm_shared;
  return asked.on_paper ? sm.on_paper() : sm;
}

std::string limits_text(const Occupancy& found) {
  return fmt::format("{}", fmt::join(found.limits, " and "));
}

// The rows of the table "resource": what a block takes, what an SM has, how many blocks that makes.
std::vector<Cells> resource_rows(const BlockUse& block, const SmLimits& sm,
                                 const Occupancy& found) {
  const auto blocks = [](std::int64_t n) {
    return n == Occupancy::kUnlimited ? std::string("any") : fmt::format("{}", n);
  };
  std::string registers = "not told";
  if (block.registers_of_block > 0) {
    registers = format_count(found.registers_of_block);
  } else if (block.registers > 0) {
    registers = fmt::format("{}, {} a warp", format_count(found.registers_of_block),
                            format_count(found.registers_of_warp));
  }
  std::string shared = format_bytes(static_cast<double>(found.shared_of_block));
  if (sm.shared_reserved > 0) {
    shared +=
        fmt::format(", {} of it CUDA's", format_bytes(static_cast<double>(sm.shared_reserved)));
  }
  return {{"threads", fmt::format("{} warps", found.warps_of_block),
           fmt::format("{} warps", sm.threads / 32), blocks(found.by_threads)},
          {"registers", registers, format_count(sm.registers), blocks(found.by_registers)},
          {"shared memory", shared, format_bytes(static_cast<double>(sm.shared_bytes)),
           blocks(found.by_shared)},
          {"blocks", "1", fmt::format("{}", sm.blocks), blocks(found.by_blocks)}};
}

// Sizes of block with the registers of a thread and the shared memory of a block kept.
std::vector<Cells> size_rows(const BlockUse& block, const SmLimits& sm) {
  std::vector<Cells> rows;
  for (const int threads : {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024}) {
    BlockUse other = block;
    other.threads = threads;
    const Occupancy found = measure::occupancy(other, sm);
    rows.push_back({fmt::format("{}{}", threads, threads == block.threads ? " *" : ""),
                    fmt::format("{}", found.blocks), fmt::format("{}", found.warps),
                    percent_text(found.of_warps), limits_text(found)});
  }
  return rows;
}

// The one sentence that the question was about.
std::string answer(const SmLimits& sm, const Occupancy& found) {
  if (found.blocks == 0) {
    return fmt::format("Not one block fits on an SM: it has too few {}.", limits_text(found));
  }
  return fmt::format(
      "An SM holds {}: {} of {} warps, an occupancy of {}, and {} of {} threads, {}. What runs out "
      "first: {}.",
      counted(found.blocks, "block"), found.warps, sm.threads / 32, percent_text(found.of_warps),
      found.threads, sm.threads, percent_text(found.of_threads), limits_text(found));
}

std::vector<std::string> remarks(const BlockUse& block, const SmLimits& sm) {
  std::vector<std::string> all;
  if (block.threads % 32 != 0) {
    all.push_back(
        fmt::format("The last warp of a block has {} of 32 lanes; it takes the room of a "
                    "whole warp.",
                    block.threads % 32));
  }
  const int filling = measure::smallest_filling_block(sm);
  all.push_back(
      fmt::format("Only blocks of {} threads ({} warps) or more can fill an SM: {} "
                  "threads / {} blocks.",
                  filling, filling / 32, sm.threads, sm.blocks));
  if (block.registers > 0) {
    const std::int64_t alone = sm.registers / block.registers;
    if (alone < sm.threads) {
      all.push_back(fmt::format("Registers alone, without units: {} / {} = {} threads, {} of {}.",
                                sm.registers, block.registers, alone,
                                percent_text(static_cast<double>(alone) / sm.threads), sm.threads));
    }
  }
  if (block.shared_bytes > 48 * 1024 && block.shared_bytes <= sm.shared_of_block) {
    all.emplace_back(
        "Above 48 KiB a kernel has to ask for its dynamic shared memory "
        "(cudaFuncSetAttribute).");
  }
  return all;
}

void print_occupancy(const OccupancyRequest& asked, const measure::Gpu& gpu, const BlockUse& block,
                     const Occupancy& found) {
  const auto or_any = [](std::int64_t n) { return or_null(n != Occupancy::kUnlimited, n); };
  print_event("occupancy", {{"gpu", own_sm(asked) ? "" : std::string(gpu.name)},
                            {"threads_per_block", block.threads},
                            {"warps_per_block", found.warps_of_block},
                            {"registers_per_block", found.registers_of_block},
                            {"shared_bytes_per_block", found.shared_of_block},
                            {"blocks", found.blocks},
                            {"warps", found.warps},
                            {"threads", found.threads},
                            {"occupancy", found.of_warps},
                            {"share_of_threads", found.of_threads},
                            {"limited_by", found.limits},
                            {"blocks_by_threads", found.by_threads},
                            {"blocks_by_registers", or_any(found.by_registers)},
                            {"blocks_by_shared_memory", or_any(found.by_shared)},
                            {"blocks_by_blocks", found.by_blocks}});
}

int tell_occupancy_of(const OccupancyRequest& asked) {
  const measure::Gpu& gpu = parse_gpu(asked.gpu);
  const SmLimits sm = limits_of(asked, gpu);
  const BlockUse block{static_cast<int>(asked.threads), static_cast<int>(asked.registers),
                       asked.shared, asked.registers_of_block};
  const Occupancy found = measure::occupancy(block, sm);
  const std::string where = own_sm(asked)
                                ? "the SM that was described"
                                : fmt::format("{}, compute capability {}.{}, {} SMs", gpu.model,
                                              gpu.compute_capability / 10,
                                              gpu.compute_capability % 10, gpu.multiprocessors);
  if (asked.json) {
    print_occupancy(asked, gpu, block, found);
    return 0;
  }
  const Terminal terminal = detect_terminal(kStdout);
  std::string text =
      paint(terminal, "1", where) + (asked.on_paper ? ", without units\n\n" : "\n\n");
  text += wrapped(answer(sm, found), terminal.width, 0) + "\n\n";
  text += format_table({{"resource", Align::left},
                        {"a block takes", Align::left},
                        {"an SM has", Align::left},
                        {"blocks"}},
                       resource_rows(block, sm, found), terminal);
  text += "\n";
  for (const std::string& remark : remarks(block, sm)) {
    text += wrapped(remark, terminal.width, 0) + "\n";
  }
  if (asked.wait > 0) {
    const auto needed = measure::warps_to_hide(asked.wait, asked.work);
    text += wrapped(fmt::format("Warps that work {} cycles and then wait {}: a scheduler needs {} "
                                "to be always busy; these blocks give each of 4 schedulers {:.3g}.",
                                asked.work, asked.wait, needed, found.warps / 4.0),
                    terminal.width, 0) +
            "\n";
  }
  if (block.registers_of_block == 0) {
    text += "\n" + format_table({{"threads of a block", Align::left},
                                 {"blocks"},
                                 {"warps"},
                                 {"occupancy"},
                                 {"runs out first", Align::left}},
                                size_rows(block, sm), terminal);
  }
  write_out(text);
  return 0;
}

}  // namespace

const measure::Gpu& parse_gpu(const std::string& name) {
  return row_named(measure::gpus(), "GPU", name);
}

std::string gpu_help() {
  std::string text = "public figures of";
  for (const measure::Gpu& gpu : measure::gpus()) text += fmt::format(" {}", gpu.name);
  return text;
}

void add_occupancy(CLI::App& kernel, Action& action) {
  CLI::App* sub =
      kernel.add_subcommand("occupancy", "How many blocks an SM holds, and what limits it");
  auto asked = std::make_shared<OccupancyRequest>();
  add_whole(*sub, "--threads", asked->threads, 1, measure::kMostThreads, "of a block")->required();
  add_whole(*sub, "--registers", asked->registers, 0, measure::kMostRegisters,
            "of a thread, as nvcc -Xptxas -v tells");
  add_amount(*sub, "--registers-per-block", asked->registers_of_block, "instead of --registers");
  add_amount(*sub, "--shared", asked->shared, "bytes of shared memory of a block");
  sub->add_option("--gpu", asked->gpu, gpu_help())->type_name("NAME")->capture_default_str();
  add_whole(*sub, "--sm-threads", asked->sm_threads, 32, 65536,
            "of an SM, instead of the GPU's; likewise:");
  add_whole(*sub, "--sm-blocks", asked->sm_blocks, 1, 1024, "blocks");
  add_amount(*sub, "--sm-registers", asked->sm_registers, "registers");
  add_amount(*sub, "--sm-shared", asked->sm_shared, "bytes of shared memory");
  CLI::Option* wait =
      add_whole(*sub, "--wait", asked->wait, 1, 1000000, "cycles that a warp waits for memory");
  add_whole(*sub, "--work", asked->work, 1, 1000000, "cycles that it works between two waits")
      ->needs(wait);
  wait->needs("--work");
  sub->add_flag("--on-paper", asked->on_paper,
                "no allocation units, no reserved bytes: as courses compute");
  sub->add_flag("--json", asked->json, "one JSON object instead of text");
  sub->callback([=, &action] { action.run = [=] { return tell_occupancy_of(*asked); }; });
}

}  // namespace weft::cli
