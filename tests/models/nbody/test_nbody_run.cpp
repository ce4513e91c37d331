// SPDX-License-Identifier: MIT
// When samples and frames fall due, and checkpoints: every bit kept, damage refused.
#include <algorithm>

#include "models/nbody/run.h"

#include <gtest/gtest.h>

#include "models/files/safetensors.h"
#include "models/nbody/starts.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::TemporaryFolder;
using test::throws;

TEST(Pace, SpreadsEventsEvenlyFromTheFirstStepToTheLast) {
  for (const Pace pace : {Pace{200, 59}, Pace{200, 200}, Pace{7, 3}, Pace{1, 1}, Pace{1000, 7}}) {
    std::int64_t events = 0;
    for (std::int64_t step = 0; step <= pace.steps; ++step) {
      if (!pace.falls_on(step)) continue;
      EXPECT_EQ(pace.first_from(step), events) << step;
      EXPECT_EQ(pace.step_of(events), step);
      ++events;
    }
    EXPECT_EQ(events, pace.times + 1);
    EXPECT_TRUE(pace.falls_on(pace.steps));
    EXPECT_TRUE(pace.falls_on(2 * pace.steps));  // and goes on at that pace
    EXPECT_EQ(pace.first_from(2 * pace.steps), 2 * pace.times);
  }
  const Pace never{10, 0}, once{0, 1};
  EXPECT_FALSE(never.falls_on(0));
  EXPECT_TRUE(once.falls_on(0));
  EXPECT_FALSE(once.falls_on(1));
}

NbodyState example() {
  NbodyState state;
  state.bodies = colliding_galaxies(50, 3);
  state.plan.start = "galaxies";
  state.plan.seed = 3;
  state.plan.steps = 40;
  state.plan.step = {0.1, {"naive", 0.03, 1.5}};
  state.plan.samples = {40, 4};
  state.plan.frames = {40, 7};
  state.plan.style = {128, BodyColour::galaxy};
  state.plan.camera = fitted_camera(state.bodies, state.plan.style);
  state.plan.sums = mass_sums(state.bodies);
  state.step = 10;
  state.seconds = 0.1;
  state.samples = {{0, {1.0 / 3, -2, {1e-20, 0, 0}, {1, 2, 3}}, {{0.1, 0.2, 0.3}}},
                   {10, {1, -2.5, {}, {}}, {{1e-3, 0, -7}}}};
  return state;
}

TEST(NbodyCheckpoint, KeepsEverything) {
  const TemporaryFolder folder;
  const NbodyState state = example();
  write_nbody_checkpoint(folder / "c", state);
  const NbodyState read = read_nbody_checkpoint(data::InputFile(folder / "c"));
  EXPECT_EQ(read.bodies.position, state.bodies.position);
  EXPECT_EQ(read.bodies.velocity, state.bodies.velocity);
  EXPECT_EQ(read.bodies.group, state.bodies.group);
  EXPECT_EQ(read.step, 10);
  EXPECT_EQ(read.seconds, 0.1);
  EXPECT_EQ(read.plan.start, "galaxies");
  EXPECT_EQ(read.plan.step.dt, 0.1);
  EXPECT_EQ(read.plan.step.force.softening, 0.03);
  EXPECT_EQ(read.plan.step.force.gravity, 1.5);
  EXPECT_EQ(read.plan.step.force.variant, "naive");
  EXPECT_EQ(read.plan.frames.times, 7);
  EXPECT_EQ(read.plan.style.colour, BodyColour::galaxy);
  EXPECT_EQ(read.plan.camera.faint, state.plan.camera.faint);
  EXPECT_EQ(read.plan.camera.half_width, state.plan.camera.half_width);
  EXPECT_EQ(read.plan.sums.inertia, state.plan.sums.inertia);
  ASSERT_EQ(read.samples.size(), 2u);
  EXPECT_EQ(read.samples[0].totals.kinetic, 1.0 / 3);
  EXPECT_EQ(read.samples[0].totals.momentum[0], 1e-20);
  EXPECT_EQ(read.samples[1].step, 10);
  EXPECT_EQ(read.samples[1].centre, state.samples[1].centre);
  // Written again it is the same file.
  write_nbody_checkpoint(folder / "d", read);
  EXPECT_TRUE(test::read_text(folder / "c") == test::read_text(folder / "d"));
}

// Bodies, dt, softening and gravity were floats, and samples had no centre of mass.
TEST(NbodyCheckpoint, GoesOnFromOneOfFloats) {
  const TemporaryFolder folder;
  const NbodyState state = example();
  write_nbody_checkpoint(folder / "c", state);
  SafeTensors old = read_safetensors(folder / "c", SafetensorsDtypes::f32_and_f64);
  for (NamedTensor& tensor : old.tensors) {
    for (const double value : tensor.doubles) tensor.values.push_back(static_cast<float>(value));
    tensor.doubles.clear();
  }
  std::string& json = old.metadata.begin()->second;
  for (const std::string gone :
       {"\"precision\":\"double\",", ",\"centre\":[0.1,0.2,0.3]", ",\"centre\":[0.001,0.0,-7.0]"}) {
    const std::size_t at = json.find(gone);
    ASSERT_NE(at, std::string::npos) << gone << " in " << json;
    json.erase(at, gone.size());
  }
  write_safetensors(folder / "old", old);
  const NbodyState read = read_nbody_checkpoint(data::InputFile(folder / "old"));
  ASSERT_EQ(read.bodies.count(), 50);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(read.bodies.position[i], double{static_cast<float>(state.bodies.position[i])});
    EXPECT_EQ(read.bodies.velocity[i], double{static_cast<float>(state.bodies.velocity[i])});
  }
  EXPECT_EQ(read.plan.step.dt, double{0.1f});
  EXPECT_EQ(read.plan.step.force.softening, double{0.03f});
  EXPECT_FALSE(read.samples[1].centre.has_value());
  EXPECT_NE(samples_csv(read).find(",nan,nan,nan\n"), std::string::npos);
  // Written again it is a checkpoint of doubles with the same values.
  write_nbody_checkpoint(folder / "new", read);
  EXPECT_EQ(read_nbody_checkpoint(data::InputFile(folder / "new")).plan.step.dt, double{0.1f});
}

TEST(NbodyCheckpoint, SamplesMakeATable) {
  const std::string csv = samples_csv(example());
  EXPECT_TRUE(
      csv.starts_with("step,time,kinetic,potential,energy,px,py,pz,lx,ly,lz,cx,cy,cz\n0,0,0.333"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), ','), 39);
  EXPECT_NE(csv.find(",0.1,0.2,0.3\n"), std::string::npos) << csv;
}

TEST(NbodyCheckpoint, RefusesDamage) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "c";
  write_nbody_checkpoint(path, example());
  const SafeTensors good = read_safetensors(path, SafetensorsDtypes::f32_and_f64);
  const auto refused = [&](const std::string& part, const SafeTensors& content) {
    write_safetensors(path, content);
    return throws(ErrorKind::data, part, [&] { read_nbody_checkpoint(data::InputFile(path)); });
  };
  SafeTensors other = good;
  other.metadata.clear();
  EXPECT_TRUE(refused("not the checkpoint of an n-body simulation", other));
  other = good;
  other.tensors.pop_back();
  EXPECT_TRUE(refused("no tensor", other));
  other = good;
  other.tensors[0].doubles[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(refused("holds nan", other));
  const struct {
    const char *from, *to, *part;
  } edits[] = {
      {"\"bodies\":50", "\"bodies\":49", "expected the shape (49"},
      {"\"bodies\":50", "\"bodies\":0", "bodies"},
      {"\"step\":10,\"seconds\"", "\"step\":41,\"seconds\"", "step"},
      {"\"step\":10,\"kin", "\"step\":0,\"kin", "out of order"},
      {"\"step\":0,\"kin", "\"step\":1,\"kin", "step 0"},
      {"\"naive\"", "\"fast\"", "unknown nbody variant"},
      {"\"colour\":\"galaxy\"", "\"colour\":\"red\"", "speed or galaxy"},
      {"\"times\":7", "\"times\":41", "times"},
      {"\"faint\":", "\"faint\":-", "faint"},
      {"\"dt\":0.1", "\"dt\":1e99", "dt"},
      {"[0.1,0.2,0.3]", "[0.1,0.2]", "centre"},
      {"\"schema_version\":1", "\"schema_version\":9", "schema_version"},
      {"{", "[", "c"},
  };
  for (const auto& [from, to, part] : edits) {
    other = good;
    std::string& json = other.metadata.begin()->second;
    const std::size_t at = json.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << json;
    json.replace(at, std::string(from).size(), to);
    EXPECT_TRUE(refused(part, other)) << from;
  }
  test::write_text(path, "nothing");
  EXPECT_TRUE(throws(ErrorKind::data, "c", [&] { read_nbody_checkpoint(data::InputFile(path)); }));
}

}  // namespace
}  // namespace weft::models
