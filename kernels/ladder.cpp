// SPDX-License-Identifier: MIT
#include "kernels/ladder.h"

#include "engine/names.h"
#include "engine/text.h"
#include "kernels/hopper.h"

namespace weft::kernels {

std::string_view name_of(Arithmetic arithmetic) {
  constexpr std::string_view kNames[] = {"fp32", "tf32", "bf16", "tf32x3", "fp16x3"};
  return kNames[static_cast<int>(arithmetic)];
}

const Rung* Rungs::find(std::string_view name) const {
  for (const Rung& rung : *this) {
    if (rung.name == name) return &rung;
  }
  return nullptr;
}

std::string other_operation(const Rung& rung, std::string_view asked) {
  return rung.operation == asked ? ""
                                 : str("it is a version of ", rung.operation, ", not of ", asked);
}

namespace ladder {

void throw_without_cuda() {
  throw Error(ErrorKind::device, "this build of weft has no CUDA");
}

std::string refusal(const Rung& rung, ComputeMode mode, Device device) {
  if (device.is_cpu()) return rung.on_cpu ? "" : str("it does not run on ", device);
  if (!rung.on_cuda) return str("it does not run on ", device);
  if (!rung.arithmetic.in(mode)) return "it rounds operands, which needs ComputeMode tf32 or bf16";
  const int capability = device_properties(device).compute_capability;
  if (rung.exactly_sm_90a && !runs_hopper_code(device)) {
    return str("it needs a GPU of compute capability 90 and code built for sm_90a; ", device,
               " has ", capability, ", built for ", built_cuda_architectures());
  }
  if (capability < rung.compute_capability) {
    return str("it needs compute capability ", rung.compute_capability, "; ", device, " has ",
               capability);
  }
  return "";
}

void throw_unknown(std::string_view family, std::string_view name, Rungs rungs) {
  Names choices{kAutomatic};
  for (const Rung& rung : rungs) choices.push_back(rung.name);
  const std::string near = nearest_name(name, choices);
  throw Error(ErrorKind::usage, str("unknown ", family, " variant ", shown(name), "; ",
                                    near.empty() ? "" : str("did you mean '", near, "'? "),
                                    "choose from ", joined(choices)));
}

void throw_refused(std::string_view family, const Rung& rung, const std::string& reason,
                   const Choice& instead) {
  const std::string other = instead.rung == rung.name ? "" : str("; ", instead.rung, " can");
  throw Error(ErrorKind::usage,
              str(family, " variant ", rung.name, " cannot run this: ", reason, other));
}

}  // namespace ladder
}  // namespace weft::kernels
