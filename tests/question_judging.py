"""Models that speak against answers to sums and quotients: linear programs, local search and vertices.

Input: a small network and a question of one or several conditions. Output: the least and the greatest value
that some distribution over all worlds attains, and complaints about an answer or a decision that does not
allow them.

Nothing of the engine's reduction is used, and no global solver either. Without independences a question is a
linear program once the masses of its conditions are fixed, so that a grid of them attains its ends. With
them, sequential quadratic programming climbs from many starts, and in credal networks with unique assessments
the vertices of the strong extension are tried in fractions. Each value found is that of a distribution whose
violations were measured, so it needs no more trust than `oracle.violation_in_context`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import inf
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import linprog, minimize

from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer
from credalog.network.expressions import Combined, Linear, Quotient, Summand
from credalog.network.formulas import And, Formula, Is, Not, Or, Variable
from credalog.network.sentences import Network
from credalog.numbers.interval import Status
from credalog.questions.comparing import Statement
from credalog.questions.decide import Decision, Relation, Verdict
from credalog.tables.distribution import Distribution
from oracle import Events, Floats, _squares, event, polish, rows_of, violation_in_context, violations
from random_networks import UNIQUE, Case
from vertex_oracle import _families, _product

Rng: TypeAlias = np.random.Generator

STARTS = 6
"""So many times the local search begins anew for each end."""

STOP = {"maxiter": 120, "ftol": 1e-12}

VERTICES = 600
"""So many vertices of a strong extension are tried."""

MODEL = 1e-9
"""The largest violation, in every context of its own, of what counts as a model."""

INSIDE = 1e-6
"""How far a bound may lie inside the truth, relative to values beyond one: the limits of floating point."""

WITNESS = 1e-5
"""How far a witness may be from satisfying anything in its own context."""


# ---- questions --------------------------------------------------------------------------------------------


def drawn_question(rng: Rng, network: Network) -> Combined:
    """Draw a sum under one condition, a difference across conditions, or a quotient."""
    claims = [_formula(rng, network.variables) for _ in range(3)]
    given, other = _formula(rng, network.variables), _formula(rng, network.variables)
    weights = [Fraction(int(rng.integers(-6, 7)) or 1, 2) for _ in range(3)]
    constant = Fraction(int(rng.integers(-2, 3)), 10)
    one = Linear(tuple(Summand(w, c, given) for w, c in zip(weights, claims, strict=True)), constant)
    risks = [Linear((Summand(Fraction(1), claims[0], when),)) for when in (given, Not(given))]
    difference = Linear((*risks[0].terms, Summand(Fraction(-1), claims[0], Not(given))))
    mixed = Linear((Summand(weights[0], claims[0], given), Summand(weights[1], claims[1], other)), constant)
    shared = Quotient(risks[0], Linear((Summand(Fraction(1), claims[1], given),)))
    relative = Quotient(difference, risks[1])
    choices = (one, difference, mixed, Quotient(*risks), shared, relative)
    return choices[int(rng.integers(len(choices)))]


def drawn_statement(rng: Rng, asked: Combined, truth: tuple[float, float]) -> Statement:
    """Compare a question with a number at, between, or just outside the ends that models attain."""
    low, high = (max(-1e3, min(1e3, value)) for value in truth)
    places = (low, high, (low + high) / 2, low - 0.01, high + 0.01)
    threshold = Fraction(round(places[int(rng.integers(len(places)))] * 10**6), 10**6)
    return Statement(asked, list(Relation)[int(rng.integers(2))], threshold)


def _formula(rng: Rng, variables: Sequence[Variable]) -> Formula:
    def literal() -> Formula:
        variable = variables[int(rng.integers(len(variables)))]
        atom = Is(variable, variable.values[int(rng.integers(len(variable.values)))])
        return atom if rng.random() < 0.7 else Not(atom)

    drawn = rng.random()
    if drawn < 0.7:
        return literal()
    return (And if drawn < 0.85 else Or)((literal(), literal()))


# ---- what a distribution says of a question ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Term:
    """A weighted conditional probability as events over worlds."""

    weight: float
    both: Events
    given: Events


class Worlds:
    """A question over the worlds of a network."""

    def __init__(self, network: Network, asked: Combined) -> None:
        self.network, self.asked = network, asked
        sums = (asked, None) if isinstance(asked, Linear) else (asked.over, asked.under)
        self.over, self.under = (None if one is None else self._terms(one) for one in sums)
        self.constants = tuple(0.0 if one is None else float(one.constant) for one in sums)
        self.conditions = list({t.given.tobytes(): t.given for t in self.terms}.values())

    def _terms(self, asked: Linear) -> list[_Term]:
        found = []
        for term in asked.terms:
            given = event(self.network, term.given)
            found += [_Term(float(w), given & event(self.network, claim), given) for w, claim in term.claims]
        return found

    @property
    def terms(self) -> list[_Term]:
        return [*(self.over or ()), *(self.under or ())]

    def mass(self, p: Floats) -> float:
        """Return the least probability of a condition."""
        return min(float(p[given].sum()) for given in self.conditions)

    def value(self, p: Floats) -> float | None:
        """Return what a distribution says, None where a condition is impossible or both sums vanish."""
        if self.mass(p) <= 0.0:
            return None
        over = self._sum(p, self.over or [], self.constants[0])
        if self.under is None:
            return over
        under = self._sum(p, self.under, self.constants[1])
        if abs(under) < 1e-12:
            return None
        return over / under

    @staticmethod
    def _sum(p: Floats, terms: list[_Term], constant: float) -> float:
        return constant + sum(t.weight * float(p[t.both].sum()) / float(p[t.given].sum()) for t in terms)


# ---- the ends that some distribution attains --------------------------------------------------------------


def attained(case: Case, asked: Combined, markov: str, rng: Rng) -> tuple[float, float] | None:
    """Return the least and the greatest value met in a model; None where no model was met."""
    worlds = Worlds(case.network, asked)
    found = [value for p in _models(case, worlds, markov, rng) if (value := worlds.value(p)) is not None]
    return (min(found), max(found)) if found else None


def _models(case: Case, worlds: Worlds, markov: str, rng: Rng) -> Iterator[Floats]:
    if markov == "none":
        yield from _of_linear_programs(case.network, worlds)
        return
    if case.kind in UNIQUE:
        yield from islice(_of_vertices(case.network, rng), VERTICES)
    for sign in (1.0, -1.0):
        for p in _climbed(case.network, worlds, sign, rng):
            if worlds.mass(p) > 1e-5 and _is_model(p, case.network, worlds):
                yield p


def _is_model(p: Floats, network: Network, worlds: Worlds) -> bool:
    least = 1e-3 * worlds.mass(p)
    if violations(p, network).worst > MODEL * min(1.0, worlds.mass(p)):
        return False
    return violation_in_context(p, network, tuple(network.variables), least) <= MODEL


def _of_vertices(network: Network, rng: Rng) -> Iterator[Floats]:
    """Yield combinations of vertices of a strong extension, and mixtures of two in every family."""
    families = list(_families(network))
    cells = [cell for cell, _ in families]
    every = [choices for _, choices in families]
    counts = [len(choices) for choices in every]
    if np.prod([float(n) for n in counts]) <= VERTICES:
        chosen = product(*every)
    else:
        chosen = (tuple(c[int(rng.integers(len(c)))] for c in every) for _ in range(VERTICES))  # type: ignore[assignment]
    for vertices in chosen:
        yield np.array([float(x) for x in _product(cells, vertices)])


def _of_linear_programs(network: Network, worlds: Worlds) -> Iterator[Floats]:
    """Yield the ends of the question with the masses of its conditions on a grid."""
    rows = rows_of(network)
    ranges = [_range(rows, given.astype(np.float64)) for given in worlds.conditions]
    if any(one is None for one in ranges):
        return
    points = 1 if len(ranges) == 1 else 9
    grids = [np.linspace(max(low, 1e-6), high, points) for low, high in filter(None, ranges)]
    if len(ranges) == 1:
        yield from _of_ratio(rows, worlds)
        return
    for masses in product(*grids):
        for sign in (1.0, -1.0):
            p = _at(rows, worlds, masses, sign)
            if p is not None:
                yield p


def _range(rows: Floats, given: Floats) -> tuple[float, float] | None:
    ends = []
    for sign in (1.0, -1.0):
        found = _linear(sign * given, rows, [np.ones(len(given))], [1.0])
        if found is None:
            return None
        ends.append(float(given @ found))
    return (ends[0], ends[1]) if ends[1] > 0.0 else None


def _linear(goal: Floats, rows: Floats, equal: list[Floats], to: list[float]) -> Floats | None:
    found = linprog(goal, A_ub=-rows, b_ub=np.zeros(len(rows)), A_eq=np.array(equal, float), b_eq=to)
    return None if found.status != 0 or found.x is None else np.maximum(found.x, 0.0)


def _of_ratio(rows: Floats, worlds: Worlds) -> Iterator[Floats]:
    """Solve a question under one condition, by the substitution of Charnes and Cooper."""
    given = worlds.conditions[0].astype(float)
    over = sum((t.weight * t.both for t in worlds.over or []), start=np.zeros(len(given)))
    over = over + worlds.constants[0] * given
    unit = given
    if worlds.under is not None:
        unit = sum((t.weight * t.both for t in worlds.under), start=np.zeros(len(given)))
        unit = unit + worlds.constants[1] * given
    for sign in (1.0, -1.0):
        found = _linear(sign * over, rows, [unit], [1.0])
        if found is not None and found.sum() > 0.0:
            yield found / found.sum()


def _at(rows: Floats, worlds: Worlds, masses: tuple[float, ...], sign: float) -> Floats | None:
    """Solve the question with every condition's mass fixed; a quotient by Charnes and Cooper."""
    share = {c.tobytes(): 1.0 / m for c, m in zip(worlds.conditions, masses, strict=True)}
    count = len(worlds.conditions[0])
    sums = [np.full(count, constant) for constant in worlds.constants]
    for i, terms in enumerate((worlds.over, worlds.under)):
        for term in terms or ():
            sums[i] += term.weight * share[term.given.tobytes()] * term.both
    fixed: list[Floats] = [c - np.float64(m) for c, m in zip(worlds.conditions, masses, strict=True)]
    unit = np.ones(count) if worlds.under is None else sums[1]
    found = _linear(sign * sums[0], rows, [*fixed, unit], [*[0.0] * len(fixed), 1.0])
    return None if found is None or found.sum() <= 0.0 else found / found.sum()


def _climbed(network: Network, worlds: Worlds, sign: float, rng: Rng) -> Iterator[Floats]:
    """Climb from several starts by sequential quadratic programming, and mend what is nearly a model."""
    rows, squares = rows_of(network), _squares(network)
    count = rows.shape[1]

    def goal(p: Floats) -> float:
        value = worlds.value(np.maximum(p, 1e-12))
        return 1e3 if value is None else sign * max(-1e3, min(1e3, value))

    def products(p: Floats) -> Floats:
        return np.array([p[a].sum() * p[z].sum() - p[x].sum() * p[s].sum() for a, z, x, s in squares])

    equal: list[dict[str, Any]] = [{"type": "eq", "fun": lambda p: p.sum() - 1.0}]
    if squares:
        equal.append({"type": "eq", "fun": products})
    bounded = [*equal, {"type": "ineq", "fun": lambda p: rows @ p}]
    for _ in range(STARTS):
        start = rng.dirichlet(np.full(count, rng.choice([0.2, 1.0, 5.0])))
        box = [(0.0, 1.0)] * count
        with np.errstate(all="ignore"):
            found: Any = minimize(goal, start, method="SLSQP", bounds=box, constraints=bounded, options=STOP)  # type: ignore[call-overload]
        p = np.maximum(found.x, 0.0)
        if np.isfinite(p).all() and p.sum() > 0.5:
            mended = polish(p / p.sum(), network)
            if mended is not None:
                yield mended / mended.sum()


# ---- complaints -------------------------------------------------------------------------------------------


def against(
    outcome: Answer | Exception, case: Case, asked: Combined, truth: tuple[float, float] | None, markov: str
) -> list[str]:
    """List what is wrong with an answer."""
    if isinstance(outcome, ImpossibleEvidence | InconsistentNetwork):
        return [] if truth is None else [f"{outcome}, but a model has {truth}"]
    if not isinstance(outcome, Answer):
        return [f"{type(outcome).__name__}: {outcome}"]
    wrong = list(_against_witnesses(outcome, case.network, asked, markov))
    if truth is None:
        return wrong
    slack = INSIDE * max(1.0, *map(abs, truth))
    if outcome.lower > truth[0] + slack:
        wrong.append(f"the lower bound {outcome.lower} is inside: a model has {truth[0]}")
    if outcome.upper < truth[1] - slack:
        wrong.append(f"the upper bound {outcome.upper} is inside: a model has {truth[1]}")
    return wrong


def _against_witnesses(outcome: Answer, network: Network, asked: Combined, markov: str) -> Iterator[str]:
    unit = asked.unit if isinstance(asked, Linear) else 1.0
    for end in (outcome.interval.lower, outcome.interval.upper):
        value = end.witnessed
        if value is None:
            if outcome.status is Status.EXACT and abs(end.bound) < inf:
                yield f"called exact, but nothing attains {end.bound}"
            continue
        gap = 0.0 if value == end.bound else abs(value - end.bound)
        if outcome.status is Status.EXACT and gap > 2e-4 * max(1.0, unit, abs(value)):
            yield f"called exact, but {value} is not {end.bound}"
        if end.model is not None and abs(value) < inf:
            yield from _against_witness(end.model, value, network, asked, markov)


def _against_witness(
    model: Distribution, value: float, network: Network, asked: Combined, markov: str
) -> Iterator[str]:
    over = tuple(v for factor in model.factors for v in factor.block)
    p = np.asarray(model.marginal(over)).ravel()
    inside = Network(over, tuple(s for s in network.sentences if {*s.scope} <= {*over}))
    worlds = Worlds(inside, asked)
    told = worlds.value(p)
    if told is None or abs(told - value) > INSIDE * max(1.0, abs(value)):
        yield f"the witness has {told}, not {value}"
    least = 1e-6 * worlds.mass(p)
    measured = _worst_sentence if markov == "none" else _worst_of_all
    worst = measured(p, inside if markov == "none" else network, over, least)
    if worst > WITNESS:
        yield f"a witness is no model: {worst} in some context"


def _worst_of_all(p: Floats, network: Network, over: tuple[Variable, ...], least: float) -> float:
    return violation_in_context(p, network, over, least)


def _worst_sentence(p: Floats, network: Network, over: tuple[Variable, ...], least: float) -> float:
    worst = 0.0
    for sentence in network.sentences:
        given = event(network, sentence.given)
        mass = float(p[given].sum())
        if mass > least:
            value = (
                sum(float(w) * float(p[event(network, c) & given].sum()) for w, c in sentence.claims) / mass
            )
            worst = max(worst, float(sentence.lower) - value, value - float(sentence.upper))
    return worst


def against_decision(outcome: Decision | Exception, truth: tuple[float, float] | None) -> list[str]:
    """List what is wrong with a verdict, in view of the values that models attain."""
    if isinstance(outcome, ImpossibleEvidence | InconsistentNetwork):
        return [] if truth is None else [f"{outcome}, but a model has {truth}"]
    if not isinstance(outcome, Decision):
        return [f"{type(outcome).__name__}: {outcome}"]
    if truth is None:
        return []
    least, most = truth if outcome.relation is Relation.AT_LEAST else (-truth[1], -truth[0])
    limit = float(outcome.threshold) * (1.0 if outcome.relation is Relation.AT_LEAST else -1.0)
    slack = INSIDE * max(1.0, *map(abs, truth))
    if outcome.verdict is Verdict.CERTAIN and least < limit - slack:
        return [f"{outcome} is called certain, but a model has {truth}"]
    if outcome.verdict is Verdict.EXCLUDED and most > limit + slack:
        return [f"{outcome} is called excluded, but a model has {truth}"]
    return []
