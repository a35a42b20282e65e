"""A network made ready for many queries under one Markov condition.

Input: a network, and the network whose dependency graph counts. Output: `Compiled`: the graph, the problem in
numbers, and the network read as a credal network, each computed once. All methods share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from credalog.errors import UnknownName
from credalog.network.formulas import Variable
from credalog.network.graph import DependencyGraph, Markov, dependency_graph
from credalog.network.sentences import Network, Query, Sentence
from credalog.tables.credal import CredalNetwork, credal_network, credal_part

if TYPE_CHECKING:
    from credalog.network.problem import Problem

__all__ = ["Compiled"]


@dataclass(frozen=True)
class Compiled:
    """A network and what follows from it before anything is asked.

    `frame` is the network whose dependency graph counts, by default the network itself. It lets sentences be
    dropped or changed while the independences stay.
    """

    network: Network
    markov: Markov = Markov.LOCAL
    frame: Network | None = None

    @cached_property
    def graph(self) -> DependencyGraph:
        """Return the dependency graph."""
        return dependency_graph(self.network if self.frame is None else self.frame)

    @cached_property
    def problem(self) -> Problem:
        """Return the network in numbers."""
        # Sparse matrices take time to import, and a Bayesian network needs none.
        from credalog.network.problem import problem_of

        return problem_of(self.network, self.graph, self.markov)

    @cached_property
    def number(self) -> Mapping[Variable, int]:
        """Return the number of each variable."""
        return self.network.numbering()

    @cached_property
    def credal(self) -> CredalNetwork | None:
        """Return the network read as a credal network, if it is one."""
        if self.frame is not None or self.markov is Markov.NONE:
            return None
        return credal_network(self.network, self.graph)

    @cached_property
    def credal_part(self) -> tuple[CredalNetwork, tuple[Sentence, ...]] | None:
        """Return what is said of single tables and what is said beside, if models are products of tables."""
        if self.frame not in (None, self.network) or self.markov is Markov.NONE:
            return None
        return credal_part(self.network, self.graph)

    def require_known(self, asked: Query) -> None:
        """Refuse a query about variables that the network does not have."""
        for variable in asked.scope:
            if variable not in self.number:
                raise UnknownName(f"the network has no variable {variable.name}")
