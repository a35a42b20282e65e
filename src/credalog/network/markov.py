"""Which independences every model of a network has: the Markov condition and what follows from it.

Input: a network and the reading of its Markov condition. Output: `MarkovCondition`, which tells whether
left ⊥ right | given. It says yes only where a declared independence, the local condition of one variable, or
separation in the graph along which every model factorizes says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from credalog.network.formulas import Variable
from credalog.network.graph import Markov, dependency_graph
from credalog.network.sentences import Independence, Network
from credalog.network.ties import Ties

__all__ = ["Graph", "MarkovCondition", "Variables"]

Variables: TypeAlias = frozenset[int]

Condition: TypeAlias = tuple[Variables, Variables, Variables]
"""left ⊥ right | given."""


class Block(NamedTuple):
    """Variables that are taken together, their parents outside, and the sets that are tied to each other."""

    members: Variables
    parents: Variables
    ties: Sequence[Variables]


class Graph:
    """Blocks of variables, parents first or not.

    Separation in the moral graph of the ancestors is independence in every distribution that is a limit of
    products along the blocks (Lauritzen 1996, section 3.2).
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks = list(blocks)
        self.home = {x: n for n, block in enumerate(self.blocks) for x in block.members}

    @classmethod
    def directed(cls, parents: Mapping[int, Iterable[int]]) -> Graph:
        """Return the graph of single variables with their parents."""
        families = ((x, frozenset(own)) for x, own in parents.items())
        return cls(Block(frozenset((x,)), own, (own | {x},)) for x, own in families)

    def ancestors(self, start: Iterable[int]) -> Variables:
        """Return some variables, their blocks and all their ancestors."""
        return frozenset(self._moral(start))

    def separates(self, left: Variables, right: Variables, given: Variables) -> bool:
        """Tell whether every path between left and right meets what is given."""
        return right.isdisjoint(self.reached(left, right, given))

    def reached(self, left: Variables, others: Variables, given: Variables) -> set[int]:
        """Return what a path leads to from `left` around `given`, among the ancestors of all three."""
        near = self._moral((*left, *others, *given))
        seen, frontier = set(left), list(left)
        while frontier:
            fresh = near[frontier.pop()] - seen - given
            seen |= fresh
            frontier.extend(fresh)
        return seen

    def _moral(self, start: Iterable[int]) -> dict[int, set[int]]:
        """Return who is tied to whom among some variables and their ancestors."""
        waiting, above = list(start), set[int]()
        while waiting:
            block = self.home[waiting.pop()]
            if block not in above:
                above.add(block)
                waiting.extend(self.blocks[block].parents)
        near: dict[int, set[int]] = {}
        for tie in (tie for block in above for tie in self.blocks[block].ties):
            for x in tie:
                near.setdefault(x, set()).update(tie)
        return near


class MarkovCondition:
    """The independences of one network, its variables by their numbers."""

    def __init__(self, network: Network, markov: Markov, frame: Network | None = None) -> None:
        self.markov = markov
        # The frame is what draws the graph that counts, where that is not the network itself.
        self.graph = dependency_graph(network if frame is None else frame)
        self.number = {v: i for i, v in enumerate(network.variables)}
        is_free = markov is Markov.NONE
        self.parents = tuple(frozenset(() if is_free else p) for p in self.graph.parent_indices)
        self.components = () if is_free else tuple(c for c in self.graph.components() if len(c) > 1)
        self.core = self.ancestors(x for component in self.components for x in component)
        self.declared = tuple(map(self._numbered, network.independences))
        self._found: dict[Condition, bool] = {}
        self._graphs: dict[tuple[Sequence[int], ...], Graph] = {}

    def _numbered(self, independence: Independence) -> Condition:
        left, right, given = independence.left, independence.right, independence.given
        return self.numbers(left), self.numbers(right), self.numbers(given)

    def numbers(self, variables: Iterable[Variable]) -> Variables:
        """Return the numbers of variables."""
        return frozenset(self.number[v] for v in variables)

    def ancestors(self, start: Iterable[int]) -> Variables:
        """Return some variables and all their ancestors."""
        found, waiting = set[int](), list(start)
        while waiting:
            x = waiting.pop()
            if x not in found:
                found.add(x)
                waiting.extend(self.parents[x])
        return frozenset(found)

    def ndnp(self, x: int) -> Variables:
        """Return the non-descendant non-parents of a variable."""
        return frozenset(self.graph.ndnp_indices(x))

    def independent(self, left: Variables, right: Variables, given: Variables) -> bool:
        """Tell whether left ⊥ right | given in every model; False where that is not seen."""
        key = left, right, given
        if key not in self._found:
            self._found[key] = not right or self._is_implied(*key)
        return self._found[key]

    def _is_implied(self, left: Variables, right: Variables, given: Variables) -> bool:
        if any(self._is_said(one, other, given) for one, other in ((left, right), (right, left))):
            return True
        if self.markov is Markov.NONE:
            return False
        return self._along(left | right | given).separates(left, right, given)

    def _is_said(self, left: Variables, right: Variables, given: Variables) -> bool:
        """Tell whether a declaration, or the local condition of one variable, says it: by weak union."""
        for one, other, known in self.declared:
            if left <= one and right <= other and known <= given <= known | one | other:
                return True
        if self.markov is Markov.NONE or len(left) != 1:
            return False
        (x,) = left
        return self.parents[x] <= given and right | (given - self.parents[x]) <= self.ndnp(x)

    def _along(self, shown: Variables) -> Graph:
        """Return a graph along which every model factorizes on some variables and all their ancestors.

        The core is one block under the local condition (docs/proofs.md, proof 1), and of what is closed
        upwards only its own cycles count (proof 21); under the global condition each component is a product
        along its ties (proof 14).
        """
        blocks = self.components if self.markov is Markov.LOCAL else ()
        above = self.ancestors(shown) if blocks else shown
        cyclic = tuple(c for c in blocks if not above.isdisjoint(c))
        if cyclic not in self._graphs:
            self._graphs[cyclic] = self._factorization(cyclic)
        return self._graphs[cyclic]

    def _factorization(self, cyclic: Iterable[Sequence[int]]) -> Graph:
        if self.markov is Markov.GLOBAL:
            return Graph(self._tied(frozenset(c)) for c in self.graph.components())
        core = sorted(self.ancestors(x for component in cyclic for x in component))
        earlier = {x: frozenset(core[:place]) for place, x in enumerate(core)}
        return Graph.directed({x: earlier.get(x, own) for x, own in enumerate(self.parents)})

    def _tied(self, members: Variables) -> Block:
        outside = frozenset[int]().union(*(self.parents[x] for x in members)) - members
        pairs = [frozenset((x, p)) for x in members for p in self.parents[x]]
        return Block(members, outside, (*pairs, outside, *(frozenset((x,)) for x in members)))

    def left_open(
        self, arrows: Mapping[int, Variables], demanded: Iterable[Variables], spared: Variables = frozenset()
    ) -> list[Condition] | None:
        """Return the conditions that a distribution need not have by its arrows; None if nobody can tell.

        It may stand for a model with the same probabilities of all that is demanded (docs/proofs.md, proof
        9): the components concerned are then laws of their own, and their conditions are not looked at.
        Of those spared nothing is demanded: they follow the others by their tables (proof 21). Where all
        arrows conform, the local condition of a variable in no cycle holds by them.
        """
        excused = self._excused(arrows, demanded)
        along = self._along_ties(arrows, excused)
        if along is None:
            return None
        own = Graph.directed({**arrows, **self._as_laws(excused)})
        inside = frozenset(x for component in excused for x in component)
        conditions = [*self.declared, *along]
        if self.markov is not Markov.NONE:
            conforms = self._conforms(arrows)
            of = (x for x in arrows if x not in inside and not (conforms and len(self._home[x]) == 1))
            conditions += [(frozenset((x,)), self.ndnp(x), self.parents[x]) for x in of]
        found = [open_ for condition in conditions for open_ in _not_separated(own, *condition)]
        # The numbers of a component that stands for another law, and of what follows it, are not the model's.
        unknown = inside | spared if inside else frozenset()
        return None if any(not unknown.isdisjoint(side) for one in found for side in one) else found

    @cached_property
    def _home(self) -> dict[int, Variables]:
        """Return the component of each variable."""
        return {x: frozenset(c) for c in self.graph.components() for x in c}

    def _conforms(self, arrows: Mapping[int, Variables]) -> bool:
        """Tell whether each variable leans on its component and the parents of that alone."""
        around = {c: c.union(*(self.parents[x] for x in c)) for c in set(self._home.values())}
        return all(own <= around[self._home[x]] for x, own in arrows.items())

    def _excused(
        self, arrows: Mapping[int, Variables], demanded: Iterable[Variables]
    ) -> tuple[tuple[int, ...], ...]:
        """Return the components whose inner conditions need not hold in the distribution itself (proof 9)."""
        if not self._conforms(arrows):
            return ()
        declared = frozenset(x for sides in self.declared for side in sides for x in side)
        scopes = [*demanded, *(own - self._home[x] for x, own in arrows.items())]
        return tuple(
            c
            for c in self.components
            if declared.isdisjoint(c) and all(self._is_closed(s, c) for s in scopes)
        )

    def _along_ties(
        self, arrows: Mapping[int, Variables], excused: Iterable[tuple[int, ...]]
    ) -> list[Condition] | None:
        """Return what the global condition says of the other components (proof 14); None if nobody can tell.

        Where eliminating a component adds no tie, independence of each member from the rest given its
        neighbours says all.
        """
        others = [c for c in self.components if self.markov is Markov.GLOBAL and c not in excused]
        if others and not self._conforms(arrows):
            return None
        found: list[Condition] = []
        for c in others:
            ties = Ties([tuple(p) for p in self.parents], c)
            left = set(ties.over)
            for x, near in ties.elimination():
                left.discard(x)
                found.append((frozenset((x,)), frozenset(left - near), near))
            if not ties.is_chordal:
                return None
        return found

    def _is_closed(self, scope: Variables, component: Iterable[int]) -> bool:
        return all(scope <= self.parents[x] | {x} for x in scope.intersection(component))

    def _as_laws(self, components: Iterable[tuple[int, ...]]) -> dict[int, Variables]:
        """Return arrows for components whose laws given their parents may be any."""
        found: dict[int, Variables] = {}
        for c in components:
            outside = frozenset[int]().union(*(self.parents[x] for x in c)) - frozenset(c)
            found.update({x: outside.union(c[:place]) for place, x in enumerate(c)})
        return found


def _not_separated(own: Graph, left: Variables, right: Variables, given: Variables) -> Iterable[Condition]:
    """Yield what is left to show of left ⊥ right | given: for what a path leads to, if the rest follows.

    left ⊥ near | given and left ⊥ rest | given, near give left ⊥ near, rest | given (contraction).
    """
    near = right.intersection(own.reached(left, right, given) if right else ())
    if near:
        follows = own.separates(left, right - near, given | near)
        yield left, (near if follows else right), given
