// SPDX-License-Identifier: MIT
// --precision int8, of commands that classify on the CPU.
#pragma once

#include <string>

#include "examples/weft/input/flags.h"
#include "models/int8/int8_network.h"

namespace weft::cli {

// Was it asked for? Sets the number of threads then, and throws usage for a device that is no CPU,
// and for flags that choose other kernels.
bool is_int8(const DeviceFlags& flags);

// The model of this file in 8-bit integers, with a notice of the layers that stay in fp32. Throws
// usage, saying how to measure them, where it has no ranges.
models::Int8Network int8_network(const models::Model& model, const std::string& path);

}  // namespace weft::cli
