"""The global Markov condition: what factorizes along the ties is inside its bounds, and nothing else counts.

Members of the reading are built here, as products of functions of ties; whether a witness is one is decided
by iterative proportional fitting. Neither comes from the engine.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import credalog
from credalog import LCN, Answer, Status
from credalog.network.formulas import Variable
from credalog.network.graph import Markov
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.check import violation

Floats = NDArray[np.float64]

GAP = 3e-4
"""Twice the tolerance of an EXACT answer, and a little."""

TESTS: dict[str, Callable[[int, int], object]] = {
    "xor": lambda x, y: x != y,
    "or": lambda x, y: x or y,
    "and": lambda x, y: x and y,
    "->": lambda x, y: not x or y,
}


@dataclass(frozen=True)
class Drawn:
    """A network, and a member of its global reading that satisfies every sentence, world by world."""

    text: str
    atoms: tuple[str, ...]
    ties: tuple[tuple[int, int], ...]
    outside: tuple[tuple[int, int], ...]
    table: Floats

    def probability(self, *true: int) -> float:
        return float(sum(self.table[w] for w in np.ndindex(self.table.shape) if all(w[i] for i in true)))


def draw(seed: int) -> Drawn:
    """Draw a chain, a tree or a ring of ties, parents outside some, and functions of each; then bounds."""
    rng = random.Random(seed)
    size, parents = rng.choice([3, 4, 5]), rng.choice([0, 0, 1, 2])
    ties = [(rng.randrange(i) if rng.random() < 0.5 else i - 1, i) for i in range(1, size)]
    if size > 3 and rng.random() < 0.4:
        ties = [*((i - 1, i) for i in range(1, size)), (0, size - 1)]
    outside = [(size + k, rng.randrange(size)) for k in range(parents)]
    atoms = tuple([f"s{i}" for i in range(size)] + [f"b{k}" for k in range(parents)])
    table = member(rng, size, [*ties, *outside], parents)
    drawn = Drawn("", atoms, tuple(ties), tuple(outside), table)
    lines = [around(rng, f"P({a})", drawn.probability(i)) for i, a in enumerate(atoms) if rng.random() < 0.8]
    for i, j in ties:
        kind = rng.choice(sorted(TESTS))
        worlds = [w for w in np.ndindex(table.shape) if TESTS[kind](w[i], w[j])]
        lines.append(around(rng, f"P({atoms[i]} {kind} {atoms[j]})", float(sum(table[w] for w in worlds))))
    for b, i in outside:
        given = drawn.probability(b)
        lines.append(around(rng, f"P({atoms[b]})", given))
        lines.append(around(rng, f"P({atoms[i]} | {atoms[b]})", drawn.probability(b, i) / given))
    return Drawn("\n".join(lines), atoms, tuple(ties), tuple(outside), table)


def member(rng: random.Random, size: int, pairs: list[tuple[int, int]], parents: int) -> Floats:
    """Multiply functions of pairs, some of them zero in places, and scale them to independent parents."""
    factors = {
        pair: [[rng.choice([0.05, rng.random(), rng.random()]) for _ in "01"] for _ in "01"] for pair in pairs
    }
    if rng.random() < 0.5:
        x, y = rng.choice(pairs)
        factors[x, y] = [[1.0, 0.0], [0.0, 1.0]]
    chances = [rng.uniform(0.2, 0.8) for _ in range(parents)]
    table = np.zeros((2,) * (size + parents))
    for world in product((0, 1), repeat=size + parents):
        table[world] = np.prod([factor[world[x]][world[y]] for (x, y), factor in factors.items()])
    scale = table.sum(axis=tuple(range(size)), keepdims=True)
    for k, chance in enumerate(chances):
        shape = [1] * (size + parents)
        shape[size + k] = 2
        table = table * np.array([1.0 - chance, chance]).reshape(shape)
    return np.asarray(table / scale)


def around(rng: random.Random, what: str, value: float) -> str:
    """Bound a probability by an interval that contains its value."""
    low, high = value - rng.uniform(0.0, 0.15), value + rng.uniform(0.0, 0.15)
    return f"{max(0.0, low):.17f} <= {what} <= {min(1.0, high):.17f}"


def fitted(table: Floats, ties: tuple[tuple[int, int], ...], outside: tuple[tuple[int, int], ...]) -> Floats:
    """Return the limit of products along ties with a table's own probabilities of these, fitted in turn."""
    parents = tuple(sorted({b for b, _ in outside}))
    # An atom and its parents outside are tied to each other; no parent has two atoms.
    families = [(i, *(b for b, j in outside if i == j)) for i in {j for _, j in outside}]
    scopes = [*ties, *families, *([parents] if parents else [])]
    found = np.full(table.shape, 1.0 / table.size)
    for _ in range(3000):
        before = found
        for scope in scopes:
            rest = tuple(a for a in range(table.ndim) if a not in scope)
            wanted, has = table.sum(axis=rest, keepdims=True), found.sum(axis=rest, keepdims=True)
            found = found * np.divide(wanted, has, out=np.zeros_like(has), where=has > 0.0)
        if np.abs(found - before).max() < 1e-9:
            break
    return found


def ask(lcn: LCN, query: str, markov: str, method: str = "auto", *, seconds: float = 0.3) -> Answer:
    return lcn.query(query, method=method, markov=markov, timeout=seconds)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(9))
def test_members_are_inside_the_global_bounds_and_witnesses_are_members(seed: int) -> None:
    drawn = draw(seed)
    lcn = credalog.parse(drawn.text)
    far = max((j for i, j in drawn.ties if i == 0), default=1) % (len(drawn.atoms) - 1) + 1
    for pair in ((0, far), (1, 2)):
        query = "P({} and {})".format(*(drawn.atoms[i] for i in pair))
        value = drawn.probability(*pair)
        for method in ("auto", "joint"):
            found = ask(lcn, query, "global", method)
            assert found.lower - 1e-9 <= value <= found.upper + 1e-9, (drawn.text, query, method)
            is_open = tuple(sorted(pair)) not in {tuple(sorted(t)) for t in (*drawn.ties, *drawn.outside)}
            for witness in (found.lower_witness, found.upper_witness):
                if is_open and witness is not None:
                    over = tuple(lcn.variable(a) for a in drawn.atoms if a in {v.name for v in lcn.variables})
                    if len(over) == len(drawn.atoms) == sum(len(f.block) for f in witness.factors):
                        joint = witness.marginal(over)
                        gap = np.abs(fitted(joint, drawn.ties, drawn.outside) - joint).max()
                        assert gap < 1e-3, (drawn.text, query, method)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 50))
def test_global_lies_inside_local_and_a_question_inside_a_tie_is_the_same(seed: int) -> None:
    drawn = draw(seed)
    lcn = credalog.parse(drawn.text)
    (i, j), *_ = drawn.ties
    closed = f"P({drawn.atoms[i]} and {drawn.atoms[j]})"
    first, second = (ask(lcn, closed, markov, seconds=2.0) for markov in ("local", "global"))
    further = tuple(ask(lcn, "P(s0 and s2)", markov) for markov in ("local", "global"))
    for query, (local, whole) in ((closed, (first, second)), ("P(s0 and s2)", further)):
        if whole.lower_witnessed is not None:
            assert local.lower <= whole.lower_witnessed + 1e-7, (drawn.text, query)
        if whole.upper_witnessed is not None:
            assert local.upper >= whole.upper_witnessed - 1e-7, (drawn.text, query)
    assert first.status is second.status is Status.EXACT, drawn.text
    assert (first.lower, first.upper) == (
        pytest.approx(second.lower, abs=GAP),
        pytest.approx(second.upper, abs=GAP),
    )


def test_atoms_four_ties_apart_are_bounded_along_the_chain() -> None:
    """At P(si) = 0.2 and differences of at most 0.2, P(s[i+1] | si) >= 1/2 and P(s[i+1] | not si) <= 1/8.

    From s0 the probability goes 1, 1/2, 1/8 + 3/8 * 1/2 = 5/16, 1/8 + 3/8 * 5/16 = 31/128: so P(s0 and s3) =
    31/640 at least, wherever in the chain.
    """
    lines = [f"P(s{i}) = 0.2" for i in range(40)] + [f"P(s{i} xor s{i + 1}) <= 0.2" for i in range(39)]
    found = credalog.parse("\n".join(lines)).query(
        "P(s5 and s8)", markov="global", timeout=20.0, tolerance=1e-3
    )
    assert found.status is Status.EXACT
    assert found.lower_witnessed is not None
    assert found.lower <= 31 / 640 + 1e-9 <= found.lower_witnessed + 1e-3


# --- the second pair of eyes ------------------------------------------------------------------------------


def chain(size: int, *, is_ring: bool = False) -> LCN:
    lines = [f"P(s{i} xor s{i + 1}) <= 1" for i in range(size - 1)]
    return credalog.parse("\n".join([*lines, *([f"P(s{size - 1} xor s0) <= 1"] if is_ring else [])]))


def verdicts(lcn: LCN, worlds: dict[str, float]) -> tuple[float, float]:
    """Return the violations of the local and the global condition by worlds with some probabilities."""
    variables = lcn.ground().variables
    table = np.zeros((2,) * len(variables))
    for world, chance in worlds.items():
        table[tuple(int(c) for c in world)] = chance
    return checked(lcn, Distribution((Factor(tuple(variables), (), table),)))


def checked(lcn: LCN, model: Distribution) -> tuple[float, float]:
    network, everything = lcn.ground(), lcn.ground().variables
    local, whole = (
        violation(model, network, lcn.graph, asked=tuple(everything), markov=markov)
        for markov in (Markov.LOCAL, Markov.GLOBAL)
    )
    return local, whole


def uniform(*worlds: str) -> dict[str, float]:
    return dict.fromkeys(worlds, 1.0 / len(worlds))


def test_copies_next_to_two_atoms_hide_their_dependence_from_the_local_condition_only() -> None:
    """s0 = s1 = s3 = s4 and a fair coin s2: given s2, s1 and s3 are the same and should be independent."""
    local, whole = verdicts(chain(5), uniform("00000", "00100", "11011", "11111"))
    assert local <= 1e-12
    assert whole == pytest.approx(0.125)


def test_copies_in_a_chain_of_four_have_nowhere_to_hide() -> None:
    local, whole = verdicts(chain(4), uniform("0000", "0011", "1100", "1111"))
    assert max(local, whole) <= 1e-12
    local, whole = verdicts(chain(4), uniform("0000", "0010", "1101", "1111"))
    assert min(local, whole) >= 0.05


def test_a_parity_along_a_ring_of_four_is_local_and_no_limit_of_products() -> None:
    """s2 = s3 leaves a triangle s0, s1, s3, of which parity is no limit: all its pairs are uniform."""
    parity = uniform(*(f"{x ^ y}{x}{y}{y}" for x in (0, 1) for y in (0, 1)))
    local, whole = verdicts(chain(4, is_ring=True), parity)
    assert local <= 1e-12
    assert whole >= 0.01


def test_a_component_depends_on_nothing_that_shares_no_parent_with_it() -> None:
    pairs = credalog.parse("P(a xor b) <= 1\nP(c xor d) <= 1")
    local, whole = verdicts(pairs, uniform("0000", "1111"))
    assert local <= 1e-12
    assert whole == pytest.approx(0.25)


def test_products_along_a_ring_pass_and_one_with_a_diagonal_does_not() -> None:
    rng = np.random.default_rng(3)
    a, b, c, d, e = (rng.uniform(0.2, 1.0, (2, 2)) for _ in range(5))
    ring = np.einsum("wx,xy,yz,zw->wxyz", a, b, c, d)
    crossed = np.einsum("wxyz,wy->wxyz", ring, e)
    for table, passes in ((ring, True), (crossed, False)):
        lcn = chain(4, is_ring=True)
        model = Distribution((Factor(tuple(lcn.ground().variables), (), table / table.sum()),))
        local, whole = checked(lcn, model)
        assert (local <= 1e-9, whole <= 1e-9) == (passes, passes)


def test_copies_around_a_ring_are_a_limit_of_products() -> None:
    """Each tie makes its two atoms the same: the functions are zero where they differ."""
    assert max(verdicts(chain(4, is_ring=True), {"0000": 0.3, "1111": 0.7})) <= 1e-12


def test_worlds_and_independent_atoms_pass() -> None:
    lcn = chain(6, is_ring=True)

    def alone(x: Variable, chance: float) -> Factor:
        return Factor((x,), (), np.array([1.0 - chance, chance]))

    for chances in ((1.0, 0.0, 0.0, 1.0, 0.0, 1.0), (0.5, 0.1, 0.0, 1.0, 0.7, 0.2)):
        model = Distribution(tuple(map(alone, lcn.ground().variables, chances)))
        assert max(checked(lcn, model)) <= 1e-12


def test_what_stands_for_a_model_in_one_question_is_checked_again_in_the_next() -> None:
    """A distribution that is a model only as far as P(s0 and s1) goes is no witness of P(s0 and s2)."""
    from credalog.methods.answer import Options
    from credalog.methods.automatic import Engine
    from credalog.methods.cliques.ends import Models
    from credalog.network.formulas import Is
    from credalog.network.sentences import Query

    lcn = chain(3)
    network = lcn.ground()
    first, middle, last = network.variables
    # s2 is what s0 is, and s1 a coin of its own: every tie has a fair pair.
    coin, same = np.array([0.5, 0.5]), np.broadcast_to(np.eye(2)[:, None, :], (2, 2, 2)).copy()
    copied = Distribution(
        (
            Factor((first,), (), coin),
            Factor((middle,), (first,), np.array([coin, coin])),
            Factor((last,), (first, middle), same),
        )
    )
    engine, models = Engine(network), Models()
    asked = Query(Is(first, first.values[1]) & Is(last, last.values[1]))
    models.add(engine.part(asked), copied)
    answer = engine.query(asked, Options(timeout=0.0), models=models)
    assert copied not in (answer.lower_witness, answer.upper_witness)
