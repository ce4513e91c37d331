// SPDX-License-Identifier: MIT
// Matrix products for the harness.
#pragma once

#include "kernels/gemm/problem.h"
#include "measure/families.h"

namespace weft::measure {

MakeWork gemm_work(const problems::Gemm& p);

}  // namespace weft::measure
