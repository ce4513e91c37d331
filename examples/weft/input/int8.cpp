// SPDX-License-Identifier: MIT
#include "examples/weft/input/int8.h"

#include <fmt/format.h>

#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"
#include "examples/weft/output/results.h"

namespace weft::cli {

bool is_int8(const DeviceFlags& flags) {
  if (flags.precision != kInt8) return false;
  if (flags.kernels) {
    throw Error(ErrorKind::usage, "--impl chooses kernels of fp32: it does not go with int8");
  }
  DeviceFlags on_cpu = flags;
  if (flags.device == "auto") on_cpu.device = "cpu";
  if (!select_device(on_cpu).is_cpu()) {
    throw Error(ErrorKind::usage,
                fmt::format("--precision int8 computes on the CPU: it does not go with --device {}",
                            flags.device));
  }
  return true;
}

models::Int8Network int8_network(const models::Model& model, const std::string& path) {
  if (model.info.ranges.empty()) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{} does not say the ranges of its layers, which int8 needs: `{} export "
                    "{} --precision int8 --out int8.safetensors` measures them on training "
                    "images, and writes a model that has them",
                    path, program_name(), shell_word(path)));
  }
  models::Int8Network network(model);
  if (!network.in_fp32().empty()) {
    print_notice(fmt::format("int8: {} {} in fp32", joined(network.in_fp32()),
                             network.in_fp32().size() == 1 ? "computes" : "compute"));
  }
  return network;
}

}  // namespace weft::cli
