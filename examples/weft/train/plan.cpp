// SPDX-License-Identifier: MIT
// What the images decide about a run, and the plan that --dry-run prints.
#include <algorithm>

#include <fmt/format.h>

#include "engine/error.h"
#include "engine/extent.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/train/flags.h"
#include "examples/weft/train/report.h"
#include "models/files/json_fields.h"
#include "models/training/recipes.h"
#include "models/training/runs/run_state.h"
#include "models/training/settings.h"
#include "models/training/split.h"

namespace weft::cli {

namespace {

// Bytes on the device.
struct MemoryPlan {
  std::size_t weights, images;  // weights: with gradients and what the optimiser keeps
  layers::PlanBytes step;

  std::size_t total() const {
    return weights + images + step.activations + step.gradients + step.workspace + step.caches;
  }
};

// `images`: those of an epoch. `loaded`: those that are there, of `pixels` bytes each.
MemoryPlan plan_memory(const layers::Sequential& net, const models::TrainConfig& config,
                       std::int64_t images, std::int64_t loaded, std::int64_t pixels,
                       Device device) {
  const std::size_t copies = 2 + config.optimizer->states.size() + (config.ema_decay > 0 ? 1 : 0);
  return {copies * static_cast<std::size_t>(net.parameter_count()) * sizeof(float),
          static_cast<std::size_t>(loaded * pixels),
          layers::plan_bytes(net, std::min(config.batch_size, images), layers::Phase::training,
                             config.kernels, device)};
}

std::string bytes_text(std::size_t n) {
  return format_bytes(static_cast<double>(n));
}

}  // namespace

void adopt_data_set(models::TrainConfig& config, const TrainFlags& flags,
                    const data::Dataset& dataset) {
  config.dataset = dataset.name;
  const DatasetShape shape = shape_of(dataset);
  config.network.channels = shape.channels;
  config.network.height = shape.height;
  config.network.width = shape.width;
  config.network.classes = shape.classes;
  augment(config, flags);
  if (!dataset.own_data) return;
  const auto given = [&](const char* name) {
    return flags.config || flags.settings.contains(name);
  };
  models::suit_own_data(config, dataset,
                        {.epochs = given("epochs"),
                         .split = given("validation_split") || given("calibration_split"),
                         .split_name = "--val-split"});
}

std::string memory_clause(const models::TrainConfig& config, const data::Dataset& dataset,
                          Device device) {
  const DatasetShape shape = shape_of(dataset);
  const std::unique_ptr<layers::Sequential> net = models::make_network(config.network);
  const MemoryPlan plan = plan_memory(*net, config, shape.train_images, shape.train_images,
                                      shape.channels * shape.height * shape.width, device);
  return fmt::format(
      "training takes {}: weights {}, activations {} at --batch-size {}, workspace {}, images {}; "
      "a smaller batch takes less",
      bytes_text(plan.total()), bytes_text(plan.weights),
      bytes_text(plan.step.activations + plan.step.gradients), config.batch_size,
      bytes_text(plan.step.workspace + plan.step.caches), bytes_text(plan.images));
}

void print_plan(const TrainFlags& flags, const models::RunPreview& run,
                const data::Dataset& dataset, Device device) {
  const models::TrainConfig& config = run.config;
  const DatasetShape shape = shape_of(dataset);
  const std::unique_ptr<layers::Sequential> net = models::make_network(config.network);
  const std::int64_t images = run.train_images;
  const std::int64_t steps = divide_up(images, config.batch_size);
  const MemoryPlan memory = plan_memory(*net, config, images, shape.train_images,
                                        shape.channels * shape.height * shape.width, device);
  const layers::PlanBytes& plan = memory.step;
  if (flags.json) {
    nlohmann::ordered_json event = json_event("dry_run", {{"model", config.network.name},
                                                          {"parameters", net->parameter_count()},
                                                          {"dataset", config.dataset},
                                                          {"device", to_string(device)},
                                                          {"train_images", images},
                                                          {"steps_per_epoch", steps},
                                                          {"steps", steps * config.epochs}});
    event.update(models::settings_by_key(config));
    event["bytes"] = {{"weights", memory.weights},   {"activations", plan.activations},
                      {"gradients", plan.gradients}, {"workspace", plan.workspace},
                      {"cache", plan.caches},        {"images", memory.images}};
    if (run.steps_done > 0) event["steps_done"] = run.steps_done;
    write_out(json_line(event));
    return;
  }
  const std::optional<std::string>& folder = flags.resume ? flags.resume : flags.out;
  std::string run_text = "nothing is written by --dry-run";
  if (folder) run_text = *folder + " (not written by --dry-run)";
  if (run.steps_done > 0) {
    run_text += fmt::format(", goes on after {}", counted(run.steps_done, "step"));
  }
  const Terminal terminal = detect_terminal(kStdout);
  write_out(format_pairs(
      {{"model", fmt::format("{}, {} parameters", config.network.name,
                             format_count(net->parameter_count()))},
       {"device", device_text(device)},
       {"data", fmt::format("{}: {} images to train on, {} held out", config.dataset,
                            format_count(images), format_count(run.held_out_images))},
       {"steps",
        fmt::format("{} of {} of {}: {}", counted(config.epochs, "epoch"), counted(steps, "step"),
                    counted(config.batch_size, "image"), counted(steps * config.epochs, "step"))},
       {"recipe", models::text_of(config, "Recipe")},
       {"augment", models::text_of(config, "Augmentation")},
       {"weights", fmt::format("{} with gradients and {}", bytes_text(memory.weights),
                               config.optimizer->keeps)},
       {"activations", bytes_text(plan.activations + plan.gradients) + " with their gradients"},
       {"workspace", bytes_text(plan.workspace + plan.caches)},
       {"images", bytes_text(memory.images)},
       {"run", run_text}},
      terminal));
}

}  // namespace weft::cli
