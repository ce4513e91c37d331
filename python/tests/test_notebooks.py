# SPDX-License-Identifier: MIT
"""The notebooks run from top to bottom."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    outputs = str([cell.get("outputs") for cell in notebook.cells])
    assert "times fewer sectors" in outputs and "host-cuda: race" in outputs
    assert "<iframe srcdoc=" in outputs
