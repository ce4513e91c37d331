#!/usr/bin/env bash
# All of the tests of faults, and the page of their results. Arguments go to each, such as -j 8.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
failed=0
for test in calls torn kills stops; do
  python3 "tests/faults/$test.py" "$@" || failed=1
done
python3 tests/faults/table.py
exit "$failed"
