// SPDX-License-Identifier: MIT
// `weft doctor --versions`: the libraries in use.
#pragma once

namespace weft::cli {

// Writes a table, or a JSON line. Returns the exit code.
int show_versions(bool json);

}  // namespace weft::cli
