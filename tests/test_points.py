"""Bayesian networks: one pass over a junction tree encloses what all worlds, in fractions, add up to."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from credalog import ImpossibleEvidence, parse
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.points import answers
from credalog.methods.points.beliefs import Beliefs, Model, beliefs
from credalog.network.formulas import TRUE, And, Formula, Is, Not, Or, Variable, Xor, conjunction
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import Status, Warrant
from credalog.tables.elimination import Potential
from credalog.tables.junction import junction_tree
from oracle import holds, worlds

Rows = dict[tuple[str, ...], tuple[Fraction, ...]]
Tables = dict[Variable, tuple[tuple[Variable, ...], Rows]]


def _row(rng: np.random.Generator, size: int) -> tuple[Fraction, ...]:
    """Draw a distribution: often with zeros, at times certain, at times with something rare."""
    weights = [Fraction(int(rng.integers(0, 6))) for _ in range(size)]
    kind = rng.integers(6)
    if kind == 0 or not any(weights):
        certain = int(rng.integers(size))
        weights = [Fraction(int(k == certain)) for k in range(size)]
    if kind == 1:
        weights[0] += Fraction(1, 10 ** int(rng.integers(3, 12)))
    return tuple(weight / sum(weights) for weight in weights)


def _tables(rng: np.random.Generator, count: int) -> Tables:
    variables = [Variable(f"v{i}", tuple("abcd"[: rng.integers(2, 5)])) for i in range(count)]
    found: Tables = {}
    for i, x in enumerate(variables):
        above = tuple(variables[int(j)] for j in sorted(rng.permutation(i)[: rng.integers(0, min(i, 3) + 1)]))
        rows = {values: _row(rng, len(x.values)) for values in product(*(p.values for p in above))}
        found[x] = (above, rows)
    return found


def _network(tables: Tables) -> Network:
    sentences = [
        Sentence.of(x.is_(value), chance, chance, given=conjunction(map(Is, above, values)))
        for x, (above, rows) in tables.items()
        for values, row in rows.items()
        for value, chance in list(zip(x.values, row, strict=True))[:-1]
    ]
    return Network(tuple(tables), tuple(sentences))


def _truth(tables: Tables, query: Query) -> Fraction | None:
    """Enumerate all worlds in fractions; None where the evidence is impossible."""
    part = whole = Fraction(0)
    for world in worlds(_network(tables)):
        mass = prod(
            (
                rows[tuple(world[p] for p in above)][x.values.index(world[x])]
                for x, (above, rows) in tables.items()
            ),
            start=Fraction(1),
        )
        if holds(query.given, world):
            whole += mass
            part += mass if holds(query.claim, world) else 0
    return part / whole if whole else None


def _literal(rng: np.random.Generator, x: Variable) -> Formula:
    atom = x.is_(x.values[int(rng.integers(len(x.values)))])
    return atom if rng.random() < 0.7 else Not(atom)


def _query(rng: np.random.Generator, variables: tuple[Variable, ...]) -> Query:
    def some(count: int) -> list[Formula]:
        return [_literal(rng, variables[int(i)]) for i in rng.permutation(len(variables))[:count]]

    kinds = (And, Or, Xor)
    parts = some(int(rng.integers(1, 4)))
    claim = parts[0] if len(parts) == 1 else kinds[int(rng.integers(3))](tuple(parts))
    given = conjunction(some(int(rng.integers(0, 3))))
    if rng.random() < 0.3:
        given = conjunction((given, Or(tuple(some(2)))))
    return Query(claim, given)


@pytest.mark.parametrize("seed", range(120))
def test_the_interval_of_a_point_holds_the_exact_fraction_and_little_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = _tables(rng, int(rng.integers(2, 6)))
    engine = Engine(_network(tables))
    for _ in range(4):
        query = _query(rng, tuple(tables))
        truth = _truth(tables, query)
        if truth is None:
            with pytest.raises(ImpossibleEvidence):
                engine.query(query)
            continue
        answer = engine.query(query)
        assert (answer.method, answer.status) == ("points", Status.EXACT)
        assert Fraction(answer.lower) <= truth <= Fraction(answer.upper)
        assert answer.upper - answer.lower <= 1e-12 * max(float(truth), 1e-3)
        assert answer.interval.lower.warrant is Warrant.CHECKED
        witness = answer.lower_witness
        assert witness is not None
        assert witness.probability(query.claim, query.given) == pytest.approx(float(truth), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_all_marginals_come_from_one_pass(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    tables = _tables(rng, int(rng.integers(2, 7)))
    given = TRUE if seed % 2 else conjunction([_literal(rng, list(tables)[-1])])
    engine = Engine(_network(tables))
    atoms = [x.is_(value) for x in tables for value in x.values]
    if _truth(tables, Query(atoms[0], given)) is None:
        with pytest.raises(ImpossibleEvidence):
            engine.at_once(atoms, given, Options())
        return
    answers = engine.at_once(atoms, given, Options())
    assert set(answers) == set(atoms)
    for answer in answers.values():
        assert isinstance(answer.query, Query)
        truth = _truth(tables, answer.query)
        assert truth is not None
        assert Fraction(answer.lower) <= truth <= Fraction(answer.upper) <= truth + Fraction(1, 10**12)
        assert answer.status is Status.EXACT


@pytest.mark.parametrize("patience", [60, 120])
def test_where_there_is_no_time_for_all_those_with_few_ancestors_are_known(
    monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    """Along a chain P(x) is 0.1 + 0.7 times that of the one before."""

    def limited(model: Model, asked: Iterable[int], **others: Any) -> Beliefs:
        if len(wanted := list(asked)) > patience:
            raise OutOfTime
        return beliefs(model, wanted, **others)

    monkeypatch.setattr(answers, "beliefs", limited)
    steps = (f"P(x{i} | x{i - 1}) = 0.8\nP(x{i} | !x{i - 1}) = 0.1" for i in range(1, 120))
    found = parse("\n".join(["P(x0) = 0.3", *steps])).marginals_at_once()
    truth = Fraction(3, 10)
    for i, (asked, answer) in enumerate(found.items()):
        assert str(asked) == f"P(x{i})"
        assert answer.status is Status.EXACT
        assert answer.lower <= truth <= answer.upper
        truth = Fraction(1, 10) + Fraction(7, 10) * truth
    assert len(found) == patience


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 4, 16])
def test_what_does_not_fit_is_conditioned_on_its_variables(most: int) -> None:
    rng = np.random.default_rng(7)
    tables = _tables(rng, 7)
    number = {x: i for i, x in enumerate(tables)}
    potentials = [
        Potential(
            (*(number[p] for p in above), number[x]),
            np.array([[float(c) for c in row] for row in rows.values()]).reshape(
                *(len(p.values) for p in above), len(x.values)
            ),
        )
        for x, (above, rows) in tables.items()
    ]
    model = Model(potentials, [len(x.values) for x in tables])
    whole, cut = (
        beliefs(model, range(7), observed={6: 0}, budget=Budget.of(), most=cells) for cells in (1 << 20, most)
    )
    assert whole.of.keys() == cut.of.keys() == set(range(6))
    for x in range(6):
        first, second = (np.ldexp(b.of[x].values, b.of[x].exponent) for b in (whole, cut))
        np.testing.assert_allclose(first, second, rtol=1e-13, atol=0.0)


def _naive_bayes(features: int, likely: str, unlikely: str) -> str:
    lines = [f"P(f{i} | c) = {likely}\nP(f{i} | !c) = {unlikely}" for i in range(features)]
    return "P(c) = 0.3\n" + "\n".join(lines)


def test_evidence_of_probability_1e_minus_1200_is_no_obstacle() -> None:
    lcn = parse(_naive_bayes(120, "0.00000000011", "0.0000000001"))
    answer = lcn.query(f"P(c | {' & '.join(f'f{i}' for i in range(120))})")
    odds = Fraction(3, 7) * Fraction(11, 10) ** 120
    assert Fraction(answer.lower) <= odds / (1 + odds) <= Fraction(answer.upper)
    assert answer.status is Status.EXACT


def test_where_numbers_vanish_the_bounds_still_hold() -> None:
    lcn = parse(
        "P(c) = 1e-290\nP(d) = 1e-290\nP(e | c & d) = 1\nP(e | c & !d) = 0\nP(e | !c & d) = 0\n"
        "P(e | !c & !d) = 0\nP(f | e) = 0.25\nP(f | !e) = 0"
    )
    answer = lcn.query("P(c & d | f)", timeout=5)
    assert 1.0 - 1e-15 <= answer.lower <= 1.0 == answer.upper
    assert answer.status is Status.EXACT
    rare = lcn.query("P(f)", timeout=5)
    assert Fraction(rare.lower) <= Fraction(1, 4 * 10**580) <= Fraction(rare.upper) <= Fraction(1, 10**300)


def test_a_hundred_literals_are_claimed_at_once() -> None:
    lcn = parse("\n".join(f"P(a{i}) = 0.99" for i in range(100)))
    every = lcn.query(" & ".join(f"a{i}" for i in range(100)).join(("P(", ")")))
    some = lcn.query(" | ".join(f"a{i}" for i in range(100)).join(("P(", ")")).replace("|", "or"))
    truth = Fraction(99, 100) ** 100
    assert Fraction(every.lower) <= truth <= Fraction(every.upper)
    assert every.status is some.status is Status.EXACT
    assert some.upper == 1.0


def test_an_interval_that_does_not_bear_on_the_query_leaves_it_a_point() -> None:
    lcn = parse(
        "0.2 <= P(a) <= 0.6\nP(b) = 0.5\nP(c | a & b) = 0.1\nP(c | a & !b) = 0.2\n"
        "P(c | !a & b) = 0.3\nP(c | !a & !b) = 0.4"
    )
    assert lcn.query("P(b)").method == "points"
    assert lcn.query("P(c | a & b)").method == "points"
    assert lcn.query("P(c)").method != "points"


def test_the_cliques_of_a_junction_tree_hold_every_scope_and_hang_together() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        count = int(rng.integers(1, 12))
        sizes = [int(n) for n in rng.integers(2, 5, size=count)]
        scopes = [
            tuple(int(x) for x in rng.permutation(count)[: rng.integers(0, min(count, 4) + 1)])
            for _ in range(count)
        ]
        tree = junction_tree(scopes, sizes)
        for scope, home in zip(scopes, tree.homes, strict=True):
            assert set(scope) <= set(tree.cliques[home]) if scope else home == -1
        assert not any(set(a) < set(b) for a in tree.cliques for b in tree.cliques)
        for x in range(count):
            members = {n for n, clique in enumerate(tree.cliques) if x in clique}
            inside = [edge for edge in tree.edges if members.issuperset(edge)]
            # A forest is connected where it has one edge less than members.
            assert not members or len(inside) == len(members) - 1
