// SPDX-License-Identifier: MIT
// Results as JSON: one object per row, one for the machine.
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/text.h"
#include "measure/errors.h"
#include "measure/run.h"

namespace weft::measure {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const KernelUsage& kernel) {
  return {{"kernel", kernel.name},
          {"symbol", kernel.symbol},
          {"grid", kernel.grid},
          {"block", kernel.block},
          {"registers", kernel.registers},
          {"shared_bytes", kernel.shared_bytes},
          {"local_bytes", kernel.local_bytes},
          {"blocks_per_multiprocessor", kernel.blocks_per_multiprocessor},
          {"occupancy", kernel.occupancy},
          {"limited_by", kernel.limit}};
}

// Adds what is known of a row that took turns with others.
void add_turns(Json& json, const Row& row) {
  const Interval interval = interval_of(row.turns);
  json["seconds_low"] = interval.low;
  json["seconds_high"] = interval.high;
  json["turns"] = row.turns;
  json["check_seed"] = row.check_seed;
  json["l2"] = row.l2;
  json["seconds_warm"] = row.warm_seconds > 0 ? Json(row.warm_seconds) : Json();
  json["gpu"] = Json();
  if (row.gpu.readings.empty()) return;
  const GpuState state = row.gpu.median();
  json["gpu"] = {{"sm_clock_mhz", state.sm_clock_mhz},
                 {"power_watts", state.power_watts},
                 {"temperature", state.temperature},
                 {"throttled_by", row.gpu.throttled_by()}};
}

}  // namespace

std::string row_json(const Row& row, const Machine& machine) {
  Json json = {{"schema_version", 1},
               {"event", "measurement"},
               {"family", row.family},
               {"problem", row.problem},
               {"variant", row.name},
               {"yardstick", row.peer},
               {"arithmetic", kernels::name_of(accuracy_of(row.arithmetic))},
               {"computes_in", kernels::name_of(row.arithmetic)},
               {"device", to_string(machine.device)},
               {"ok", row.ok()}};
  if (!row.error.empty()) {
    json["error"] = row.error;
    return json_text(json);
  }
  if (!row.rung.empty()) json["rung"] = row.rung;
  if (!row.which.empty()) json["which"] = row.which;
  if (!row.misnamed.empty()) json["misnamed"] = row.misnamed;
  json["check"] = row.verdict.text;
  json["compared"] = row.verdict.compared;
  json["seconds"] = row.timing.median;
  json["seconds_p10"] = row.timing.p10;
  json["seconds_p90"] = row.timing.p90;
  if (!row.turns.empty()) add_turns(json, row);
  if (!row.yardstick.empty()) {
    json["ratio"] = {{"to", row.yardstick},
                     {"low", row.ratio.low},
                     {"median", row.ratio.median},
                     {"high", row.ratio.high}};
  }
  json["samples"] = row.timing.count;
  json["calls_per_sample"] = row.timing.calls;
  json["graph"] = row.timing.graph;
  json["buffer_sets"] = row.sets;
  json["bytes"] = row.bytes;
  json["flops"] = row.flops;
  json["bytes_per_second"] = row.bytes_per_second();
  json["flops_per_second"] = row.flops_per_second();
  json["share_of_bound"] = row.share(machine) > 0 ? Json(row.share(machine)) : Json();
  if (!row.table.empty()) {
    json["table"] = row.table;
    json["column"] = row.column;
  }
  if (!row.kernels.empty()) json["kernels"] = Json::array();
  for (const KernelUsage& kernel : row.kernels) json["kernels"].push_back(json_of(kernel));
  return json_text(json);
}

std::string usage_json(const KernelUsage& kernel) {
  return json_text(json_of(kernel));
}

std::string error_json(const ErrorRow& row, const Machine& machine) {
  Json json = {{"schema_version", 1},
               {"event", "errors"},
               {"family", row.family},
               {"problem", row.problem},
               {"variant", row.name},
               {"yardstick", row.peer},
               {"computes_in", kernels::name_of(row.arithmetic)},
               {"device", to_string(machine.device)},
               {"spreads", kSpreads},
               {"errors", Json::array()}};
  for (const double error : row.errors) {  // null: no number
    json["errors"].push_back(std::isfinite(error) ? Json(error) : Json());
  }
  if (!row.error.empty()) json["error"] = row.error;
  return json_text(json);
}

std::string machine_json(const Machine& machine) {
  Json caches = Json::array();
  for (const CacheLevel& level : machine.caches) {
    caches.push_back({{"bytes", level.bytes}, {"bytes_per_second", level.bandwidth}});
  }
  return json_text(Json{{"schema_version", 1},
                        {"event", "machine"},
                        {"device", to_string(machine.device)},
                        {"name", machine.name},
                        {"compute_capability", machine.compute_capability},
                        {"multiprocessors", machine.multiprocessors},
                        {"clock_mhz", machine.clock_mhz},
                        {"driver", machine.driver},
                        {"cuda", machine.cuda},
                        {"cuda_architectures", machine.architectures},
                        {"isa", machine.isa},
                        {"threads", machine.threads},
                        {"commit", machine.commit},
                        {"copy_bytes_per_second", machine.copy},
                        {"peak_bytes_per_second", machine.bandwidth},
                        {"caches", caches},
                        {"peak_fp32_flops_per_second", machine.fp32},
                        {"peak_tf32_flops_per_second", machine.tf32},
                        {"peak_bf16_flops_per_second", machine.bf16}});
}

}  // namespace weft::measure
