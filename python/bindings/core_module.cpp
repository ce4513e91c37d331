// SPDX-License-Identifier: MIT
// weft._core: Weft on the CPU, and on GPUs where the package was built with CUDA.
#include "python/bindings/arrays.h"

NB_MODULE(_core, m) {
  weft::python::bind_all(m);
  weft::python::bind_model(m);
  weft::python::bind_load_model(m);
  weft::python::bind_train(m);
}
