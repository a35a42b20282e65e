"""Bounds of networks that fall into cases: one for each value of a root, and their mixture.

Input: an engine, a question, a bound and a model near it. Output: `Mixing`: which bounds P(q | root) and
P(q | not root) must have, and the program of the whole, whose bound follows from theirs and from what is said
of the root. The engine's answer is found in the same way (docs/proofs.md, proof 23); a certificate needs no
such theorem, since conditions are states like others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from credalog.methods.automatic import Engine
from credalog.methods.cliques.cases import Cases, cases_of
from credalog.methods.cliques.factorization import Factorization, in_one_clique
from credalog.network.formulas import Formula
from credalog.network.graph import Markov
from credalog.network.meaning import Meaning
from credalog.network.problem import Problem
from credalog.network.sentences import Query
from credalog.numbers.interval import End
from credalog.questions.certificates.program import ReasonedProgram
from credalog.tables.distribution import Distribution

__all__ = ["Mixing", "in_case", "mixed", "mixing"]


@dataclass(frozen=True, slots=True)
class Mixing:
    """A question in cases; a model near the bound attains a value of it, and `values` in the cases."""

    cases: Cases
    asked: Query
    end: End
    bound: float
    attained: float
    values: tuple[float, float]

    @property
    def order(self) -> tuple[int, int]:
        """Return the cases, the less likely first: its bound need not be as close."""
        return (1, 0) if self.cases.chance[1] <= Fraction(1, 2) else (0, 1)

    def question(self, case: int) -> Query:
        """Return the question in a case."""
        return Query(self.asked.claim, self.condition(case))

    def condition(self, case: int) -> Formula:
        """Return what is so in a case."""
        return self.cases.root.is_(self.cases.root.values[case])

    @property
    def first_target(self) -> float:
        """Return a bound for the first case: as far from its value in the model as that of the whole is."""
        gap = abs(self.attained - self.bound)
        return self._clipped(self.values[self.order[0]] - gap * self.end.sign)

    def second_target(self, first: float) -> float:
        """Return the bound that the second case must have for that of the whole, given that of the first."""
        shares = [float(p if self.order[0] == 1 else 1 - p) for p in self.cases.chance]
        needed = [(self.bound - share * first) / (1.0 - share) for share in shares]
        return self._clipped(max(needed) if self.end is End.LOWER else min(needed))

    @staticmethod
    def _clipped(value: float) -> float:
        return min(max(value, 0.0), 1.0)


def mixing(
    engine: Engine, asked: Any, end: End, bound: float | Fraction, model: Distribution | None
) -> Mixing | None:
    """Tell the cases of a question; None where there are none, or no model to divide the bound by."""
    is_plain = isinstance(asked, Query) and isinstance(bound, float) and model is not None
    if not is_plain or engine.markov is not Markov.LOCAL or engine.frame is not None:
        return None
    found = cases_of(engine.network, engine.graph)
    if found is None or not found.suit(asked) or model is None:
        return None
    root = found.root
    no, yes = (float(model.probability(asked.claim, root.is_(value))) for value in root.values)
    attained = float(model.probability(asked.claim))
    return Mixing(found, asked, end, float(bound), attained, (no, yes))


def in_case(problem: Problem, asked: Query, known: int) -> Factorization:
    """Put all variables into one table, one of them at a known state."""
    number = {v: i for i, v in enumerate(problem.variables)}
    query = sorted(number[v] for v in asked.scope)
    whole = in_one_clique(problem.structure, query=query, reading=problem.reading)
    clique, total = whole.cliques
    conditions = tuple(c for c in clique.conditions if known not in (*c.left, *c.right))
    block = tuple(x for x in clique.block if x != known)
    fixed = replace(clique, fixed=frozenset((known,)), block=block, conditions=conditions)
    return replace(whole, cliques=(fixed, total), observed=frozenset((known,)))


def mixed(meaning: Meaning, one: Mixing) -> ReasonedProgram:
    """Return a program of the question and the root alone: all that is said and proved of these."""
    over = meaning.numbers({*one.asked.scope, one.cases.root})
    said: Sequence[int] = [
        k for k, sentence in enumerate(meaning.sentences) if meaning.numbers(sentence.scope) <= over
    ]
    found = ReasonedProgram(meaning, one.asked, [[[], []], [sorted(over), []]], 1)
    found.parts.append(["part", 1, [], 0, []])
    found.bounds += [["sentence", k, end, 1, []] for k in said for end in ("lower", "upper")]
    return found
