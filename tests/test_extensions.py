"""Predicates that follow any model of what they depend on: laws on cycles, and whole theories.

The references are linear programs over all worlds, and whole groundings.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from credalog import parse
from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.grounding.network import Grounder
from credalog.methods.answer import Answer
from credalog.methods.lifted.answering import Lifted
from credalog.methods.lifted.extensions import Table, cycles_of


def random_table(generator: np.random.Generator) -> Table:
    """Draw what is said of an atom, more under conditions than under none."""
    low, high, least, most = sorted(int(n) for n in generator.integers(1, 100, size=4))
    return Table(Fraction(low, 100), Fraction(high, 100), Fraction(least, 100), Fraction(most, 100))


def pairs_have_a_law(table: Table, outside: tuple[bool, ...]) -> bool:
    """Solve for a law on a cycle in which each atom has its table given the one before, by all worlds."""
    length = len(outside)
    worlds = np.array(list(product((0, 1), repeat=length)))
    rows = [np.ones(len(worlds))]
    for here, is_held in enumerate(outside):
        before = worlds[:, here - 1]
        for value in (0, 1):
            chance = float(table.under_any if is_held or value else table.under_none)
            rows.append((before == value) * (worlds[:, here] - chance))
    right = np.zeros(len(rows))
    right[0] = 1
    return bool(linprog(np.zeros(len(worlds)), A_eq=np.array(rows), b_eq=right).status == 0)


@pytest.mark.slow
@pytest.mark.parametrize("length", [3, 4, 5])
def test_a_cycle_with_a_law_has_one_by_all_worlds(length: int) -> None:
    generator, counts = np.random.default_rng(length), {True: 0, False: 0}
    for _ in range(40):
        table = random_table(generator)
        if table.least <= table.high:
            continue
        said = table.has_law(length)
        counts[said] += 1
        patterns = list(product((False, True), repeat=length))
        if said:
            assert all(pairs_have_a_law(table, outside) for outside in patterns)
    assert min(counts.values()) > 2


def test_two_atoms_that_depend_on_each_other_have_a_law() -> None:
    generator, checked = np.random.default_rng(2), 0
    while checked < 60:
        table = random_table(generator)
        chances = generator.uniform(0, float(table.high), size=2)
        conditions = Fraction(float(chances.max())) + table.high
        if table.least <= table.high or not table.has_law(2) or not table.bears_steadily(conditions):
            continue
        checked += 1
        assert two_have_a_law(table, chances)


def two_have_a_law(table: Table, chances: np.ndarray) -> bool:
    """Solve for a law of two atoms and of two others above them, all sentences holding."""
    worlds = np.array(list(product((0, 1), repeat=4)))
    above, atoms = worlds[:, :2], worlds[:, 2:]
    equal = [np.all(above == values, axis=1) * 1.0 for values in product((0, 1), repeat=2)]
    weights = np.where(np.array(list(product((0, 1), repeat=2))), chances, 1 - chances).prod(axis=1)
    rows: list[np.ndarray] = []
    for i in (0, 1):
        given = (np.ones(16), atoms[:, 1 - i], above[:, i])
        bounds = ((table.low, table.high), *([(table.least, table.most)] * 2))
        for condition, (low, high) in zip(given, bounds, strict=True):
            rows += [
                condition * (float(low) - atoms[:, i]),
                condition * (atoms[:, i] - float(high)),
            ]
    found = linprog(
        np.zeros(16), A_ub=np.array(rows), b_ub=np.full(len(rows), 1e-9), A_eq=np.array(equal), b_eq=weights
    )
    return bool(found.status == 0)


def test_cycles_are_those_of_reachability() -> None:
    generator = np.random.default_rng(7)
    for _ in range(200):
        count = int(generator.integers(2, 7))
        edges = np.unique(generator.integers(0, count, size=(count, 2)), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        reached = np.zeros((count, count), dtype=bool)
        reached[edges[:, 0], edges[:, 1]] = True
        for _ in range(count):
            reached |= (reached.astype(int) @ reached.astype(int)) > 0
        members = [i for i in range(count) if reached[i, i]]
        found = cycles_of(edges)
        successors = {i: [b for a, b in edges.tolist() if a == i and reached[b, i]] for i in members}
        is_simple = all(len(after) == 1 for after in successors.values())
        assert (found is not None) == is_simple
        if found is not None:
            assert found.members.tolist() == members
            assert found.lengths == {sum(reached[i, j] and reached[j, i] for j in members) for i in members}


def random_spread(generator: np.random.Generator) -> tuple[str, tuple[str, ...]]:
    """Draw rules that carry on along a random relation, often more than can be."""
    count = int(generator.integers(3, 5))
    table = random_table(generator)
    pairs = {tuple(generator.integers(1, count + 1, size=2).tolist()) for _ in range(count)}
    facts = ", ".join(f"({a}, {b})" for a, b in sorted(pairs) if a != b or generator.random() < 0.1)
    low, high = float(table.low), float(table.high)
    least, most = float(table.least), float(table.most)
    if generator.random() < 0.3:
        low, high, least, most = 1 - high, 1 - low, 1 - most, 1 - least
    text = f"""domain Host = 1..{count}
predicate Bad(Host), Alert(Host)
relation Link(Host, Host) = {{{facts}}}
forall h in Host: {low:.2f} <= P(Bad(h)) <= {high:.2f}
forall h, g in Host, Link(h, g): {least:.2f} <= P(Bad(g) | Bad(h)) <= {most:.2f}
forall h in Host: 0.8 <= P(Alert(h) | Bad(h)) <= 0.95
forall h in Host: P(Alert(h) | !Bad(h)) <= 0.3"""
    return text, ("P(Alert(1))", "P(Bad(1) and Bad(2))", "P(Bad(2) | Alert(1))")


def asked(text: str, question: str, method: str) -> Answer | None:
    try:
        return parse(text).query(question, method=method, timeout=0.4)  # type: ignore[arg-type]
    except (InconsistentNetwork, ImpossibleEvidence):
        return None


def attained(answer: Answer | None) -> list[float]:
    """Return the values that models attain."""
    values = () if answer is None else (answer.lower_witnessed, answer.upper_witnessed)
    return [value for value in values if value is not None]


@pytest.mark.slow
def test_what_is_attained_around_a_question_is_attained_by_the_whole_grounding() -> None:
    generator, exact = np.random.default_rng(11), 0
    for _ in range(30):
        text, questions = random_spread(generator)
        question = questions[int(generator.integers(len(questions)))]
        around, whole = asked(text, question, "lifted"), asked(text, question, "factorized")
        exact += around is not None and around.status.name == "EXACT"
        if whole is None:
            assert attained(around) == [], text
        elif around is not None:
            for one, other in ((around, whole), (whole, around)):
                assert all(other.lower - 2e-6 <= v <= other.upper + 2e-6 for v in attained(one)), text
    assert exact > 5


SPREAD = """domain Host = 1..{count}
predicate Bad(Host)
relation Link(Host, Host) = {{{facts}}}
forall h in Host: 0.01 <= P(Bad(h)) <= 0.05
forall h, g in Host, Link(h, g): 0.1 <= P(Bad(g) | Bad(h)) <= 0.6"""


@pytest.mark.parametrize(
    ("facts", "is_carried"),
    [
        ("(1, 2), (2, 3), (3, 1), (4, 1)", True),
        ("(1, 2), (2, 1), (3, 1)", True),
        ("(1, 1)", False),
        ("(1, 2), (2, 3), (3, 1), (2, 1)", False),
        (", ".join(f"({i}, 1)" for i in range(2, 12)), True),
        (", ".join(f"({i}, 1)" for i in range(2, 13)), False),
    ],
    ids=["a cycle", "a pair", "a loop", "cycles that meet", "ten parents", "eleven parents"],
)
def test_rules_carry_on_where_little_bears_on_each(facts: str, is_carried: bool) -> None:
    theory = parse(SPREAD.format(count=12, facts=facts)).theory
    assert Lifted(Grounder(theory))._extends is is_carried
