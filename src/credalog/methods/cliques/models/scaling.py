"""The explicit model that a distribution stands for: greatest entropy with the same closed marginals.

Input: a distribution that satisfies all that is said, its independences inside tied components excepted,
where every scope that is demanded is closed (docs/proofs.md, proof 9). Output: `explicit_model`: the model
with the same probabilities of these scopes, and its residual, the largest difference of any of them.

Of a component K with parents B outside, P(K | B) is a product of factors, one per closed scope, over its sum.
Their logarithms maximize a concave function, the mean logarithm of P(K | B) under the probabilities wanted,
which iterative scaling climbs one factor at a time (Darroch and Ratcliff, 1972); here all move together.
Eliminating the members of K one by one gives P(x | rest), and never a table over K.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from credalog.errors import CredalogError
from credalog.network.formulas import Variable
from credalog.network.graph import DependencyGraph, Markov
from credalog.network.sentences import Network
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.tolerances import FEASIBILITY
from credalog.tables.distribution import Distribution, Factor, Floats
from credalog.tables.elimination import Potential, Step, combined, elimination_steps
from credalog.trusted.check import violation

__all__ = ["Explicit", "explicit_model"]

LARGEST = 1 << 16
"""No table larger than this is built."""

OPTIONS: Any = {"maxiter": 2000, "maxfun": 4000, "ftol": 0.0, "gtol": 1e-11, "maxcor": 30}
"""When a climb ends: after so many steps, or where the residual is no larger than gtol."""

NOTHING = 1e-12
"""A state wanted with no more probability than this has none."""


class Explicit(NamedTuple):
    """A model in which every independence holds, and the largest difference from a probability wanted."""

    distribution: Distribution
    residual: float


def explicit_model(
    distribution: Distribution,
    network: Network,
    graph: DependencyGraph,
    *,
    asked: Iterable[Variable] = (),
    markov: Markov = Markov.LOCAL,
    budget: Budget | None = None,
) -> Explicit:
    """Return the model of greatest entropy with a distribution's probabilities of all that is said and asked.

    A distribution in which every condition holds is that model itself. The residual is what is left where the
    time is up, or where the model lies in the closure of its family. Closed scopes are cliques of ties, so
    their product also satisfies the global condition.
    """
    budget = Budget.of() if budget is None else budget
    everything = tuple(v for f in distribution.factors for v in f.block)
    conditions = None if markov is Markov.NONE else graph
    # With everything asked for, no condition is excused.
    if violation(distribution, network, conditions, asked=everything, markov=markov) <= FEASIBILITY:
        return Explicit(distribution, 0.0)
    scopes = [frozenset(s.scope) for s in network.sentences] + [frozenset(asked)]
    components = [frozenset(graph.variables[i] for i in c) for c in graph.components()]
    home = {v: members for members in components for v in members}
    scopes += [frozenset(f.parents) - home[f.block[0]] for f in distribution.factors]
    found = distribution = _arranged(_apart(distribution, home), graph)
    for members in components:
        if len(members) > 1 and any(not members.isdisjoint(f.block) for f in distribution.factors):
            law = _Law(distribution, found, members, _demanded(scopes, members, graph), budget)
            found = _arranged(law.scaled(), graph)
    wanted = [tuple(scope) for scope in dict.fromkeys(scopes) if scope]
    pairs = zip(distribution.marginals(wanted), found.marginals(wanted), strict=True)
    return Explicit(found, max((float(np.abs(a - b).max()) for a, b in pairs), default=0.0))


def _demanded(
    scopes: Iterable[frozenset[Variable]], members: frozenset[Variable], graph: DependencyGraph
) -> tuple[tuple[Variable, ...], ...]:
    """Return the largest scopes that mention a component; each of its members must know all the rest."""
    families = {x: frozenset((x, *graph.parents(x))) for x in members}
    shown = {scope for scope in scopes if scope & members} | {frozenset((x,)) for x in members}
    for scope in shown:
        for x in scope & members:
            if not scope <= families[x]:
                raise CredalogError(
                    f"{', '.join(sorted(v.name for v in scope))} are not all parents of {x.name}",
                    advice="Only what closed scopes say has an explicit model of this form.",
                )
    by_member: dict[Variable, list[frozenset[Variable]]] = {}
    for scope in shown:
        for x in scope & members:
            by_member.setdefault(x, []).append(scope)
    largest = (s for s in shown if not any(s < other for x in s & members for other in by_member[x]))
    named = sorted(sorted(v.name for v in s) for s in largest)
    known = {v.name: v for s in shown for v in s}
    return tuple(tuple(known[name] for name in names) for names in named)


def _apart(distribution: Distribution, home: Mapping[Variable, frozenset[Variable]]) -> Distribution:
    """Take apart the factors whose blocks belong to several components, by the chain rule."""
    order = {members: n for n, members in enumerate(dict.fromkeys(home.values()))}
    factors = list[Factor]()
    for factor in distribution.factors:
        own = sorted(factor.block, key=lambda v: order[home[v]])
        is_one = home[own[0]] == home[own[-1]]
        factors += [factor] if is_one else _chained(factor, own)
    return Distribution(tuple(factors))


def _chained(factor: Factor, own: Sequence[Variable]) -> Iterator[Factor]:
    """Yield P(x | parents and those before x) for the variables of a block, in some order."""
    first = len(factor.parents)
    places = [first + factor.block.index(v) for v in own]
    table = factor.table.transpose([*range(first), *places])
    for n, v in enumerate(own):
        joint = table.sum(axis=tuple(range(first + n + 1, table.ndim)))
        sums = joint.sum(axis=-1, keepdims=True)
        alike = np.full_like(joint, 1.0 / len(v.values))
        chances = np.divide(joint, sums, out=alike, where=sums > 0.0)
        yield Factor((v,), (*factor.parents, *own[:n]), chances)


def _arranged(distribution: Distribution, graph: DependencyGraph) -> Distribution:
    """Bring factors into the order of their components, parents first."""
    place = {graph.variables[i]: n for n, c in enumerate(graph.components()) for i in c}
    return Distribution(tuple(sorted(distribution.factors, key=lambda f: place[f.block[0]])))


@dataclass(frozen=True)
class _Law:
    """P(K | B) as a product of factors of scopes: `given` has what is wanted, `above` the law of B."""

    given: Distribution
    above: Distribution
    members: frozenset[Variable]
    scopes: tuple[tuple[Variable, ...], ...]
    budget: Budget

    def scaled(self) -> Distribution:
        """Climb to factors with which every scope has the probabilities wanted, or as near as time allows."""
        # Small commands end before this is imported.
        from scipy.optimize import minimize

        wanted = self._flat(self._wanted)
        best = inf, np.zeros(len(wanted))

        def look(logarithms: Floats) -> tuple[float, Floats]:
            nonlocal best
            self.budget.require_time()
            model, total = self._at(logarithms)
            apart = self._flat(model.marginals(self.scopes)) - wanted
            best = min(best, (float(np.abs(apart).max()), logarithms.copy()), key=lambda pair: pair[0])
            return float(total - wanted @ logarithms), apart

        with suppress(OutOfTime):
            minimize(look, best[1], jac=True, method="L-BFGS-B", options=OPTIONS)
        return self._at(best[1])[0]

    @cached_property
    def _wanted(self) -> list[Floats]:
        return self.given.marginals(self.scopes)

    @cached_property
    def _steps(self) -> list[Step[Variable]]:
        """Plan the elimination of all members."""
        variables = dict.fromkeys(v for scope in self.scopes for v in scope)
        sizes = {v: len(v.values) for v in variables}
        outside = [v for v in variables if v not in self.members]
        return elimination_steps(self.scopes, sizes, keep=outside, most=LARGEST)

    def _at(self, logarithms: Floats) -> tuple[Distribution, float]:
        """Return the distribution with some factors, and the mean logarithm of their sum given B."""
        tables = dict(enumerate(self._potentials(logarithms)))
        factors, total = [], 0.0
        for number, step in enumerate(self._steps, start=len(tables)):
            axis = step.scope.index(step.variable)
            product = combined([tables.pop(i) for i in step.entering], step.scope)
            greatest = float(product.max())
            product, total = product / greatest, total + log(greatest)
            sums = product.sum(axis=axis)
            tables[number] = Potential(step.rest, sums)
            factors.append(_conditional(step, np.moveaxis(product, axis, -1), sums))
        for scope, sums in tables.values():
            share = self.above.marginal(scope)
            total += float((share * np.log(np.where(share > 0.0, sums, 1.0))).sum())
        others = (f for f in self.above.factors if self.members.isdisjoint(f.block))
        return Distribution((*others, *reversed(factors))), total

    def _potentials(self, logarithms: Floats) -> Iterator[Potential[Variable]]:
        first = 0
        for scope, wanted in zip(self.scopes, self._wanted, strict=True):
            own = logarithms[first : first + wanted.size].reshape(wanted.shape)
            first += wanted.size
            # What is impossible has a factor of zero; it is the limit of a climb without end.
            yield Potential(scope, np.where(wanted > NOTHING, np.exp(own), 0.0))

    @staticmethod
    def _flat(tables: Sequence[Floats]) -> Floats:
        return np.concatenate([table.ravel() for table in tables])


def _conditional(step: Step[Variable], product: Floats, sums: Floats) -> Factor:
    """Return P(x | rest) from its products; where all are zero, all values are alike."""
    alike = np.full_like(product, 1.0 / product.shape[-1])
    table = np.divide(product, sums[..., None], out=alike, where=sums[..., None] > 0.0)
    return Factor((step.variable,), step.rest, table)
