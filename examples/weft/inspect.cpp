// SPDX-License-Identifier: MIT
// weft inspect: the layers of a model file, their cost, and the memory that running them takes.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "examples/weft/input/flags.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/results.h"
#include "examples/weft/output/tables.h"
#include "models/model.h"

namespace weft::cli {
namespace {

struct InspectFlags {
  std::string model;
  bool json = false;
};

struct LayerRow {
  std::string name, description, output;
  std::int64_t parameters = 0;
  double flops = 0;  // forward, one image
};

struct PlanMemory {
  std::int64_t batch = 0;
  layers::Phase phase = layers::Phase::inference;
  std::size_t weights = 0;  // with batch norm's buffers; in training with gradients and velocity
  std::size_t activations = 0, gradients = 0, workspace = 0, cache = 0;
  std::size_t total() const { return weights + activations + gradients + workspace + cache; }
};

std::vector<LayerRow> layer_rows(const layers::Sequential& net) {
  std::vector<std::int64_t> extents = {1};
  for (const std::int64_t extent : net.sample_shape().extents()) extents.push_back(extent);
  Shape shape{std::span<const std::int64_t>(extents)};
  std::vector<LayerRow> rows;
  for (const auto& layer : net.layers()) {
    LayerRow row{layer->name(), layer->describe(), "", 0, layer->forward_flops(shape)};
    shape = layer->output_shape(shape);
    row.output = to_string(Shape(shape.extents().subspan(1)));
    for (const layers::ParameterSpec& spec : layer->parameters()) {
      row.parameters += spec.shape.elements();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

PlanMemory plan_memory(const layers::Sequential& net, std::int64_t batch, layers::Phase phase) {
  const Stream stream(Device::cpu());
  layers::Weights weights(net, stream, phase);
  const std::size_t velocity = weights.gradients.bytes();
  const Tensor step(Shape{1}, DType::i64, stream);
  zero_bytes(step.raw(), step.bytes(), stream);
  const layers::Plan plan(net, weights, batch, phase, {}, 0, step.data<std::int64_t>(), stream);
  return {
      batch,
      phase,
      weights.parameters.bytes() + weights.gradients.bytes() + velocity + weights.buffers.bytes(),
      plan.activation_bytes(),
      plan.gradient_bytes(),
      plan.workspace_bytes(),
      plan.cache_bytes()};
}

std::string_view name_of(layers::Phase phase) {
  return phase == layers::Phase::training ? "training" : "inference";
}

std::string as_json(const models::Model& model, const std::vector<LayerRow>& rows,
                    const std::vector<PlanMemory>& memory) {
  nlohmann::ordered_json event = json_event("inspect");
  const models::ModelInfo& info = model.info;
  event["network"] = info.network.name;
  event["recognised"] = info.recognised;
  event["dataset"] = info.dataset;
  event["class_names"] = info.class_names;
  event["height"] = info.network.height;
  event["width"] = info.network.width;
  event["mean"] = info.mean;
  event["stddev"] = info.stddev;
  event["epochs"] = info.epochs;
  event["test_accuracy"] = or_null(info.test_accuracy >= 0, info.test_accuracy);
  event["parameters"] = model.net->parameter_count();
  for (const LayerRow& row : rows) {
    event["layers"].push_back({{"name", row.name},
                               {"description", row.description},
                               {"output", row.output},
                               {"parameters", row.parameters},
                               {"flops", row.flops}});
  }
  for (const PlanMemory& plan : memory) {
    event["memory"].push_back({{"batch", plan.batch},
                               {"phase", name_of(plan.phase)},
                               {"weight_bytes", plan.weights},
                               {"activation_bytes", plan.activations},
                               {"gradient_bytes", plan.gradients},
                               {"workspace_bytes", plan.workspace},
                               {"cache_bytes", plan.cache},
                               {"total_bytes", plan.total()}});
  }
  return json_line(event);
}

std::string facts(const models::Model& model, const Terminal& terminal) {
  const models::ModelInfo& info = model.info;
  std::string classes;
  for (const std::string& name : Classes(info.class_names).names) {
    classes += (classes.empty() ? "" : ", ") + name;
  }
  std::string trained = info.epochs > 0 ? counted(info.epochs, "epoch") : "not known";
  if (info.test_accuracy >= 0) {
    trained += fmt::format(", test accuracy {:.2f} %", 100 * info.test_accuracy);
  }
  return format_pairs(
      {{"network", info.network.name + (info.recognised ? " (recognised from its tensors)" : "")},
       {"data", printable(info.dataset)},
       {"classes", classes},
       {"input", fmt::format("1 x {} x {} pixels, (pixel / 255 - {:.4f}) / {:.4f}",
                             info.network.height, info.network.width, info.mean, info.stddev)},
       {"trained", trained}},
      terminal);
}

std::string layer_table(const std::vector<LayerRow>& rows, const Terminal& terminal) {
  std::vector<std::vector<std::string>> cells;
  std::int64_t parameters = 0;
  double flops = 0;
  const auto flops_text = [](double value) {
    return value == 0 ? std::string("-") : format_count(static_cast<std::int64_t>(value));
  };
  for (const LayerRow& row : rows) {
    cells.push_back({row.name, row.description, row.output,
                     row.parameters == 0 ? "-" : format_count(row.parameters),
                     flops_text(row.flops)});
    parameters += row.parameters;
    flops += row.flops;
  }
  cells.push_back({"total", "", "", format_count(parameters), flops_text(flops)});
  return format_table({{"layer", Align::left},
                       {"what it is", Align::left},
                       {"output"},
                       {"parameters"},
                       {"FLOPs/image"}},
                      cells, terminal);
}

std::string memory_table(const std::vector<PlanMemory>& memory, const Terminal& terminal) {
  std::vector<std::vector<std::string>> cells;
  const auto bytes = [](std::size_t n) { return format_bytes(static_cast<double>(n)); };
  for (const PlanMemory& plan : memory) {
    cells.push_back({fmt::format("{}, batch {}", name_of(plan.phase), plan.batch),
                     bytes(plan.weights), bytes(plan.activations), bytes(plan.gradients),
                     bytes(plan.workspace), bytes(plan.cache), bytes(plan.total())});
  }
  return format_table({{"memory on the CPU", Align::left},
                       {"weights"},
                       {"activations"},
                       {"gradients"},
                       {"workspace"},
                       {"cache"},
                       {"total"}},
                      cells, terminal) +
         "In training the weights are three times as large, with their gradients and velocity. "
         "The\n"
         "column gradients is those of the activations.\n";
}

int run_inspect(const InspectFlags& flags) {
  const models::Model model = models::load_model(flags.model);
  const std::vector<LayerRow> rows = layer_rows(*model.net);
  const std::vector<PlanMemory> memory = {
      plan_memory(*model.net, 1, layers::Phase::inference),
      plan_memory(*model.net, 64, layers::Phase::inference),
      plan_memory(*model.net, 64, layers::Phase::training),
  };
  if (flags.json) {
    write_out(as_json(model, rows, memory));
    return 0;
  }
  const Terminal terminal = detect_terminal(kStdout);
  write_out(facts(model, terminal) + "\n" + layer_table(rows, terminal) + "\n" +
            memory_table(memory, terminal));
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* sub = app.add_subcommand("inspect", "Show a model's layers, cost and memory");
  add_model(*sub, flags->model);
  sub->add_flag("--json", flags->json, "one JSON object instead of tables");
  sub->callback([flags, &action] { action = [flags] { return run_inspect(*flags); }; });
}

}  // namespace weft::cli
