// SPDX-License-Identifier: MIT
#include "models/nbody/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>

#include "engine/extent.h"
#include "engine/names.h"
#include "kernels/catalogue.h"
#include "models/files/json_fields.h"
#include "models/files/safetensors.h"

namespace weft::models {
namespace {

constexpr char kMetadata[] = "weft_nbody";
constexpr char kPrecision[] = "precision";  // absent where dt, softening and G were floats
constexpr std::int64_t kMostSteps = 1'000'000'000'000;
constexpr std::int64_t kMaxTimes = 1'000'000;
constexpr std::int64_t kMaxPictureSize = 8192;

Json list(const double (&values)[3]) {
  return {values[0], values[1], values[2]};
}

void read_list(const Fields& fields, const char* key, double (&values)[3]) {
  const Json& array = fields.array(key);
  if (array.size() != 3) fields.fail(str("expected \"", key, "\" to hold 3 numbers"));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!array[axis].is_number()) fields.fail(str("expected \"", key, "\" to hold numbers"));
    values[axis] = array[axis].get<double>();
    if (!std::isfinite(values[axis])) fields.fail(str("\"", key, "\" is not finite"));
  }
}

double positive(const Fields& fields, const char* key) {
  const double value = fields.number(key);
  if (!(value > 0)) fields.fail(str("expected \"", key, "\" to be above 0, found ", value));
  return value;
}

Json json_of(const Pace& pace) {
  return {{"steps", pace.steps}, {"times", pace.times}};
}

Pace pace_from(const Fields& fields) {
  Pace pace;
  pace.steps = fields.integer("steps", 0, kMostSteps);
  pace.times = fields.integer("times", 0, std::max<std::int64_t>(1, pace.steps));
  if (pace.times > kMaxTimes) fields.fail("\"times\" is too large");
  return pace;
}

Json json_of(const NbodyPlan& plan) {
  const kernels::NbodyOptions& force = plan.step.force;
  Json json;
  json["start"] = plan.start;
  json["seed"] = plan.seed;
  json["steps"] = plan.steps;
  json["dt"] = plan.step.dt;
  json["softening"] = force.softening;
  json["gravity"] = force.gravity;
  json["kernel"] = force.variant;
  json["samples"] = json_of(plan.samples);
  json["frames"] = json_of(plan.frames);
  json["snapshots"] = json_of(plan.snapshots);
  json["units"] = plan.units->name;
  json["picture"] = {{"size", plan.style.size},
                     {"colour", name_of(plan.style.colour)},
                     {"x", plan.camera.x},
                     {"y", plan.camera.y},
                     {"half_width", plan.camera.half_width},
                     {"faint", plan.camera.faint},
                     {"bright", plan.camera.bright},
                     {"speed", plan.camera.speed}};
  json["sums"] = {{"mass", plan.sums.mass},
                  {"inertia", plan.sums.inertia},
                  {"centre", list(plan.sums.centre)},
                  {"velocity", list(plan.sums.velocity)}};
  return json;
}

NbodyPlan plan_from(const Fields& fields, bool of_doubles) {
  NbodyPlan plan;
  const auto real = [&](const char* key) {
    const double as_float = static_cast<double>(fields.single(key));  // checks the range too
    return of_doubles ? fields.number(key) : as_float;
  };
  plan.start = fields.text("start");
  plan.seed = fields.integer("seed", 0, INT64_MAX);
  plan.steps = fields.integer("steps", 0, kMostSteps);
  plan.step.dt = real("dt");
  const auto kernel = [](std::string_view name) { return kernels::rung_name("nbody", name); };
  plan.step.force = {parsed(fields, "kernel", kernel), real("softening"), real("gravity")};
  plan.samples = pace_from(fields.object("samples"));
  plan.frames = pace_from(fields.object("frames"));
  if (fields.has("snapshots")) plan.snapshots = pace_from(fields.object("snapshots"));
  if (fields.has("units")) {
    plan.units = parsed(fields, "units",
                        [](std::string_view name) { return &row_named(units(), "units", name); });
  }
  const Fields picture = fields.object("picture");
  plan.style.size = picture.integer("size", 1, kMaxPictureSize);
  plan.style.colour = parsed(picture, "colour", parse_body_colour);
  plan.camera = {
      picture.number("x"),        picture.number("y"),         positive(picture, "half_width"),
      positive(picture, "faint"), positive(picture, "bright"), positive(picture, "speed")};
  const Fields sums = fields.object("sums");
  plan.sums.mass = sums.number("mass");
  plan.sums.inertia = sums.number("inertia");
  read_list(sums, "centre", plan.sums.centre);
  read_list(sums, "velocity", plan.sums.velocity);
  return plan;
}

Json json_of(const NbodySample& sample) {
  const kernels::NbodyTotals& totals = sample.totals;
  Json json = {{"step", sample.step},
               {"kinetic", totals.kinetic},
               {"potential", totals.potential},
               {"momentum", list(totals.momentum)},
               {"angular_momentum", list(totals.angular_momentum)}};
  if (sample.centre) json["centre"] = *sample.centre;
  return json;
}

NbodySample sample_from(const Fields& fields) {
  NbodySample sample;
  sample.step = fields.integer("step", 0, kMostSteps);
  sample.totals.kinetic = fields.number("kinetic");
  sample.totals.potential = fields.number("potential");
  read_list(fields, "momentum", sample.totals.momentum);
  read_list(fields, "angular_momentum", sample.totals.angular_momentum);
  if (fields.has("centre")) {
    double centre[3];
    read_list(fields, "centre", centre);
    sample.centre = std::to_array(centre);
  }
  return sample;
}

// All but the bodies.
std::string metadata_of(const NbodyState& state) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json[kPrecision] = "double";
  json["bodies"] = state.bodies.count();
  json["step"] = state.step;
  json["seconds"] = state.seconds;
  json["plan"] = json_of(state.plan);
  json["history"] = Json::array();
  for (const NbodySample& sample : state.samples) json["history"].push_back(json_of(sample));
  return json_text(json);
}

NbodyState state_from(const Fields& fields) {
  fields.check_schema();
  NbodyState state;
  state.plan = plan_from(fields.object("plan"), fields.has(kPrecision));
  state.step = fields.integer("step", 0, state.plan.steps);
  state.seconds = fields.number("seconds");
  for (const Json& element : fields.array("history")) {
    const NbodySample sample = sample_from({element, fields.where() + ": history"});
    const std::int64_t last = state.samples.empty() ? -1 : state.samples.back().step;
    if (sample.step <= last || sample.step > state.step) fields.fail("history: out of order");
    state.samples.push_back(sample);
  }
  return state;
}

template <class Values>  // of bytes, floats or doubles
void share(Values& values, distributed::Communicator& ranks) {
  const auto own = std::as_bytes(std::span(values));
  distributed::Bytes bytes(own.begin(), own.end());
  ranks.broadcast(bytes);
  values.resize(bytes.size() / sizeof values[0]);
  std::memcpy(values.data(), bytes.data(), bytes.size());
}

// F64, or F32 as older checkpoints have.
std::vector<double> values_of(const SafeTensors& content, std::string_view name, const Shape& shape,
                              const std::string& where) {
  const NamedTensor* tensor = content.find(name);
  if (tensor == nullptr) throw Error(ErrorKind::data, str(where, ": no tensor ", name));
  if (!(tensor->shape == shape)) {
    throw Error(ErrorKind::data, str(where, ": tensor ", name, ": expected the shape ", shape,
                                     ", found ", tensor->shape));
  }
  std::vector<double> values = tensor->doubles;
  values.insert(values.end(), tensor->values.begin(), tensor->values.end());
  for (const double value : values) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::data, str(where, ": tensor ", name, " holds ", value));
    }
  }
  return values;
}

}  // namespace

std::int64_t Pace::first_from(std::int64_t step) const {
  if (times == 0 || (steps == 0 && step > 0)) return -1;
  if (steps == 0) return 0;
  return step / steps * times + divide_up(step % steps * times, steps);
}

bool Pace::falls_on(std::int64_t step) const {
  const std::int64_t k = first_from(step);
  return k >= 0 && step_of(k) == step;
}

void write_nbody_checkpoint(const data::OutputPath& to, const NbodyState& state) {
  const std::int64_t n = state.bodies.count();
  write_safetensors(to, {{{kMetadata, metadata_of(state)}},
                         {{"position", Shape{n, 4}, {}, state.bodies.position},
                          {"velocity", Shape{n, 4}, {}, state.bodies.velocity},
                          {"group", Shape{n}, state.bodies.group}}});
}

NbodyState read_nbody_checkpoint(const data::InputFile& file) {
  const SafeTensors content = read_safetensors(file, SafetensorsDtypes::f32_and_f64);
  const std::string where = file.path().string();
  const auto metadata = content.metadata.find(kMetadata);
  if (metadata == content.metadata.end()) {
    throw Error(ErrorKind::data, str(where, ": not the checkpoint of an n-body simulation"));
  }
  const Fields fields = parse_fields(metadata->second, where);
  NbodyState state = state_from(fields);
  if (state.samples.empty() || state.samples.front().step != 0) {
    fields.fail("history: the energies of step 0 are missing");
  }
  const std::int64_t n = fields.integer("bodies", 1, kMaxBodies);
  state.bodies.position = values_of(content, "position", Shape{n, 4}, where);
  state.bodies.velocity = values_of(content, "velocity", Shape{n, 4}, where);
  for (const double group : values_of(content, "group", Shape{n}, where)) {
    state.bodies.group.push_back(static_cast<float>(group));
  }
  return state;
}

void share_state(NbodyState& state, distributed::Communicator& ranks) {
  if (ranks.size() == 1) return;
  std::string metadata = metadata_of(state);
  share(metadata, ranks);
  Bodies bodies = std::move(state.bodies);
  share(bodies.position, ranks);
  share(bodies.velocity, ranks);
  share(bodies.group, ranks);
  if (!ranks.is_first()) state = state_from(parse_fields(metadata, "the state of rank 0"));
  state.bodies = std::move(bodies);
}

std::string samples_csv(const NbodyState& state) {
  std::string text = "step,time,kinetic,potential,energy,px,py,pz,lx,ly,lz,cx,cy,cz\n";
  constexpr std::array<double, 3> kUnknown = {NAN, NAN, NAN};
  for (const NbodySample& sample : state.samples) {
    const kernels::NbodyTotals& totals = sample.totals;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", sample.step,
                   state.time_of(sample.step), totals.kinetic, totals.potential, totals.energy(),
                   fmt::join(totals.momentum, ","), fmt::join(totals.angular_momentum, ","),
                   fmt::join(sample.centre.value_or(kUnknown), ","));
  }
  return text;
}

}  // namespace weft::models
