#!/usr/bin/env bash
# Runs the tests of the Python package against an installed wheel with each PYTHON, and mypy over it.
#
#   packaging/test_wheel.sh FOLDER PYTHON...      packaging/test_wheel.sh dist python3.12 python3.13
#
# FOLDER has the wheels; pip chooses the one for PYTHON, and is kept from PyPI then, where the name is another project's. NumPy,
# pytest and mypy come from PyPI. WEFT_TESTS: further words for pytest. The tests of notebooks are left out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=$(cd "$1" && pwd)
shift
unset PYTHONPATH
for python in "$@"; do
  work=$(mktemp -d)
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" download --quiet --no-index --no-deps --find-links "$wheels" --dest "$work" weft
  "$work/venv/bin/pip" install --quiet --only-binary :all: "$work"/weft-*.whl pytest mypy
  cd "$work"
  venv/bin/python -c "
import sys, weft
print(sys.version.split()[0], weft.__file__)
assert weft.__file__.startswith('$work/venv/')"
  # shellcheck disable=SC2086
  venv/bin/python -m pytest -q -p no:cacheprovider --weft venv/bin/weft --ignore "$here/python/tests/test_notebooks.py" \
    "$here/python/tests" ${WEFT_TESTS:-}
  venv/bin/python -m mypy --strict -p weft
  cd /
  rm -rf "$work"
done
