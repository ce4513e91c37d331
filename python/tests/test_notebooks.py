# SPDX-License-Identifier: MIT
"""The notebooks run from top to bottom."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples" / "notebooks"
WORDS = {
    "naive_to_tiled": ["times fewer sectors", "host-cuda: race", "<iframe srcdoc="],
    "train_and_look_inside": ["<progress value=", "of the test digits are read right", "image/png", "<7 ("],
}
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    outputs = str([cell.get("outputs") for cell in notebook.cells])
    assert WORDS[path.stem]
    for words in WORDS[path.stem]:
        assert words in outputs
