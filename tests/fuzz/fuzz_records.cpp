// SPDX-License-Identifier: MIT
// Any text is the JSON of a run (config.json, state.json, a model's metadata) or one line of
// Error{data}. What was read and is written again reads the same.
#include "models/files/json_check.h"
#include "models/training/runs/run_state.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

template <class Read>
void check(std::string_view text, Read&& read) {
  try {
    const std::string once = models::to_json(read(text));
    fuzz::require(models::to_json(read(once)) == once,
                  "another record when it is written and read");
  } catch (const Error& error) {
    fuzz::require_data_error(error, "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  const std::string_view text = fuzz::text_of({bytes, size});
  static const models::TrainConfig kDefaults;
  check(text, [](std::string_view json) {
    return models::train_config_from_json(json, kDefaults, "fuzz");
  });
  check(text, [](std::string_view json) { return models::run_state_from_json(json, "fuzz"); });
  check(text, [](std::string_view json) { return models::model_info_from_json(json, "fuzz"); });
  return 0;
}
