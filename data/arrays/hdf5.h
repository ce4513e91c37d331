// SPDX-License-Identifier: MIT
// The floats and the texts of an HDF5 file (https://www.hdfgroup.org), as Keras and h5py write
// them.
//
// libhdf5 reads the file. It is loaded when the first file is read, so that no other command waits
// for it and for what it loads itself. It does not defend itself against hostile files
// (SECURITY.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft::data {

struct Hdf5Array {
  std::string path;                 // "/layers/conv2d/vars/0"
  std::vector<std::int64_t> shape;  // outermost first
  std::vector<float> values;        // in C order
};

struct Hdf5Content {
  std::vector<Hdf5Array> arrays;  // of floats of any size, group by group, by their names
  // Attributes that are text or lists of texts, by the object's path and their name:
  // "/model_weights@layer_names". Those of the root begin with "@".
  std::map<std::string, std::vector<std::string>> texts;
};

// Why no HDF5 file can be read: this program was built without libhdf5, or it does not load. Empty
// where files are read.
std::string no_hdf5_reason();

// Throws usage where no HDF5 file can be read. Throws data for a file that is damaged or leads to
// other files. It also does for one with more than `most_bytes` of numbers, or many more than the
// file has room for.
Hdf5Content read_hdf5(std::span<const std::uint8_t> file, std::uint64_t most_bytes,
                      const std::string& where);

}  // namespace weft::data
