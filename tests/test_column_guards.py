"""Guards of column generation, each in its own function: what is proved, and what is only claimed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from credalog.errors import ImpossibleEvidence
from credalog.methods import columns
from credalog.methods.columns import generation
from credalog.methods.columns.events import Events, Priced
from credalog.methods.columns.generation import Generation, Least, Model
from credalog.methods.columns.pricing import Elimination
from credalog.network.formulas import Variable
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Endpoint, Warrant
from credalog.program.solvers import columns as solver
from credalog.trusted.certify import priced_bound

AMPLE = Budget.of()
NOTHING = Least(-inf, True, None)


def that(**known: Any) -> Any:
    return SimpleNamespace(**known)


def better(*, shift: float, error: float, mass: float, proves: bool, proved: Fraction | None = None) -> Least:
    """Let pricing say that no world is worth anything, but for roundings."""
    master = that(rounding=lambda *_: error, prove=lambda *_: proved)
    claim = that(multipliers=np.array([7.0, shift]))
    return Generation._better(
        that(pricer=that(proves=proves)), NOTHING, master, np.zeros(1), claim, 0.0, mass, AMPLE
    )


@pytest.mark.parametrize("proves", [False, True])
def test_a_bound_allows_for_roundings_in_all_the_mass_and_is_proved_where_pricing_proves(
    proves: bool,
) -> None:
    found = better(shift=0.5, error=0.125, mass=2.0, proves=proves)
    assert found.bound <= 0.25 and found.bound == pytest.approx(0.25)
    assert found.proved is proves


def test_a_proof_in_whole_numbers_is_rounded_down() -> None:
    found = better(shift=0.1, error=0.0, mass=inf, proves=False, proved=Fraction(1, 10))
    assert Fraction(found.bound) <= Fraction(1, 10) and found.proved


@pytest.mark.parametrize("mass", [1.0, 3.0, 1e9])
def test_a_bound_by_pricing_is_rounded_down(mass: float) -> None:
    rng = np.random.default_rng(1)
    for shift, worth, error in (rng.random((200, 3)) * [1.0, 2.0, 0.1] - [0.0, 1.0, 0.0]).tolist():
        least = -Fraction(worth) - Fraction(error)
        # At least one and at most all the mass has the least reduced cost.
        truth = Fraction(shift) + least * (1 if least >= 0 else Fraction(mass))
        assert Fraction(priced_bound(shift, worth, error=error, mass=mass)) < truth


def test_the_roundings_of_reduced_costs_are_counted() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        rows, condition = rng.normal(size=(3, 4)), np.array([1.0, 0.0, 1.0, 1.0])
        cost, multipliers = rng.normal(size=4), rng.normal(size=4)
        master: Any = that(_system=that(matrix=sp.csr_array(rows)), _condition=condition)
        claim: Any = that(multipliers=multipliers)
        found = generation._Master.reduced(master, cost, claim)
        truth = [
            Fraction(cost[j])
            - sum(Fraction(rows[k, j]) * Fraction(multipliers[k]) for k in range(3))
            - Fraction(multipliers[3]) * Fraction(condition[j])
            for j in range(4)
        ]
        off = sum(abs(Fraction(value) - exact) for value, exact in zip(found.tolist(), truth, strict=True))
        assert off <= Fraction(generation._Master.rounding(master, cost, claim))


@pytest.mark.parametrize(("greatest", "proved"), [(-3, True), (0, True), (1, False)])
def test_multipliers_prove_a_bound_where_no_world_is_worth_more_than_nothing(
    greatest: int, proved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pricer = that(greatest=lambda *_: greatest)
    master: Any = that(_condition=np.ones(1), _system=that(rows=()))
    claim: Any = that(multipliers=np.array([0.5]))
    # Whoever only claims what the worth of a world is proves nothing.
    assert generation._Master.prove(master, np.zeros(1), claim, pricer, AMPLE) is None
    monkeypatch.setattr(generation, "Elimination", SimpleNamespace)
    found = generation._Master.prove(master, np.zeros(1), claim, pricer, AMPLE)
    assert found == (Fraction(1, 2) if proved else None)


def model(violation: float) -> Model:
    return Model(np.ones(1), np.ones(1), violation)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Least(0.125, True, None), False),
        (Least(0.125, True, model(1.0)), False),
        (Least(0.0, True, None), None),
        (Least(-1e-9, True, model(0.5)), None),
        (Least(-inf, True, model(0.0)), True),
    ],
)
def test_there_is_no_model_only_where_every_one_misses_something(
    found: Least, verdict: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "_Master", lambda *_, **__: None)
    system = that(events=that(formulas=()), indicator=lambda _: np.ones(0))
    here: Any = that(system=system, worlds=1, budget=AMPLE, _descend=lambda *_: found)
    assert Generation.feasible(here) is verdict


def late(*_: object, **__: object) -> Any:
    raise OutOfTime


def priced(bound: float) -> Any:
    return lambda *_, **__: Priced(np.zeros((0, 1), dtype=np.int64), bound)


@pytest.mark.parametrize(
    ("best", "verdict"), [(priced(-inf), False), (priced(0.0), None), (priced(inf), None), (late, None)]
)
def test_there_is_no_world_only_where_none_has_any_worth(best: Any, verdict: bool | None) -> None:
    here: Any = that(
        system=that(events=that(formulas=())),
        worlds=0,
        budget=AMPLE,
        pricer=that(best=best),
        _fresh=lambda _: np.zeros((0, 0)),
    )
    assert Generation.feasible(here) is verdict


@pytest.mark.parametrize(
    ("solved", "prove", "is_excluded"),
    [
        (None, lambda *_: Fraction(0), False),
        ("claim", late, False),
        ("claim", lambda *_: None, False),
        ("claim", lambda *_: Fraction(-1, 10**9), False),
        ("claim", lambda *_: Fraction(0), True),
    ],
)
def test_an_event_is_excluded_only_by_a_proof(
    solved: Any, prove: Any, is_excluded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    master = that(add=lambda *_: None, solve=lambda _: solved, prove=prove)
    monkeypatch.setattr(generation, "_Master", lambda *_: master)
    here: Any = that(
        system=that(indicator=lambda _: np.ones(1)), _truth=np.ones((1, 1)), budget=AMPLE, pricer=None
    )
    assert Generation.excludes(here, np.ones(1)) is is_excluded


@pytest.mark.parametrize(("said", "proves", "verdict"), [(False, False, None), (False, True, False)])
def test_a_contradiction_that_is_only_claimed_is_none(said: bool, proves: bool, verdict: bool | None) -> None:
    here: Any = that(feasible=lambda: said, pricer=that(proves=proves))
    assert columns._verdict(here) is verdict


def question(least: float, *, is_excluded: bool) -> Any:
    """Return a question whose condition is no more likely, in any model that is found, than nothing."""
    made = that(minimize=lambda *_, **__: Least(least, True, None), excludes=lambda _: is_excluded)
    return that(
        _generation=made,
        _given=np.array([1.0, 0.0]),
        _certain=np.array([0.0, 1.0]),
        _is_probable=lambda _: False,
    )


@pytest.mark.parametrize("least", [0.0, -1e-12, -inf])
def test_without_a_bound_on_a_condition_no_mass_is_too_great(least: float) -> None:
    assert columns._Question._greatest_mass(question(least, is_excluded=False)) == inf


def test_the_greatest_mass_is_rounded_up() -> None:
    for least in np.random.default_rng(3).random(100).tolist():
        found = columns._Question._greatest_mass(question(least, is_excluded=False))
        assert Fraction(found) * Fraction(least) >= 1
    with pytest.raises(ImpossibleEvidence):
        columns._Question._greatest_mass(question(0.0, is_excluded=True))


@pytest.mark.parametrize("end", End)
def test_an_end_that_a_solver_claims_is_not_checked(end: End) -> None:
    least = 0.25 if end is End.LOWER else -0.25
    claimed, proved = (
        columns._Question._proved(that(), Least(least, is_proved, None), end) for is_proved in (False, True)
    )
    assert (claimed.bound, proved.bound) == (0.25, pytest.approx(0.25))
    assert claimed.warrant is Warrant.CLAIMED and proved.warrant is not Warrant.CLAIMED


@pytest.mark.parametrize("price", [1.0, inf])
def test_the_multiplier_of_an_inequality_is_not_negative(
    price: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "ColumnProgram", lambda *ends: ends)
    system: Any = that(is_equality=np.array([True, False]), rows=(None, None))
    ends: Any = generation._Master(system, np.ones(1), price=price)._program
    lowest, highest = ends
    assert (lowest.tolist(), highest.tolist()) == ([-price, 0.0], [price, price])


def test_what_a_solver_says_beyond_the_ends_of_a_multiplier_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("settle", "run_for"):
        monkeypatch.setattr(solver, name, lambda *_: None)
    said = that(col_value=[-1e-9, 1.0 + 1e-9, 0.5], row_dual=[-1.0, 1e-9])
    program = solver.ColumnProgram(np.zeros(2), np.ones(2))
    program._highs = that(getModelStatus=lambda: highspy.HighsModelStatus.kOptimal, getSolution=lambda: said)
    found = program.solve(1.0)
    assert found is not None and found.value == 0.5
    assert (found.multipliers.tolist(), found.weights.tolist()) == ([0.0, 1.0, 0.5], [1.0, 0.0])


ATOMS = tuple(Variable(name, ("false", "true")) for name in "abc")
TRUE_OF = [x.is_("true") for x in ATOMS]
EVENTS = Events(
    ATOMS, (*TRUE_OF, TRUE_OF[0] & TRUE_OF[1], TRUE_OF[1] | TRUE_OF[2]), (~TRUE_OF[0] | TRUE_OF[2],)
)


def greatest_worth(worth: list[Fraction]) -> Fraction:
    """Return the greatest worth of the worlds in which a implies c."""
    worlds = ((a, b, c) for a, b, c in product((0, 1), repeat=3) if c >= a)
    events = ((a, b, c, a * b, max(b, c)) for a, b, c in worlds)
    return max(
        sum((w for w, holds in zip(worth, event, strict=True) if holds), Fraction(0)) for event in events
    )


def test_no_world_is_worth_more_than_elimination_says() -> None:
    rng, pricer = np.random.default_rng(4), Elimination.of(EVENTS)
    assert pricer is not None
    for _ in range(200):
        worth = rng.normal(size=5)
        found = pricer.best(worth, enough=0.0, budget=AMPLE)
        assert Fraction(found.bound) >= greatest_worth([Fraction(w) for w in worth.tolist()])
        whole = rng.integers(-9, 9, 5).tolist()
        assert pricer.greatest(whole, AMPLE) == greatest_worth([Fraction(w) for w in whole])


@pytest.mark.parametrize(
    ("missed", "mass", "attained"), [(0.0, 0.5, 0.5), (0.1, 0.5, None), (0.0, 0.0, None)]
)
def test_only_a_model_attains_anything(
    missed: float, mass: float, attained: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "violation", lambda *_: missed)
    asked: Any = that(
        _generation=that(mixture=lambda _: that(written_out=lambda: None)),
        _network=that(sentences=()),
        _claim=np.array([0.25]),
        _given=np.array([mass]),
    )
    assert columns._Question._attained(asked, Endpoint.trivial(End.LOWER), model(0.0)).witnessed == attained
