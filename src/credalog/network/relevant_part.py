"""What of a large network bears on a question, found on its arrays.

Input: a network in columns and the parents of its variables. Output: `Bearing`, which cuts out, as small
networks of sentences, the part that a question needs, and the parts that may have no model.

It is the reasoning of `network.problem`, before there are objects. A variable is *free* where in every
configuration of its parents some theta satisfies all sentences about it, and nothing else mentions it in a
claim: then it restricts nothing above it. What is not free is an anchor, in doubt: a part that is larger
than need be has the same answer. So a part is closed under parents, and under the sentences of anchors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from credalog.network.columns import Variables, columns_of
from credalog.network.formulas import Formula, scope, truth_table
from credalog.network.parents import Parents, parents_in
from credalog.network.polytopes import LocalPolytope, local_row
from credalog.network.sentences import Independence, Network, Sentence
from credalog.network.shapes import Shape, packed, shapes
from credalog.numbers.budget import require_time

__all__ = ["Bearing", "bearing_of"]

Indices: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

MOST_CONFIGURATIONS = 1 << 12
"""Where more configurations would have to be looked at, a variable is an anchor."""

MOST_PAIRED = 100
"""So many conditions are looked at in pairs."""

SMALL = 20
"""A part of at most so small a share of all variables is looked up variable by variable."""


def bearing_of(network: Network, *, follows_arrows: bool) -> Bearing | None:
    """Make a large network ready to be cut; None where it is no network in columns.

    Where no arrows are followed, as in Nilsson's logic, no variable has a parent.
    """
    columns = columns_of(network)
    if columns is None or network.contrasts or not isinstance(network.variables, Variables):
        return None
    said, count = shapes(columns), len(network.variables)
    parents = parents_in(said, count) if follows_arrows else Parents.none(count)
    return None if parents is None else Bearing(network, network.variables, said, parents)


class Bearing:
    """A large network, and what of it bears on what."""

    def __init__(
        self, network: Network, variables: Variables, said: Sequence[Shape], parents: Parents
    ) -> None:
        self.network = network
        self.variables = variables
        self.said = said
        self.parents = parents
        self._rows = parents.rows

    # ---- parts ----------------------------------------------------------------------------------------

    def part(self, scope: Iterable[int]) -> Indices:
        """Return the variables that may bear on some of them, ascending."""
        frontier, touched = list(scope), set[int]()
        found = set(frontier)
        while frontier:
            require_time()
            x = frontier.pop()
            if (label := int(self._part_of[x])) >= 0:
                # An anchored part has all that is above it.
                touched.add(label)
                continue
            fresh = set(self._rows[x]) - found
            found |= fresh
            frontier.extend(fresh)
        if not touched:
            return np.array(sorted(found), dtype=np.int64)
        joined = np.isin(self._part_of, list(touched))
        joined[list(found)] = True
        return np.flatnonzero(joined)

    def anchored(self) -> Indices:
        """Return the variables of all parts in which something is said that may have no model."""
        return np.flatnonzero(self._part_of >= 0)

    def examples_beside(self, kept: Sequence[int]) -> tuple[Indices, Indices] | None:
        """Return an anchored part of each kind, after the places in it of kinds that a part covers.

        Parts of one kind differ in the names of their variables alone: one has a model if the others have.
        None where there is no anchored part beside the one that is given.
        """
        part_of, (kind, examples) = self._part_of, self._kinds
        touched = np.unique(part_of[np.array(kept, dtype=np.int64)])
        total = np.bincount(kind[self._labels])
        covered = np.bincount(kind[touched[touched >= 0]], minlength=len(total)) == total
        if covered.all():
            return None
        return np.flatnonzero(covered[kind[part_of[examples]]]), examples

    @cached_property
    def _labels(self) -> Indices:
        """Return the labels of the anchored parts."""
        found = np.unique(self._part_of)
        return found[found >= 0]

    @cached_property
    def _kinds(self) -> tuple[Indices, Indices]:
        """Return the kind of each anchored part, by label, and the variables of the first one of each."""
        kind = np.full(self.parents.count, -1, dtype=np.int64)
        first = list[int]()
        for number, labels in enumerate(self._alike_parts()):
            kind[labels] = number
            first.append(int(labels[0]))
        return kind, np.flatnonzero(np.isin(self._part_of, first))

    def _alike_parts(self) -> Iterator[Indices]:
        """Yield the labels of anchored parts that say the same of their variables, in the order of these."""
        places, own, roles = self._places_in_parts(), list[tuple[Indices, Indices]](), 0
        for shape in self.said:
            labels = self._part_of[shape.columns]
            inside = (labels == labels[:, :1]).all(axis=1) & (labels[:, 0] >= 0)
            bounds = np.column_stack([shape.bounds.lower, shape.bounds.upper])
            rows = np.hstack([places[shape.columns], bounds])[inside]
            _, role = np.unique(packed(rows), return_inverse=True)
            own.append((labels[inside, 0], role.ravel() + roles))
            roles += 1 + int(role.max(initial=-1))
        owner, role = (np.concatenate(side) for side in zip(*own, strict=True))
        # What is declared of variables is no sentence: such a part is alone of its kind.
        apart = np.zeros(self.parents.count, dtype=np.int64)
        for one in self.network.independences:
            label = self._part_of[self._numbers(one)[0]]
            apart[label] = label + 1
        order = np.lexsort((role, owner))
        yield from (labels for labels, _ in _alike(owner[order], role[order], apart))

    def _places_in_parts(self) -> Indices:
        """Return the place of each variable among those of its part."""
        order = np.argsort(self._part_of, kind="stable")
        ordered = self._part_of[order]
        begins = np.flatnonzero(np.diff(ordered, prepend=-2))
        places = np.empty(len(order), dtype=np.int64)
        counts = np.diff(np.append(begins, len(order)))
        places[order] = np.arange(len(order)) - np.repeat(begins, counts)
        return places

    def cut(self, variables: Sequence[int]) -> Network:
        """Return what is said of some variables, which include all their parents, as a network of its own."""
        kept = np.array(variables, dtype=np.int64)
        inside = np.zeros(self.parents.count, dtype=np.bool_)
        inside[kept] = True
        network = self.network
        numbers = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *self._said_of(kept, inside)]))
        sentences = tuple([network.sentences[n] for n in _in_time(numbers.tolist())])
        declared = (i for i in network.independences if inside[self._numbers(i)].all())
        return Network(tuple([self.variables[x] for x in variables]), sentences, tuple(declared))

    def _said_of(self, kept: Indices, inside: Mask) -> Iterator[Indices]:
        """Yield the numbers of the sentences about some variables alone, form by form."""
        if len(kept) > self.parents.count // SMALL:
            yield from (shape.where[inside[shape.columns].all(axis=1)] for shape in self.said)
            return
        for shape, (start, rows) in zip(self.said, self._mentions, strict=True):
            own = np.concatenate([rows[start[x] : start[x + 1]] for x in kept.tolist()])
            own = np.unique(own)
            yield shape.where[own[inside[shape.columns[own]].all(axis=1)]]

    @cached_property
    def _mentions(self) -> list[tuple[Indices, NDArray[np.int32]]]:
        """Return, for each form, the rows that mention a variable: where its own begin, and all of them."""
        count = self.parents.count
        found = []
        for shape in self.said:
            width = shape.columns.shape[1]
            order = np.argsort(shape.columns, axis=None, kind="stable")
            start = np.zeros(count + 1, dtype=np.int64)
            np.cumsum(np.bincount(shape.columns.ravel(), minlength=count), out=start[1:])
            found.append((start, (order // width).astype(np.int32)))
        return found

    @cached_property
    def _part_of(self) -> NDArray[np.int64]:
        """Return which anchored part each variable is in; -1 where it bears on none."""
        count, anchors = self.parents.count, self._anchors
        needed = self.parents.ancestors(np.flatnonzero(anchors))
        pairs = [*self._pairs()]
        # A variable that is needed is joined to its parents, which are needed too.
        children = self.parents.children
        joins = needed[children]
        pairs.append((children[joins], self.parents.flat[joins]))
        left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
        both = needed[left] & needed[right]
        edges = (np.ones(int(both.sum()), dtype=np.bool_), (left[both], right[both]))
        graph = sp.csr_array(edges, shape=(count, count))
        labels = connected_components(graph, directed=False)[1].astype(np.int64)
        labels[~needed] = -1
        return labels

    def _pairs(self) -> Iterator[tuple[Indices, Indices]]:
        """Yield pairs of variables that one sentence of an anchor or one declared condition mentions."""
        for shape, joins in zip(self.said, self._joining, strict=True):
            columns = shape.columns[joins].astype(np.int64)
            yield from ((columns[:, 0], other) for other in columns.T[1:])
        for one in self.network.independences:
            numbers = self._numbers(one)
            yield np.full(len(numbers), numbers[0]), numbers

    def _numbers(self, one: Independence) -> Indices:
        found = [self.variables.find(v.name) for v in (*one.left, *one.right, *one.given)]
        return np.array(found, dtype=np.int64)

    # ---- anchors --------------------------------------------------------------------------------------

    @cached_property
    def core(self) -> Mask:
        """Tell of each variable whether it is in a component of several, or above one."""
        count, labels = self.parents.components()
        several = np.bincount(labels, minlength=count)[labels] > 1
        return self.parents.ancestors(np.flatnonzero(several)) if several.any() else several

    @cached_property
    def _families(self) -> list[_Family | None]:
        """Return, form by form, the sentences about one variable given its parents; None for other forms."""
        return [self._family(shape) for shape in self.said]

    def _family(self, shape: Shape) -> _Family | None:
        template = shape.template
        claimed = template.claim_scope
        if len(claimed) != 1 or claimed[0] in template.given_scope:
            return None
        slots = dict(zip(template.scope, shape.columns.T, strict=True))
        child = slots[claimed[0]].astype(np.int64)
        given = [slots[v].astype(np.int64) for v in template.given_scope]
        places = [self._place(child, parent) for parent in given]
        stacked = np.stack(places, axis=1) if places else np.empty((len(child), 0), dtype=np.int64)
        return _Family(child, stacked, (stacked >= 0).all(axis=1) & ~self.core[child])

    def _place(self, child: Indices, parent: Indices) -> Indices:
        """Return the place of a variable among the parents of another; -1 where it is none."""
        keys, asked = self._keys, child * self.parents.count + parent
        found = np.searchsorted(keys, asked)
        known = np.append(keys, -1)[found] == asked
        return np.where(known, found - self.parents.start[child], -1)

    @cached_property
    def _keys(self) -> Indices:
        """Return a number for each pair of a variable and a parent, ascending."""
        return self.parents.children * self.parents.count + self.parents.flat

    @cached_property
    def _anchors(self) -> Mask:
        """Tell of each variable whether it may be bound by more than what is said of it and its parents."""
        found = self.core.copy()
        for shape, family in zip(self.said, self._families, strict=True):
            found[shape.columns if family is None else shape.columns[~family.is_own]] = True
        found[self._strained()] = True
        for one in self.network.independences:
            found[self._numbers(one)] = True
        return found

    @cached_property
    def _joining(self) -> list[Mask]:
        """Tell, form by form, which sentences hold the variables that they mention together."""
        anchors, found = self._anchors, []
        for shape, family in zip(self.said, self._families, strict=True):
            every = np.ones(len(shape.where), dtype=np.bool_)
            found.append(every if family is None else ~family.is_own | anchors[family.child])
        return found

    # ---- what one variable is told --------------------------------------------------------------------

    def _strained(self) -> Indices:
        """Return the variables of which some configuration may ask for more than any theta gives."""
        told = _Told.of(self.said, self._families, self.variables.sizes)
        found = [np.empty(0, dtype=np.int64)]
        for children, rows in _alike(told.child, told.role, np.diff(self.parents.start)):
            require_time()
            sentences = [self.network.sentences[int(n)] for n in told.where[rows[0]]]
            if told.is_simple[rows[0]].all() and len(sentences) <= MOST_PAIRED:
                pairs = _compatible([sentence.given for sentence in sentences])
                found.append(children[_contradicts(told.lower[rows], told.upper[rows], pairs)])
            elif not self._is_satisfiable(int(children[0]), sentences):
                found.append(children)
        return np.concatenate(found)

    def _is_satisfiable(self, child: int, sentences: Sequence[Sentence]) -> bool:
        """Tell whether in every configuration some theta satisfies all that is said of a variable."""
        x, above = self.variables[child], [self.variables[p] for p in self._rows[child]]
        if prod(len(v.values) for v in above) > MOST_CONFIGURATIONS:
            return False
        local = [local_row(sentence, x) for sentence in sentences]
        holds = np.stack([truth_table(sentence.given, above).ravel() for sentence in sentences], axis=1)
        chosen = [
            [r for r, is_so in zip(local, row, strict=True) if is_so] for row in np.unique(holds, axis=0)
        ]
        return not any(LocalPolytope(len(x.values), tuple(some)).is_empty for some in chosen if some)


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """Sentences of one form about a variable: its number, the places of what is given among its parents."""

    child: Indices
    places: Indices
    is_own: Mask
    """Whether all that is given are parents, and the variable is in no core."""


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """What the variables outside the core are told, sentence by sentence.

    A role says in which form, and about which of its parents. Sentences that bound one of two values have
    ends that compare as the bounds do; the role of others tells their bounds too.
    """

    child: Indices
    role: Indices
    where: Indices
    lower: Indices
    upper: Indices
    is_simple: Mask

    @classmethod
    def of(cls, said: Sequence[Shape], families: Sequence[_Family | None], sizes: NDArray[np.int64]) -> _Told:
        """Gather the sentences of all forms."""
        ranks, parts, roles = _ranks(said), [], 0
        for shape, family in zip(said, families, strict=True):
            if family is not None and family.is_own.any():
                part = _told(shape, family, ranks, sizes)
                parts.append((*part[:1], part[1] + roles, *part[2:]))
                roles += int(part[1].max()) + 1
        if not parts:
            none = np.empty(0, dtype=np.int64)
            return cls(none, none, none, none, none, none.astype(np.bool_))
        columns = [np.concatenate(side) for side in zip(*parts, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return cls(*(column[order] for column in columns))


def _alike(owner: Indices, role: Indices, besides: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Yield owners that have the same roles, and the same number besides, with the places of their roles.

    Roles are sorted by owner, and those of one owner are ascending.
    """
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    counts, owners = np.diff(np.append(begins, len(owner))), owner[begins]
    for count in np.unique(counts).tolist():
        chosen = counts == count
        rows = begins[chosen][:, None] + np.arange(count)
        keys = np.column_stack([besides[owners[chosen]], role[rows]])
        group = np.unique(packed(keys), return_inverse=True)[1].ravel()
        order = np.argsort(group, kind="stable")
        for some in np.split(order, np.cumsum(np.bincount(group))[:-1]):
            yield owners[chosen][some], rows[some]


def _told(
    shape: Shape, family: _Family, ranks: Mapping[Fraction, int], sizes: NDArray[np.int64]
) -> tuple[Indices, Indices, Indices, Indices, Indices, Mask]:
    """Return the own sentences of a form: child, role, number, ends, and whether they bound one value."""
    own = family.is_own
    child, bounds = family.child[own], shape.bounds[own]
    side = _side(shape)
    simple = side is not None
    ends = [[ranks[bound] for bound in bounds.numbers], [ranks[1 - bound] for bound in bounds.numbers]]
    straight, turned = (np.array(row, dtype=np.int64) for row in ends)
    lower, upper = bounds.lower.astype(np.int64), bounds.upper.astype(np.int64)
    low, high = (turned[upper], turned[lower]) if side == 0 else (straight[lower], straight[upper])
    columns = [family.places[own], sizes[child][:, None]]
    columns += [] if simple else [np.column_stack([low, high])]
    _, role = np.unique(packed(np.hstack(columns)), return_inverse=True)
    return child, role.ravel(), shape.where[own], low, high, np.full(len(child), simple)


def _side(shape: Shape) -> int | None:
    """Return which of the two values of a variable a form bounds the probability of; None for other forms."""
    (x,) = shape.template.claim_scope
    claims = shape.template.claims
    if len(x.values) != 2 or len(claims) != 1 or claims[0][0] != 1:
        return None
    true = truth_table(claims[0][1], (x,)).nonzero()[0].tolist()
    return true[0] if len(true) == 1 else None


def _ranks(said: Sequence[Shape]) -> dict[Fraction, int]:
    """Return numbers that compare as the bounds and their complements do."""
    numbers = {bound for shape in said for bound in shape.bounds.numbers}
    numbers |= {1 - bound for bound in numbers}
    # Floats compare sooner, and where two of them differ, they compare as the fractions do.
    return {bound: i for i, bound in enumerate(sorted(numbers, key=lambda b: (float(b), b)))}


def _compatible(conditions: Sequence[Formula]) -> list[tuple[int, int]]:
    """Return the pairs of conditions that some world fulfils together, in doubt all, each in both orders."""
    found = [(i, i) for i in range(len(conditions))]
    for (i, one), (j, other) in combinations(enumerate(conditions), 2):
        together = scope(one, other)
        is_wide = prod(len(v.values) for v in together) > MOST_CONFIGURATIONS
        if is_wide or (truth_table(one, together) & truth_table(other, together)).any():
            found += [(i, j), (j, i)]
    return found


def _contradicts(lower: Indices, upper: Indices, pairs: Sequence[tuple[int, int]]) -> Mask:
    """Tell of each row whether two bounds that may hold together exclude each other.

    Intervals of which any two meet have a point in common.
    """
    found = np.zeros(len(lower), dtype=np.bool_)
    for i, j in pairs:
        found |= lower[:, i] > upper[:, j]
    return found


def _in_time(numbers: Iterable[int]) -> Iterator[int]:
    for number in numbers:
        require_time()
        yield number
