"""The part of a credal network around a question, of which everything beyond is left open.

Input: a credal network and a query about one variable given literals. Output: credal networks of the same
variables, ever larger, in which some families near to the query and to the evidence are as they are and the
law of what these take from beyond is anything at all.

Whatever bounds the posterior there bounds it in the whole network (proof 28). How much is lost dies away with
the distance, as a chain forgets where it began: a ladder of a thousand variables is asked like one of twenty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf

from credalog.methods.vertices.greedy import bounded
from credalog.network.structure import Relevance, relevance
from credalog.numbers.budget import Budget
from credalog.tables.credal import CredalNetwork, Extreme, Question

__all__ = ["Vicinity", "sufficient", "vicinities"]

FIRST = 12
"""How many families the first vicinity has at least."""

GROWTH = 1.5
"""How much larger the next one is at least."""

SMALL = 0.6
"""The largest share of the families of a network that is worth a search of its own."""

STEADY = 0.05
"""What share of the tolerance the bounds of two vicinities may differ by if the smaller is sufficient."""


@dataclass(frozen=True, slots=True)
class Vicinity:
    """Some families as they are, in a network that leaves open what enters them from beyond."""

    credal: CredalNetwork
    families: frozenset[int]

    def extended(self, extreme: Extreme) -> Extreme:
        """Keep of an end what belongs to the whole network: the bound, and tables of the families inside."""
        choices, tables = extreme.choices, extreme.tables
        if choices is not None:
            choices = tuple(choice for choice in choices if choice.variable in self.families)
        if tables is not None:
            tables = {x: table for x, table in tables.items() if x in self.families}
        return replace(extreme, choices=choices, tables=tables)


def sufficient(
    credal: CredalNetwork, asked: Question, *, tolerance: float, budget: Budget
) -> Vicinity | None:
    """Return the first vicinity beyond which bounds without vertices no longer depend on where it ends.

    None where there is none, or these bounds say nothing. This is a guess, not a proof: that the
    bounds of a vicinity hold is never in doubt, only whether they are as narrow as those of the whole.
    """
    last: tuple[Vicinity, tuple[float, float]] | None = None
    for vicinity in vicinities(credal, asked):
        lower, upper = (end.bound for end in bounded(vicinity.credal, asked, budget=budget))
        if budget.is_spent or (lower <= 0.0 and upper >= 1.0):
            return None
        if last is not None and max(abs(lower - last[1][0]), abs(upper - last[1][1])) <= STEADY * tolerance:
            return last[0]
        last = vicinity, (lower, upper)
    return None


def vicinities(credal: CredalNetwork, asked: Question) -> Iterator[Vicinity]:
    """Yield ever larger vicinities of a question, as long as they are small beside what bears on it."""
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    depths = _depths(credal, asked, relevant)
    wanted, most = float(FIRST), SMALL * len(relevant.families)
    for depth in sorted(set(depths.values())):
        families = frozenset(x for x in relevant.families if depths[x] <= depth)
        if len(families) > most:
            return
        if len(families) >= wanted:
            yield _vicinity(credal, relevant, families)
            wanted = GROWTH * len(families)


def _depths(credal: CredalNetwork, asked: Question, relevant: Relevance) -> Mapping[int, float]:
    """Return how far above query and evidence a family lies, or the nearest family that it descends from."""
    sources = [x for x in relevant.families if x == asked.target or x in asked.observed]
    depths = dict.fromkeys(sources, 0.0)
    layer = list(sources)
    while layer:
        layer = [p for x in layer for p in relevant.parents[x] if _is_new(depths, p, depths[x] + 1.0)]
    for x in (y for y in credal.order if y in relevant.parents):
        depths[x] = min(depths[x], *(depths[p] for p in relevant.parents[x]), inf)
    return depths


def _is_new(depths: dict[int, float], x: int, depth: float) -> bool:
    if x in depths:
        return False
    depths[x] = depth
    return True


def _vicinity(credal: CredalNetwork, relevant: Relevance, families: frozenset[int]) -> Vicinity:
    """Cut a network around some families that hold all their descendants."""
    parents, polytopes = list(credal.parents), list(credal.polytopes)
    for x in {p for y in families for p in relevant.parents[y]} - families:
        # The worst law at the border is certain of everything, hence a product.
        parents[x], polytopes[x] = (), {}
    cut = CredalNetwork(
        credal.network, credal.graph, tuple(parents), tuple(polytopes), indicators=credal.indicators
    )
    return Vicinity(cut, families)
