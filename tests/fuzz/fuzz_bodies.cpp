// SPDX-License-Identifier: MIT
// Any text is bodies (`weft nbody --start`) or one line of Error{data}; what was read and is
// written again is the same bodies.
#include "models/nbody/bodies_csv.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace weft;
  const fuzz::TimeLimit limit(2);
  try {
    const models::Bodies bodies = models::parse_bodies_csv(fuzz::text_of({bytes, size}), "fuzz");
    fuzz::require(bodies.count() > 0 && models::is_finite(bodies), "bodies that are nowhere");
    const models::Bodies again = models::parse_bodies_csv(models::bodies_csv(bodies), "fuzz");
    fuzz::require(again.position == bodies.position && again.velocity == bodies.velocity,
                  "other bodies when they are written and read again");
  } catch (const Error& error) {
    fuzz::require_data_error(error, "fuzz");
  }
  return 0;
}
