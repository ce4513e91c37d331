// SPDX-License-Identifier: MIT
#pragma once

#include "../nvToolsExtCuda.h"
