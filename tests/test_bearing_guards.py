"""What binds variables of a large network beyond themselves is not cut off: networks in columns, by hand."""

from __future__ import annotations

import pytest

from credalog import parse
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.network.relevant_part import Bearing, bearing_of
from credalog.network.sentences import Network
from credalog.numbers.interval import Status
from test_relevant_part import columnar

SHORT = Options(timeout=5.0)


def asked(text: str, question: str) -> Answer:
    model = parse(text)
    return Engine(columnar(model.ground())).query(model.question(question), SHORT)


def require_exact(answer: Answer, low: float, high: float) -> None:
    assert (answer.lower, answer.upper) == pytest.approx((low, high), abs=2e-6)
    assert answer.status is Status.EXACT


def bearing(network: Network) -> Bearing:
    found = bearing_of(columnar(network), follows_arrows=True)
    assert found is not None
    return found


# --- What no theta satisfies ---------------------------------------------------------------------------

EMPTY = {
    "one value": "P(b | a) >= 0.8\nP(b | a) <= 0.2\n",
    "one value and the other": "P(b | a) >= 0.8\nP(!b | a) >= 0.8\n",
    "a tautology": "P(b or !b | a) <= 0.3\n",
    "conditions that meet": "P(c) = 0.5\nP(b | a) >= 0.8\nP(b | a & c) <= 0.2\nP(b | a & !c) <= 0.2\n",
    "two of three values": "variable b in {u, v, w}\nP(b = u | a) >= 0.6\nP(b = v | a) >= 0.6\n",
}
"""What is said of b where a is true, and no distribution of b does: so a is never true."""


@pytest.mark.parametrize("kind", EMPTY)
def test_a_condition_under_which_nothing_is_possible_never_holds(kind: str) -> None:
    require_exact(asked("P(a) <= 0.6\n" + EMPTY[kind], "P(a)"), 0.0, 0.0)


def test_what_is_possible_for_one_variable_is_not_taken_for_another_with_other_bounds() -> None:
    said = "".join(
        f"variable b{i} in {{u, v, w}}\nP(a{i}) <= 0.6\n"
        f"P(b{i} = u | a{i}) >= {p}\nP(b{i} = v | a{i}) >= {p}\n"
        for i, p in ((1, 0.3), (2, 0.6))
    )
    require_exact(asked(said, "P(a1)"), 0.0, 0.6)
    require_exact(asked(said, "P(a2)"), 0.0, 0.0)


def test_a_variable_with_too_many_configurations_to_look_at_bears_on_its_parents() -> None:
    """Two values that have 0.6 each where all of thirteen parents are true: they never are."""
    parents = [f"p{i}" for i in range(13)]
    given = " & ".join(parents)
    said = "".join(f"P({p}) = 0.5\n" for p in parents) + "variable x in {u, v, w}\n"
    network = parse(said + f"P(x = u | {given}) >= 0.6\nP(x = v | {given}) >= 0.6\n").ground()
    names = [v.name for v in network.variables]
    assert names.index("x") in bearing(network).part([names.index("p0")])


# --- What is declared, and compared --------------------------------------------------------------------


def test_a_part_that_is_cut_out_keeps_what_is_declared_of_it() -> None:
    require_exact(
        asked("P(a) = 0.5\nP(b) = 0.5\nP(a & b) <= 0.5\nindependent a, b\n", "P(a & b)"), 0.25, 0.25
    )


def test_a_comparison_across_conditions_is_not_forgotten() -> None:
    """Two coins of which one depends on the other: P(a & b) may be 1/2."""
    assert asked("P(a) = 0.5\nP(b) = 0.5\nP(b | a) >= P(b | !a)\n", "P(a & b)").upper >= 0.5


# --- Parts that are alike ------------------------------------------------------------------------------


def side_by_side(*texts: str) -> Network:
    networks = [parse(text).ground() for text in texts]
    return Network(
        tuple(v for n in networks for v in n.variables),
        tuple(s for n in networks for s in n.sentences),
        tuple(i for n in networks for i in n.independences),
    )


def is_consistent(*texts: str) -> bool | None:
    return Engine(columnar(side_by_side(*texts))).is_consistent(SHORT)


def test_a_part_of_which_something_is_declared_is_alone_of_its_kind() -> None:
    """a and b agree with probability 0.9, so that they are not independent."""

    def part(a: str, b: str) -> str:
        return f"P({a}) = 0.5\nP({b} | {a}) = 0.9\nP({b} | !{a}) = 0.1\nP({b}) = 0.5\n"

    assert is_consistent(part("a", "b"), part("c", "d")) is True
    assert is_consistent(part("a", "b"), part("c", "d") + "independent c, d\n") is False


def test_parts_that_say_the_same_of_other_variables_are_not_alike() -> None:
    """P(a & b) >= 0.1 leaves no room for P(a) <= 0.05, but some for P(c) <= 0.05."""

    def part(a: str, b: str, c: str, *, rare: str) -> str:
        return f"P({a} or {b} or {c}) >= 0.3\nP({a} & {b}) >= 0.1\nP({rare}) <= 0.05\n"

    first = part("a", "b", "c", rare="c")
    assert is_consistent(first, part("d", "e", "f", rare="f")) is True
    assert is_consistent(first, part("d", "e", "f", rare="d")) is False
