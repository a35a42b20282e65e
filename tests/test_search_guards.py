"""Steps of the search on cliques that no solver, process or candidate may talk out of a bound that holds."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nextafter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from credalog import parse
from credalog.methods.automatic import Engine
from credalog.methods.cliques.search import Leaf, Limits, Search, Witness
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Warrant
from credalog.program.program import Box

ACROSS = """
0.2 <= P(a) <= 0.8
0.3 <= P(b) <= 0.6
0.1 <= P(c) <= 0.9
0.4 <= P((a & b) or c) <= 0.5 ; tau=False
0.2 <= P(a & !c) <= 0.3 ; tau=False
"""
GREATEST = 0.44
"""P(c) = P((a & b) or c) - P(a & !c) P(b), at most 0.5 - 0.2 * 0.3."""


def search_of(text: str = ACROSS, question: str = "P(c)") -> Search:
    """Return a search for the upper end that has not begun."""
    model = parse(text)
    asked = model.question(question)
    encoding, objective = Engine(model.ground()).part(asked).encode(asked, Reading.LITERAL)
    return Search(encoding, objective, Limits(1e-6, Budget.of(5.0)), End.UPPER, None, None)


def first_leaf(search: Search) -> Leaf:
    return Leaf(search.program.ratios.box, None)


# --- Whose word it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["whole", "prover"])
def test_bounds_stand_on_the_weaker_word_of_the_part_and_of_the_whole(name: str) -> None:
    search = search_of()
    assert search._warrant is Warrant.CHECKED
    setattr(search, name, SimpleNamespace(warrant=Warrant.CLAIMED))
    assert search._warrant is Warrant.CLAIMED


def test_what_a_solver_says_of_a_box_is_proved_before_it_bounds() -> None:
    """It says that P(c) is 0.1 at most; it is 0.44 somewhere."""
    search = search_of()
    relax = search.here.relax

    def lying(box: Box, basis: Any) -> Any:
        claim, found = relax(box, basis)
        return replace(claim, value=0.1), found

    search.here.relax = lying  # type: ignore[method-assign]
    child = search._child(-inf, first_leaf(search), search.program.ratios.box)
    assert -child.bound >= GREATEST


def test_a_box_too_narrow_to_be_cut_keeps_its_bound() -> None:
    search = search_of()
    box = search.program.ratios.box
    narrow = Leaf(Box(box.lower, box.lower.copy()), None)
    assert search._bisected(-0.7, narrow).closed == -0.7


@pytest.mark.parametrize("is_checked", [True, False])
def test_other_processes_help_only_where_every_bound_is_checked(
    is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, search = list[object](), search_of()
    monkeypatch.setattr(
        "credalog.methods.cliques.parallel_search.run_shared", lambda *given: shared.append(given)
    )
    search.whole = SimpleNamespace(is_mass_bounded=is_checked)  # type: ignore[assignment]
    search.tree = SimpleNamespace(bound=-1.0, run=lambda *_, **__: None)  # type: ignore[assignment]
    search._run_shared(SimpleNamespace(start=lambda: None, count=2))  # type: ignore[arg-type]
    assert bool(shared) is is_checked


# --- Who attains a value -------------------------------------------------------------------------------


def test_the_value_of_a_witness_from_elsewhere_is_computed_here() -> None:
    found = search_of().run().witness
    assert found is not None and found.value == pytest.approx(GREATEST, abs=1e-4)
    search = search_of()
    search.offer_from_elsewhere(Witness(found.distribution, 0.9))
    assert search.best is not None and search.best.value == pytest.approx(GREATEST, abs=1e-4)


def test_a_candidate_that_violates_something_is_not_better() -> None:
    search = search_of()
    assert not search._is_better(SimpleNamespace(value=0.9, is_feasible=False))  # type: ignore[arg-type]
    assert search._is_better(SimpleNamespace(value=0.3, is_feasible=True))  # type: ignore[arg-type]


# --- Cuts leave nothing out ----------------------------------------------------------------------------

DIAMOND = "0.2 <= P(a) <= 0.6\n" + "".join(
    f"0.2 <= P({x} | {given}) <= 0.6\n"
    for x, conditions in {
        "b": ("a", "!a"),
        "c": ("a", "!a"),
        "d": ("b & c", "b & !c", "!b & c", "!b & !c"),
    }.items()
    for given in conditions
)
"""Each probability is at an end of its range in some optimum, but for one where P(d) is stated too."""


def counted() -> tuple[Search, int]:
    """Return a search in which few ratios lie inside their ranges, and one that is counted."""
    search = search_of(DIAMOND + "P(d) <= 0.5\n", "P(a & b & c & d)")
    interior = search.program.ratios.interior
    assert interior is not None
    return search, int(np.flatnonzero(interior.table >= 0)[0])


def test_a_ratio_that_lies_inside_is_cut_in_two_halves_that_meet() -> None:
    """However many may lie inside: it is one of them already."""
    search, ratio = counted()
    box = search.program.ratios.box
    for most in (0, 1, 9):
        interior = search.program.ratios.interior
        assert interior is not None
        interior.most[:] = most
        (first, second), inside = search.parts(box, frozenset((ratio,)), ratio, 0.4)
        assert inside is None
        assert (first.lower[ratio], second.upper[ratio]) == (box.lower[ratio], box.upper[ratio])
        assert first.upper[ratio] == second.lower[ratio]


def test_an_end_that_is_a_rounding_outside_of_a_narrowed_box_is_looked_at() -> None:
    search, ratio = counted()
    box = search.program.ratios.box
    low, high = float(box.lower[ratio]), float(box.upper[ratio])
    rounded = box.restrict(ratio, nextafter(low, inf), nextafter(high, -inf))
    ends = search._ends(rounded, ratio)
    assert [float(end.lower[ratio]) for end in ends] == [low, high]


def test_the_parts_of_a_leaf_are_all_of_it() -> None:
    """Both ends, and what is inside as long as one more may be: with no better bound than was known."""
    search, ratio = counted()
    interior = search.program.ratios.interior
    assert interior is not None
    leaf = first_leaf(search)
    low, high = float(leaf.box.lower[ratio]), float(leaf.box.upper[ratio])
    for most in (0, 9):
        interior.most[:] = most
        children = search._children(-0.7, leaf, ratio, 0.5 * (low + high))
        ends = [child for child in children if ratio not in child.leaf.inside]
        assert [float(child.leaf.box.lower[ratio]) for child in ends] == [low, high]
        inside = [child for child in children if ratio in child.leaf.inside]
        assert len(inside) == (most > 0)
        for child in inside:
            assert child.bound == -0.7 and child.leaf.box is leaf.box
            assert child.leaf.inside == {ratio}


def test_an_end_that_lies_outside_of_a_narrowed_box_is_not_looked_at() -> None:
    search, ratio = counted()
    box = search.program.ratios.box
    low, high = float(box.lower[ratio]), float(box.upper[ratio])
    middle = 0.5 * (low + high)
    assert search._ends(box.restrict(ratio, middle, high), ratio)[0].lower[ratio] == high
    assert len(search._ends(box.restrict(ratio, low, middle), ratio)) == 1
    assert search._ends(box.restrict(ratio, 0.9 * low + 0.1 * high, middle), ratio) == ()
