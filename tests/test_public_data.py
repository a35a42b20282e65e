"""Other people's networks: all are read, and Bayesian ones answered, as they are and widened."""

from pathlib import Path
from time import monotonic, process_time

import pytest

import credalog
from conftest import SHARED_DATA
from credalog import Status
from credalog.network.formulas import Is
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


BAYESIAN = ("alarm", "hepar2", "andes", "pigs", "insurance", "hailfinder")


@pytest.mark.slow
@pytest.mark.parametrize("name", BAYESIAN)
def test_all_marginals_of_a_bayesian_network_are_those_of_another_program(
    name: str, shared_data: Path
) -> None:
    pyagrum = pytest.importorskip("pyagrum")
    path = shared_data / "bif" / f"{name}.bif"
    theirs = pyagrum.LazyPropagation(pyagrum.loadBN(str(path)))
    theirs.makeInference()
    start = monotonic()
    found = credalog.load(path).marginals()
    assert monotonic() - start < 10.0
    for answer in found:
        (x,) = answer.query.scope
        assert isinstance(answer.query.claim, Is)
        expected = theirs.posterior(x.name)[x.values.index(answer.query.claim.value)]
        # pyAgrum does not divide rows that add up to 0.999 or 1.001 by their sum.
        assert answer.lower == pytest.approx(expected, abs=2e-3)
        assert answer.status is Status.EXACT and answer.method == "points"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("child", "P(DuctFlow = Lt_to_Rt | GruntingReport = yes & LVHreport = no & CO2 = Low & Sick = yes)"),
        ("hailfinder", "P(PlainsFcst = SVR | SubjVertMo = WeakUp & WindAloft = SWQuad)"),
        ("munin1", "P(R_MEDD2_DIFSLOW_WD = MOD | R_MED_LAT_WA = MS3_9 & R_APB_FORCE = 3)"),
        ("link", "P(D0_41_a_f = 3 | N49_a_f = 2 & N37_a_m = 3 & Z_18_a_f = f)"),
    ],
)
def test_a_widened_network_is_bounded_within_its_limit(name: str, query: str, shared_data: Path) -> None:
    points = credalog.load(shared_data / "bif" / f"{name}.bif")
    widened = points.widen(by="0.02")
    asked = widened.question(query.replace("&", "and"))
    widened.query(asked, timeout=0.1)
    # Seconds of the processor: the clock runs on while other tests have it.
    start = process_time()
    answer = widened.query(asked, timeout=1.5)
    assert process_time() - start < 1.1 * 1.5 + 1.0
    point = points.query(asked)
    assert answer.lower <= point.upper and point.lower <= answer.upper
