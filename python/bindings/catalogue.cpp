// SPDX-License-Identifier: MIT
// The tables of rungs, what this build and this machine can do, and how text is printed.
#include "kernels/catalogue.h"

#include "data/versions/build_info.h"
#include "engine/text.h"
#include "kernels/isa.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

nb::str text(std::string_view words) {
  return nb::str(words.data(), words.size());
}

using Row = nb::typed<nb::dict, nb::str, nb::any>;
using Family = nb::typed<nb::tuple, nb::str, nb::str, nb::typed<nb::list, Row>>;

nb::typed<nb::list, Family> families() {
  nb::list all;
  for (const kernels::Family& family : kernels::catalogue()) {
    nb::list rungs;
    for (const kernels::Rung& rung : family.rungs()) {
      nb::dict row;
      row["family"] = text(family.name);
      row["name"] = text(rung.name);
      row["operation"] = text(rung.operation);
      row["function"] = text(family.function.empty() ? rung.operation : family.function);
      row["summary"] = text(rung.summary);
      row["prefer"] = text(rung.prefer);
      row["needs"] = text(rung.needs);
      row["on_cpu"] = rung.on_cpu;
      row["on_cuda"] = rung.on_cuda;
      row["on_host_cuda"] = rung.on_host_cuda();
      row["compute_capability"] = rung.compute_capability;
      rungs.append(row);
    }
    all.append(nb::make_tuple(text(family.name), text(family.summary), rungs));
  }
  return all;
}

Row build_info() {
  nb::dict info;
  info["version"] = weft::build_info().version;
  info["commit"] = weft::build_info().commit;
  info["commit_date"] = weft::build_info().commit_date;
  info["cuda"] = built_with_cuda() && !built_for_host_cuda();
  info["cuda_architectures"] = text(built_cuda_architectures());
  info["cpu"] = text(device_properties(Device::cpu()).name);
  info["cpu_kernels"] = text(kernels::name_of(kernels::cpu_isa()));
  return info;
}

}  // namespace

std::string with_rungs(std::string_view text, std::string_view family, std::string_view operation) {
  std::string all(text);
  all += str("\n\nvariant: \"automatic\", or a rung of the family ", family, ":\n");
  for (const kernels::Rung& rung : kernels::find_family(family)->rungs()) {
    if (!operation.empty() && rung.operation != operation) continue;
    all += str("  ", rung.name, ": ", rung.summary, "\n");
  }
  return all;
}

// The functions that were bound before are those of the package, with build_info: weft takes over
// what `__all__` names.
void name_functions(nb::module_& m) {
  nb::list names;
  for (const auto& [name, function] : nb::cast<nb::dict>(m.attr("__dict__"))) {
    if (!nb::cast<std::string>(name).starts_with('_')) names.append(name);
  }
  names.append("build_info");
  m.attr("__all__") = names;
}

void bind_catalogue(nb::module_& m) {
  m.def("families", &families, "Each family: its name, its summary and its rungs, as dicts.");
  m.def("build_info", &build_info,
        "What this package was built with, and the instruction set that its CPU kernels use here.");
  m.def(
      "printable", [](const std::string& text) { return printable(text); }, "text"_a,
      "A text in one line, with what is unprintable in it escaped.");
  m.def(
      "html_text", [](const std::string& text) { return html_text(text); }, "text"_a,
      "A printable text for an element or an attribute of HTML.");
  m.attr("version") = weft::build_info().version;
}

}  // namespace weft::python
