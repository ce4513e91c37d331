// SPDX-License-Identifier: MIT
// Names of CUDA's objects for a profiler. There is none here, so they do nothing.
#pragma once

#include "nvToolsExt.h"
