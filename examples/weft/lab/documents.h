// SPDX-License-Identifier: MIT
// The findings of a program of `weft lab run` as documents for other programs.
#pragma once

#include <string>
#include <vector>

#include "lab/record/findings_record.h"

namespace weft::cli {

// One JSON object with schema_version, program, exit_code and findings.
std::string findings_json(const std::string& program, int exit_code,
                          const std::vector<lab::FoundRecord>& found);
// SARIF 2.1.0 (docs.oasis-open.org/sarif): a rule for each kind, a result for each finding.
std::string findings_sarif(int exit_code, const std::vector<lab::FoundRecord>& found);

}  // namespace weft::cli
