"""The tables of a credal network in whole numbers, and the sentences that say the same.

Input: for each variable its parents and, in every configuration of these, bounds on the probabilities of its
values. Output: `FamilySentences`, a sequence of sentences that are made when someone looks at them, and
the place of each: a public network has half a million probabilities, and most questions look at few of them
one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import TypeAlias

from credalog.network.columns import Lazy
from credalog.network.formulas import Variable, conjunction
from credalog.network.sentences import Network, Sentence, Source
from credalog.numbers.budget import require_time

__all__ = [
    "Configuration",
    "Family",
    "FamilyPlaces",
    "FamilySentences",
    "Place",
    "families_of",
    "is_precise",
    "scopes_of",
]

Configuration: TypeAlias = tuple[int, ...]
Place: TypeAlias = tuple[int, Configuration]
Weights: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Bounds on theta(x | configuration), value by value: lower / scale <= theta <= upper / scale.

    The rows are in the order of the configurations of the parents, the last parent changing fastest.
    Sentences speak of the first `told` values; what is said of the others follows from these.
    """

    child: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    """How many values each parent has."""
    lower: tuple[Weights, ...]
    upper: tuple[Weights, ...]
    scale: Weights
    told: int
    lines: tuple[int, ...]
    """Where each row stands in its file."""

    @classmethod
    def of_points(
        cls, child: int, parents: tuple[int, ...], sizes: Weights, points: Sequence[tuple[Weights, int]]
    ) -> Family:
        """Return a family of single distributions, each as weights, beside the line of a file."""
        rows = tuple(weights for weights, _ in points)
        scale, lines = tuple(map(sum, rows)), tuple(line for _, line in points)
        if len(rows[0]) > 1:
            return cls(child, parents, sizes, rows, rows, scale, len(rows[0]) - 1, lines)
        # Of a single value nothing can be said, but that it has these parents.
        nothing = ((0,),) * len(rows)
        return cls(child, parents, sizes, nothing, rows, scale, int(bool(parents)), lines)

    @property
    def size(self) -> int:
        """Return how many values the variable has."""
        return len(self.lower[0])

    @property
    def is_point(self) -> bool:
        """Tell whether there is one table only."""
        return self.size == 1 or self.lower == self.upper

    @property
    def has_empty(self) -> bool:
        """Tell whether no distribution lies between the bounds of some row."""
        rows = zip(self.lower, self.upper, self.scale, strict=True)
        return any(
            not sum(low) <= scale <= sum(high) or any(l > u for l, u in zip(low, high, strict=True))
            for low, high, scale in rows
        )

    def configuration(self, row: int) -> Configuration:
        """Return the states of the parents, in their order, that a row is about."""
        states = []
        for size in reversed(self.sizes):
            row, state = divmod(row, size)
            states.append(state)
        return tuple(reversed(states))

    def bounds(self, row: int, value: int) -> tuple[Fraction, Fraction]:
        """Return the bounds on one probability."""
        scale = self.scale[row]
        return Fraction(self.lower[row][value], scale), Fraction(self.upper[row][value], scale)

    @property
    def order(self) -> tuple[int, ...]:
        """Return the places of the parents in their list, those with lower numbers first."""
        return tuple(sorted(range(len(self.parents)), key=self.parents.__getitem__))


class FamilySentences(Lazy[Sentence]):
    """What families say, as sentences: row by row, of each value that is told."""

    def __init__(self, families: Iterable[Family], variables: Sequence[Variable], file: str = "") -> None:
        self.families = tuple(families)
        self.variables = variables
        self._file = file
        counts = (family.told * len(family.scale) for family in self.families)
        self.starts = [0, *accumulate(counts)]
        """The number of the first sentence of each family, and how many there are."""
        super().__init__(self.starts[-1])

    def item(self, i: int) -> Sentence:
        """Make the sentence of a number."""
        require_time()
        family, row, value = self._where(i)
        x, above = self.variables[family.child], [self.variables[p] for p in family.parents]
        states = zip(above, family.configuration(row), strict=True)
        given = conjunction(p.is_(p.values[state]) for p, state in states)
        claims = ((Fraction(1), x.is_(x.values[value])),)
        source = Source(self._file, family.lines[row])
        return Sentence(claims, given, *family.bounds(row, value), source=source)

    def place(self, i: int) -> Place:
        """Return the variable and the configuration, its parents in the order of numbers, of a sentence."""
        family, row, _ = self._where(i)
        states = family.configuration(row)
        return family.child, tuple(states[k] for k in family.order)

    def _where(self, i: int) -> tuple[Family, int, int]:
        f = bisect_right(self.starts, i) - 1
        return self.families[f], *divmod(i - self.starts[f], self.families[f].told)

    @property
    def conditions(self) -> int:
        """Return how many different conditions name the states of several parents."""
        together = {frozenset(f.parents): prod(f.sizes) for f in self.families if len(f.parents) > 1}
        return sum(together.values())

    def among(self, variables: Sequence[Variable]) -> FamilySentences:
        """Return what is said of some variables alone, under their numbers in this list."""
        number = {v: n for n, v in enumerate(variables)}
        moved = {old: number[v] for old, v in enumerate(self.variables) if v in number}
        kept = (f for f in self.families if moved.keys() >= {f.child, *f.parents})
        renumbered = (
            replace(f, child=moved[f.child], parents=tuple(moved[p] for p in f.parents)) for f in kept
        )
        return FamilySentences(renumbered, variables, self._file)

    def revised(self, families: Iterable[Family]) -> FamilySentences:
        """Return other families of the same variables."""
        return FamilySentences(families, self.variables, self._file)


def families_of(network: Network) -> FamilySentences | None:
    """Return the families of a network, if it says nothing else; more variables may follow theirs."""
    found = network.sentences
    if not isinstance(found, FamilySentences) or network.independences or network.contrasts:
        return None
    known, everything = found.variables, network.variables
    is_same = everything is known or tuple(everything[: len(known)]) == tuple(known)
    return found if is_same else None


def is_precise(network: Network) -> bool:
    """Tell whether every sentence says one number."""
    if (tabled := families_of(network)) is not None:
        return all(family.is_point for family in tabled.families)
    return all(sentence.lower == sentence.upper for sentence in network.sentences)


def scopes_of(network: Network) -> Iterator[tuple[Variable, ...]]:
    """Yield the variables of each sentence, of each family once."""
    if (tabled := families_of(network)) is None:
        yield from (sentence.scope for sentence in network.sentences)
        return
    for family in tabled.families:
        if family.told:
            yield tuple(network.variables[x] for x in (family.child, *family.parents))


class FamilyPlaces(Lazy[tuple[Place, ...]]):
    """The one place that each sentence of some families is local to."""

    def __init__(self, sentences: FamilySentences) -> None:
        self._sentences = sentences
        super().__init__(len(sentences))

    def item(self, i: int) -> tuple[Place, ...]:
        """Return the place of a sentence."""
        return (self._sentences.place(i),)
