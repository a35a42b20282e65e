"""What can be said of a network before any inference.

Input: a `Network` and its `DependencyGraph`. Output: `Summary`: how many variables, sentences and
independences, what is cyclic, and how wide a clique exact inference should expect. Everything here takes
time about linear in the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from credalog.errors import CredalogError, Option
from credalog.network.formulas import conjunction
from credalog.network.graph import DependencyGraph
from credalog.network.polytopes import LocalPolytope, Parents, local_polytopes, ranges
from credalog.network.sentences import Contrast, Network, Number, Sentence, exact

__all__ = ["WIDEST", "Imprecision", "Summary", "summarize", "ties", "widened"]

WIDEST = 64
"""Beyond this many variables a clique is hopeless, and its exact width is not worth knowing."""

EFFORT = 4_000_000
"""How many variables may be visited in all while independences are counted."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The size and the shape of a network.

    `independences` counts the variables with a non-empty ndnp; `uncounted` are those whose ndnp would
    take too long to settle, so that the true number lies between the two. `cycles` are the sizes of the
    strongly connected components of several variables, largest first; `core` counts them with all their
    ancestors. `widest_clique` is None where it passes `WIDEST`.
    """

    variables: int
    sentences: int
    formulas: int
    independences: int
    uncounted: int
    declared: int
    cycles: tuple[int, ...]
    core: int
    widest_clique: int | None


def ties(network: Network) -> Iterator[Sentence]:
    """Yield the sentences that make the atoms of their claim depend on each other."""
    for sentence in network.sentences:
        if sentence.tau and not sentence.is_atomic and len(sentence.claim_scope) > 1:
            yield sentence


def summarize(network: Network, graph: DependencyGraph) -> Summary:
    """Take stock of a network."""
    components = graph.components()
    cyclic = [component for component in components if len(component) > 1]
    verdicts = list(_has_independence(graph, components))
    return Summary(
        variables=len(network.variables),
        sentences=len(network.sentences) + len(network.contrasts),
        formulas=len(graph.formulas),
        independences=verdicts.count(True),
        uncounted=verdicts.count(None),
        declared=len(network.independences),
        cycles=tuple(sorted(map(len, cyclic), reverse=True)),
        core=_core_size(graph, cyclic),
        widest_clique=_widest_clique(network, graph, components),
    )


def _has_independence(
    graph: DependencyGraph, components: tuple[tuple[int, ...], ...]
) -> Iterator[bool | None]:
    """Tell of each variable whether its ndnp has a member, or None where that takes too long.

    Variables of earlier components are never descendants. So where they outnumber the parents found
    among them one is in ndnp(x); a search is needed only where every one of them is a parent.
    """
    searches = EFFORT // max(1, len(graph.variables))
    before = 0
    for component in components:
        inside = set(component)
        for x in component:
            if before > len(set(graph.parent_indices[x]) - inside):
                yield True
            elif searches:
                searches -= 1
                yield bool(graph.ndnp_indices(x))
            else:
                yield None
        before += len(component)


def _core_size(graph: DependencyGraph, cyclic: list[tuple[int, ...]]) -> int:
    found = {x for component in cyclic for x in component}
    frontier = list(found)
    while frontier:
        fresh = set(graph.parent_indices[frontier.pop()]) - found
        found |= fresh
        frontier.extend(fresh)
    return len(found)


def _widest_clique(
    network: Network, graph: DependencyGraph, components: tuple[tuple[int, ...], ...]
) -> int | None:
    """Eliminate component by component, children first, and return the size of the largest clique met."""
    position = {x: i for i, component in enumerate(components) for x in component}
    waiting: list[set[int]] = [set(component) for component in components]
    for sentence in network.sentences:
        numbers = [graph.index(x) for x in sentence.scope]
        if numbers:
            waiting[max(position[x] for x in numbers)].update(numbers)
    widest = 0
    for i in reversed(range(len(components))):
        clique = waiting.pop().union(*(graph.parent_indices[x] for x in components[i]))
        widest = max(widest, len(clique))
        if widest > WIDEST:
            return None
        if rest := clique.difference(components[i]):
            waiting[max(position[x] for x in rest)] |= rest
    return widest


# ---- imprecision ------------------------------------------------------------------------------------------
# Networks with every probability made an interval, to see how robust they are.
# Input: a network, its parents, and by how much its probabilities may be off. Output: the same sentences
# with wider bounds. What is impossible or certain stays so, unless asked otherwise.
#
# A distribution of several values is usually given by all but one of them, and the last follows. Once the
# others are intervals it no longer does, so it is given an interval of its own. In a weighted sum every
# probability may be off, so that the sum is off by as much times the weights.

_ZERO, _ONE = Fraction(0), Fraction(1)

_Stated = TypeVar("_Stated", Sentence, Contrast)


@dataclass(frozen=True, slots=True)
class Imprecision:
    """How far probabilities may be off: by so much, or by a share of them that somebody else may choose.

    With a share e, P becomes (1 - e) P + e Q for any distribution Q (epsilon-contamination; Berger, 1985).
    """

    by: Fraction = _ZERO
    share: Fraction = _ZERO
    zeros: bool = False

    @classmethod
    def of(
        cls, *, by: Number | None = None, contaminate: Number | None = None, zeros: bool = False
    ) -> Imprecision:
        """Read numbers as they were typed; exactly one of the two is given."""
        given = [number for number in (by, contaminate) if number is not None]
        if len(given) != 1:
            raise CredalogError(
                "two ways of widening are given" if given else "by how much is not said",
                advice="Give {} or {}.",
                remedies=(Option("by", "0.02"), Option("contaminate", "0.05")),
            )
        (amount,) = map(exact, given)
        if not 0 < amount <= 1:
            raise CredalogError(
                f"{given[0]} is not above 0 and at most 1", advice="Give a number such as 0.02."
            )
        return cls(amount, _ZERO, zeros) if contaminate is None else cls(_ZERO, amount, zeros)

    def bounds(
        self, lower: Fraction, upper: Fraction, weights: Sequence[Fraction] = (_ONE,)
    ) -> tuple[Fraction, Fraction]:
        """Widen bounds on a weighted sum of probabilities that are off; those that say it all may stay."""
        least, most = sum((w for w in weights if w < 0), _ZERO), sum((w for w in weights if w > 0), _ZERO)
        if not self.zeros and (lower == most or upper == least):
            return lower, upper
        by = self.by * (most - least)
        low = (1 - self.share) * lower + self.share * least - by
        high = (1 - self.share) * upper + self.share * most + by
        return max(low, least) if lower >= least else low, min(high, most) if upper <= most else high


def widened(network: Network, parents: Parents, imprecision: Imprecision) -> Network:
    """Widen the bounds of every sentence, and bound the values that followed from the others."""
    said = (_widened(s, [weight for weight, _ in s.claims], imprecision) for s in network.sentences)
    across = (_widened(c, [term.weight for term in c.terms], imprecision) for c in network.contrasts)
    implied = _implied(network, parents, imprecision)
    return replace(network, sentences=(*said, *implied), contrasts=tuple(across))


def _widened(stated: _Stated, weights: Sequence[Fraction], imprecision: Imprecision) -> _Stated:
    lower, upper = imprecision.bounds(stated.lower, stated.upper, weights)
    return replace(stated, lower=lower, upper=upper)


def _implied(network: Network, parents: Parents, imprecision: Imprecision) -> Iterator[Sentence]:
    """Yield a sentence for every value of which only the other values tell."""
    found = local_polytopes(network, parents).polytopes
    for x, by_parents in enumerate(found):
        above = [network.variables[p] for p in parents.parent_indices[x]]
        for configuration, polytope in by_parents.items():
            given = conjunction(p.is_(p.values[s]) for p, s in zip(above, configuration, strict=True))
            for state, (lower, upper) in _untold(polytope):
                bounds = imprecision.bounds(lower, upper)
                variable = network.variables[x]
                yield Sentence.of(variable.is_(variable.values[state]), *bounds, given=given)


def _untold(polytope: LocalPolytope) -> Iterator[tuple[int, tuple[Fraction, Fraction]]]:
    """Yield the values that no row names alone, with their ranges, where there are more than two values."""
    told = {row.coefficients.index(1) for row in polytope.rows if sorted(row.coefficients)[-2:] == [0, 1]}
    if polytope.size > 2 and told:
        yield from ((k, range_) for k, range_ in enumerate(ranges(polytope)) if k not in told)
