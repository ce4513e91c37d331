// SPDX-License-Identifier: MIT
// What is said of a driver that cannot run this program. Internal to device.cpp, and for its test.
#pragma once

#include <string>

namespace weft::detail {

// The reason when the driver is older than the CUDA runtime of this program. Versions are as CUDA
// counts them: 13000 is 13.0. A driver of 0 means that there is none.
std::string old_driver(int driver, int runtime);

}  // namespace weft::detail
