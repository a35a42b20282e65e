"""Small random networks of every kind, from a seed: food for the attack on our own bounds.

Input: a numpy Generator and a kind. Output: a network with a query, most of them consistent by construction:
their bounds are drawn around a hidden distribution that satisfies every independence the network can imply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
from product_oracle import Marginals, Product

__all__ = ["COMBINED", "KINDS", "LINEAR", "TRAITS", "UNIQUE", "Case", "random_case", "some_of", "tables"]

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
    hidden: Marginals | None = None
    """A product of these marginals is a model, where that is known."""

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


# --- Kinds combined ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Draft:
    """A network in the making, around a product of marginals that every sentence added must allow."""

    rng: Rng
    product: Product
    sentences: list[Sentence] = field(default_factory=list)
    independences: list[Independence] = field(default_factory=list)

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(self.product.marginals)

    def say(self, claim: Formula, given: Formula = TRUE, *, tau: bool = True) -> None:
        """Bound a probability around its value, on its own scale where that is small."""
        self.say_linear(((Fraction(1), claim),), given, tau=tau)

    def say_linear(
        self, claims: Sequence[tuple[Fraction, Formula]], given: Formula = TRUE, *, tau: bool = True
    ) -> None:
        network = Network(self.variables, ())
        mass = self.product.probability(network, given)
        value = sum(
            (w * self.product.probability(network, claim & given) for w, claim in claims), Fraction(0)
        )
        value = value / mass if mass else Fraction(int(self.rng.integers(0, 11)), 10)
        scale = min(abs(value), abs(1 - value)) or Fraction(int(self.rng.integers(0, 2)), 10)
        below, above = (scale * Fraction(int(k), 10) for k in self.rng.integers(0, 9, 2))
        lower, upper = value - below, value + above
        if len(claims) == 1:
            lower, upper = max(lower, Fraction(0)), min(upper, Fraction(1))
        self.sentences.append(Sentence(tuple(claims), given, lower, upper, tau))

    def some(self, low: int, high: int) -> list[Variable]:
        return some_of(self.rng, self.variables, low, high)

    def literals(self, count: int) -> list[Formula]:
        return [_literal(self.rng, v) for v in self.some(count, count)]


def _tie(draft: _Draft) -> None:
    """Tie two variables by a claim on a formula, and often by a cycle of conditions too."""
    first, second = draft.literals(2)
    draft.say(_formula(draft.rng, draft.some(2, 2)))
    if draft.rng.random() < 0.6:
        draft.say(first, second)
        draft.say(second, first)


def _declare(draft: _Draft) -> None:
    """Declare two variables independent, given a third where there is one."""
    left, right, *given = draft.some(2, 3)
    draft.independences.append(Independence((left,), (right,), tuple(given)))
    if given and draft.rng.random() < 0.7:
        draft.say(_formula(draft.rng, [left, right]), _literal(draft.rng, given[0]))


def _compare(draft: _Draft) -> None:
    """State a sum or a difference of probabilities."""
    claims = draft.literals(2)
    weights = [Fraction(int(k), 2) for k in draft.rng.choice([-4, -2, 2, 3], size=2)]
    draft.say_linear(tuple(zip(weights, claims, strict=True)), tau=bool(draft.rng.random() < 0.7))


def _spell_twice(draft: _Draft) -> None:
    """Use one formula as a claim, and as a condition in other words."""
    *over, child = draft.some(3, 3)
    formula = _formula(draft.rng, over)
    draft.say(formula, tau=bool(draft.rng.random() < 0.5))
    draft.say(_literal(draft.rng, child), respelt(formula))
    if draft.rng.random() < 0.5:
        draft.say(respelt(formula), tau=bool(draft.rng.random() < 0.5))


def respelt(formula: Formula) -> Formula:
    """Write a formula in other words."""
    match formula:
        case And(operands):
            return Not(Or(tuple(Not(part) for part in operands)))
        case Or(operands):
            return Not(And(tuple(Not(part) for part in operands)))
        case Xor((first, second)):
            return Not(Iff(first, second))
        case Iff(first, second):
            return Not(Xor((first, second)))
        case Implies(premise, conclusion):
            return Or((Not(premise), conclusion))
        case _:
            return Not(Not(formula))


def _tie_two_blocks(draft: _Draft) -> None:
    """Tie two pairs that share nothing, and let one variable depend on both."""
    a, b, c, d, child = draft.variables[:5]
    for pair in ((a, b), (c, d)):
        draft.say(_formula(draft.rng, pair))
    for first, second in product((True, False), repeat=2):
        given = conjunction(x if sign else Not(x) for x, sign in ((_is(a), first), (_is(c), second)))
        draft.say(_is(child), given)


def _is(variable: Variable) -> Is:
    return Is(variable, variable.values[-1])


ADDED: dict[str, Callable[[_Draft], None]] = {
    "cores": _tie,
    "declared": _declare,
    "linear": _compare,
    "spellings": _spell_twice,
    "blocks": _tie_two_blocks,
}

TRAITS = (*ADDED, "rare", "deterministic", "many")
"""What a combined network may have; joined by +, some of them are a kind."""

COMBINED = (
    "rare+declared",
    "rare+cores",
    "rare+cores+declared",
    "rare+deterministic",
    "rare+linear+declared",
    "rare+spellings",
    "rare+many+cores",
    "rare+blocks",
    "cores+declared+linear",
    "cores+deterministic+declared",
    "cores+spellings",
    "cores+many+declared",
    "spellings+declared+deterministic",
    "spellings+many+linear",
    "blocks+declared",
    "blocks+deterministic+spellings",
    "linear+many+deterministic",
)


def _marginal(rng: Rng, variable: Variable, traits: frozenset[str], place: int) -> tuple[Fraction, ...]:
    """Draw a marginal; the first variable is the rare one, and any other may be certain."""
    size = len(variable.values)
    if "deterministic" in traits and place and rng.random() < 0.4:
        chosen = int(rng.integers(size))
        return tuple(Fraction(int(k == chosen)) for k in range(size))
    parts = [int(k) for k in rng.integers(1, 20, size)]
    weights = [Fraction(k, sum(parts)) for k in parts]
    if "rare" in traits and place == 0:
        tiny = Fraction(1, 10 ** int(rng.integers(4, 11)))
        weights = [1 - tiny, *(tiny * w / sum(weights[1:]) for w in weights[1:])]
    return tuple(weights)


def combined_case(kind: str, seed: int, *, smallest: int = 2, largest: int = 4) -> Case:
    """Draw a network that has several traits at once, such as `rare+declared+cores`: always the same one."""
    traits = frozenset(kind.split("+"))
    rng = np.random.default_rng([*(TRAITS.index(t) for t in TRAITS if t in traits), seed])
    size = 5 if "blocks" in traits else int(rng.integers(max(smallest, 3), max(largest, 3) + 1))
    variables = _variables(
        rng, min(size, 3) if "many" in traits and size < 5 else size, 3 if "many" in traits else 2
    )
    draft = _Draft(rng, Product({v: _marginal(rng, v, traits, i) for i, v in enumerate(variables)}))
    for variable in draft.some(1, size):
        draft.say(_atom(rng, variable), *draft.literals(1) if rng.random() < 0.4 else ())
    for trait, add in ADDED.items():
        if trait in traits:
            add(draft)
    network = Network(variables, tuple(draft.sentences), tuple(draft.independences))
    query = _about_the_rare(draft) if "rare" in traits and rng.random() < 0.6 else _query(rng, variables)
    return Case(kind, seed, network, query, draft.product.marginals)


def _about_the_rare(draft: _Draft) -> Query:
    """Ask for a probability given the rare value of the first variable."""
    rare, *others = draft.variables
    claim, *more = some_of(draft.rng, others, 1, 2)
    return Query(
        _literal(draft.rng, claim), conjunction((_is(rare), *(_literal(draft.rng, v) for v in more)))
    )


def random_case(kind: str, seed: int, *, smallest: int = 2, largest: int = 4) -> Case:
    """Draw the network and the query of a kind and a seed: always the same ones.

    A kind is one of KINDS, or some of TRAITS joined by +.
    """
    if kind not in KINDS:
        return combined_case(kind, seed, smallest=smallest, largest=largest)
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    network = KINDS[kind](rng, int(rng.integers(smallest, largest + 1)))
    return Case(kind, seed, network, _query(rng, network.variables))
