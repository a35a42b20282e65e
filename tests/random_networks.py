"""Small random networks of every kind, from a seed: food for the attack on our own bounds.

Enters: a numpy Generator and a kind. Leaves: a network with a query, most of them consistent by construction:
their bounds are drawn around a hidden distribution that satisfies every independence the network can imply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    Implies,
    Is,
    Not,
    Or,
    Variable,
    Xor,
    conjunction,
    truth_table,
)
from credalog.network.sentences import Independence, Network, Query, Sentence

__all__ = ["KINDS", "LINEAR", "UNIQUE", "Case", "random_case", "some_of", "tables"]

Floats: TypeAlias = NDArray[np.float64]
Rng: TypeAlias = np.random.Generator
DIGITS = 3


@dataclass(frozen=True, slots=True)
class Case:
    """A network and a question, with the kind and the seed they came from."""

    kind: str
    seed: int
    network: Network
    query: Query

    def __str__(self) -> str:
        return f"{self.kind}/{self.seed}"


@dataclass(frozen=True, slots=True)
class Hidden:
    """The distribution around which bounds are drawn: all variables independent."""

    marginals: dict[Variable, Floats]

    def probability(self, formula: Formula, given: Formula = TRUE) -> float | None:
        """Return P(formula | given), or None where the condition has probability zero."""
        over = tuple(self.marginals)
        joint = np.ones(1)
        for v in over:
            joint = np.multiply.outer(joint, self.marginals[v])
        joint = joint[0]
        condition = truth_table(given, over)
        mass = joint[condition].sum()
        return None if mass == 0 else float(joint[condition & truth_table(formula, over)].sum() / mass)


def _variables(rng: Rng, count: int, largest: int) -> tuple[Variable, ...]:
    names = "abcdef"[:count]
    sizes = rng.integers(2, largest + 1, size=count) if largest > 2 else [2] * count
    return tuple(
        Variable(n) if k == 2 else Variable(n, tuple(f"v{i}" for i in range(k)))
        for n, k in zip(names, sizes, strict=True)
    )


def _hidden(rng: Rng, variables: Sequence[Variable], zeros: float = 0.0) -> Hidden:
    marginals = {}
    for v in variables:
        weights = rng.dirichlet(np.ones(len(v.values)))
        if rng.random() < zeros:
            weights = np.eye(len(v.values))[rng.integers(len(v.values))]
        marginals[v] = weights
    return Hidden(marginals)


def _atom(rng: Rng, variable: Variable) -> Is:
    return Is(variable, "true" if variable.is_proposition else str(rng.choice(variable.values)))


def _literal(rng: Rng, variable: Variable) -> Formula:
    atom = _atom(rng, variable)
    return Not(atom) if rng.random() < 0.3 else atom


def _formula(rng: Rng, over: Sequence[Variable]) -> Formula:
    """Join one literal of each variable by random connectives."""
    parts: list[Formula] = [_literal(rng, v) for v in over]
    while len(parts) > 1:
        first, second = parts.pop(), parts.pop()
        match rng.integers(5):
            case 0:
                joined: Formula = And((first, second))
            case 1:
                joined = Or((first, second))
            case 2:
                joined = Xor((first, second))
            case 3:
                joined = Implies(first, second)
            case _:
                joined = Iff(first, second)
        parts.append(joined)
    return parts[0]


def some_of(rng: Rng, variables: Sequence[Variable], low: int, high: int) -> list[Variable]:
    """Choose between low and high of some variables, in random order."""
    count = min(int(rng.integers(low, high + 1)), len(variables))
    return [variables[i] for i in rng.permutation(len(variables))[:count]]


def _around(rng: Rng, value: float | None, width: float) -> tuple[Fraction, Fraction]:
    """Return decimal bounds that contain a value; any bounds do where the value is undefined."""
    if value is None:
        value = float(rng.random())
    below, above = rng.random(2) * width
    scale = 10 ** max(DIGITS, int(np.ceil(-np.log10(width))) + 2 if width > 0 else 12)
    lower = Fraction(int(np.floor(max(0.0, value - below) * scale)), scale)
    upper = Fraction(int(np.ceil(min(1.0, value + above) * scale)), scale)
    return lower, upper


def _sentence(
    rng: Rng, hidden: Hidden, claim: Formula, given: Formula, width: float, tau: bool = True
) -> Sentence:
    lower, upper = _around(rng, hidden.probability(claim, given), width)
    if rng.random() < 0.15:
        lower = Fraction(0)
    elif rng.random() < 0.15:
        upper = Fraction(1)
    return Sentence.of(claim, lower, upper, given=given, tau=tau)


def _loose(rng: Rng, hidden: Hidden, count: int, width: float, tau: float = 1.0) -> list[Sentence]:
    """Draw sentences of the paper's two forms over one to three variables each."""
    variables, sentences = tuple(hidden.marginals), []
    for _ in range(count):
        chosen = some_of(rng, variables, 1, 3)
        cut = int(rng.integers(1, len(chosen) + 1))
        given = _formula(rng, chosen[cut:]) if chosen[cut:] else TRUE
        claim = _formula(rng, chosen[:cut])
        sentences.append(_sentence(rng, hidden, claim, given, width, bool(rng.random() < tau)))
    return sentences


def _arcs(rng: Rng, variables: Sequence[Variable], most: int) -> dict[Variable, list[Variable]]:
    return {v: some_of(rng, variables[:i], 0, most) for i, v in enumerate(variables)}


def tables(
    rng: Rng, arcs: dict[Variable, list[Variable]], width: float, corners: float = 0.0
) -> list[Sentence]:
    """Assess every conditional distribution of an acyclic graph, once."""
    sentences = []
    for child, above in arcs.items():
        for values in product(*(v.values for v in above)):
            pairs = zip(above, values, strict=True)
            given = conjunction(Not(Is(v)) if value == "false" else Is(v, value) for v, value in pairs)
            sentences += _assessment(rng, child, given, width, corners)
    return sentences


def _assessment(rng: Rng, child: Variable, given: Formula, width: float, corners: float) -> list[Sentence]:
    chances = rng.dirichlet(np.ones(len(child.values)))
    if rng.random() < corners:
        chances = np.eye(len(chances))[rng.integers(len(chances))]
    named = child.values[1:] if len(child.values) == 2 else child.values[:-1]
    bounds = []
    for value in named:
        chance = float(chances[child.values.index(value)])
        lower, upper = _around(rng, chance, width) if width else (_point(chance), _point(chance))
        bounds.append(Sentence.of(Is(child, value), lower, upper, given=given))
    return bounds


def _point(chance: float) -> Fraction:
    return Fraction(int(chance * 100), 100)


def _query(rng: Rng, variables: Sequence[Variable]) -> Query:
    chosen = some_of(rng, variables, 1, 3)
    cut = int(rng.integers(1, len(chosen))) if len(chosen) > 1 and rng.random() < 0.7 else len(chosen)
    given = _formula(rng, chosen[cut:]) if chosen[cut:] else TRUE
    return Query(_formula(rng, chosen[:cut]), given)


# --- One function per kind --------------------------------------------------------------------------------


def _free(rng: Rng, size: int) -> Network:
    """Sentences anywhere: cycles, overlaps and ties come by themselves."""
    variables = _variables(rng, size, 2)
    return Network(variables, tuple(_loose(rng, _hidden(rng, variables), int(rng.integers(2, 7)), 0.3, 0.8)))


def _tight(rng: Rng, size: int) -> Network:
    """Narrow bounds around one product distribution: nearly inconsistent."""
    variables = _variables(rng, size, 2)
    hidden, width = _hidden(rng, variables), float(rng.choice([1e-2, 1e-3, 1e-4]))
    return Network(variables, tuple(_loose(rng, hidden, int(rng.integers(3, 8)), width, 0.8)))


def _wild(rng: Rng, size: int) -> Network:
    """Bounds drawn with no distribution in mind: many have no model."""
    network = _free(rng, size)
    sentences = []
    for s in network.sentences:
        ends = sorted(Fraction(int(k), 20) for k in rng.integers(0, 21, size=2))
        sentences.append(Sentence.of(s.claim, ends[0], ends[1], given=s.given, tau=s.tau))
    return Network(network.variables, tuple(sentences))


def _cyclic(rng: Rng, size: int) -> Network:
    """A ring of conditional sentences, with one formula on top."""
    variables = _variables(rng, size, 2)
    hidden, width = _hidden(rng, variables), float(rng.choice([0.05, 0.3]))
    length = size if size < 4 else int(rng.integers(2, size + 1))
    ring = list(zip(variables, variables[1:] + variables[:1], strict=True))[:length]
    sentences = [_sentence(rng, hidden, Is(x), _literal(rng, y), width) for x, y in ring]
    sentences += [_sentence(rng, hidden, Is(x), Not(Is(y)), width) for x, y in ring if rng.random() < 0.5]
    return Network(variables, tuple(sentences + _loose(rng, hidden, int(rng.integers(1, 3)), width)))


def _credal(rng: Rng, size: int) -> Network:
    """A credal network with unique assessments."""
    variables = _variables(rng, size, 2)
    return Network(variables, tuple(tables(rng, _arcs(rng, variables, 2), 0.3)))


def _bayesian(rng: Rng, size: int) -> Network:
    """A Bayesian network: every assessment a point."""
    variables = _variables(rng, size, 3)
    return Network(variables, tuple(tables(rng, _arcs(rng, variables, 2), 0.0)))


def _deterministic(rng: Rng, size: int) -> Network:
    """A credal network with many zeros and ones."""
    variables = _variables(rng, size, 2)
    return Network(variables, tuple(tables(rng, _arcs(rng, variables, 2), 0.2, corners=0.5)))


def _rare(rng: Rng, size: int) -> Network:
    """A credal network some of whose events have probabilities down to a billionth."""
    variables = _variables(rng, size, 2)
    common = tables(rng, _arcs(rng, variables, 2), 0.3)
    return Network(variables, tuple(_shrunk(rng, s) if rng.random() < 0.5 else s for s in common))


def _shrunk(rng: Rng, sentence: Sentence) -> Sentence:
    tiny = Fraction(1, 10 ** int(rng.integers(3, 10)))
    return replace(sentence, lower=tiny * int(rng.integers(0, 2)), upper=tiny * 3)


def _extreme(rng: Rng, size: int) -> Network:
    """Sentences around a distribution some of whose marginals are zero or one."""
    variables = _variables(rng, size, 2)
    hidden, width = _hidden(rng, variables, zeros=0.4), float(rng.choice([0.01, 0.3]))
    return Network(variables, tuple(_loose(rng, hidden, int(rng.integers(2, 7)), width, 0.8)))


def _overlapping(rng: Rng, size: int) -> Network:
    """A credal network with a second source: marginals and formulas over the same variables."""
    variables = _variables(rng, size, 2)
    hidden, arcs = _hidden(rng, variables), _arcs(rng, variables, 2)
    sentences = []
    for child, above in arcs.items():
        given = [_formula(rng, above)] if above else [TRUE]
        for condition in given + [Not(g) for g in given if g != TRUE]:
            sentences.append(_sentence(rng, hidden, Is(child), condition, 0.3))
    return Network(variables, tuple(sentences + _loose(rng, hidden, 2, 0.2, 0.0)))


def _multivalued(rng: Rng, size: int) -> Network:
    """Sentences over variables of two to four values."""
    variables = _variables(rng, min(size, 3), 4 if size < 4 else 3)
    return Network(variables, tuple(_loose(rng, _hidden(rng, variables), int(rng.integers(3, 7)), 0.3, 0.8)))


def _linear(rng: Rng, size: int) -> Network:
    """Some sentences compare or add probabilities."""
    variables = _variables(rng, size, 2)
    hidden = _hidden(rng, variables)
    sentences = _loose(rng, hidden, int(rng.integers(1, 4)), 0.3, 0.8)
    sentences += [_comparison(rng, hidden) for _ in range(int(rng.integers(1, 3)))]
    return Network(variables, tuple(sentences))


def _comparison(rng: Rng, hidden: Hidden) -> Sentence:
    chosen = some_of(rng, tuple(hidden.marginals), 2, 3)
    given = _literal(rng, chosen.pop()) if len(chosen) == 3 else TRUE
    claims = [_literal(rng, v) for v in chosen]
    weights = [Fraction(int(k), 2) for k in rng.choice([-4, -2, -1, 1, 2, 4], size=len(claims))]
    values = [hidden.probability(claim, given) for claim in claims]
    total = (
        0.0 if None in values else sum(float(w) * (v or 0.0) for w, v in zip(weights, values, strict=True))
    )
    lower = Fraction(int(np.floor((total - 0.2 * rng.random()) * 1000)), 1000)
    upper = Fraction(int(np.ceil((total + 0.2 * rng.random()) * 1000)), 1000)
    tau = bool(rng.random() < 0.7)
    return Sentence(tuple(zip(weights, claims, strict=True)), given, lower, upper, tau)


def _declared(rng: Rng, size: int) -> Network:
    """Ties that a declared independence partly undoes."""
    variables = _variables(rng, max(size, 3), 2)
    sentences = _loose(rng, _hidden(rng, variables), int(rng.integers(3, 6)), 0.3)
    chosen = some_of(rng, variables, 2, 4)
    left, right, given = chosen[:1], chosen[1:2], chosen[2:3]
    declared = Independence(tuple(left), tuple(right + chosen[3:]), tuple(given))
    return Network(variables, tuple(sentences), (declared,))


KINDS: dict[str, Callable[[Rng, int], Network]] = {
    "free": _free,
    "tight": _tight,
    "wild": _wild,
    "cyclic": _cyclic,
    "credal": _credal,
    "bayesian": _bayesian,
    "deterministic": _deterministic,
    "extreme": _extreme,
    "overlapping": _overlapping,
    "multivalued": _multivalued,
    "linear": _linear,
    "declared": _declared,
    "rare": _rare,
}

UNIQUE = frozenset({"credal", "bayesian", "deterministic", "rare"})
"""The kinds whose assessments are unique: their vertices can all be tried."""

LINEAR = frozenset(KINDS) - {"declared", "rare"}
"""The kinds that a linear program in floating point can judge where no independence is implied."""


def random_case(kind: str, seed: int, *, smallest: int = 2, largest: int = 4) -> Case:
    """Draw the network and the query of a kind and a seed: always the same ones."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    network = KINDS[kind](rng, int(rng.integers(smallest, largest + 1)))
    return Case(kind, seed, network, _query(rng, network.variables))
