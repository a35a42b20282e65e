"""A network in columns, cut around questions.

Input: a large network and the reading of its Markov condition. Output: `Large`: which variables bear on a
question, which parts may have no model, and the networks and engines of these, of which the latest are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from credalog.methods.answer import Answer, Options
from credalog.methods.progress import bounds_alone
from credalog.network.graph import Markov
from credalog.network.sentences import Network
from credalog.numbers.budget import Budget

if TYPE_CHECKING:
    from credalog.network.relevant_part import Bearing

__all__ = ["Beside", "Large", "without_models"]

T = TypeVar("T")

Beside: TypeAlias = Callable[[Options, Budget], bool | None]
"""Tells whether a part of a network that is not at hand has a model; None where that is not known."""

KEPT = 64
"""So many parts are remembered."""


class Large:
    """A network in columns, and the engines of parts of it."""

    def __init__(self, bearing: Bearing) -> None:
        self._bearing = bearing
        self._engines: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    @classmethod
    def of(cls, network: Network, markov: Markov) -> Large | None:
        """Make a network ready; None where arrays do not tell its parents."""
        # Small networks need no sparse matrices.
        from credalog.network.relevant_part import bearing_of

        found = bearing_of(network, follows_arrows=markov is not Markov.NONE)
        return None if found is None else cls(found)

    def part(self, scope: Iterable[int]) -> tuple[int, ...]:
        """Return the variables that bear on some of them."""
        return tuple(self._bearing.part(scope).tolist())

    def anchored_beside(self, kept: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the variables of an anchored part of each kind, after the places of those that are covered.

        None where there is no anchored part beside some variables.
        """
        found = self._bearing.examples_beside(kept)
        return None if found is None else (tuple(found[0].tolist()), tuple(found[1].tolist()))

    def kept_engine(self, kept: tuple[int, ...], make: Callable[[Network], T]) -> T:
        """Return the engine of some variables, which is made once."""
        if kept not in self._engines:
            self._engines[kept] = make(self._bearing.cut(kept))
            while len(self._engines) > KEPT:
                self._engines.popitem(last=False)
        self._engines.move_to_end(kept)
        found: T = self._engines[kept]
        return found


def without_models(answer: Answer, tolerance: float) -> Answer:
    """Return an answer whose models are not known to extend to the whole network: its bounds alone."""
    interval = bounds_alone(answer.interval)
    return replace(answer, interval=interval, status=interval.status(tolerance))
