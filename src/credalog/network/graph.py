"""The dependency graph of a network and the independences it implies.

Input: a ground `Network`. Output: `DependencyGraph`, with the parents, descendants and ndnp of every
variable as the paper defines them, and the lazy list of `Independence`s of the local Markov condition.

Only what is linear in the graph is ever stored. Descendants and ndnp, whose total size is quadratic,
are computed for one variable when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from credalog.choices import View
from credalog.errors import UnknownName
from credalog.network.columns import columns_of
from credalog.network.families import FamilySentences, families_of
from credalog.network.formulas import TRUE, Formula, Is, Variable, atoms, canonical, scope
from credalog.network.sentences import Independence, Network, Sentence
from credalog.numbers.budget import require_time

if TYPE_CHECKING:
    from networkx import DiGraph

    from credalog.show.canvas import Picture

__all__ = [
    "Combination",
    "DependencyGraph",
    "Markov",
    "Node",
    "dependency_graph",
    "independences",
    "strong_components",
]

Indices: TypeAlias = tuple[int, ...]

T = TypeVar("T")


class Markov(Enum):
    """Choose which independences a network implies."""

    LOCAL = "local"
    """The paper's: each variable is independent of ndnp(x), as a block, given parents(x)."""

    GLOBAL = "global"
    """The chain-graph reading: also, each component is independent of what precedes it given its parents,
    and inside it the law is a limit of products of functions of variables tied to each other."""

    NONE = "none"
    """Nilsson's logic: no independence but those declared."""


@dataclass(frozen=True, slots=True)
class Combination:
    """The claim node of a linear sentence: all the formulas whose probabilities it weighs."""

    formulas: tuple[Formula, ...]


Node: TypeAlias = Variable | Formula | Combination


@dataclass(frozen=True, slots=True, repr=False)
class DependencyGraph:
    """The paper's dependency graph: variables, non-atomic formulas, and the edges of every stamp.

    Nodes are numbered, the variables first and in the order of the network.
    """

    variables: Sequence[Variable]
    formulas: Sequence[Formula | Combination]
    edges: Sequence[tuple[int, int]]
    parent_indices: Sequence[Indices]
    """Tuples, or of a large network rows of an array, which become tuples when someone looks."""
    child_indices: Sequence[Indices]
    _index: Mapping[Variable, int] = field(repr=False, compare=False)
    _components: list[tuple[Indices, ...]] = field(default_factory=list, repr=False, compare=False)
    """The components, once somebody asked for them: every witness is checked against them."""
    _homes: dict[Variable, Indices] = field(default_factory=dict, repr=False, compare=False)
    """The component of each variable, as above."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes, in the order in which `edges` numbers them."""
        return (*self.variables, *self.formulas)

    def index(self, x: Variable) -> int:
        """Return the number of a variable."""
        if x not in self._index:
            raise UnknownName(
                f"the graph has no variable {x}", advice="`lcn.variable(name)` finds one by name."
            )
        return self._index[x]

    def parents(self, x: Variable) -> tuple[Variable, ...]:
        """Return the variables with a path to x whose intermediate nodes are non-atomic (Definition 1)."""
        return self._named(self.parent_indices[self.index(x)])

    def children(self, x: Variable) -> tuple[Variable, ...]:
        """Return the variables of which x is a parent."""
        return self._named(self.child_indices[self.index(x)])

    def descendants(self, x: Variable) -> tuple[Variable, ...]:
        """Return the variables reached from x with no intermediate node in parents(x) (Definition 2)."""
        return self._named(sorted(self.descendant_indices(self.index(x))))

    def ndnp(self, x: Variable) -> tuple[Variable, ...]:
        """Return the variables that are neither x, nor its parents, nor its descendants."""
        return self._named(self.ndnp_indices(self.index(x)))

    def descendant_indices(self, x: int) -> set[int]:
        """Return the numbers of the descendants of variable number x; x itself is never one of them."""
        closed = {x, *self.parent_indices[x]}
        reached = set(self.child_indices[x])
        frontier = [y for y in reached if y not in closed]
        while frontier:
            fresh = set(self.child_indices[frontier.pop()]) - reached
            reached |= fresh
            frontier.extend(fresh - closed)
        return reached - {x}

    def ndnp_indices(self, x: int) -> Indices:
        """Return the numbers of ndnp(x), ascending."""
        excluded = self.descendant_indices(x)
        excluded.update(self.parent_indices[x], (x,))
        return tuple(y for y in range(len(self.variables)) if y not in excluded)

    def components(self) -> tuple[Indices, ...]:
        """Return the strongly connected components of the variables, parents first."""
        if not self._components:
            self._components.append(tuple(strong_components(self.parent_indices)))
        return self._components[0]

    def component_of(self) -> Mapping[Variable, Indices]:
        """Return the component of each variable."""
        if not self._homes:
            self._homes.update({self.variables[i]: c for c in self.components() for i in c})
        return self._homes

    @property
    def is_cyclic(self) -> bool:
        """Tell whether some variable depends on itself through others."""
        return any(len(component) > 1 for component in self.components())

    def _named(self, indices: Iterable[int]) -> tuple[Variable, ...]:
        return tuple(self.variables[i] for i in indices)

    def __str__(self) -> str:
        from credalog.show.exports import as_text

        return as_text(self).rstrip("\n")

    def __repr__(self) -> str:
        from credalog.show.exports import counts

        return f"<dependency graph: {counts(self)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the nodes, the edges, the parents of every variable and the components, by name."""
        from credalog.show.sketch import label

        names = [label(node) for node in self.nodes]
        return {
            "variables": names[: len(self.variables)],
            "formulas": names[len(self.variables) :],
            "edges": [[names[source], names[target]] for source, target in self.edges],
            "parents": {x.name: [parent.name for parent in self.parents(x)] for x in self.variables},
            "components": [[names[x] for x in component] for component in self.components()],
        }

    # ---- pictures -------------------------------------------------------------------------------------

    def picture(
        self, *, view: View = "variables", marginals: Iterable[Any] = (), evidence: Formula = TRUE
    ) -> Picture:
        """Draw the graph; the marginals of a network are written on its variables."""
        from credalog.show.drawing import drawing_of

        return drawing_of(self, view=view, marginals=marginals, evidence=evidence)

    def dot(self, *, view: View = "variables", marginals: Iterable[Any] = ()) -> str:
        """Return the graph in the DOT language."""
        from credalog.show.exports import as_dot
        from credalog.show.sketch import sketch_of

        return as_dot(sketch_of(self, view=view, marginals=marginals))

    def mermaid(self, *, view: View = "variables", marginals: Iterable[Any] = ()) -> str:
        """Return the graph as a Mermaid flowchart."""
        from credalog.show.exports import as_mermaid
        from credalog.show.sketch import sketch_of

        return as_mermaid(sketch_of(self, view=view, marginals=marginals))

    def networkx(self) -> DiGraph[str]:
        """Return the variables and the edges from parents to children as a graph of networkx."""
        from credalog.show.exports import as_networkx

        return as_networkx(self)

    def _repr_svg_(self) -> str | None:
        from credalog.show.drawing import DRAWABLE

        # A graph too large to draw is printed in one line.
        return self.picture().svg() if len(self.variables) <= DRAWABLE else None


def dependency_graph(network: Network) -> DependencyGraph:
    """Draw the dependency graph of a network: on the arrays of a large one, else sentence by sentence."""
    found = None if network.is_listed else _drawn_on_arrays(network)
    if found is not None:
        return found
    stamps = _stamped(network)
    parents = _parents(len(network.variables), stamps.edges)
    return DependencyGraph(
        variables=tuple(network.variables),
        formulas=tuple(stamps.formulas),
        edges=tuple(stamps.edges),
        parent_indices=parents,
        child_indices=_reversed(parents),
        _index=stamps.index,
    )


def _drawn_on_arrays(network: Network) -> DependencyGraph | None:
    """Draw the graph of a large network, whose formulas are made only if someone looks at them."""
    if (tabled := families_of(network)) is not None:
        return _drawn_of_families(network, tabled)
    if network.contrasts or columns_of(network) is None:
        return None
    # Small networks need no sparse matrices, and the verifier may have none.
    from credalog.network.parents import parents_on_arrays

    parents = parents_on_arrays(network)
    if parents is None:
        return None
    stamps = _Stamped(network)
    return DependencyGraph(
        variables=network.variables,
        formulas=_Deferred(lambda: tuple(stamps.made.formulas)),
        edges=_Deferred(lambda: tuple(stamps.made.edges)),
        parent_indices=parents.rows,
        child_indices=parents.reversed.rows,
        _index=network.numbering(),
    )


def _drawn_of_families(network: Network, tabled: FamilySentences) -> DependencyGraph:
    """Draw the graph of a network of tables: who has which parents is told."""
    parents: list[Indices] = [() for _ in network.variables]
    for family in tabled.families:
        parents[family.child] = tuple(sorted(family.parents))
    stamps = _Stamped(network)
    return DependencyGraph(
        variables=network.variables,
        formulas=_Deferred(lambda: tuple(stamps.made.formulas), tabled.conditions),
        edges=_Deferred(lambda: tuple(stamps.made.edges)),
        parent_indices=tuple(parents),
        child_indices=_reversed(tuple(parents)),
        _index=network.numbering(),
    )


class _Stamped:
    """The stamps of a network, made once, when needed."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._made: _Stamps | None = None

    @property
    def made(self) -> _Stamps:
        if self._made is None:
            self._made = _stamped(self._network)
        return self._made


class _Deferred(Sequence[T]):
    """A sequence that is made when someone looks; how long it is may be known before."""

    def __init__(self, make: Callable[[], tuple[T, ...]], count: int | None = None) -> None:
        self._make, self._count = make, count
        self._made: tuple[T, ...] | None = None

    @property
    def _items(self) -> tuple[T, ...]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __len__(self) -> int:
        return len(self._items) if self._count is None else self._count

    @overload
    def __getitem__(self, i: int) -> T: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[T, ...]: ...
    def __getitem__(self, i: int | slice) -> T | tuple[T, ...]:
        return self._items[i]

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, _Deferred) else other)

    def __hash__(self) -> int:
        return hash(self._items)


def _stamped(network: Network) -> _Stamps:
    stamps = _Stamps(tuple(network.variables))
    for sentence in chain(network.sentences, (s for c in network.contrasts for s in c.arrows())):
        stamps.add(sentence)
    return stamps


def independences(graph: DependencyGraph, of: Iterable[Variable] | None = None) -> Iterator[Independence]:
    """Yield the local Markov condition: each x independent of ndnp(x), as a block, given parents(x).

    Only the variables in `of` are looked at, if it is given.
    """
    for x in graph.variables if of is None else of:
        if ndnp := graph.ndnp(x):
            yield Independence(left=(x,), right=ndnp, given=graph.parents(x))


class _Stamps:
    """Collect the nodes and the edges of the stamps of Figure 1."""

    def __init__(self, variables: tuple[Variable, ...]) -> None:
        self.index = {x: i for i, x in enumerate(variables)}
        self.formulas: dict[Formula | Combination, int] = {}
        # A dictionary serves as an ordered set: many sentences repeat the same edge.
        self.edges: dict[tuple[int, int], None] = {}
        self._conditions: set[int] = set()

    def add(self, sentence: Sentence) -> None:
        """Add one sentence's stamp: condition to claim, claim to its variables, and back if tau."""
        require_time()
        if not sentence.draws:
            return
        claim = self._claim(sentence)
        if sentence.given != TRUE:
            self._connect(self._condition(sentence.given), claim)
        elif not sentence.tau:
            return
        if claim >= len(self.index):
            for x in sentence.claim_scope:
                self._connect(claim, self.index[x])
                if sentence.tau:
                    self._connect(self.index[x], claim)

    def _claim(self, sentence: Sentence) -> int:
        if sentence.is_atomic:
            # A negated literal's bounds are the atom's, so its node is the atom's too.
            return self.index[next(atoms(sentence.claims[0][1])).variable]
        if len(sentence.claims) == 1:
            return self._formula(sentence.claims[0][1])
        claims = {canonical(formula) for _, formula in sentence.claims}
        return self._node(Combination(tuple(sorted(claims, key=repr))))

    def _condition(self, formula: Formula) -> int:
        node = self._formula(formula)
        if node not in self._conditions:
            self._conditions.add(node)
            for x in scope(formula):
                self._connect(self.index[x], node)
        return node

    def _formula(self, formula: Formula) -> int:
        if isinstance(formula, Is):
            return self.index[formula.variable]
        return self._node(canonical(formula))

    def _node(self, formula: Formula | Combination) -> int:
        return self.formulas.setdefault(formula, len(self.index) + len(self.formulas))

    def _connect(self, source: int, target: int) -> None:
        if source != target:
            self.edges[source, target] = None


def _parents(count: int, edges: Iterable[tuple[int, int]]) -> tuple[Indices, ...]:
    """Return the parents of each of the first `count` nodes, which are the variables."""
    sources: dict[int, list[int]] = {}
    for source, target in edges:
        sources.setdefault(target, []).append(source)
    return tuple(_parents_of(x, sources, count) for x in range(count))


def _parents_of(x: int, sources: dict[int, list[int]], count: int) -> Indices:
    require_time()
    seen = {x}
    frontier = [x]
    while frontier:
        for source in sources.get(frontier.pop(), ()):
            if source not in seen:
                seen.add(source)
                if source >= count:
                    frontier.append(source)
    return tuple(sorted(y for y in seen if y < count and y != x))


def _reversed(targets: tuple[Indices, ...]) -> tuple[Indices, ...]:
    sources: list[list[int]] = [[] for _ in targets]
    for source, row in enumerate(targets):
        for target in row:
            sources[target].append(source)
    return tuple(map(tuple, sources))


def strong_components(parents: Sequence[Sequence[int]]) -> Iterator[Indices]:
    """Yield strongly connected components, each after those it depends on (Tarjan 1972, no recursion)."""
    order: dict[int, int] = {}
    low: list[int] = [0] * len(parents)
    open_: list[int] = []
    closed: set[int] = set()
    for root in range(len(parents)):
        path = [] if root in order else [(root, iter(parents[root]))]
        while path:
            x, rest = path[-1]
            if x not in order:
                order[x] = low[x] = len(order)
                open_.append(x)
            y = next((y for y in rest if y not in closed), None)
            if y is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[x])
                if low[x] == order[x]:
                    yield _close(x, open_, closed)
            elif y in order:
                low[x] = min(low[x], order[y])
            else:
                path.append((y, iter(parents[y])))


def _close(x: int, open_: list[int], closed: set[int]) -> Indices:
    """Take the component of x, its first visited member, off the open variables."""
    component = [open_.pop()]
    while component[-1] != x:
        component.append(open_.pop())
    closed.update(component)
    return tuple(sorted(component))
