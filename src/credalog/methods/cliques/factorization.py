"""From independences to cliques: small tables that together stand for the joint distribution.

Input: the parents of every variable, the scopes that must be seen (sentences, query, evidence).
Output: `Factorization`: cliques, how they agree on separators, and the independences each must satisfy.

The variables are taken in blocks, parents first: a tail variable is a block of its own; the core (all
strongly connected components of several variables, with their ancestors) is one block under the literal
local condition, or one block per component under the chain-graph reading. Going backwards, each block B
is eliminated from the scopes that mention it: their union with B and parents(B) is its clique, of which
N, the rest, is needed in turn. One condition is needed, B independent of N minus parents(B) given
parents(B), and it is stated inside the clique. By induction over the blocks each table is then exactly a
marginal of the product of all P(B | parents(B)); docs/proofs.md, proofs 1 and 2.

Evidence that is a conjunction of literals is kept out of the tables: in the scopes that lead to the query
an observed variable has one state only (`Clique.fixed`), so such a table holds P(scope, evidence).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import prod

from credalog.errors import Option, ProblemTooLarge
from credalog.network.structure import Condition, Indices, Reading, Structure, ancestors
from credalog.network.ties import Ties
from credalog.numbers.budget import require_time

__all__ = [
    "Agreement",
    "Clique",
    "Factorization",
    "Separator",
    "factorize",
    "in_one_clique",
]

MERGE_LIMIT = 1 << 9
"""Scopes that lose the same variable share one clique up to this many states: the relaxation gets tighter."""

CLIQUE_LIMIT = 1 << 17
"""No table larger than this is built."""


class Agreement(Enum):
    """Say how the marginals of two cliques on a separator compare."""

    EQUAL = "both hold the same probabilities"
    BELOW = "the first holds part of the second's mass, that of the evidence"
    DENOMINATOR = "the first adds one observation: its ratios have the second's numbers as denominators"


@dataclass(frozen=True, slots=True)
class Clique:
    """A table over `scope`; in it the variables of `fixed` have their observed state only.

    `block` is what the clique was built to eliminate; the total mass eliminates nothing. `rest` is what it
    leaves, in parts that are independent of each other. In a free clique P(block | rest) is a law of its
    own, of which nothing is known but what the sentences say.
    """

    scope: Indices
    fixed: frozenset[int]
    block: Indices
    rest: tuple[Indices, ...]
    conditions: tuple[Condition, ...]
    is_free: bool = False

    @property
    def shown(self) -> Indices:
        """Return the variables that its table has an axis for: those that are not observed."""
        return tuple(x for x in self.scope if x not in self.fixed)

    @property
    def own_condition(self) -> Condition | None:
        """Return the condition that says what of the whole rest P(block | rest) leans on, if there is one."""
        own = next((c for c in self.conditions if c.left == self.block), None)
        is_whole = own is not None and {*own.left, *own.right, *own.given} == set(self.scope)
        return own if is_whole else None

    @property
    def conditions_hold_by_construction(self) -> bool:
        """Tell whether P(block | rest) that leans on what it may lean on satisfies all conditions."""
        return not self.conditions or (len(self.conditions) == 1 and self.own_condition is not None)


@dataclass(frozen=True, slots=True)
class Separator:
    """The scope on which two cliques, given by number, compare."""

    first: int
    second: int
    scope: Indices
    agreement: Agreement = Agreement.EQUAL


@dataclass(frozen=True)
class Factorization:
    """Cliques in the order of their elimination, each before those it leans on.

    The last clique has the empty scope: its single number is the total mass. `blocks` are in the opposite
    order, parents first.
    """

    cliques: tuple[Clique, ...]
    separators: tuple[Separator, ...]
    blocks: tuple[Indices, ...]
    reading: Reading
    query: Indices
    observed: frozenset[int]
    is_closed: bool = True
    """Whether no tied component needs a condition that is not stated: then this reading is exact."""
    is_slice: bool = False
    """Whether some variables, sentences and conditions may be missing: then it bounds and attains nothing."""

    def entries(self, sizes: Sequence[int]) -> int:
        """Return how large all tables are together, counted once more for each condition."""
        return sum(prod(sizes[x] for x in c.shown) * (1 + len(c.conditions)) for c in self.cliques)

    @property
    def query_clique(self) -> int:
        """Return the number of the clique in which the query is asked."""
        return self.smallest_covering(self.query, self.observed)

    def smallest_covering(self, scope: Iterable[int], fixed: frozenset[int] = frozenset()) -> int:
        """Return the number of the clique with fewest variables that shows a scope under this evidence."""
        found = self.covering(scope, fixed)
        assert found is not None
        return found

    def covering(self, scope: Iterable[int], fixed: frozenset[int] = frozenset()) -> int | None:
        """Return the same; None where no clique shows the scope."""
        wanted = frozenset(scope)
        among: Sequence[int] = range(len(self.cliques))
        if wanted:
            among = min((self._showing.get(x, ()) for x in wanted), key=len)
        fitting = (
            (len(self.cliques[i].scope), i)
            for i in among
            if self.cliques[i].fixed == fixed and wanted.issubset(self.cliques[i].scope)
        )
        return min(fitting, default=(0, None))[1]

    @cached_property
    def _showing(self) -> Mapping[int, Sequence[int]]:
        """Return the numbers of the cliques that show each variable."""
        found: dict[int, list[int]] = {}
        for i, clique in enumerate(self.cliques):
            for x in clique.scope:
                found.setdefault(x, []).append(i)
        return found

    @cached_property
    def separators_of(self) -> Mapping[int, Sequence[Separator]]:
        """Return the separators of which each clique is the first."""
        found: dict[int, list[Separator]] = {}
        for separator in self.separators:
            found.setdefault(separator.first, []).append(separator)
        return found


def factorize(
    structure: Structure,
    scopes: Iterable[Iterable[int]],
    *,
    query: Iterable[int],
    observed: frozenset[int] = frozenset(),
    reading: Reading = Reading.LITERAL,
) -> Factorization:
    """Choose cliques that show every scope, and the query together with what is observed."""
    elimination = _Elimination(structure, reading)
    for scope in scopes:
        elimination.demands.add(Demand(frozenset(scope)))
    asked = frozenset(query) | observed
    elimination.demands.add(Demand(asked, observed))
    return elimination.run(tuple(sorted(asked)), observed)


def in_one_clique(structure: Structure, *, query: Iterable[int], reading: Reading) -> Factorization:
    """Put all variables into one clique, each condition stated once: the paper's own program."""
    everything = tuple(range(len(structure.parents)))
    if prod(structure.sizes) > CLIQUE_LIMIT:
        raise _too_large(len(everything))
    elimination = _Elimination(structure, reading)
    conditions: list[Condition] = []
    before: Indices = ()
    for b, block in enumerate(elimination.blocks):
        before = (*before, *block)
        conditions += elimination.conditions(b, before, frozenset(before) - frozenset(block))
    clique = Clique(everything, frozenset(), everything, ((),), tuple(conditions))
    total = Clique((), frozenset(), (), (), ())
    blocks = (everything,)
    return Factorization((clique, total), (Separator(0, 1, ()),), blocks, reading, tuple(query), frozenset())


@dataclass(slots=True, eq=False)
class Demand:
    """A table that is needed; each asker is a clique with the separator it will share."""

    scope: frozenset[int]
    fixed: frozenset[int] = frozenset()
    askers: list[tuple[int, Indices, Agreement]] = field(default_factory=list)


class Demands:
    """The tables that are still needed, found by the variables they show."""

    def __init__(self) -> None:
        self.total = Demand(frozenset())
        self.showing: dict[int, dict[Demand, None]] = {}

    def add(self, wanted: Demand) -> None:
        """Ask for a table; one that holds another under the same evidence serves both."""
        require_time()
        if not wanted.scope:
            self.total.askers += wanted.askers
            return
        fewest = min((self.showing.get(x, {}) for x in wanted.scope), key=len)
        for other in fewest:
            if other.fixed == wanted.fixed and wanted.scope <= other.scope:
                other.askers += wanted.askers
                return
        for other in self.of(wanted.scope):
            if other.fixed == wanted.fixed and other.scope < wanted.scope:
                wanted.askers += other.askers
                self.remove(other)
        for x in wanted.scope:
            self.showing.setdefault(x, {})[wanted] = None

    def of(self, variables: Iterable[int]) -> list[Demand]:
        """Return the tables that show any of some variables."""
        return list(dict.fromkeys(d for x in variables for d in self.showing.get(x, ())))

    def remove(self, demand: Demand) -> None:
        """Forget a table: it is built, or another holds it."""
        for x in demand.scope:
            del self.showing[x][demand]


class Cheapest:
    """Which of some numbers costs least; costs change, and are asked for again where they may have.

    A cost is a number, and another that decides between equals.
    """

    def __init__(self, numbers: Iterable[int], cost: Callable[[int], tuple[int, int]]) -> None:
        self.cost = cost
        self.waiting = set(numbers)
        self.heap = [(cost(n), n) for n in self.waiting]
        heapify(self.heap)

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def add(self, numbers: Iterable[int]) -> None:
        """Let more numbers be chosen from."""
        self.waiting.update(numbers)
        self.changed(numbers)

    def changed(self, numbers: Iterable[int]) -> None:
        """Ask again what those of some numbers cost that are still waiting."""
        for n in self.waiting.intersection(numbers):
            require_time()
            heappush(self.heap, (self.cost(n), n))

    def take(self) -> int:
        """Return the number that costs least."""
        while True:
            cost, n = heappop(self.heap)
            if n in self.waiting and cost == self.cost(n):
                self.waiting.discard(n)
                return n


class _Elimination:
    """The elimination under way: what is still demanded, and the cliques built so far."""

    def __init__(self, structure: Structure, reading: Reading) -> None:
        self.structure = structure
        self.reading = reading
        self.blocks = _blocks(structure, reading)
        self.block_of = {x: b for b, block in enumerate(self.blocks) for x in block}
        self.parents = [self._block_parents(block) for block in self.blocks]
        self.lineage = self._lineage()
        self.demands = Demands()
        self.cliques: list[Clique] = []
        self.separators: list[Separator] = []
        self.is_closed = True

    def run(self, query: Indices, observed: frozenset[int]) -> Factorization:
        """Eliminate the blocks one by one, children first."""
        waiting = [0] * len(self.blocks)
        for parents in self.parents:
            for b in {self.block_of[p] for p in parents}:
                waiting[b] += 1
        # The core is last: no evidence is left by then.
        tail, core = (Cheapest((), self._cost) for _ in range(2))
        for b, count in enumerate(waiting):
            if count == 0:
                (core if self._is_late(b) else tail).add((b,))
        while sinks := tail or core:
            block = sinks.take()
            first = len(self.cliques)
            self._eliminate(block)
            for b in {self.block_of[p] for p in self.parents[block]}:
                waiting[b] -= 1
                if waiting[b] == 0:
                    (core if self._is_late(b) else tail).add((b,))
            touched = {self.block_of[x] for clique in self.cliques[first:] for x in clique.scope}
            tail.changed(touched)
            core.changed(touched)
        self._close()
        cliques, separators = tuple(self.cliques), tuple(self.separators)
        return Factorization(cliques, separators, self.blocks, self.reading, query, observed, self.is_closed)

    def _block_parents(self, block: Indices) -> Indices:
        return tuple(sorted({p for x in block for p in self.structure.parents[x]} - set(block)))

    def _lineage(self) -> list[int]:
        """Return each block's ancestors, itself included, as a bit set."""
        lineage: list[int] = []
        for b, parents in enumerate(self.parents):
            bits = 1 << b
            for p in parents:
                bits |= lineage[self.block_of[p]]
            lineage.append(bits)
        return lineage

    def _is_late(self, b: int) -> bool:
        if self.reading.follows_ties:
            return not self.structure.core.isdisjoint(self.blocks[b])
        return b == 0 and self.reading is Reading.LITERAL and bool(self.structure.core)

    def _cost(self, b: int) -> tuple[int, int]:
        union = set[int]().union(*(d.scope for d in self.demands.of(self.blocks[b])))
        return self._states(union | set(self.parents[b]), frozenset()) if union else 0, -b

    def _states(self, scope: Iterable[int], fixed: frozenset[int]) -> int:
        return prod(self.structure.sizes[x] for x in scope if x not in fixed)

    def _eliminate(self, b: int) -> None:
        if self.reading.follows_ties and len(self.blocks[b]) > 1:
            self._eliminate_component(set(self.blocks[b]))
            return
        hits = self._taken(self.blocks[b])
        first = len(self.cliques)
        for group in self._groups(hits, b):
            self._build(group, b)
        # Cliques of one block that were not merged still share what both of them see.
        for i in range(first, len(self.cliques)):
            for j in range(i + 1, len(self.cliques)):
                self._compare(i, j)

    def _taken(self, variables: Iterable[int]) -> list[Demand]:
        """Return the demands that show some variables, and forget them."""
        found = self.demands.of(variables)
        for demand in found:
            self.demands.remove(demand)
        return found

    def _eliminate_component(self, component: set[int]) -> None:
        """Eliminate the members of a component one by one; what is demanded of it may need conditions."""
        demanded = self.demands.of(component)
        is_closed = all(self.structure.is_closed(d.scope, component) for d in demanded)
        if self.reading is Reading.GLOBAL and not is_closed:
            self._eliminate_along_ties(component)
        else:
            self.is_closed &= is_closed
            self._eliminate_scopes(component, is_closed)

    def _eliminate_along_ties(self, component: set[int]) -> None:
        """Eliminate each member with all that is demanded of it and what it is tied to by then.

        It is independent of the rest given these ties (docs/proofs.md, proof 14). Where none had to be
        added, that is all there is to state; where some had, local conditions that fit are stated as well.
        """
        ties = Ties(self.structure.parents, component)
        left = Cheapest(component, lambda x: (ties.added_without(x), self._states_with(x, ties.near[x])))
        while left:
            x = left.take()
            # Ties that are added change what the neighbours of neighbours add.
            beyond = set[int]().union(*(ties.near[y] for y in ties.near[x] if y in ties.near))
            near = ties.eliminate(x)
            scope = self._shown_with(x) | near | {x}
            others = tuple(sorted(scope - near - {x}))
            conditions = [Condition((x,), others, tuple(sorted(near)))] if others else []
            if not (ties.is_chordal and ties.is_mutual):
                fitting = self._fitting(component.intersection(scope), set(scope))
                conditions += [c for c in fitting if c not in conditions]
            self._eliminate_tied(x, scope, tuple(conditions))
            left.changed(scope | beyond)
        self.is_closed &= ties.is_chordal and ties.is_mutual

    def _states_with(self, x: int, near: Iterable[int]) -> int:
        return self._states(self._shown_with(x).union(near), frozenset())

    def _eliminate_scopes(self, component: set[int], is_closed: bool) -> None:
        """Eliminate each member with all that is demanded of it."""
        left = Cheapest(component, lambda x: (self._states(self._shown_with(x), frozenset()), x))
        while left:
            x = left.take()
            scope = self._shown_with(x)
            if scope:
                near = () if is_closed else component.intersection(scope)
                self._eliminate_tied(x, scope, tuple(self._fitting(near, set(scope))))
                left.changed(scope)

    def _fitting(self, members: Iterable[int], scope: set[int]) -> Iterator[Condition]:
        """State the conditions of those members whose parents a scope shows."""
        shown = tuple(sorted(x for x in members if scope.issuperset(self.structure.parents[x])))
        return self._local_conditions(shown, scope)

    def _shown_with(self, x: int) -> frozenset[int]:
        return frozenset[int]().union(*(d.scope for d in self.demands.of((x,))))

    def _eliminate_tied(self, x: int, scope: frozenset[int], conditions: tuple[Condition, ...]) -> None:
        if self._states(scope, frozenset()) > CLIQUE_LIMIT:
            raise _too_large(len(scope))
        askers = [asker for hit in self._taken((x,)) for asker in hit.askers]
        rest = tuple(sorted(scope - {x}))
        clique = Clique(tuple(sorted(scope)), frozenset(), (x,), (rest,), conditions, is_free=True)
        number = self._add(clique, Demand(scope, frozenset(), askers))
        self.demands.add(Demand(frozenset(rest), frozenset(), [(number, rest, Agreement.EQUAL)]))

    def _groups(self, hits: list[Demand], b: int) -> Iterator[Demand]:
        """Merge demands under the same evidence while the clique stays small."""
        groups: list[Demand] = []
        for hit in sorted(hits, key=lambda d: -len(d.scope)):
            home = next((g for g in groups if self._may_merge(g, hit, b)), None)
            if home is None:
                groups.append(Demand(hit.scope, hit.fixed, list(hit.askers)))
            else:
                home.scope |= hit.scope
                home.askers.extend(hit.askers)
        yield from groups

    def _may_merge(self, group: Demand, hit: Demand, b: int) -> bool:
        if group.fixed != hit.fixed:
            return False
        own = set(self.blocks[b]) | set(self.parents[b])
        merged = self._states(group.scope | hit.scope | own, hit.fixed)
        apart = self._states(group.scope | own, hit.fixed) + self._states(hit.scope | own, hit.fixed)
        must = len(self.blocks[b]) > 1 or self.reading is Reading.FREE
        return must or merged <= max(MERGE_LIMIT, apart)

    def _build(self, demand: Demand, b: int) -> None:
        """Build the clique that eliminates a block from a demand, and ask for what it leaves."""
        block, parents = set(self.blocks[b]), set(self.parents[b])
        scope = demand.scope | block | parents
        if self._states(scope, demand.fixed) > CLIQUE_LIMIT:
            raise _too_large(len(scope))
        rest = scope - block
        is_observation = bool(block & demand.fixed)
        parts = [rest] if demand.fixed else self._parts(rest)
        conditions = tuple(self.conditions(b, scope, rest))
        if len(parts) > 1:
            conditions += tuple(_mutually_independent(parts))
        leaves = tuple(tuple(sorted(part)) for part in parts)
        is_free = self.reading is Reading.FREE
        clique = Clique(tuple(sorted(scope)), demand.fixed, self.blocks[b], leaves, conditions, is_free)
        number = self._add(clique, demand)
        agreement = Agreement.DENOMINATOR if is_observation else Agreement.EQUAL
        for part in leaves:
            self.demands.add(Demand(frozenset(part), demand.fixed & set(part), [(number, part, agreement)]))

    def _add(self, clique: Clique, demand: Demand) -> int:
        number = len(self.cliques)
        self.cliques.append(clique)
        for asker, scope, agreement in demand.askers:
            self.separators.append(Separator(asker, number, scope, agreement))
        return number

    def conditions(self, b: int, scope: Iterable[int], rest: frozenset[int]) -> Iterator[Condition]:
        """State the independences of a block inside a clique."""
        if self.reading is Reading.FREE:
            return
        block, parents = self.blocks[b], self.parents[b]
        others = tuple(sorted(rest - set(parents)))
        if others and (len(block) == 1 or self.reading in (Reading.CHAIN, Reading.GLOBAL)):
            yield Condition(block, others, parents)
        if len(block) > 1:
            yield from self._local_conditions(block, scope)
        if len(block) > 1 and self.reading is Reading.GLOBAL:
            yield from self._conditions_along_ties(block)

    def _conditions_along_ties(self, block: Indices) -> Iterator[Condition]:
        """State the independences of a component that has one table, as its members are eliminated."""
        ties = Ties(self.structure.parents, block)
        left = set(ties.over)
        for x, near in ties.elimination():
            left.discard(x)
            right, given = tuple(sorted(left - near)), tuple(sorted(near))
            # Among mutual ties the local condition of x says as much.
            if right and not (ties.is_mutual and given == self.structure.parents[x]):
                yield Condition((x,), right, given)

    def _local_conditions(self, block: Indices, scope: Iterable[int]) -> Iterator[Condition]:
        """State the paper's condition for each variable of a block; a mirror image is stated once."""
        stated = set[tuple[frozenset[int], Indices]]()
        for x in block:
            right = self.structure.ndnp(x, sorted(scope))
            given = self.structure.parents[x]
            key = (frozenset((x, *right)), given)
            if right and not (len(right) == 1 and key in stated):
                stated.add(key)
                yield Condition((x,), right, given)

    def _parts(self, scope: frozenset[int]) -> list[frozenset[int]]:
        """Split a scope into parts that share no ancestor and are therefore independent.

        Two parts with ancestors in a core that is not one block are not: without positivity the literal
        local conditions do not imply it.
        """
        parts: list[tuple[int, frozenset[int]]] = []
        for x in sorted(scope):
            bits, members = self.lineage[self.block_of[x]], frozenset((x,))
            for other in [p for p in parts if p[0] & bits or self._entangled(p[1] | members)]:
                parts.remove(other)
                bits, members = bits | other[0], members | other[1]
            parts.append((bits, members))
        return [members for _, members in parts] or [scope]

    def _entangled(self, scope: frozenset[int]) -> bool:
        if self.reading not in (Reading.OUTER, Reading.TIED):
            return self.reading is Reading.FREE
        return sum(not self.structure.core.isdisjoint(self._family(x)) for x in scope) > 1

    def _family(self, x: int) -> frozenset[int]:
        return ancestors(self.structure.parents, (x,))

    def _compare(self, i: int, j: int) -> None:
        """Let two cliques agree on the variables that both show."""
        first, second = self.cliques[i], self.cliques[j]
        if len(first.fixed) < len(second.fixed):
            return self._compare(j, i)
        shared = tuple(sorted(set(first.scope) & set(second.scope)))
        sees_evidence = first.fixed <= set(second.scope)
        agreement = Agreement.EQUAL if sees_evidence else Agreement.BELOW
        self.separators.append(Separator(i, j, shared, agreement))
        return None

    def _close(self) -> None:
        """Add the total mass, on which everything rests, and lay evidence tables against the prior."""
        self._add(Clique((), frozenset(), (), (), ()), self.demands.total)
        prior = [i for i, c in enumerate(self.cliques) if not c.fixed and c.scope]
        for i, clique in enumerate(self.cliques):
            if clique.fixed and prior:
                shared = {j: len(set(clique.scope) & set(self.cliques[j].scope)) for j in prior}
                best = max(prior, key=lambda j: shared[j])
                if shared[best]:
                    self._compare(i, best)


def _too_large(variables: int) -> ProblemTooLarge:
    return ProblemTooLarge(
        f"a table over {variables} variables at once would be needed",
        advice="Ask with {0}, whose wider bounds hold as well, or query single atoms with {1}.",
        remedies=(Option("markov", "none"), Option("method", "sound")),
    )


def _blocks(structure: Structure, reading: Reading) -> tuple[Indices, ...]:
    if reading is not Reading.LITERAL or not structure.core:
        return structure.components
    tail = (c for c in structure.components if c[0] not in structure.core)
    return (tuple(sorted(structure.core)), *tail)


def _mutually_independent(parts: list[frozenset[int]]) -> Iterator[Condition]:
    """State that parts are independent, smaller ones against the union of the larger."""
    ordered = sorted(parts, key=lambda part: (len(part), sorted(part)))
    for i, part in enumerate(ordered[:-1]):
        others = frozenset[int]().union(*ordered[i + 1 :])
        yield Condition(tuple(sorted(part)), tuple(sorted(others)), ())
