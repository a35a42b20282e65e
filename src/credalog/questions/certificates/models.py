"""Models of the whole network in whole numbers.

Input: a distribution over what bears on a question. Output: the factors of a certificate: the distribution,
models of the parts beside it, and of each variable that restricts nothing above it any θ that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, lcm, log10, prod
from typing import Any

import numpy as np

from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.network.formulas import Variable, truth_table
from credalog.network.polytopes import LocalPolytope, Row, local_row, ranges, single_value_bounds, vertices
from credalog.network.problem import Problem
from credalog.numbers.budget import Budget
from credalog.tables.distribution import Distribution, Factor

__all__ = ["completed", "in_whole_numbers"]

DIGITS, MOST_DIGITS = 12, 400
"""So many digits of the least probability of a table are kept, if the others have no more than so many."""

SIMPLEST, NEAR = 10**6, 1e-13
"""Fractions with denominators up to this are simple, if they are as near as that to a float."""

MOST_CONFIGURATIONS = 1 << 12
"""A variable with more parent configurations than this is not given a table."""


def in_whole_numbers(distribution: Distribution, number: dict[Variable, int]) -> Iterator[list[list[Any]]]:
    """Yield ways to write the factors of a distribution: rows rounded so that they add up; simple fractions.

    A third is no decimal number, and a model that attains an end is often made of such numbers.
    """
    for written in (_rounded, _simple):
        yield [
            [[number[v] for v in f.block], [number[v] for v in f.parents], *written(f)]
            for f in distribution.factors
        ]


def _rows(factor: Factor) -> Any:
    return factor.table.reshape(-1, prod(len(v.values) for v in factor.block))


def _rounded(factor: Factor) -> tuple[int, list[int]]:
    """Return what each row adds up to, and all entries."""
    rows = _rows(factor)
    least = rows[rows > 0.0].min()
    whole = 10 ** min(DIGITS + ceil(-log10(least)), MOST_DIGITS)
    found: list[int] = []
    for row in rows.tolist():
        entries = [round(Fraction(repr(p)) * whole) for p in row]
        entries[entries.index(max(entries))] += whole - sum(entries)
        found += entries
    return whole, found


def _simple(factor: Factor) -> tuple[int, list[int]]:
    """Return the same for the simplest fractions that are about as near as floats are; else rounded."""
    rows = [[Fraction(p).limit_denominator(SIMPLEST) for p in row] for row in _rows(factor).tolist()]
    whole = lcm(*(p.denominator for row in rows for p in row))
    is_near = np.allclose(np.array(rows, dtype=float), _rows(factor), rtol=NEAR, atol=0.0)
    if not is_near or any(sum(row) != 1 for row in rows) or whole > 10**MOST_DIGITS:
        return _rounded(factor)
    return whole, [int(p * whole) for row in rows for p in row]


def completed(
    engine: Engine, distribution: Distribution | None, options: Options, budget: Budget
) -> Distribution | None:
    """Return a distribution over all variables that restricts to a given one; None where none is found."""
    factors = list(distribution.factors) if distribution is not None else []
    covered = {v for factor in factors for v in factor.block}
    beside = engine.cliques.models_beside((engine.compiled.number[v] for v in covered), options, budget)
    if beside is None:
        return None
    factors += [factor for model in beside for factor in model.factors]
    covered = {v for factor in factors for v in factor.block}
    for factor in _barren(engine.problem, covered):
        if factor is None:
            return None
        factors.append(factor)
    return Distribution(tuple(factors))


def _barren(problem: Problem, covered: set[Variable]) -> Iterator[Factor | None]:
    """Yield tables of the variables that are left, parents first.

    Of variables that are tied to each other nothing is said if they are left, so independent coins will do.
    """
    for component in problem.structure.components:
        for x in component:
            if problem.variables[x] not in covered:
                yield _table(problem, x) if len(component) == 1 else _coin(problem, x)


def _coin(problem: Problem, x: int) -> Factor:
    return Factor((problem.variables[x],), (), np.full(size := problem.structure.sizes[x], 1.0 / size))


def _table(problem: Problem, x: int) -> Factor | None:
    """Choose some θ(x | configuration) that meets all that is said, in every configuration."""
    variables, structure = problem.variables, problem.structure
    parents = [variables[p] for p in structure.parents[x]]
    sizes = [len(p.values) for p in parents]
    if prod(sizes) > MOST_CONFIGURATIONS:
        return None
    rows = [
        (local_row(s.sentence, variables[x]), truth_table(s.sentence.given, parents))
        for s in problem.owned[x]
    ]
    table = np.zeros((*sizes, structure.sizes[x]))
    for configuration in product(*map(range, sizes)):
        local = problem.polytopes[x].get(configuration)
        own = (
            *(local.rows if local is not None else ()),
            *(row for row, holds in rows if holds[configuration]),
        )
        theta = _point(structure.sizes[x], own)
        if theta is None:
            return None
        table[configuration] = [float(p) for p in theta]
    return Factor((variables[x],), tuple(parents), table)


def _point(size: int, rows: Sequence[Row]) -> Iterable[Fraction] | None:
    """Return a point of a local polytope: its bounds filled up in order, or a vertex."""
    polytope = LocalPolytope(size, tuple(rows))
    if polytope.is_empty:
        return None
    if single_value_bounds(polytope) is None:
        return vertices(polytope)[0]
    lows, highs = zip(*ranges(polytope), strict=True)
    left, theta = 1 - sum(lows), list(lows)
    for value in range(size):
        more = min(left, highs[value] - lows[value])
        theta[value] += more
        left -= more
    return theta
