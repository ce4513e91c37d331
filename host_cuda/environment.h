// SPDX-License-Identifier: MIT
// Settings that the environment makes.
#pragma once

namespace weft::host_cuda {

// A whole number from 1 to `most`, or `otherwise` where the variable is not set. Throws usage.
int from_environment(const char* name, int otherwise, int most);

}  // namespace weft::host_cuda
