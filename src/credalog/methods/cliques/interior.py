"""How many probabilities of one table an optimum needs strictly inside their intervals.

Input: a `Problem` and the ratios of a program on it. Output: `Interior`: for each table P(x | parents) how
many of its entries need not be at an end, which is no more than there are statements that depend on it
(docs/proofs.md, proof 16).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from credalog.network.formulas import truth_table
from credalog.network.polytopes import single_value_bounds
from credalog.network.problem import Problem, Statement
from credalog.network.structure import ancestors
from credalog.program.program import Interior

if TYPE_CHECKING:
    from credalog.methods.cliques.encoding import RatioKey

__all__ = ["interior_of"]

UNKNOWN = -1

MANY = 32
"""Tables on which so many statements depend, or more, are not counted."""

WIDEST = 1 << 12
"""Of statements about more worlds than this it is not asked whether they cut."""


def interior_of(problem: Problem, keys: Iterable[RatioKey]) -> Interior:
    """Count for every ratio that is an entry of a table of intervals."""
    named = tuple(keys)
    entries = Counter(key.left[0] for key in named if _is_entry(problem, key))
    # Where all entries may lie inside, there is nothing to be known.
    known = {x: count for x, count in _countable(problem).items() if count < entries[x]}
    rows = dict[tuple[int, tuple[int, ...]], int]()
    table = np.full(len(named), UNKNOWN, dtype=np.intp)
    row, sums = table.copy(), np.zeros(len(named), dtype=np.bool_)
    for number, key in enumerate(named):
        x = key.left[0]
        if x in known and _is_entry(problem, key):
            table[number], row[number] = x, rows.setdefault((x, key.configuration), len(rows))
            sums[number] = problem.structure.sizes[x] > 2
    most = [known.get(x, 0) for x in range(len(problem.variables))]
    return Interior(table, row, sums, np.array(most, dtype=np.intp))


def _is_entry(problem: Problem, key: RatioKey) -> bool:
    """Tell whether a ratio is an entry of a table P(x | parents) whose row is restricted entry by entry."""
    if len(key.left) != 1 or key.given != problem.structure.parents[key.left[0]]:
        return False
    polytope = problem.polytopes[key.left[0]].get(key.configuration)
    return polytope is None or polytope.size == 2 or single_value_bounds(polytope) is not None


def _countable(problem: Problem) -> Mapping[int, int]:
    """Return for each variable on which no other condition bears how many statements depend on its table.

    These are the statements about it or its descendants.
    """
    structure = problem.structure
    declared = (x for c in problem.declared for x in (*c.left, *c.right, *c.given))
    bound = ancestors(structure.parents, declared) | structure.core
    about: dict[int, set[int]] = {}
    for number, statement in enumerate(problem.all_statements):
        for x in statement.scope if _cuts(problem, statement) else ():
            about.setdefault(x, set()).add(number)
    below: dict[int, frozenset[int]] = {}
    for (x,) in (c for c in reversed(structure.components) if bound.isdisjoint(c)):
        found = frozenset(about.get(x, ())).union(*(below[child] for child in structure.children[x]))
        below[x] = frozenset(islice(found, MANY))
    return {x: len(found) for x, found in below.items() if len(found) < MANY}


def _cuts(problem: Problem, statement: Statement) -> bool:
    """Tell whether a sentence demands more than that some event has probability zero.

    Let a world in its condition be worth the sum of the weights of the claims it satisfies. That the mean is
    at most the least worth, or at least the greatest, says that all other worlds have probability zero.
    """
    sentence, scope = statement.sentence, [problem.variables[x] for x in statement.scope]
    if prod(len(v.values) for v in scope) > WIDEST:
        return True
    given = truth_table(sentence.given, scope)
    worth = np.full(given.shape, Fraction(0), dtype=object)
    for weight, claim in sentence.claims:
        worth[truth_table(claim, scope)] += weight
    found = worth[given]
    if not len(found):
        return False
    return any(min(found) < bound < max(found) for bound in (sentence.lower, sentence.upper))
