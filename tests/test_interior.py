"""Few statements, few probabilities inside their intervals; parts of a program (docs/proofs.md, proof 16)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from credalog.methods.automatic import Engine
from credalog.methods.cliques import encoding as encodings
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.search import Finding, Limits, search
from credalog.methods.cliques.witness import Reader, tables_of
from credalog.network.formulas import Formula, Is, Variable, conjunction, propositions
from credalog.network.problem import Problem
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Box, Interior, Objective, Outcome, Program, Surroundings
from credalog.program.solvers.highs import Relaxation
from credalog.trusted.certify import Checker

A, B, C, D = propositions("a b c d")
says = Sentence.of


def families(*rows: tuple[Is, tuple[Is, ...]], low: float = 0.2, high: float = 0.6) -> list[Sentence]:
    """Bound every conditional probability of some families."""
    found = []
    for claim, parents in rows:
        for signs in np.ndindex(*(2,) * len(parents)):
            given = conjunction(p if sign else ~p for p, sign in zip(parents, signs, strict=True))
            found.append(says(claim, low, high, given=given))
    return found


DIAMOND = families((A, ()), (B, (A,)), (C, (A,)), (D, (B, C)))


def encoded(sentences: list[Sentence], asked: Query, *declared: Independence) -> tuple[Encoding, Objective]:
    variables = (A.variable, B.variable, C.variable, D.variable)
    network = Network(variables, tuple(sentences), tuple(declared))
    return Engine(network).part(asked).encode(asked, Reading.LITERAL)


def most_inside(sentences: list[Sentence], *declared: Independence) -> dict[str, int]:
    """Return how many entries of each counted table may lie inside."""
    encoding, _ = encoded(sentences, Query(A & B & C & D), *declared)
    interior = encoding.program.ratios.interior
    assert interior is not None
    names = [v.name for v in encoding.problem.variables]
    return {names[x]: int(interior.most[x]) for x in {*interior.table.tolist()} - {-1}}


def test_each_statement_counts_for_its_variables_and_their_ancestors() -> None:
    said = [*DIAMOND, says(B, 0.3, 0.4), says(B | C, 0.4, 0.6, tau=False)]
    assert most_inside(said) == {"c": 1, "d": 0}
    assert most_inside([*DIAMOND, says(D, 0.3, 0.4)]) == {"b": 1, "c": 1, "d": 1}


@pytest.mark.parametrize("bounds", [(0, 0.4), (0.3, 1)])
def test_a_statement_with_one_bound_counts_like_one_with_two(bounds: tuple[float, float]) -> None:
    assert most_inside([*DIAMOND, says(D, *bounds)]) == {"b": 1, "c": 1, "d": 1}


@pytest.mark.parametrize(
    "sentence",
    [
        says(B & C, 0, 0, tau=False),
        says(B | C, 1, 1, tau=False),
        says(B & C, 0, 1, tau=False),
    ],
)
def test_a_statement_that_only_demands_a_zero_does_not_count(sentence: Sentence) -> None:
    assert most_inside([*DIAMOND, sentence]) == {"a": 0, "b": 0, "c": 0, "d": 0}


def test_what_a_declared_independence_leans_on_is_not_counted() -> None:
    independence = Independence((B.variable,), (C.variable,))
    assert most_inside(DIAMOND, independence) == {"d": 0}


def test_cyclic_variables_and_their_ancestors_are_not_counted() -> None:
    assert most_inside([*DIAMOND, says(B & C, 0.1, 0.5)]) == {"d": 0}


def test_a_row_of_three_values_has_one_entry_more_inside_than_its_freedom() -> None:
    row = np.array([0, 0, 0, 1, 1, 1], dtype=np.intp)
    table, sums = np.zeros(6, dtype=np.intp), np.ones(6, dtype=bool)
    interior = Interior(table, row, sums, np.array([1], dtype=np.intp))
    assert interior.admits(frozenset(), 0)
    assert interior.admits(frozenset({0}), 1)
    assert not interior.admits(frozenset({0, 1}), 2)
    assert interior.admits(frozenset({0, 1}), 3)
    assert not interior.admits(frozenset({0, 1, 3}), 4)
    two_valued = replace(interior, row=np.arange(6, dtype=np.intp), sums=np.zeros(6, dtype=bool))
    assert not two_valued.admits(frozenset({0}), 1)


# --- The search with and without it ------------------------------------------------------------------------


def drawn(seed: int) -> tuple[list[Sentence], Query]:
    """Draw a loopy network around a hidden one, with statements that hold of it, and a posterior."""
    rng = np.random.default_rng(seed)
    values = ("0", "1", "2") if seed % 3 == 0 else ("false", "true")
    x = [Variable("x0", values), *(Variable(f"x{i}") for i in range(1, 5))]
    arcs: list[tuple[int, ...]] = [(), (0,), (0,), (1, 2), (0, 3)]
    joint = np.ones(())
    sentences = []
    for i, parents in enumerate(arcs):
        sizes = tuple(len(x[p].values) for p in parents)
        rows = rng.dirichlet(np.ones(len(x[i].values)), size=sizes)
        shape = [len(x[j].values) if j in (*parents, i) else 1 for j in range(i + 1)]
        joint = joint[..., None] * rows.reshape(shape)
        for z in np.ndindex(*sizes):
            given = conjunction(x[p].is_(x[p].values[k]) for p, k in zip(parents, z, strict=True))
            for k in range(1 if len(x[i].values) == 2 else 0, len(x[i].values)):
                sentences.append(_around(rng, x[i].is_(x[i].values[k]), given, float(rows[z][k]), 0.3))
    for i in rng.permutation(5)[: 1 + seed % 2]:
        chance = float(joint.sum(axis=tuple(j for j in range(5) if j != i))[1])
        sentences.append(_around(rng, x[i].is_(x[i].values[1]), conjunction(()), chance, 0.02))
    return sentences, Query(x[1].is_("true"), x[4].is_("true"))


def _around(
    rng: np.random.Generator, claim: Formula, given: Formula, chance: float, width: float
) -> Sentence:
    low, high = chance - width * rng.random(), chance + width * rng.random()
    return says(claim, round(max(low, 0.0), 3), round(min(high + 1e-3, 1.0), 3), given=given)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_model_found_by_bisection_passes_a_bound_found_at_the_ends(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences, asked = drawn(seed)
    scopes = dict.fromkeys(v for s in sentences for v in s.scope)
    part = Engine(Network(tuple(scopes), tuple(sentences))).part(asked)

    def both() -> dict[End, Finding]:
        program = part.encode(asked, Reading.LITERAL)
        return {end: search(*program, Limits(1e-3, Budget.of(0.5)), end=end) for end in End}

    at_ends = both()

    def uncounted(problem: Problem, keys: object) -> None:
        return None

    monkeypatch.setattr(encodings, "interior_of", uncounted)
    for end, bisected in both().items():
        for bounding, attaining in ((at_ends[end], bisected), (bisected, at_ends[end])):
            value = bounding.bound if attaining.witness is None else attaining.witness.value
            assert end.sign * bounding.bound <= end.sign * value + 1e-8


# --- The solver's model, changed in place ------------------------------------------------------------------

LOOPY = [*DIAMOND, says(D, 0.3, 0.4), says(B & ~C, 0.1, 0.3, tau=False)]


def boxes(program: Program, rng: np.random.Generator, count: int) -> list[Box]:
    """Draw boxes as a search makes them: some ratios at an end, some halved, one narrow."""
    found = []
    for _ in range(count):
        lower, upper = program.ratios.lower.copy(), program.ratios.upper.copy()
        for r, kind in enumerate(rng.choice(5, size=len(lower), p=[0.5, 0.2, 0.2, 0.05, 0.05])):
            middle = (lower[r] + upper[r]) / 2.0
            lower[r], upper[r] = (
                (lower[r], upper[r]),
                (lower[r], lower[r]),
                (upper[r], upper[r]),
                (lower[r], middle),
                (middle, middle),
            )[kind]
        found.append(Box(lower, upper))
    return found


@pytest.mark.parametrize("end", End)
def test_a_model_changed_in_place_says_what_a_new_one_says(end: End) -> None:
    encoding, objective = encoded(LOOPY, Query(B, D))
    objective = replace(objective, mass_bounds=np.full(len(objective.mass_bounds), 10.0))
    program, rng = encoding.program, np.random.default_rng(5)
    kept, checker, basis, outcomes = Relaxation(program), Checker(program), None, set()
    for box in [program.ratios.box, *boxes(program, rng, 40)]:
        fresh = Relaxation(program)
        ask = "minimize" if end is End.LOWER else "maximize"
        claim, found = getattr(kept, ask)(objective, box, basis=basis)
        other, _ = getattr(fresh, ask)(objective, box)
        outcomes.add(other.outcome)
        assert claim.outcome is other.outcome
        if claim.outcome is Outcome.INFEASIBLE:
            assert checker.proves_empty(objective, box, claim.multipliers)
            continue
        assert claim.value == pytest.approx(other.value, abs=1e-7)
        assert checker.bound(objective, box, claim.multipliers, end) == pytest.approx(other.value, abs=1e-6)
        basis = basis or found
    assert outcomes == {Outcome.OPTIMAL, Outcome.INFEASIBLE}


def test_a_reader_multiplies_out_what_it_read() -> None:
    encoding, objective = encoded(LOOPY, Query(B, D))
    claim, _ = Relaxation(encoding.program).minimize(objective, encoding.program.ratios.box)
    reader = Reader(encoding)
    theta = reader.theta(claim.point)
    assert reader.tables(theta) == pytest.approx(tables_of(encoding, reader.distribution(theta)), abs=1e-15)


# --- Parts of a program ------------------------------------------------------------------------------------


def ladder(atoms: int) -> Network:
    """Give each atom the two before it as parents, and the fourth last a probability of its own."""
    rng = np.random.default_rng(7)
    x = propositions(" ".join(f"x{i}" for i in range(atoms)))
    rows: list[Sentence] = []
    for i in range(atoms):
        for sentence in families((x[i], tuple(x[max(0, i - 2) : i]))):
            low = round(float(rng.uniform(0.05, 0.75)), 2)
            rows.append(says(x[i], low, round(low + 0.2, 2), given=sentence.given))
    return Network(tuple(a.variable for a in x), (*rows, says(x[-4], 0.2, 0.7)))


def test_parts_of_a_program_bound_the_whole_and_grow_towards_it() -> None:
    network = ladder(40)
    asked = Query(Is(network.variables[-3]), Is(network.variables[-1]))
    encoding, objective = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    program, box = encoding.program, encoding.program.ratios.box
    whole, _ = Relaxation(program).minimize(objective, box)
    values = []
    for part, near in Surroundings(program, objective, box).parts():
        assert part.columns < program.columns
        claim, _ = Relaxation(part).minimize(near, box)
        assert Checker(part).lower_bound(near, box, claim.multipliers) <= whole.value + 1e-9
        values.append(claim.value)
    assert len(values) >= 2
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(values))
    assert values[0] < whole.value - 1e-4
    assert values[-1] == pytest.approx(whole.value, abs=1e-4)
