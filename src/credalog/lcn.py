"""The object a user holds: a Logical Credal Network, and every question that can be asked of it.

Enters: text, files or sentences built in Python. Leaves: `LCN`, immutable and compared by content. Its
methods only delegate: each question is answered in the room that is named after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from credalog.grounding import LIMIT, Grounder
from credalog.language import read, read_file
from credalog.logic import Formula, Variable, conjunction
from credalog.markov import DependencyGraph, dependency_graph, independences
from credalog.model import Independence, Network, Query, Sentence
from credalog.theory import Theory

__all__ = ["LCN", "load", "parse"]


def parse(text: str) -> LCN:
    """Read an LCN from text."""
    return LCN(read(text))


def load(path: str | Path) -> LCN:
    """Read an LCN from a file and the files it includes."""
    return LCN(read_file(path))


@dataclass(frozen=True)
class LCN:
    """A Logical Credal Network: a theory, its ground network, and what follows from it."""

    theory: Theory

    @classmethod
    def of(cls, *sentences: Sentence) -> LCN:
        """Build an LCN from sentences."""
        return cls(Theory(sentences=sentences))

    def ground(self, *, limit: int = LIMIT) -> Network:
        """Return the ground network; it is built once."""
        if "_network" not in self.__dict__:
            self.__dict__["_network"] = Grounder(self.theory).network(limit)
        network: Network = self.__dict__["_network"]
        return network

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Return the ground variables."""
        return self.ground().variables

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """Return the ground sentences."""
        return self.ground().sentences

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Return the queries written in the text."""
        return Grounder(self.theory).queries()

    @cached_property
    def evidence(self) -> Formula:
        """Return what was observed, as one formula."""
        return Grounder(self.theory).evidence()

    @cached_property
    def graph(self) -> DependencyGraph:
        """Return the dependency graph."""
        return dependency_graph(self.ground())

    def independences(self) -> Iterator[Independence]:
        """Yield the independences that the Markov condition implies."""
        return independences(self.graph)
