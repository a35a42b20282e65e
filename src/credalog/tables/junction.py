"""Junction trees: the cliques of a triangulated graph, joined so that each variable's cliques hang together.

Input: the scopes of tables, and how many states each variable has. Output: `JunctionTree`: cliques, which of
them are neighbours, and in which each table finds its place.

Orders of elimination are drawn by two greedy rules, the smallest table (min-weight) and the fewest new edges
(min-fill; Kjaerulff, 1990), with ties broken at random; the one with the fewest cells in all is kept. The
larger the tables, the more orders are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from random import Random

from credalog.numbers.budget import require_time

__all__ = ["JunctionTree", "junction_tree"]

EASY = 1 << 16
"""With fewer cells than this the first order is good enough."""

TRIES = 8
"""How many orders of each kind are tried where tables are large."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques, the edges between them, and for each scope given the number of a clique that holds it."""

    cliques: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, int], ...]
    homes: tuple[int, ...]
    sizes: Sequence[int]

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """Return the number of states of each clique."""
        return tuple(prod(self.sizes[x] for x in clique) for clique in self.cliques)

    def smallest(self, among: Iterable[int]) -> dict[int, int]:
        """Return for each variable the smallest clique that shows it."""
        wanted, found = set(among), dict[int, int]()
        for number in sorted(range(len(self.cliques)), key=lambda n: -self.cells[n]):
            found.update(dict.fromkeys(wanted.intersection(self.cliques[number]), number))
        return found

    def towards(self, roots: Iterable[int]) -> list[tuple[int, int | None]]:
        """List each clique with its neighbour on the way to a root, children first; one root per tree.

        The first roots given count; a tree that holds none has its first clique as root.
        """
        near: list[list[int]] = [[] for _ in self.cliques]
        for a, b in self.edges:
            near[a].append(b)
            near[b].append(a)
        order: dict[int, int | None] = {}
        for root in (*roots, *range(len(self.cliques))):
            frontier: list[tuple[int, int | None]] = [] if root in order else [(root, None)]
            while frontier:
                number, parent = frontier.pop()
                order[number] = parent
                frontier.extend((n, number) for n in near[number] if n != parent)
        return list(order.items())[::-1]


def junction_tree(scopes: Sequence[Sequence[int]], sizes: Sequence[int]) -> JunctionTree:
    """Triangulate the graph in which variables of one scope are neighbours, and join its cliques."""
    adjacent = _adjacent(scopes, len(sizes))
    order = min(_orders(adjacent, sizes), key=lambda steps: _cells(steps, sizes))
    return _joined(order, scopes, sizes)


_Steps = list[tuple[int, int]]
"""Variables in order of elimination, each with the bits of its neighbours at that time."""


def _adjacent(scopes: Iterable[Sequence[int]], count: int) -> list[int | None]:
    """Return the neighbours of each variable as bits; None for variables that no scope mentions."""
    adjacent: list[int | None] = [None] * count
    for scope in scopes:
        bits = sum(1 << x for x in scope)
        for x in scope:
            adjacent[x] = ((adjacent[x] or 0) | bits) & ~(1 << x)
    return adjacent


def _orders(adjacent: list[int | None], sizes: Sequence[int]) -> Iterator[_Steps]:
    first = _greedy(adjacent, sizes, _Greedy.weight, Random(0))
    yield first
    if _cells(first, sizes) > EASY:
        for seed in range(TRIES):
            yield _greedy(adjacent, sizes, _Greedy.fill, Random(seed))
            yield _greedy(adjacent, sizes, _Greedy.weight, Random(seed + 1))


def _cells(steps: _Steps, sizes: Sequence[int]) -> int:
    return sum(sizes[x] * prod(sizes[y] for y in _members(bits)) for x, bits in steps)


def _members(bits: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


class _Greedy:
    """A graph from which variables are removed."""

    def __init__(self, adjacent: Sequence[int | None], sizes: Sequence[int]) -> None:
        self.near = {x: bits for x, bits in enumerate(adjacent) if bits is not None}
        self.sizes = sizes

    def weight(self, x: int) -> tuple[int, int]:
        """Return the size of the table that removing a variable needs."""
        return prod(self.sizes[y] for y in _members(self.near[x])) * self.sizes[x], 0

    def fill(self, x: int) -> tuple[int, int]:
        """Return how many edges removing a variable adds, then the size of its table."""
        bits = self.near[x]
        missing = sum((bits & ~self.near[y]).bit_count() - 1 for y in _members(bits))
        return missing, self.weight(x)[0]

    def remove(self, x: int) -> tuple[int, set[int]]:
        """Make the neighbours of a variable adjacent; return them, and whose costs have changed."""
        bits = self.near.pop(x)
        touched, changed = _members(bits), set[int]()
        for y in touched:
            self.near[y] = (self.near[y] | bits) & ~(1 << x | 1 << y)
            changed.update(_members(self.near[y]))
        return bits, changed.union(touched)


def _greedy(
    adjacent: Sequence[int | None],
    sizes: Sequence[int],
    rule: Callable[[_Greedy, int], tuple[int, int]],
    luck: Random,
) -> _Steps:
    """Remove the cheapest variable until none is left."""
    graph = _Greedy(adjacent, sizes)
    costs = {x: (*rule(graph, x), luck.random()) for x in graph.near}
    steps = []
    while costs:
        require_time()
        x = min(costs, key=costs.__getitem__)
        del costs[x]
        bits, changed = graph.remove(x)
        costs.update({y: (*rule(graph, y), luck.random()) for y in changed})
        steps.append((x, bits))
    return steps


def _joined(steps: _Steps, scopes: Sequence[Sequence[int]], sizes: Sequence[int]) -> JunctionTree:
    """Join each clique with that of its next variable, and leave out those that lie in a neighbour.

    What is left of clique i without its variable lies in the clique of the first variable of the rest to go.
    Where the two are equal the latter is no maximal clique, and i takes its place.
    """
    place = {x: n for n, (x, _) in enumerate(steps)}
    cliques = [(x, *_members(bits)) for x, bits in steps]
    above = [min((place[y] for y in clique[1:]), default=-1) for clique in cliques]
    kept = list(range(len(cliques)))
    for n, parent in enumerate(above):
        if parent >= 0 and kept[parent] == parent and len(cliques[n]) == len(cliques[parent]) + 1:
            kept[parent] = n
    holder = [_follow(kept, n) for n in range(len(cliques))]
    numbers = {n: i for i, n in enumerate(sorted(set(holder)))}
    ends = ((numbers[holder[n]], numbers[holder[parent]]) for n, parent in enumerate(above) if parent >= 0)
    homes = (min((place[x] for x in scope), default=-1) for scope in scopes)
    return JunctionTree(
        tuple(cliques[n] for n in numbers),
        tuple((a, b) for a, b in ends if a != b),
        tuple(-1 if home < 0 else numbers[holder[home]] for home in homes),
        sizes,
    )


def _follow(kept: Sequence[int], n: int) -> int:
    while kept[n] != n:
        n = kept[n]
    return n
