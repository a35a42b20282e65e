"""Proofs by summing out: what the verifier needs to bound a posterior of a credal network (proof 26).

Input: a question about variables outside the core, and the bound to be proved. Output: groups and nodes of a
certificate. Trees send messages, whose sets are found by set propagation. Of the faces of a set only those
are written down that the messages after it need: the last group asks for them first. Where there are loops
the vertices of laws are shared between cases, as in the search over vertices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from credalog.errors import ProblemTooLarge, Refused
from credalog.methods.vertices.elimination import Bools, Clusters, Plan, clusters, plan
from credalog.methods.vertices.hanging_trees import core
from credalog.methods.vertices.mini_buckets import contributions, forward
from credalog.methods.vertices.tree import Arc, Tree
from credalog.network.graph import Markov
from credalog.network.markov import Variables
from credalog.network.meaning import Asked, Meaning
from credalog.network.polytopes import facets
from credalog.network.structure import relevance
from credalog.network.sums import Goal, Group, Sums
from credalog.network.tables import Bounds
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End
from credalog.tables.cones import Array
from credalog.tables.credal import Question, Table
from credalog.verify import check_sums

__all__ = ["Root", "Summed", "nodes_of", "proved_by_sums"]

ROUNDED = 10**18
"""Vectors and rows of messages are rounded to multiples of one over this."""

NOTHING, LITTLE = Fraction(1, 10**12), Fraction(1, 10**6)
"""By how much a bound in floats may be missed."""

WAYS = ((Fraction(1, 10**9), 1e-10), (LITTLE, 1e-7), (LITTLE, 1e-8), (LITTLE, 1e-9))
"""The same where there are messages, in turn, and how far the rows of the last ones are moved outwards."""

LEAST = 2e-14
"""Rows of the first messages are moved outwards by this much: their vectors are floats."""

MOST_ROUNDS = 100
"""So often faces may be added to the messages of one group."""

WIDEST = 1 << 10
"""Claims about several variables with more states than this are not proved by cases."""

MOST_NUMBERS, MOST_VALUES = 1 << 18, 8
"""Laws with more entries than this are not summed out, nor variables with more values."""


@dataclass(frozen=True, slots=True)
class Summed:
    """A bound, and the groups and nodes that prove it."""

    bound: Fraction
    line: dict[str, Any]


def proved_by_sums(
    meaning: Meaning, asked: Asked, end: End, bound: float | Fraction, budget: Budget
) -> Summed | None:
    """Prove that no model passes a bound, each law being free for itself; None where that is not done."""
    if meaning.markov is Markov.NONE or not _is_small(meaning, asked):
        return None
    with suppress(ProblemTooLarge, OutOfTime, Refused, ValueError):
        return _Summing(meaning, asked, end, bound, budget).run()
    return None


def _above(meaning: Meaning, asked: Asked) -> Variables:
    """Return the variables of a question and all that their laws are given, a tied one nothing."""
    found, waiting = set[int](), list(meaning.numbers(asked.scope))
    while waiting:
        x = waiting.pop()
        if x not in found:
            found.add(x)
            waiting += meaning.above(x)
    return frozenset(found)


def _is_small(meaning: Meaning, asked: Asked) -> bool:
    """Tell whether the laws above a question are of one variable of the core at most, and few enough."""
    above = _above(meaning, asked)
    if len(meaning.core & above) > 1 or any(meaning.sizes[x] > MOST_VALUES for x in above):
        return False
    sizes = (prod(meaning.sizes[y] for y in (x, *meaning.above(x))) for x in above)
    return sum(sizes) <= MOST_NUMBERS


@dataclass(frozen=True, slots=True)
class Root:
    """What is summed out together with the question, and the arcs along which messages reach it."""

    tree: Tree
    target: int
    members: frozenset[int]
    has_loops: bool

    @classmethod
    def of(cls, tree: Tree, target: int) -> Root:
        """Take what lies on loops; without loops a line of ancestors, each with one child only."""
        members = core(tree, target)
        has_loops = len(members) > 1
        x: int | None = None if has_loops else target
        while x is not None:
            members.add(x)
            only = [p for p in tree.tables[x].parents if tree.children[p] == (x,)]
            x = max(only, key=lambda p: len(tree.schedule(p, tree.children[p][0])), default=None)
        # What the target's own children send is summed up where the score is, so that it needs no rows.
        return cls(tree, target, frozenset(members.union(tree.children[target])), has_loops)

    @property
    def arcs(self) -> list[Arc]:
        """Return the arcs that lead into the root."""
        beside = ((y, x) for x in sorted(self.members) for y in self.tree.neighbours(x))
        return [(y, x) for y, x in beside if y not in self.members]


class _Summing:
    """One proof under way."""

    def __init__(
        self, meaning: Meaning, asked: Asked, end: End, bound: float | Fraction, budget: Budget
    ) -> None:
        self.meaning, self.asked, self.end, self.bound, self.budget = meaning, asked, end, bound, budget
        self.known = meaning.only_state(asked.given) or {}
        self.above = _above(meaning, asked)
        self.parents = {x: meaning.unknown(x, self.known) for x in self.above}
        self.sums = Sums(meaning, asked)
        self.groups: list[Group] = []
        self.faces: list[Array] = []
        self.outwards: list[Fraction] = []
        self.number: dict[Arc, int] = {}

    def run(self) -> Summed | None:
        """Sum everything out at once; where that gives too much away, send messages, then split cases."""
        order = self._order(self.above, ())
        at_once = [Group(None, (), order, order, ())], [["sum"]]
        found = self._tried(*at_once, NOTHING)
        if found is not None:
            # Where a float stands for a simple number, that is often the bound itself.
            return self._tried(*at_once, Fraction(0)) or found
        targets = self.meaning.numbers(self.asked.scope).difference(self.known)
        if len(targets) != 1:
            return self._by_gate(sorted(targets))
        (target,) = targets
        root = Root.of(self._tree(target), target)
        self._receive(root)
        for less, most in WAYS:
            self._begin(most)
            if self._settled(len(self.groups) - 1, less):
                return self._tried(self.groups, [["sum"]], less)
        return self._by_cases(root) if root.has_loops else None

    def _by_cases(self, root: Root) -> Summed | None:
        """Write down all faces of the messages that reach the root, and cases of its laws."""
        last, less = self.groups[-1], LITTLE
        self._begin(1e-9)
        for m in last.uses:
            self.groups[m] = self.groups[m]._replace(rows=[self._moved(m, face) for face in self.faces[m]])
        if not all(self._settled(n, less) for n in reversed(range(len(self.groups) - 1))):
            return None
        states = range(self.meaning.sizes[root.target])
        worth = [self.meaning.weight(self.asked, {**self.known, root.target: s}) for s in states]
        order = [x for x in last.order if x in root.tree.tables]
        return self._tried(self.groups, self._cases(root, order, worth), less)

    def _cases(self, root: Root, order: Sequence[int], worth: Sequence[Fraction]) -> list[Any]:
        """Return the cases in which the target of a root, whose states have some worth, is bounded."""
        is_upper, claimed = self.end is End.UPPER, self.claimed(LITTLE)
        event = np.array(worth if is_upper else [1 - w for w in worth], dtype=float)
        return nodes_of(root, order, event, float(claimed if is_upper else 1 - claimed), self.budget)

    def _by_gate(self, targets: list[int]) -> Summed | None:
        """Write down cases for a claim about several variables: a gate that follows them stands for it.

        The gate is there for choosing cases alone; the verifier knows nothing of it.
        """
        sizes, gate = (*self.meaning.sizes, 2), len(self.meaning.sizes)
        shape = tuple(sizes[x] for x in targets)
        if prod(shape) > WIDEST:
            return None
        worlds = self.meaning.worlds(targets, {})
        worth = [self.meaning.weight(self.asked, {**self.known, **world}) for world in worlds]
        if not {*worth} <= {0, 1}:
            return None
        laws = np.array([[1 - w, w] for w in worth], dtype=float).reshape(*shape, 1, 2)
        parents = [sorted(self.meaning.above(x)) for x in range(gate)]
        families = relevance([*parents, targets], [gate], self.known).families
        tables = {x: self._table(x) for x in families if x != gate}
        tables[gate] = Table(gate, tuple(targets), laws, ())
        order, tree = self._order(self.above, ()), Tree.of(tables, sizes, self.known, self.budget)
        root = Root(tree, gate, frozenset(tables), has_loops=True)
        met = [gate, *(x for x in order if x in tables)]
        nodes = self._cases(root, met, [Fraction(0), Fraction(1)])
        return self._tried([Group(None, (), order, order, ())], nodes, LITTLE)

    def _tried(self, groups: Sequence[Group], nodes: list[Any], less: Fraction) -> Summed | None:
        """Ask the verifier whether a proof holds."""
        self.budget.require_time()
        line = {"groups": [list(group) for group in groups], "nodes": nodes}
        with suppress(Refused):
            check_sums(self.meaning, self.asked, line, self.goal(less))
            return Summed(self.claimed(less), line)
        return None

    def goal(self, less: Fraction) -> Goal:
        """Return what is to be proved if so much is given away."""
        return self.meaning.goal(self.asked, int(self.end.sign), self.claimed(less))

    def claimed(self, less: Fraction) -> Fraction:
        """Return the bound that is claimed if so much is given away: half of it at least, beside messages."""
        if isinstance(self.bound, Fraction):
            return self.bound
        if not less:
            return NOTHING * round(Fraction(self.bound) / NOTHING)
        scaled, margin = Fraction(self.bound) / less, Fraction(int(less > NOTHING), 2)
        return less * ((scaled - margin) // 1 if self.end is End.LOWER else -((-scaled - margin) // 1))

    # ---- groups ---------------------------------------------------------------------------------------

    def _order(self, families: Iterable[int], others: Iterable[int]) -> list[int]:
        """Return an order in which to sum out some variables, children first; others have no law here.

        The others go as soon as they can, lest laws be chosen in each of their states.
        """
        plain = set(others)
        parents = {x: self.parents[x] for x in families} | dict.fromkeys(plain, ())
        observed = [x for x in parents if x in self.known]
        left, order = list(clusters(parents, observed, self.meaning.sizes)), sorted(observed)
        while left:
            above = {p for x in left for p in parents[x]}
            ready = [x for x in left if x not in above]
            left.remove(x := min(ready, key=lambda y: y not in plain))
            order.append(x)
        return order

    def _tree(self, target: int) -> Tree:
        """Return what bears on the question, with vertices as floats."""
        parents = [sorted(self.meaning.above(x)) for x in range(len(self.meaning.sizes))]
        relevant = relevance(parents, [target], self.known)
        tables = {x: self._table(x) for x in relevant.families}
        return Tree.of(tables, self.meaning.sizes, self.known, self.budget)

    def _table(self, x: int) -> Table:
        meaning, parents = self.meaning, self.parents[x]
        found = meaning.laws(x, self.known).values()
        most = max(map(len, found))
        laws = [[*law, *[law[0]] * (most - len(law))] for law in found]
        shape = (*(meaning.sizes[p] for p in parents), most, meaning.sizes[x])
        return Table(x, parents, np.array(laws, dtype=float).reshape(shape), ())

    def _receive(self, root: Root) -> None:
        """Lay out the messages that reach the root, each after those that it depends on, and the root."""
        for arc in root.arcs:
            sets = root.tree.messages(*arc)
            for one in root.tree.schedule(*arc):
                self.budget.require_time()
                self.faces.append(_faces(sets[one].vectors))
                self._lay_out(root.tree, one)
        families = sorted(root.members | self.above.difference(root.tree.tables))
        order = self._order(families, (y for y, x in root.arcs if y in root.tree.tables[x].parents))
        self.groups.append(Group(None, (), families, order, [self.number[arc] for arc in root.arcs]))

    def _lay_out(self, tree: Tree, arc: Arc) -> None:
        source, towards = arc
        parents, below = self.parents[source], () if source in self.known else tree.children[source]
        is_up = towards in parents
        uses = [self.number[y, source] for y in (*parents, *below) if y != towards]
        order = [source, *(p for p in parents if p != towards), *([towards] if is_up else [])]
        self.number[arc] = len(self.groups)
        self.groups.append(Group(towards if is_up else source, (), [source], order, uses))

    # ---- rows of messages -----------------------------------------------------------------------------

    def _begin(self, most: float) -> None:
        """Forget all rows; say how far those of each message are moved outwards."""
        self.groups = [group._replace(rows=[]) for group in self.groups]
        self.sums.messages = [Bounds((), {})] * (len(self.groups) - 1)
        depths = [0] * len(self.groups)
        for n in reversed(range(len(self.groups))):
            for m in self.groups[n].uses:
                depths[m] = depths[n] + 1
        share = (LEAST / most) ** (1 / max(1, *depths))
        self.outwards = [Fraction(most * share ** (depth - 1)) for depth in depths]

    def _settled(self, n: int, less: Fraction) -> bool:
        """Tell whether a group and all before it prove what they should, once rows are added to them."""
        return all(self._settle(m, less) for m in reversed(range(n + 1)))

    def _settle(self, n: int, less: Fraction) -> bool:
        """Add rows to the messages that enter a group until it proves what it should."""
        group, sums = self.groups[n], self.sums
        for _ in range(MOST_ROUNDS):
            self.budget.require_time()
            for m in group.uses:
                sums.messages[m] = sums.choices(m, self.groups[m])
            score = sums.score(self.goal(less)) if group.on is None else sums.rows(n, group)
            found = sums.total(group, score, {})
            passed = [
                dict(zip(found.over, s, strict=True)) for s, (_, most) in found.table.items() if most > 0
            ]
            if not passed:
                return True
            are_cut = [self._cut_off(group, choice) for choice in passed]
            if not any(are_cut):
                return False
        return False

    def _cut_off(self, group: Group, choice: dict[int, int]) -> bool:
        """Add the faces that cut a choice off most clearly, one of each message; False if none does."""
        found = [self._face(m, choice[-1 - m]) for m in group.uses if -1 - m in choice]
        for m, face in ((m, face) for worth, m, face in found if worth < 0.0):
            row = self._moved(m, self.faces[m][face])
            if row not in self.groups[m].rows:
                self.groups[m] = self.groups[m]._replace(rows=[*self.groups[m].rows, row])
        return any(worth < 0.0 for worth, _, _ in found)

    def _face(self, m: int, number: int) -> tuple[float, int, int]:
        """Return the least value of a face at a vertex of message m, the message, and the face."""
        states = range(self.meaning.sizes[self.groups[m].on or 0])
        ray = [self.sums.messages[m].table[number, s][0] for s in states]
        values = self.faces[m] @ np.array([p / sum(ray) for p in ray])
        least = int(values.argmin()) if len(values) else 0
        return (float(values[least]) + float(self.outwards[m]) if len(values) else 0.0), m, least

    def _moved(self, m: int, face: Array) -> list[int]:
        return [round((Fraction(a) + self.outwards[m]) * ROUNDED) for a in face.tolist()]


def _faces(vectors: Array) -> Array:
    """Return rows a with a . vector >= 0 for all vectors of a message."""
    points = vectors / vectors.sum(axis=1, keepdims=True)
    with suppress(QhullError, ValueError):
        planes = np.unique(ConvexHull(points[:, :-1]).equations.round(14), axis=0)
        return np.hstack([-planes[:, :-1] - planes[:, -1:], -planes[:, -1:]])
    return _exact_faces(points)


def _exact_faces(points: Array) -> Array:
    """Return the same for points that are flat, or two numbers each."""
    whole = [[round(v * ROUNDED) for v in point] for point in points.tolist()]
    exact = [tuple(Fraction(v, sum(point)) for v in point) for point in whole]
    sides = (
        row
        for coefficients, low, high in facets(exact)
        for row in ([c - low for c in coefficients], [high - c for c in coefficients])
    )
    return np.array([row for row in sides if min(row) < 0], dtype=float).reshape(-1, points.shape[1])


# ---- cases of a proof -------------------------------------------------------------------------------------
# Cases of a proof by summing out: the search over vertices, until no case passes the bound.
# Input: what is summed out together with a question (`Root`), an order, an event and a trial value. Output:
# the nodes of a certificate.

MOST_NODES = 4_000
"""A proof with more cases than this is given up."""

BATCH = 32
"""How many cases are looked at together."""


class _Split(NamedTuple):
    """A law, by its variable and the states of its parents, and the vertices that each half keeps."""

    variable: int
    states: list[int]
    first: int
    halves: Sequence[Any]


def nodes_of(root: Root, order: Sequence[int], event: Array, trial: float, budget: Budget) -> list[Any]:
    """Share the vertices of laws between cases until P(event | evidence) passes the trial value in none."""
    cases = _Cases(root, order)
    nodes: list[Any] = [None]
    waiting = [(0, cases.layout.start)]
    while waiting:
        taken, waiting = waiting[-BATCH:], waiting[:-BATCH]
        found = cases.splits(np.array([row for _, row in taken]), event, trial, budget)
        for (n, row), split in zip(taken, found, strict=True):
            children = [] if split is None else [len(nodes), len(nodes) + 1]
            nodes[n] = _node(split, children)
            nodes += [None for _ in children]
            waiting += zip(children, _halves(row, split.halves if split else ()), strict=True)
        if len(nodes) > MOST_NODES:
            raise ProblemTooLarge(f"a proof by more than {MOST_NODES} cases")
    return nodes


def _node(split: _Split | None, children: Sequence[int]) -> list[Any]:
    if split is None:
        return ["sum"]
    return ["split", split.variable, split.states, len(split.halves[0]), *children]


def _halves(row: Bools, halves: Sequence[Any]) -> list[Bools]:
    """Return the rows of both halves."""
    found = []
    for half in halves:
        child = row.copy()
        child[np.concatenate(halves)] = False
        child[half] = True
        found.append(child)
    return found


class _Cases:
    """The root as a plan of elimination; what messages it receives is a hidden choice, which goes last."""

    def __init__(self, root: Root, order: Sequence[int]) -> None:
        tables, sizes = {x: root.tree.tables[x] for x in root.members}, list(root.tree.sizes)
        observed, hidden = dict(root.tree.observed), list[int]()
        for arc in root.arcs:
            hidden.append(len(sizes))
            observed |= _add_hidden(tables, sizes, root, arc)
        unknown = [x for x in order if x not in observed]
        met = _clusters({x: table.parents for x, table in tables.items()}, observed, [*unknown, *hidden])
        self.layout: Plan = plan(tables, Question(root.target, (), observed), sizes, met)
        self.places = [place for family in self.layout.families for place in _places(family)]
        self.is_law = np.array([x in root.members for x, _ in self.places])

    def splits(self, rows: Bools, event: Array, trial: float, budget: Budget) -> list[_Split | None]:
        """Tell of each case how to split it; None where no choice passes the trial value."""
        passage = forward(self.layout, rows, event, np.full(len(rows), trial), budget)
        score = (1 - trial) * passage.inside - trial * passage.outside
        losses = contributions(self.layout, rows, passage).losses
        counts = np.add.reduceat(rows, self.layout.firsts, axis=1, dtype=np.intp)
        blocks = np.where((counts > 1) & self.is_law, losses, -np.inf).argmax(axis=1)
        return [
            self._split(row, int(block)) if passes else None
            for row, block, passes in zip(rows, blocks, score > 0, strict=True)
        ]

    def _split(self, row: Bools, block: int) -> _Split:
        first = int(self.layout.firsts[block])
        allowed = first + np.flatnonzero(row[first : first + int(self.layout.lengths[block])])
        if len(allowed) < 2:
            raise ProblemTooLarge("a case that cannot be split")
        return _Split(*self.places[block], first, np.array_split(allowed, 2))


def _add_hidden(
    tables: dict[int, Table], sizes: list[int], root: Root, arc: tuple[int, int]
) -> dict[int, int]:
    """Replace what lies beyond an arc by a choice among its messages; return what is observed of it."""
    source, towards = arc
    vectors, hidden = root.tree.message(source, towards).vectors, len(sizes)
    tables[hidden] = Table(hidden, (), np.eye(len(vectors)), ())
    sizes += [len(vectors), 2]
    if source in root.tree.tables[towards].parents:
        laws = (vectors / vectors.sum(axis=1, keepdims=True))[:, None]
        tables[source] = Table(source, (hidden,), laws, ())
        return {}
    shown = np.stack([1 - vectors, vectors], axis=-1)[:, :, None, :]
    tables[hidden + 1] = Table(hidden + 1, (hidden, towards), shown, ())
    return {hidden + 1: 1}


def _places(family: Any) -> list[tuple[int, list[int]]]:
    """Return of each block of a family its variable and the states of its parents, in their own order."""
    places = []
    for states in np.ndindex(*family.shape[:-1]):
        own = dict(zip(family.order, map(int, states), strict=True))
        places.append((family.table.child, [own[place] for place in range(len(own))]))
    return places


def _clusters(
    parents: Mapping[int, Sequence[int]], observed: Mapping[int, int], order: Sequence[int]
) -> Clusters:
    """Return what each variable meets when it goes, in a given order."""
    scopes = [set(parents[x]) for x in parents if x in observed]
    found: Clusters = {}
    for x in order:
        meets = set(parents[x]).union(*(s for s in scopes if x in s)) - {x}
        scopes = [s for s in scopes if x not in s] + [meets]
        found[x] = meets
    return found
