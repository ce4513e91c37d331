// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "measure/harness.h"

namespace weft::measure {

// AdamW of n parameters; `clipped`: with the norm of the gradients, which is read twice then.
std::unique_ptr<Work> adamw_work(std::int64_t n, bool clipped, const Context& context);

}  // namespace weft::measure
