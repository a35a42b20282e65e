"""Other people's networks: every file under ../shared/data/lcn is read and grounded."""

from pathlib import Path

import pytest

import credalog
from conftest import SHARED_DATA
from credalog.network.graph import dependency_graph
from credalog.network.summary import summarize

FILES = sorted((SHARED_DATA / "lcn").rglob("*.lcn"))


def named(path: Path) -> str:
    return path.relative_to(SHARED_DATA).as_posix()


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="the public data folder ../shared/data is not there")
@pytest.mark.parametrize("path", FILES or [Path()], ids=named if FILES else str)
def test_every_public_network_is_read_and_has_a_dependency_graph(path: Path):
    network = credalog.load(path).ground()
    written = [line for line in path.read_text().splitlines() if _is_sentence(line)]
    assert len(network.sentences) == len(written)
    found = summarize(network, dependency_graph(network))
    assert found.variables == len(network.variables) > 0


def _is_sentence(line: str) -> bool:
    return "P(" in line.split("#", maxsplit=1)[0]
