// SPDX-License-Identifier: MIT
#pragma once

#include "../nvToolsExtCudaRt.h"
