"""Ties need no condition inside a component: what follows the ties agrees with the table of all worlds."""

from __future__ import annotations

import random

import pytest

import credalog
from credalog import LCN, Status

GAP = 3e-4
"""Twice the tolerance of an EXACT answer, and a little."""


def bounds(rng: random.Random, widest: float) -> str:
    low = rng.uniform(0.05, 0.6)
    return f"{low:.2f} <= {{}} <= {min(1.0, low + rng.uniform(0.1, widest)):.2f}"


def tied_network(seed: int) -> tuple[str, list[str]]:
    """Draw a ring, a chain or a tree of ties, with parents outside and conditions inside."""
    rng = random.Random(seed)
    size = rng.choice([3, 4])
    atoms = [f"s{i}" for i in range(size)]
    pairs = (
        [(rng.randrange(i), i) for i in range(1, size)]
        if rng.random() < 0.5
        else [(i, i + 1) for i in range(size - 1)]
    )
    if size > 2 and rng.random() < 0.5:
        pairs.append((size - 1, 0))
    lines = [bounds(rng, 0.5).format(f"P({a})") for a in atoms if rng.random() < 0.8]
    for i, j in pairs:
        kind = rng.choice(["xor", "or", "and", "->"])
        lines.append(f"P({atoms[i]} {kind} {atoms[j]}) <= {rng.uniform(0.3, 0.9):.2f}")
    if rng.random() < 0.5:
        lines.append(bounds(rng, 0.4).format("P(b)"))
        lines.append(bounds(rng, 0.6).format(f"P({atoms[0]} | b)"))
    if rng.random() < 0.3:
        lines.append(bounds(rng, 0.6).format(f"P({atoms[pairs[0][1]]} | {atoms[pairs[0][0]]})"))
        lines.append(bounds(rng, 0.6).format(f"P({atoms[pairs[0][0]]} | {atoms[pairs[0][1]]})"))
    if rng.random() < 0.4:
        lines.append(f"{bounds(rng, 0.3).format(f'P({atoms[0]} or {atoms[-1]})')} ; tau=False")
    first, second = (atoms[k] for k in pairs[0])
    return "\n".join(lines), [
        f"P({first})",
        f"P({first} and {second})",
        f"P({second} | {first})",
        "P(s0 and s2)",
    ]


def answer(lcn: LCN, query: str, method: str) -> credalog.Answer | None:
    try:
        return lcn.query(query, method=method, timeout=0.2)  # type: ignore[arg-type]
    except (credalog.InconsistentNetwork, credalog.ImpossibleEvidence):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_what_follows_the_ties_agrees_with_the_table_of_all_worlds(seed: int) -> None:
    text, queries = tied_network(seed)
    lcn = credalog.parse(text)
    for query in queries:
        fast, whole = answer(lcn, query, "auto"), answer(lcn, query, "joint")
        if fast is None or whole is None:
            # Only a proof says that there is no model: the other may at most be undecided.
            other = fast or whole
            assert other is None or other.lower_witnessed is None, (text, query)
            continue
        for one, other in ((fast, whole), (whole, fast)):
            assert other.lower_witnessed is None or one.lower <= other.lower_witnessed + 1e-7, (text, query)
            assert other.upper_witnessed is None or one.upper >= other.upper_witnessed - 1e-7, (text, query)
        if fast.status is whole.status is Status.EXACT:
            assert fast.lower == pytest.approx(whole.lower, abs=GAP), (text, query)
            assert fast.upper == pytest.approx(whole.upper, abs=GAP), (text, query)


@pytest.mark.parametrize("size", [8, 60])
@pytest.mark.parametrize("is_ring", [False, True])
def test_a_question_inside_a_scope_is_exact_at_any_length(size: int, is_ring: bool) -> None:
    """Of two atoms in [0.2, 0.6] that differ with probability 0.2 at most, P(both) >= (0.4 - 0.2) / 2."""
    lines = [f"0.2 <= P(s{i}) <= 0.6" for i in range(size)]
    lines += [f"P(s{i} xor s{i + 1}) <= 0.2" for i in range(size - 1)]
    lines += [f"P(s{size - 1} xor s0) <= 0.2"] if is_ring else []
    found = credalog.parse("\n".join(lines)).query("P(s0 and s1)", timeout=20.0)
    assert found.status is Status.EXACT
    assert (found.lower, found.upper) == (pytest.approx(0.1, abs=1e-4), pytest.approx(0.6, abs=1e-4))


def test_atoms_two_ties_apart_are_independent_given_the_one_between() -> None:
    """Given s1, s0 and s2 are independent: P(s0 and s2) is at least 0.0625, in a chain of any length.

    With P(s1) = p and x = P(s0 and s1), y = P(s1 and s2), u = P(s0 and not s1), v = P(s2 and not s1) it is
    xy / p + uv / (1 - p): at P(si) = 0.2 with differences of 0.2 each, least at x = y = u = v = 0.1.
    """
    lines = [f"P(s{i}) = 0.2" for i in range(30)] + [f"P(s{i} xor s{i + 1}) <= 0.2" for i in range(29)]
    found = credalog.parse("\n".join(lines)).query("P(s0 and s2)", timeout=20.0)
    assert found.lower_witnessed is not None
    assert found.lower <= 0.0625 + 1e-9 <= found.lower_witnessed + 2e-4
