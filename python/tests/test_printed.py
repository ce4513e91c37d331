# SPDX-License-Identifier: MIT
"""Hostile names in messages, in what objects say of themselves, and in notebooks."""

import os

import numpy
import pytest
import weft
from weft import _core

HOSTILE = "a\x1b]0;owned\x07\nforged\u009b5;7m\u202egnp.exe<script>"
PRINTED = "a\\x1b]0;owned\\x07\\nforged\\u009b5;7m\\u202egnp.exe<script>"


def test_messages():
    for work in (
        lambda: weft.load(HOSTILE),
        lambda: weft.load(HOSTILE + ".onnx"),
        lambda: weft.data("./" + HOSTILE),
        lambda: weft.train("./" + HOSTILE, device="cpu"),
    ):
        with pytest.raises(weft.Error) as raised:
            work()
        assert PRINTED in str(raised.value)
        assert str(raised.value).isprintable()


def test_a_variant_that_there_is_not():
    with pytest.raises(ValueError, match="unknown reduce variant") as raised:
        weft.reduce(numpy.ones(4, numpy.float32), variant=HOSTILE)
    assert str(raised.value).isprintable()


def test_what_a_model_says(tmp_path):
    model = weft.network("mlp", classes=2)
    model.info["dataset"] = HOSTILE
    assert PRINTED in repr(model)
    assert repr(weft.Answer(0, HOSTILE, 0.5, None, False)) == f"<{PRINTED} (50.00%)>"
    path = tmp_path / HOSTILE
    path.mkdir()
    model.save(path / "model.safetensors")
    assert weft.load(os.fspath(path / "model.safetensors")).layers == model.layers


def test_html():
    assert _core.html_text(HOSTILE) == PRINTED.replace("<", "&lt;").replace(">", "&gt;")
    assert _core.printable("é 日本 👩\u200d💻") == "é 日本 👩\u200d💻"
    kernel = weft.kernel("scan/kogge_stone")._replace(summary=HOSTILE)
    html = kernel._repr_html_()
    assert "&lt;script&gt;" in html and html.isprintable()
    assert 'srcdoc="&lt;script&gt;"' in weft.Page("<script>")._repr_html_()
