"""P(x, evidence) for one variable or for all, by one pass over a junction tree.

Input: tables whose product is P(all variables), and what is observed. Output: `Beliefs`: the table
P(x, evidence) of every variable asked for, all on one scale.

Messages go from the leaves of the tree to its root, and back (Lauritzen and Spiegelhalter, 1988; Jensen,
Lauritzen and Olesen, 1990). On the way back a clique's table, summed over all but a separator, is divided by
what had come from there. Where numbers have vanished a quotient says nothing, and the product of all other
messages is formed instead.

Where the largest clique does not fit, one of its variables is fixed to each of its values in turn, and the
tables are added up (conditioning).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from credalog.methods.points.potentials import Rounded, product, rounded, stacked
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.elimination import Potential
from credalog.tables.junction import JunctionTree, junction_tree

__all__ = ["Beliefs", "Model", "beliefs"]

MAX_CELLS = 1 << 27
"""The largest table that is built: a gigabyte."""

FASTEST = 1e8
"""Nobody passes over more cells a second."""


@dataclass(frozen=True, slots=True)
class Model:
    """A product of tables over numbered variables, and how many values each of these has."""

    tables: Sequence[Potential[int]]
    sizes: Sequence[int]


@dataclass(frozen=True, slots=True)
class Beliefs:
    """P(evidence), and P(x, evidence) of variables that are not observed."""

    mass: Rounded
    of: dict[int, Rounded]


def beliefs(
    model: Model, asked: Iterable[int], *, observed: dict[int, int], budget: Budget, most: int = MAX_CELLS
) -> Beliefs:
    """Return P(x, evidence) for each variable asked for that is not observed."""
    tables = [rounded(table, observed) for table in model.tables]
    tree = junction_tree([table.scope for table in tables], model.sizes)
    budget.require_time()
    if sum(tree.cells) > FASTEST * budget.remaining:
        # A large table is not left half-way: what cannot be done in time is not begun.
        raise OutOfTime
    wanted = [x for x in asked if x not in observed]
    if max(tree.cells, default=0) <= most:
        return _Pass(tree, tables, wanted, budget).run()
    on = _widest(tree, most)
    parts = [
        beliefs(model, wanted, observed={**observed, on: value}, budget=budget, most=most)
        for value in range(model.sizes[on])
    ]
    found = {x: _added([part.of[x] for part in parts], on) for x in parts[0].of}
    masses = stacked([part.mass for part in parts], on)
    return Beliefs(masses.summed(()), {**found, on: masses} if on in wanted else found)


def _widest(tree: JunctionTree, most: int) -> int:
    """Choose a variable to fix: the one whose cells are most, in cliques that do not fit."""
    weights: dict[int, float] = {}
    for clique, cells in zip(tree.cliques, tree.cells, strict=True):
        for x in clique if cells > most else ():
            weights[x] = weights.get(x, 0.0) + cells * (1.0 - 1.0 / tree.sizes[x])
    return max(weights, key=weights.__getitem__)


def _added(tables: Sequence[Rounded], on: int) -> Rounded:
    return stacked(tables, on).summed(tables[0].scope)


class _Pass:
    """Messages to the roots of a junction tree, and back as far as something is asked."""

    def __init__(
        self, tree: JunctionTree, tables: Sequence[Rounded], asked: Sequence[int], budget: Budget
    ) -> None:
        self.cliques, self.budget = tree.cliques, budget
        self.asked: list[list[int]] = [[] for _ in tree.cliques]
        for x, home in tree.smallest(asked).items():
            self.asked[home].append(x)
        self.order = tree.towards(number for number, here in enumerate(self.asked) if here)
        self.children: list[list[int]] = [[] for _ in tree.cliques]
        for number, parent in self.order:
            if parent is not None:
                self.children[parent].append(number)
        self.given: list[list[Rounded]] = [[] for _ in tree.cliques]
        self.alone: list[Rounded] = []
        for table, home in zip(tables, tree.homes, strict=True):
            (self.alone if home < 0 else self.given[home]).append(table)
        self.up: dict[int, Rounded] = {}

    def run(self) -> Beliefs:
        """Send all messages, and put the trees of the forest on one scale."""
        roots = self._collect()
        masses = [product(self.alone), *(table.summed(()) for table in roots.values())]
        found = {}
        for rest, (root, table) in zip(_others(masses)[1:], roots.items(), strict=True):
            found.update({x: product([own, rest]) for x, own in self._distribute(root, table)})
        return Beliefs(product(masses), found)

    def _collect(self) -> dict[int, Rounded]:
        """Send the message of every clique towards its root; return the tables of the roots."""
        roots: dict[int, Rounded] = {}
        for number, parent in self.order:
            self.budget.require_time()
            table = product(self._entering(number))
            if parent is None:
                roots[number] = table
            else:
                self.up[number] = table.summed(self._shared(table, parent))
        return roots

    def _entering(self, number: int) -> list[Rounded]:
        return [*self.given[number], *(self.up[child] for child in self.children[number])]

    def _shared(self, table: Rounded, other: int) -> tuple[int, ...]:
        inside = set(self.cliques[other])
        return tuple(x for x in table.scope if x in inside)

    def _distribute(self, root: int, table: Rounded) -> Iterator[tuple[int, Rounded]]:
        """Go back from a root; yield the table of every variable that is asked for on the way."""
        yield from ((x, table.summed((x,))) for x in self.asked[root])
        waiting = list(self._back(root, table, []))
        while waiting:
            number, message = waiting.pop()
            self.budget.require_time()
            table = product([*self._entering(number), message])
            yield from ((x, table.summed((x,))) for x in self.asked[number])
            waiting.extend(self._back(number, table, [message]))

    def _back(self, number: int, table: Rounded, above: list[Rounded]) -> Iterator[tuple[int, Rounded]]:
        """Yield the message to each child beyond which something is asked."""
        for child in self.children[number]:
            if child not in self.needed:
                continue
            shared, came = self._shared(table, child), self.up[child]
            if table.lost == 0.0 == came.lost:
                yield child, table.summed(shared).over(came)
            else:
                rest = product([*(m for m in self._entering(number) if m is not came), *above])
                yield child, rest.summed(self._shared(rest, child))

    @cached_property
    def needed(self) -> set[int]:
        """Return the cliques in which, or beyond which, something is asked."""
        found: set[int] = set()
        for number, _ in self.order:
            if self.asked[number] or not found.isdisjoint(self.children[number]):
                found.add(number)
        return found


def _others(tables: Sequence[Rounded]) -> list[Rounded]:
    """Return for each of many numbers the product of all others."""
    before = list(accumulate(tables, lambda a, b: product([a, b]), initial=product([])))
    after = list(accumulate(reversed(tables), lambda a, b: product([a, b]), initial=product([])))
    return [product([a, b]) for a, b in zip(before, reversed(after[:-1]), strict=False)]
