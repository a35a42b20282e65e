"""Networks that propagation would dislike, each with distributions that satisfy it.

Input: a kind and a seed. Output: a network and some of its models as joint distributions. Bounds are drawn
around a hidden distribution that lies at an end of most of them, so that a bound that is too narrow by
little is caught without any solver. Where it is not plain that the hidden distribution satisfies every
independence, the oracle's own measure decides, and the case is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.network.formulas import (
    TRUE,
    And,
    Formula,
    Iff,
    Is,
    Not,
    Or,
    Variable,
    Xor,
    conjunction,
    propositions,
    truth_table,
)
from credalog.network.sentences import Independence, Network, Query, Sentence
from oracle import Verdict, interval, violations
from random_networks import Case

__all__ = ["AWKWARD", "COPIES", "Awkward", "awkward_case", "case_with_extremes", "network"]

Floats: TypeAlias = NDArray[np.float64]
Rng: TypeAlias = np.random.Generator
Arcs: TypeAlias = list[list[int]]
Tables: TypeAlias = list[dict[tuple[int, ...], Floats]]

MARGIN = Fraction(1, 10**15)
"""What a bound leaves for the rounding errors of the hidden distribution's own probabilities."""
SATISFIED = 1e-13
"""The largest violation of a model."""


@dataclass(frozen=True, slots=True)
class Awkward:
    """A network and some of its models, each with one axis per variable."""

    kind: str
    seed: int
    network: Network
    models: tuple[Floats, ...]
    rounding: float = 2e-13
    """How far the models may be from what they stand for."""

    def __str__(self) -> str:
        return f"{self.kind}/{self.seed}"


def network(*sentences: Sentence) -> Network:
    """Return a network of these sentences and of the variables they mention."""
    return Network(tuple(dict.fromkeys(v for s in sentences for v in s.scope)), sentences)


def _two_copies_of_a_coin() -> Network:
    a, b, c, d = propositions("a b c d")
    return network(
        Sentence.of(a, 0.5, 0.5),
        *(Sentence.of(x, p, p, given=given) for x in (b, c) for given, p in ((a, 1), (~a, 0))),
        Sentence.of(d, 1, 1, given=b & c),
        *(Sentence.of(d, 0, 0, given=given) for given in (b & ~c, ~b & c, ~b & ~c)),
    )


COPIES = _two_copies_of_a_coin()
"""Both b and c copy the coin a, and d is their conjunction: P(d) is 1/2, not 1/4 as if independent."""


# --- Hidden distributions ---------------------------------------------------------------------------------


def _variables(sizes: Sequence[int]) -> tuple[Variable, ...]:
    return tuple(
        Variable(f"x{i}") if n == 2 else Variable(f"x{i}", tuple(f"v{k}" for k in range(n)))
        for i, n in enumerate(sizes)
    )


def _arcs(rng: Rng, count: int, most: int) -> Arcs:
    return [sorted(rng.permutation(i)[: rng.integers(0, most + 1)].tolist()) for i in range(count)]


def _row(rng: Rng, size: int, certain: float, tiny: float) -> Floats:
    """Draw a distribution with three decimals, sometimes all on one value, sometimes nearly so."""
    row = np.round(rng.dirichlet(np.ones(size)), 3)
    k = int(rng.integers(size))
    if rng.random() < certain:
        row = np.eye(size)[k]
    elif rng.random() < tiny:
        row = np.full(size, 10.0 ** -float(rng.integers(3, 10)))
    row[k] = 0.0
    row[k] = 1.0 - row.sum()
    return np.asarray(row)


def _tables(rng: Rng, arcs: Arcs, sizes: Sequence[int], certain: float = 0.0, tiny: float = 0.0) -> Tables:
    return [
        {z: _row(rng, sizes[i], certain, tiny) for z in product(*(range(sizes[p]) for p in above))}
        for i, above in enumerate(arcs)
    ]


def _joint(arcs: Arcs, sizes: Sequence[int], tables: Tables) -> Floats:
    """Multiply conditional tables out."""
    joint = np.ones(tuple(sizes))
    for i, above in enumerate(arcs):
        block = np.empty([*(sizes[p] for p in above), sizes[i]])
        for z, row in tables[i].items():
            block[z] = row
        axes = [*above, i]
        order = np.argsort(axes)
        shape = [sizes[v] if v in axes else 1 for v in range(len(sizes))]
        joint = joint * block.transpose(order).reshape(shape)
    return joint


def probability(joint: Floats, over: tuple[Variable, ...], formula: Formula, given: Formula = TRUE) -> float:
    """Return P(formula | given), NaN where the condition has no mass."""
    condition = np.broadcast_to(truth_table(given, over), joint.shape)
    mass = float(joint[condition].sum())
    both = condition & np.broadcast_to(truth_table(formula, over), joint.shape)
    return float(joint[both].sum()) / mass if mass > 0.0 else float("nan")


# --- Sentences around them --------------------------------------------------------------------------------


def _bounds(rng: Rng, value: float, width: float) -> tuple[Fraction, Fraction]:
    """Draw bounds with the value at an end, mostly; any bounds where it is undefined."""
    if not np.isfinite(value):
        return Fraction(int(rng.integers(0, 10)), 10), Fraction(int(rng.integers(5, 11)), 10)
    below, above = np.round(rng.random(2) * width, 3)
    side = rng.random()
    below = 0.0 if side < 0.5 else below
    above = 0.0 if 0.35 < side < 0.9 else above
    exact = Fraction(value)
    near = Fraction(round(value * 1000), 1000)
    exact, margin = (near, Fraction(0)) if abs(float(near) - value) < 1e-15 else (exact, MARGIN)
    return max(exact - margin - Fraction(str(below)), Fraction(0)), min(
        exact + margin + Fraction(str(above)), Fraction(1)
    )


def _value(variable: Variable, k: int) -> Formula:
    return Not(Is(variable)) if variable.is_proposition and k == 0 else Is(variable, variable.values[k])


def _configuration(variables: Sequence[Variable], above: Sequence[int], z: Sequence[int]) -> Formula:
    return conjunction(_value(variables[p], k) for p, k in zip(above, z, strict=True))


@dataclass(frozen=True, slots=True)
class _Credal:
    """A credal network around a Bayesian one, with the intervals of its conditional probabilities."""

    arcs: Arcs
    sizes: tuple[int, ...]
    tables: Tables
    sentences: list[Sentence]
    ends: dict[tuple[int, tuple[int, ...]], tuple[float, float]]

    @property
    def variables(self) -> tuple[Variable, ...]:
        return _variables(self.sizes)

    @property
    def joint(self) -> Floats:
        return _joint(self.arcs, self.sizes, self.tables)

    def sampled(self, rng: Rng) -> Floats:
        """Return another model: every conditional probability of a proposition at an end or inside."""
        tables: Tables = [dict(rows) for rows in self.tables]
        for (i, z), (low, high) in self.ends.items():
            chance = (low, high, float(rng.uniform(low, high)))[int(rng.choice(3, p=[0.45, 0.45, 0.1]))]
            tables[i][z] = np.array([1.0 - chance, chance])
        return _joint(self.arcs, self.sizes, tables)


def _credal(
    rng: Rng,
    arcs: Arcs,
    sizes: Sequence[int] = (),
    *,
    width: float = 0.3,
    certain: float = 0.0,
    tiny: float = 0.0,
) -> _Credal:
    """Assess every conditional distribution of an acyclic graph, a sentence for every value."""
    sizes = tuple(sizes) or (2,) * len(arcs)
    variables, tables = _variables(sizes), _tables(rng, arcs, sizes, certain, tiny)
    sentences, ends = [], {}
    for i, above in enumerate(arcs):
        for z, row in tables[i].items():
            for k in range(1 if sizes[i] == 2 else 0, sizes[i]):
                low, high = _bounds(rng, float(row[k]), width)
                claim: Formula = Is(variables[i], variables[i].values[k])
                if sizes[i] == 2:
                    ends[i, z] = (float(low), float(high))
                if rng.random() < 0.2:
                    claim, low, high = Not(claim), 1 - high, 1 - low
                sentences.append(Sentence.of(claim, low, high, given=_configuration(variables, above, z)))
    return _Credal(arcs, sizes, tables, sentences, ends)


def _literal(rng: Rng, variable: Variable) -> Formula:
    k = int(rng.integers(len(variable.values)))
    literal = _value(variable, k)
    return Not(literal) if not variable.is_proposition and rng.random() < 0.3 else literal


def _formula(rng: Rng, over: Sequence[Variable]) -> Formula:
    parts = [_literal(rng, v) for v in over]
    while len(parts) > 1:
        pair = parts.pop(), parts.pop()
        joined: list[Formula] = [And(pair), Or(pair), Xor(pair), Iff(*pair)]
        parts.append(joined[int(rng.integers(4))])
    return parts[0]


def _some(rng: Rng, variables: Sequence[Variable], low: int, high: int) -> list[Variable]:
    return [variables[i] for i in rng.permutation(len(variables))[: rng.integers(low, high + 1)]]


def _said(rng: Rng, joint: Floats, over: tuple[Variable, ...], width: float, *, tau: float) -> Sentence:
    """Say something true of the hidden distribution, of any form."""
    chosen = _some(rng, over, 1, 3)
    cut = int(rng.integers(1, len(chosen) + 1))
    given = _formula(rng, chosen[cut:]) if chosen[cut:] else TRUE
    if cut > 1 and rng.random() < 0.4:
        return _weighted(rng, joint, over, [_formula(rng, [v]) for v in chosen[:cut]], given, width, tau)
    claim = _formula(rng, chosen[:cut])
    low, high = _bounds(rng, probability(joint, over, claim, given), width)
    return Sentence.of(claim, low, high, given=given, tau=bool(rng.random() < tau))


def _weighted(
    rng: Rng,
    joint: Floats,
    over: tuple[Variable, ...],
    claims: list[Formula],
    given: Formula,
    width: float,
    tau: float,
) -> Sentence:
    weights = [Fraction(int(k), 2) for k in rng.choice([-4, -2, -1, 1, 2, 4], size=len(claims))]
    pairs = list(zip(weights, claims, strict=True))
    total = sum(float(w) * probability(joint, over, claim, given) for w, claim in pairs)
    total = total if np.isfinite(total) else 0.0
    low = Fraction(total) - 10 * MARGIN - Fraction(str(round(rng.choice([0, width]) * rng.random(), 3)))
    high = Fraction(total) + 10 * MARGIN + Fraction(str(round(rng.choice([0, width]) * rng.random(), 3)))
    return Sentence(tuple(pairs), given, low, high, bool(rng.random() < tau))


# --- One function per kind --------------------------------------------------------------------------------

Drawn: TypeAlias = tuple[Network, list[Floats]]


def _models(rng: Rng, credal: _Credal, count: int = 6) -> list[Floats]:
    return [credal.joint, *(credal.sampled(rng) for _ in range(count))]


def _loopy(rng: Rng) -> Drawn:
    """Ten to thirteen propositions, up to three parents each."""
    credal = _credal(
        rng, _arcs(rng, int(rng.integers(10, 14)), 3), certain=0.1, width=float(rng.choice([0.05, 0.4]))
    )
    return Network(credal.variables, tuple(credal.sentences)), _models(rng, credal)


def _distant(rng: Rng) -> Drawn:
    """Two chains from one root that meet far below."""
    length, arcs = int(rng.integers(2, 5)), [list[int]()]
    for _ in range(2):
        arcs.append([0])
        arcs += [[len(arcs) + k - 1] for k in range(length - 1)]
    arcs.append([length, 2 * length])
    arcs += [[len(arcs) - 1], sorted({int(rng.integers(len(arcs))), len(arcs) - 1})]
    credal = _credal(rng, arcs, certain=0.5, width=0.1)
    return Network(credal.variables, tuple(credal.sentences)), _models(rng, credal)


def _several(rng: Rng) -> Drawn:
    """Variables of two to four values with several claims on each, and sets of values."""
    count = int(rng.integers(3, 6))
    credal = _credal(rng, _arcs(rng, count, 2), rng.integers(2, 5, size=count).tolist(), certain=0.1)
    kept = [s for s in credal.sentences if rng.random() < 0.8]
    extra = [_said(rng, credal.joint, credal.variables, 0.1, tau=0.0) for _ in range(int(rng.integers(0, 3)))]
    extra = [s for s in extra if s.given == TRUE]
    return Network(credal.variables, tuple(kept + extra)), [credal.joint]


def _sources(rng: Rng) -> Drawn:
    """A credal network with marginal, joint and linear sentences on top that draw no arrow."""
    credal = _credal(rng, _arcs(rng, int(rng.integers(4, 9)), 2), certain=0.1)
    joint = credal.joint
    extra = [_said(rng, joint, credal.variables, 0.05, tau=0.0) for _ in range(int(rng.integers(2, 7)))]
    extra = [s for s in extra if s.given == TRUE]
    return Network(credal.variables, tuple(credal.sentences + extra)), [joint]


def _anything(rng: Rng) -> Drawn:
    """Sentences of any form around a Bayesian network: arrows as they come."""
    sizes = rng.choice([2, 2, 2, 3], size=int(rng.integers(3, 6))).tolist()
    arcs = _arcs(rng, len(sizes), 2)
    credal = _credal(rng, arcs, sizes, certain=0.3)
    joint = credal.joint
    kept = [s for s in credal.sentences if rng.random() < 0.6]
    extra = [_said(rng, joint, credal.variables, 0.2, tau=0.5) for _ in range(int(rng.integers(1, 6)))]
    return Network(credal.variables, tuple(kept + extra)), [joint]


def _copies(rng: Rng) -> Drawn:
    """Two cyclic blocks whose members determine each other: such blocks may depend on each other."""
    first, second, tail = int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(0, 3))
    count = first + second
    coins = rng.dirichlet(np.ones(4)).reshape(2, 2)
    joint = np.zeros((2,) * count)
    for i, j in product((0, 1), repeat=2):
        joint[(i,) * first + (j,) * second] = coins[i, j] if rng.random() < 0.9 else 0.0
    joint /= joint.sum()
    variables = _variables((2,) * count)
    rings = [*zip(range(first), [*range(1, first), 0], strict=True)]
    rings += [(first + a, first + b) for a, b in zip(range(second), [*range(1, second), 0], strict=True)]
    sentences = []
    for x, y in rings:
        for given in (Is(variables[y]), Not(Is(variables[y]))):
            low, high = _bounds(rng, probability(joint, variables, Is(variables[x]), given), 0.3)
            sentences.append(Sentence.of(Is(variables[x]), low, high, given=given))
    sentences += [_said(rng, joint, variables, 0.2, tau=0.0) for _ in range(int(rng.integers(0, 3)))]
    return _below(rng, joint, [s for s in sentences if s.given == TRUE or s.is_atomic], tail)


def _below(rng: Rng, joint: Floats, sentences: list[Sentence], tail: int) -> Drawn:
    """Hang propositions with up to three parents below a joint distribution."""
    count = joint.ndim
    arcs: Arcs = [[] for _ in range(count)]
    for _ in range(tail):
        arcs.append(sorted(rng.permutation(len(arcs))[: rng.integers(1, 4)].tolist()))
    variables = _variables((2,) * len(arcs))
    credal = _credal(rng, arcs, certain=0.3)
    for i in range(count):
        credal.tables[i] = {(): np.array([1.0, 1.0])}
    whole = joint.reshape(joint.shape + (1,) * tail) * _joint(arcs, credal.sizes, credal.tables)
    below = [s for s in credal.sentences if s.claim_scope[0] in variables[count:]]
    return Network(variables, tuple(sentences + below)), [whole]


def _core(rng: Rng) -> Drawn:
    """A block of propositions tied by formulas with any joint distribution, and a tail below."""
    count = int(rng.integers(2, 4))
    joint = rng.dirichlet(np.full(2**count, 0.5)).reshape((2,) * count)
    variables = _variables((2,) * count)
    everything = _formula(rng, variables)
    low, high = _bounds(rng, probability(joint, variables, everything), 0.2)
    sentences = [Sentence.of(everything, low, high)]
    sentences += [_said(rng, joint, variables, 0.1, tau=0.5) for _ in range(int(rng.integers(1, 4)))]
    return _below(rng, joint, sentences, int(rng.integers(1, 4)))


def _certain(rng: Rng) -> Drawn:
    """Probabilities 0 and 1 nearly everywhere: many conditions have no mass."""
    credal = _credal(rng, _arcs(rng, int(rng.integers(4, 9)), 3), certain=0.8, width=0.2)
    return Network(credal.variables, tuple(credal.sentences)), _models(rng, credal)


def _tiny(rng: Rng) -> Drawn:
    """Probabilities down to a billionth."""
    credal = _credal(
        rng, _arcs(rng, int(rng.integers(3, 8)), 2), tiny=0.6, width=float(rng.choice([0.0, 0.2]))
    )
    joint = credal.joint
    extra = [_said(rng, joint, credal.variables, 0.0, tau=0.0) for _ in range(int(rng.integers(0, 3)))]
    extra = [s for s in extra if s.given == TRUE]
    return Network(credal.variables, tuple(credal.sentences + extra)), [joint]


def _points(rng: Rng) -> Drawn:
    """A Bayesian network that is told many of its own probabilities: every bound within rounding of false."""
    credal = _credal(rng, _arcs(rng, int(rng.integers(4, 8)), 3), width=0.0)
    joint = credal.joint
    extra = [_said(rng, joint, credal.variables, 0.0, tau=0.0) for _ in range(int(rng.integers(3, 9)))]
    extra = [s for s in extra if s.given == TRUE]
    return Network(credal.variables, tuple(credal.sentences + extra)), [joint]


def _torn(rng: Rng) -> Drawn:
    """Contradictory sentences under conditions that have no mass."""
    credal = _credal(rng, _arcs(rng, int(rng.integers(3, 6)), 2), certain=0.6)
    joint, variables = credal.joint, credal.variables
    torn = []
    for s in credal.sentences:
        if s.given != TRUE and not probability(joint, variables, s.given) > 0.0:
            torn += [
                Sentence.of(s.claim, 0.1, 0.2, given=s.given),
                Sentence.of(s.claim, 0.5, 0.6, given=s.given),
            ]
    return Network(variables, tuple(credal.sentences + torn)), [joint]


def _overlapping(rng: Rng) -> Drawn:
    """Conditions over the parents that overlap, in any number."""
    credal = _credal(rng, _arcs(rng, int(rng.integers(3, 7)), 3), certain=0.2)
    joint, variables = credal.joint, credal.variables
    sentences = [s for s in credal.sentences if s.given == TRUE]
    for i, above in enumerate(credal.arcs):
        for _ in range(int(rng.integers(1, 5)) if above else 0):
            given = _formula(rng, _some(rng, [variables[p] for p in above], 1, len(above)))
            low, high = _bounds(rng, probability(joint, variables, Is(variables[i]), given), 0.1)
            sentences.append(Sentence.of(Is(variables[i]), low, high, given=given))
    # Every parent must stay one.
    full = [
        Sentence.of(Is(variables[i]), 0, 1, given=_configuration(variables, above, [1] * len(above)))
        for i, above in enumerate(credal.arcs)
        if above
    ]
    return Network(variables, tuple(sentences + full)), [joint]


def _declared(rng: Rng) -> Drawn:
    """Independences declared on top of ties that would not imply them."""
    variables = _variables((2,) * 4)
    credal = _credal(rng, [[], [], [0, 1], [2]], certain=0.2)
    joint = credal.joint
    sentences = [_said(rng, joint, variables, 0.1, tau=0.7) for _ in range(int(rng.integers(3, 7)))]
    stated = (
        Independence((variables[0],), (variables[1],)),
        Independence((variables[3],), (variables[0], variables[1]), (variables[2],)),
    )
    return Network(variables, tuple(sentences), stated[: int(rng.integers(1, 3))]), [joint]


AWKWARD: dict[str, Callable[[Rng], Drawn]] = {
    "loopy": _loopy,
    "distant": _distant,
    "several": _several,
    "sources": _sources,
    "anything": _anything,
    "copies": _copies,
    "core": _core,
    "certain": _certain,
    "tiny": _tiny,
    "points": _points,
    "torn": _torn,
    "overlapping": _overlapping,
    "declared": _declared,
}

SURE = frozenset({"loopy", "distant", "certain"})
"""Credal networks: every choice of conditional probabilities is a model."""


def awkward_case(kind: str, seed: int) -> Awkward | None:
    """Draw a case; None where the hidden distribution turned out to be no model."""
    rng = np.random.default_rng([1000 + list(AWKWARD).index(kind), seed])
    network, joints = AWKWARD[kind](rng)
    if kind in SURE:
        return Awkward(kind, seed, network, tuple(joints))
    if any(violations(joint, network).worst > SATISFIED for joint in joints):
        return None
    return Awkward(kind, seed, network, tuple(joints))


def case_with_extremes(case: Case, seconds: float) -> Awkward | None:
    """Find, by brute force, models at either end of every probability; None where there are none."""
    joints = []
    for variable in case.network.variables:
        for value in variable.values[1:]:
            truth = interval(case.network, Query(Is(variable, value)), seconds=seconds)
            if truth.verdict in (Verdict.INCONSISTENT, Verdict.UNKNOWN):
                return None
            joints += [end.joint for end in (truth.lower, truth.upper) if end.joint is not None]
    shape = tuple(len(v.values) for v in case.network.variables)
    models = tuple(joint.reshape(shape) for joint in joints)
    return Awkward(case.kind, case.seed, case.network, models, rounding=1e-7) if models else None
