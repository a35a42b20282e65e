"""In which contexts a sentence holds: the states of what its claim is independent of.

Input: a problem, and a statement of it. Output: the state that its condition names, and which variables
d-separation makes independent of its claim given that (docs/proofs.md, proof 32).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from credalog.network.formulas import Variable, literals_of
from credalog.network.problem import Problem, Statement
from credalog.network.relevance import d_connected
from credalog.network.sentences import Sentence

__all__ = ["Apart", "Contexts", "bounds_of_state"]


@dataclass(frozen=True, slots=True)
class Apart:
    """The state that a condition names of each of its variables, and what depends on the claim given it."""

    given: Mapping[int, int]
    connected: frozenset[int]

    def others(self, variables: Iterable[int]) -> set[int]:
        """Return those of some variables that are independent of the claim given the condition."""
        return {x for x in variables if x not in self.connected and x not in self.given}


@dataclass(frozen=True)
class Contexts:
    """Find the contexts of statements; `has_conditions` tells whether there is a Markov condition at all."""

    problem: Problem
    has_conditions: bool

    def of(self, statement: Statement) -> Apart | None:
        """Return what a statement leaves independent of its claim.

        None where its condition names several states of a variable, since a context moves the weight from one
        to another; and where something is cyclic, so that d-separation says nothing.
        """
        named = literals_of(statement.sentence.given)
        if named is None or not self.has_conditions or self.problem.structure.core:
            return None
        given = {self._number[v]: v.values.index(value) for v, value in named.items()}
        claimed = (x for x in statement.scope if x not in given)
        return Apart(given, frozenset(y for x in claimed for y in d_connected(*self._arcs, x, given)))

    @cached_property
    def claiming(self) -> Mapping[int, list[Statement]]:
        """The statements whose claims mention a variable."""
        found: dict[int, list[Statement]] = {x: [] for x in range(len(self.problem.variables))}
        for statement in self.problem.all_statements:
            for variable in statement.sentence.claim_scope:
                found[self._number[variable]].append(statement)
        return found

    @cached_property
    def _number(self) -> dict[Variable, int]:
        return {v: x for x, v in enumerate(self.problem.variables)}

    @cached_property
    def _arcs(self) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
        structure = self.problem.structure
        return dict(enumerate(structure.parents)), dict(enumerate(structure.children))


def bounds_of_state(sentence: Sentence, variable: Variable, state: int) -> tuple[Fraction, Fraction] | None:
    """Return what a sentence says of one state of a variable; None where it is about something else."""
    (weight, claim), *more = sentence.claims
    literals = literals_of(claim)
    if more or weight != 1 or literals is None or set(literals) != {variable}:
        return None
    if variable.values.index(literals[variable]) == state:
        return sentence.lower, sentence.upper
    return (1 - sentence.upper, 1 - sentence.lower) if len(variable.values) == 2 else None
