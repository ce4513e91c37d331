// SPDX-License-Identifier: MIT
// Reads an HDF5 file in a process of its own: libhdf5 has ended whole programs on damaged files.
// Internal to hdf5.cpp.
#pragma once

#include <functional>
#include <string>

#include "data/arrays/hdf5.h"

namespace weft::data {

// What `read` gives or throws in a copy of this process. Throws Error{data} where that ends without
// an answer. `read` starts no thread and changes nothing that anybody else sees.
Hdf5Content in_own_process(const std::function<Hdf5Content()>& read, const std::string& where);

}  // namespace weft::data
