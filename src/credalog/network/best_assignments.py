"""How probable assignments of all ancestors are, where each law is free for itself (proofs 29 and 35).

Input: what a network means, variables Y and evidence e that have all their ancestors among them. Output:
`Explanations`: bounds of P(y | e) for one assignment y of Y, and for all that agree with a part of it, in
whole numbers. The verifier of certificates stands on it, so it needs no arrays.

An assignment with the evidence *names* one entry of one law P(x | parents) for each x; P(y, e) is their
product. Where P(y | e) is greatest what is named is at its greatest, and P(e) as small as the other laws make
it; where it is least, the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Literal, TypeAlias

from credalog.errors import require
from credalog.network.graph import Markov
from credalog.network.meaning import Event, Meaning
from credalog.network.polytopes import single_value_bounds
from credalog.network.tables import Bounds, Laws, States, eliminated, extreme_sum

__all__ = ["Chosen", "End", "Explanations"]

End: TypeAlias = Literal["lower", "upper"]

Chosen: TypeAlias = dict[int, Laws]
"""The laws that are chosen for some variables in some states of their unknown parents."""

EXTREME: dict[End, Callable[[Iterable[int]], int]] = {"lower": min, "upper": max}


class Explanations:
    """Assignments of some variables under evidence.

    `order` says how to go through all variables, `sums` how to sum out the ancestors of the evidence.
    """

    def __init__(
        self, meaning: Meaning, chosen: Iterable[int], known: Event, orders: Sequence[Sequence[int]]
    ) -> None:
        self.meaning, self.known, (self.order, self.sums) = meaning, known, orders
        chosen, inner = frozenset(chosen), meaning.ancestors(known)
        everything = meaning.ancestors(chosen.union(known))
        is_product = meaning.markov is not Markov.NONE and everything.isdisjoint(meaning.core)
        require(is_product, "every model is a product of laws")
        require(everything == chosen.union(known), "all ancestors are assigned or observed")
        is_each = sorted(self.order) == sorted(everything.difference(known))
        require(is_each and sorted(self.sums) == sorted(inner), "each variable is gone through once")
        self.laws = {x: meaning.whole_laws(x, known) for x in sorted(everything)}
        self.parents = {x: meaning.unknown(x, known) for x in everything}
        self.axes = {x: (known[x],) if x in known else range(meaning.sizes[x]) for x in everything}
        require(all(map(self._is_box, inner)), "bounds of single values are all that is said of a law")
        self.tables = {end: {x: self._table(x, end, {}) for x in self.laws} for end in EXTREME}

    def _is_box(self, x: int) -> bool:
        """Tell whether what is named may go to its end alone (proof 29)."""
        meaning, worlds = self.meaning, self.meaning.worlds(sorted(self.meaning.parents[x]), self.known)
        return meaning.sizes[x] == 2 or all(single_value_bounds(meaning.polytope(x, e)) for e in worlds)

    @cached_property
    def are_models(self) -> bool:
        """Tell whether every choice of laws is a model of the whole network."""
        meaning = self.meaning
        is_local = all(map(meaning.is_local, meaning.network.sentences))
        is_alone = not meaning.core and not meaning.declared and meaning.frame is None
        return is_alone and is_local and all(meaning.laws(x, {}) for x in range(len(meaning.sizes)))

    def chosen(self, before: Chosen, rows: Any) -> Chosen:
        """Choose the law of each of some rows, by its number; with none, anything is left to it."""
        found = dict(before)
        for (x, states), number in rows:
            laws = self.laws[x][tuple(states)]
            found[x] = {**found.get(x, {}), tuple(states): laws if number is None else [laws[number]]}
        return found

    def most(self, part: Event, chosen: Chosen, end: End) -> Fraction:
        """Return what one end of P(y | e) is at most, whatever y agrees with a part.

        Laws are chosen for lower ends: any model bounds these.
        """
        greatest = self.greatest(part, chosen, end)
        least, _ = self.mass(part, chosen, end)
        if not least:
            return Fraction(greatest > 0 or end == "lower")
        return min(greatest / least, Fraction(1))

    def least(self, world: Event) -> Fraction:
        """Return what P(y | e) is at least for a whole assignment."""
        named, (_, most) = self.greatest(world, {}, "lower"), self.mass(world, {}, "lower")
        return named / most if most else named

    def greatest(self, part: Event, chosen: Chosen, end: End) -> Fraction:
        """Return the greatest product of least (or greatest) entries that an assignment names."""
        changed = {x: self._table(x, end, chosen) for x in chosen}
        waiting = [*{**self.tables[end], **changed}.values()]
        axes = {x: (part[x],) if x in part else states for x, states in self.axes.items()}
        for x in self.order:
            waiting = eliminated(x, waiting, axes, join=max)
        return Fraction(prod(table[()] for _, table in waiting), self._whole(self.laws))

    def mass(self, part: Event, chosen: Chosen, end: End) -> tuple[Fraction, Fraction]:
        """Return between which values P(e) is if what is named is at one end, whatever all else is."""
        waiting = list[Bounds]()
        for y in self.sums:
            near, laws = [f for f in waiting if y in f.over], self._named(y, part, chosen, end)
            made = extreme_sum(y, self.parents[y], laws, near, None, self.axes)
            waiting = [*(f for f in waiting if y not in f.over), made]
        require(all(not f.over for f in waiting), "children are summed out before their parents")
        whole, found = self._whole(self.sums), [f.table[()] for f in waiting]
        return Fraction(prod(low for low, _ in found), whole), Fraction(
            prod(high for _, high in found), whole
        )

    def _whole(self, families: Iterable[int]) -> int:
        """Return what the laws of some variables add up to, multiplied."""
        return prod(sum(next(iter(self.laws[x].values()))[0]) for x in families)

    def _named(self, x: int, part: Event, chosen: Chosen, end: End) -> Laws:
        """Return the laws of a variable; where one entry is named, those that have it at one end."""
        rows, world = {**self.laws[x], **chosen.get(x, {})}, {**part, **self.known}
        if not world.keys() >= {x, *self.parents[x]}:
            return rows
        row, state = tuple(world[p] for p in self.parents[x]), world[x]
        best = EXTREME[end](law[state] for law in rows[row])
        return {**rows, row: [law for law in rows[row] if law[state] == best]}

    def _table(self, x: int, end: End, chosen: Chosen) -> States:
        """Return the least (or greatest) value of each entry of a law."""
        shown = () if x in self.known else (x,)
        rows, states = {**self.laws[x], **chosen.get(x, {})}.items(), self.axes[x]
        values = ((row, s, EXTREME[end](law[s] for law in laws)) for row, laws in rows for s in states)
        return (*self.parents[x], *shown), {(*row, s)[: len(row) + len(shown)]: p for row, s, p in values}
