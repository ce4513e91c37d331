// SPDX-License-Identifier: MIT
// weft::Error becomes the exception of weft/_errors.py that its kind stands for.
#include "engine/text.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

const char* exception_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "UsageError";
    case ErrorKind::data:
      return "DataError";
    case ErrorKind::device:
      return "DeviceError";
    case ErrorKind::check_failed:
      break;
  }
  return "CheckError";
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nb::object type = nb::module_::import_("weft._errors").attr(exception_of(error.kind()));
      PyErr_SetString(type.ptr(), printable(error.what()).c_str());
    }
  });
}

}  // namespace weft::python
