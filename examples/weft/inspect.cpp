// SPDX-License-Identifier: MIT
// weft inspect: the layers of a model file or of a network, their cost, and the memory that running
// them takes. Nothing of that memory is taken.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "data/versions/build_info.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/normalisation.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/results.h"
#include "examples/weft/output/tables.h"
#include "models/model.h"
#include "models/networks/networks.h"
#include "models/training/optimizer.h"

namespace weft::cli {
namespace {

struct InspectFlags {
  std::string model;
  std::optional<std::string> input;  // "1x28x28"
  std::optional<std::int64_t> classes;
  bool json = false, definition = false;
};

struct LayerRow {
  std::string name, description, output;
  std::int64_t parameters = 0;
  double flops = 0;  // forward, one image
};

struct PlanMemory {
  std::int64_t batch = 0;
  layers::Phase phase = layers::Phase::inference;
  const models::Optimizer* optimizer;  // of training
  std::size_t weights = 0;  // with batch norm's buffers; in training with gradients and states
  layers::PlanBytes plan;
  std::size_t total() const {
    return weights + plan.activations + plan.gradients + plan.workspace + plan.caches;
  }
};

std::vector<LayerRow> layer_rows(const layers::Sequential& net) {
  const std::vector<Shape> shapes = net.output_shapes(1);
  const Shape input = net.input_shape(1);
  std::vector<LayerRow> rows;
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const layers::Layer& layer = *net.layers()[i];
    const Shape& before = i == 0 ? input : shapes[i - 1];
    LayerRow row{layer.name(), layer.describe(), to_string(Shape(shapes[i].extents().subspan(1))),
                 0, layer.forward_flops(before)};
    for (const layers::ParameterSpec& spec : layer.parameters()) {
      row.parameters += spec.shape.elements();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

PlanMemory plan_memory(const layers::Sequential& net, std::int64_t batch, layers::Phase phase,
                       const models::Optimizer& optimizer = models::optimizers().front()) {
  const auto bytes = [](std::int64_t floats) {
    return static_cast<std::size_t>(floats) * sizeof(float);
  };
  // In training with gradients and what the optimizer keeps of each parameter.
  const std::size_t copies = phase == layers::Phase::training ? 2 + optimizer.states.size() : 1;
  return {batch, phase, &optimizer,
          copies * bytes(net.parameter_count()) + bytes(net.buffer_count()),
          layers::plan_bytes(net, batch, phase, {}, Device::cpu())};
}

std::string_view name_of(layers::Phase phase) {
  return phase == layers::Phase::training ? "training" : "inference";
}

using Json = nlohmann::ordered_json;

// "by Weft 0.1.0 (commit 1a2b3c4d of 2026-11-30)", and the settings that were not the defaults.
void add_origin(Pairs& pairs, const models::Origin& origin) {
  if (!origin.is_known()) return;
  pairs.emplace_back("by",
                     "Weft " + BuildInfo{origin.version, origin.commit, origin.commit_date}.text());
  std::string settings;
  for (const auto& [name, value] : origin.settings) {
    settings += fmt::format("{}{} {}", settings.empty() ? "" : ", ", name, value);
  }
  if (!settings.empty()) pairs.emplace_back("settings", settings);
  pairs.emplace_back("checksum", "of the images: " + origin.data);
}

std::string as_json(const models::Model& model, const std::vector<LayerRow>& rows,
                    const std::vector<PlanMemory>& memory) {
  nlohmann::ordered_json event = json_event("inspect");
  const models::ModelInfo& info = model.info;
  event["network"] = info.network.name;
  event["recognised"] = info.recognised;
  event["dataset"] = or_null(!info.dataset.empty(), info.dataset);
  event["class_names"] = info.class_names;
  event["definition"] = models::definition_of(info.network);
  event["channels"] = info.network.channels;
  event["height"] = info.network.height;
  event["width"] = info.network.width;
  event["mean"] = info.mean;
  event["stddev"] = info.stddev;
  event["normalisation"] = models::name_of(info.normalisation);
  event["output"] = models::name_of(info.output);
  event["epochs"] = info.epochs;
  event["origin"] =
      info.origin.is_known() ? Json::parse(models::to_json(info.origin)) : Json(nullptr);
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
    const bool trains = plan.phase == layers::Phase::training;
    const std::string optimizer(trains ? models::name_of(plan.optimizer) : "");
    event["memory"].push_back({{"batch", plan.batch},
                               {"phase", name_of(plan.phase)},
                               {"optimizer", or_null(trains, optimizer)},
                               {"weight_bytes", plan.weights},
                               {"activation_bytes", plan.plan.activations},
                               {"gradient_bytes", plan.plan.gradients},
                               {"workspace_bytes", plan.plan.workspace},
                               {"cache_bytes", plan.plan.caches},
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
  const models::NetworkOptions& network = info.network;
  const char* is_assumed =
      info.normalisation == models::NormalisationSource::assumed ? ", assumed" : "";
  const std::string image =
      fmt::format("{} x {} x {} pixels", network.channels, network.height, network.width);
  if (info.class_names.empty()) {
    return format_pairs({{"network", network.name + ", not trained"},
                         {"classes", format_count(network.classes)},
                         {"input", image}},
                        terminal);
  }
  Pairs pairs = {
      {"network", network.name + (info.recognised ? " (recognised from its tensors)" : "")},
      {"data", info.dataset.empty() ? "not known" : info.dataset},
      {"classes", classes},
      {"input", fmt::format("{}, {}{}", image, normalisation_text(info), is_assumed)},
      {"output", info.output == models::Output::sigmoid
                     ? "a sigmoid for each class: several may be above 50 %"
                     : "softmax"},
      {"trained", trained}};
  add_origin(pairs, info.origin);
  return format_pairs(pairs, terminal);
}

std::string layer_table(const std::vector<LayerRow>& rows, const Terminal& terminal) {
  std::vector<Cells> cells;
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
  std::vector<Cells> cells;
  const auto bytes = [](std::size_t n) { return format_bytes(static_cast<double>(n)); };
  for (const PlanMemory& plan : memory) {
    const bool other = plan.optimizer != &models::optimizers().front();
    cells.push_back({fmt::format("{}{}{}, batch {}", name_of(plan.phase), other ? " by " : "",
                                 other ? plan.optimizer->name : "", plan.batch),
                     bytes(plan.weights), bytes(plan.plan.activations), bytes(plan.plan.gradients),
                     bytes(plan.plan.workspace), bytes(plan.plan.caches), bytes(plan.total())});
  }
  std::vector<std::string> keeps;
  for (const models::Optimizer& optimizer : models::optimizers()) {
    keeps.push_back(fmt::format("{} {}", optimizer.name, optimizer.keeps));
  }
  return format_table({{"memory on the CPU", Align::left},
                       {"weights"},
                       {"activations"},
                       {"gradients"},
                       {"workspace"},
                       {"cache"},
                       {"total"}},
                      cells, terminal) +
         wrapped(fmt::format("In training the weights stand there with their gradients and what "
                             "the optimizer keeps: {}. The column gradients is those of the "
                             "activations.",
                             joined(Names(keeps))),
                 terminal.width, 0) +
         "\n";
}

// A model file, or else a network that is not trained: a FILE.net, or a built-in one by its name.
models::Model subject_of(const InspectFlags& flags) {
  std::error_code ignored;
  const bool is_file = models::is_network_file(flags.model);
  const auto has_name = [&](const auto& info) { return info.name == flags.model; };
  const bool is_built_in = !std::filesystem::exists(flags.model, ignored) &&
                           std::ranges::any_of(models::networks(), has_name);
  if (!is_file && !is_built_in) {
    if (flags.input || flags.classes) {
      throw Error(
          ErrorKind::usage,
          "--input and --classes are for networks that are not trained: FILE.net or a name");
    }
    return models::load_model(flags.model);
  }
  models::Model model;
  models::NetworkOptions& network = model.info.network;
  if (is_file) network = models::read_network(flags.model);
  if (is_built_in) network.name = flags.model;
  if (flags.input) {
    const auto extents = parse_image_extents("--input", *flags.input);
    std::tie(network.channels, network.height, network.width) = std::tuple_cat(extents);
  }
  network.classes = flags.classes.value_or(network.classes);
  model.net = models::make_network(network);
  return model;
}

int run_inspect(const InspectFlags& flags) {
  const models::Model model = subject_of(flags);
  if (flags.definition) {
    write_out(std::string(models::definition_of(model.info.network)));
    return 0;
  }
  notice_assumption(model.info, flags.model);
  const std::vector<LayerRow> rows = layer_rows(*model.net);
  std::vector<PlanMemory> memory = {plan_memory(*model.net, 1, layers::Phase::inference),
                                    plan_memory(*model.net, 64, layers::Phase::inference)};
  for (const models::Optimizer& optimizer : models::optimizers()) {
    memory.push_back(plan_memory(*model.net, 64, layers::Phase::training, optimizer));
  }
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
  sub->add_option("MODEL", flags->model,
                  "a run directory, a .safetensors file, a FILE.net or a built-in network")
      ->type_name("")
      ->required();
  sub->add_option("--input", flags->input,
                  "image of a network that is not trained; default 1x28x28")
      ->type_name("CxHxW");
  add_whole(*sub, "--classes", flags->classes, 1, 65536, "its classes; default 10");
  sub->add_flag("--definition", flags->definition,
                "print the network's text, to start a FILE.net with");
  sub->add_flag("--json", flags->json, "one JSON object instead of tables");
  sub->callback([flags, &action] { action.run = [flags] { return run_inspect(*flags); }; });
}

}  // namespace weft::cli
