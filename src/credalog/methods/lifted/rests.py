"""The rests that are tried around a slice.

Input: what is free outside a slice, and what is not. Output: `Rests`: worlds of the cells that are not free,
coins, and copies, each found once for all slices that have the same free predicates (docs/proofs.md, proofs
18 and 19).
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice

from credalog.methods.lifted.coins import Coins, coins_of
from credalog.methods.lifted.copies import Copies, copies_of
from credalog.methods.lifted.rest import Cell, Rest
from credalog.network.graph import Markov

__all__ = ["Rests"]

MOST_WORLDS = 6
"""In so many worlds of the rest models are sought."""


class Rests:
    """Laws of everything outside a slice."""

    def __init__(self, rest: Rest, markov: Markov) -> None:
        self.rest = rest
        self._markov = markov

    @cached_property
    def worlds(self) -> tuple[dict[Cell, str], ...]:
        """Return values of the cells: as many false as can be, as many true, and some between."""
        certain = self.rest.certain
        orders = [[False] * len(certain), [True] * len(certain)]
        orders += [[name == other for other in certain] for name in certain]
        found: dict[tuple[tuple[Cell, str], ...], dict[Cell, str]] = {}
        for order in orders:
            for cells in islice(self.rest.worlds(order), 2):
                found.setdefault(tuple(sorted(cells.items(), key=repr)), cells)
            if len(found) >= MOST_WORLDS:
                break
        return tuple(found.values())

    @cached_property
    def coins(self) -> tuple[Coins, ...]:
        """Return rests of coins; where no condition keeps a slice apart from them, they stand for none."""
        return () if self._markov is Markov.NONE else coins_of(self.rest)

    @cached_property
    def copies(self) -> tuple[tuple[Copies, dict[Cell, str]], ...]:
        """Return rests in which the atoms of some predicates are copies: of all not free, or of one."""
        certain = self.rest.certain
        chosen = [frozenset(certain), *(frozenset((name,)) for name in certain)]
        found: list[tuple[Copies, dict[Cell, str]]] = []
        for names in dict.fromkeys(chosen):
            copies = copies_of(self.rest, names) if names else None
            for order in ([False] * len(certain), [True] * len(certain)) if copies is not None else ():
                for cells in islice(self.rest.worlds(order, names), 1):
                    if copies is not None and all(cells != known for c, known in found if c is copies):
                        found.append((copies, cells))
        return tuple(found)
