# SPDX-License-Identifier: MIT
import numpy
import pytest


@pytest.fixture
def rng() -> numpy.random.Generator:
    return numpy.random.default_rng(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--weft", help="the weft program of a build, to compare training with")
