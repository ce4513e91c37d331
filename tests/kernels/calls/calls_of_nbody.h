// SPDX-License-Identifier: MIT
// A call of each public function of n-body.
#pragma once

#include "kernels/nbody/nbody.h"
#include "tests/kernels/calls/calls_of_layers.h"

namespace weft::test {

inline Calls nbody_calls() {
  using kernels::NbodyOptions;
  using kernels::NbodyProblem;
  constexpr std::int64_t n = 32, quads = 4 * n;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto variant = [](Device device) {
    return std::string_view(device.is_cpu() ? "struct_of_arrays" : "register_tiled");
  };
  const auto bytes = [=](std::string_view of, int ranks) {
    return [=](Device device) {
      const std::string_view here = of.empty() ? variant(device) : of;
      return kernels::nbody_workspace_bytes(NbodyProblem{n, ranks}, here, device);
    };
  };
  const auto options_of = [=](CallOf a) {
    return NbodyOptions{.variant = variant(a.stream.device())};
  };
  const auto accelerations = [=](double gravity, double softening) {
    return [=](CallOf a) {
      NbodyOptions options = options_of(a);
      options.gravity = gravity;
      options.softening = softening;
      kernels::nbody_accelerations(a.at("acceleration"), a.at("bodies"), n, options, a.workspace,
                                   a.stream);
    };
  };
  const auto part = [=](GradientMode mode) {
    return [=](CallOf a) {
      kernels::nbody_part(a.at("acceleration"), a.at("bodies"), {n, 2}, {{0, 8}, {0, n}, mode},
                          options_of(a), a.workspace, a.stream);
    };
  };
  const auto advance = [](float kick, float drift) {
    return [=](CallOf a) {
      kernels::nbody_advance(a.at("bodies"), a.at("velocity"), a.at("acceleration"), n, kick, drift,
                             a.stream);
    };
  };
  const auto advance_wide = [](double kick, double drift) {
    return [=](CallOf a) {
      kernels::nbody_advance_wide(a.at<double>("position"), a.at<double>("velocity"),
                                  a.at("bodies"), a.at("acceleration"), n, kick, drift, a.stream);
    };
  };
  const auto few = [](double dt) {
    return [=](CallOf a) {
      kernels::nbody_few_steps(a.at<double>("position"), a.at<double>("velocity"), n, 1, dt, {},
                               a.stream);
    };
  };
  const auto step = [=](float dt) {
    return [=](CallOf a) {
      kernels::nbody_step(a.at("bodies"), a.at("velocity"), a.at("acceleration"), n, dt,
                          options_of(a), a.workspace, a.stream);
    };
  };
  const CallArray bodies = in("bodies", quads).aligned_to(16);
  const CallArray moving = out("bodies", quads).aligned_to(16);
  const CallArray acceleration = out("acceleration", quads).aligned_to(16);
  const CallArray known = in("acceleration", quads).aligned_to(16);
  const CallArray velocity = in("velocity", quads).aligned_to(16);
  const CallArray changing = out("velocity", quads).aligned_to(16);
  const std::vector<CallArray> wide = {out<double>("position", quads),
                                       out<double>("velocity", quads)};
  return {
      {.function = "nbody_accelerations",
       .arrays = {acceleration, bodies},
       .run = accelerations(1, 0.01),
       .refused = {{"gravity", accelerations(kNone, 0.01)}, {"softening", accelerations(1, kNone)}},
       .workspace_bytes = bytes("", 1)},
      {.function = "nbody_part",
       .arrays = {out("acceleration", 32).aligned_to(16), bodies},
       .run = part(GradientMode::overwrite),
       .refused = {{"mode", part(kNoMode)}},
       .workspace_bytes = bytes("", 2)},
      {.function = "nbody_pairs",
       .arrays = {acceleration, bodies},
       .run =
           [](CallOf a) {
             kernels::nbody_pairs(a.at("acceleration"), a.at("bodies"), {n, 2}, 0,
                                  {.variant = "pair_symmetric"}, a.workspace, a.stream);
           },
       .workspace_bytes = bytes("pair_symmetric", 2),
       .runs_on = [](Device device) { return device.is_cuda(); }},
      {.function = "nbody_advance",
       .arrays = {moving, changing, known},
       .run = advance(0.1f, 0.1f),
       .refused = {{"kick", advance(kNan, 0)}, {"drift", advance(0, kInf)}}},
      {.function = "nbody_advance_wide",
       .arrays = {wide[0], wide[1], moving, known},
       .run = advance_wide(0.1, 0.1),
       .refused = {{"kick", advance_wide(kNone, 0)}, {"drift", advance_wide(0, kNone)}}},
      {.function = "nbody_few_steps",
       .arrays = wide,
       .run = few(0.1),
       .refused = {{"dt", few(kNone)}}},
      {.function = "nbody_step",
       .arrays = {moving, changing, acceleration},
       .run = step(0.1f),
       .refused = {{"dt", step(kInf)}},
       .workspace_bytes = bytes("", 1)},
      {.function = "nbody_totals",
       .arrays = {out<double>("totals", 8), bodies, velocity},
       .run =
           [=](CallOf a) {
             kernels::nbody_totals(a.at<double>("totals"), a.at("bodies"), a.at("velocity"), n,
                                   options_of(a), a.workspace, a.stream);
           },
       .workspace_bytes = bytes("", 1)},
      {.function = "nbody_totals_part",
       .arrays = {out<double>("totals", 8), bodies, velocity},
       .run =
           [=](CallOf a) {
             kernels::nbody_totals_part(a.at<double>("totals"), a.at("bodies"), a.at("velocity"),
                                        {n}, {0, n}, options_of(a), a.workspace, a.stream);
           },
       .workspace_bytes = bytes("", 1)},
      {.function = "nbody_totals_wide",
       .arrays = {out<double>("totals", 8), in<double>("position", quads),
                  in<double>("velocity", quads)},
       .run =
           [=](CallOf a) {
             kernels::nbody_totals_wide(a.at<double>("totals"), a.at<double>("position"),
                                        a.at<double>("velocity"), {n}, {0, n}, options_of(a),
                                        a.workspace, a.stream);
           },
       .workspace_bytes = bytes("", 1)},
  };
}

}  // namespace weft::test
