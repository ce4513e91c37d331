// SPDX-License-Identifier: MIT
// Any bytes are named tensors of PyTorch, NumPy or safetensors, or one line of Error{data}: what
// was read has the numbers of its shapes. Files of HDF5 are left out: libhdf5 reads them, which is
// not hardened (SECURITY.md).
#include "models/files/foreign.h"
#include "models/weights/weights.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace weft;
  const fuzz::TimeLimit limit(5);
  const std::string file = fuzz::file_with({bytes, size});
  const auto format = models::foreign_format(file);
  if (format == models::ForeignFormat::hdf5 || format == models::ForeignFormat::keras) return 0;
  try {
    const models::Weights weights = models::read_weights(file);
    fuzz::require(!weights.tensors.empty(), "no tensors, and no error");
    for (const models::NamedTensor& tensor : weights.tensors) {
      fuzz::require(tensor.shape.elements() == std::ssize(tensor.values),
                    "not as many values as the shape says");
    }
  } catch (const Error& error) {
    fuzz::require_data_error(error, file);
  }
  return 0;
}
