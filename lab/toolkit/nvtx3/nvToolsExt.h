// SPDX-License-Identifier: MIT
#pragma once

#include "../nvToolsExt.h"
