"""A distribution held as a product of conditional tables.

Input: tables P(block | parents), parents first. Output: probabilities of formulas, joint tables of scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan, prod
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from credalog.errors import LanguageError, UnknownName
from credalog.network.formulas import (
    TRUE,
    And,
    Formula,
    Variable,
    World,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.numbers.budget import Budget
from credalog.tables.elimination import Potential, combined, eliminate, restricted

__all__ = ["Distribution", "Factor", "Floats", "observations"]

Floats = NDArray[np.float64]

MOST_STATES = 1 << 25
"""The largest table that is built on the way to a probability: a quarter of a gigabyte."""

FRONTIER_LIMIT = 1 << 10
"""How many states may be carried along when many probabilities are read off in one pass."""


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """The table P(block | parents); its axes are the parents, then the block."""

    block: tuple[Variable, ...]
    parents: tuple[Variable, ...]
    table: Floats

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Factor)
            and (self.block, self.parents) == (other.block, other.parents)
            and np.array_equal(self.table, other.table)
        )

    def __hash__(self) -> int:
        # Equal tables may differ in the sign of a zero: their bytes are no hash.
        return hash((self.block, self.parents, self.table.shape))


@dataclass(frozen=True, slots=True, repr=False)
class Distribution:
    """The product of its factors, each after the factors of its parents."""

    factors: tuple[Factor, ...]
    _place: dict[Variable, int] = field(init=False, compare=False)
    """Which factor a variable is in."""

    def __post_init__(self) -> None:
        places = {v: i for i, factor in enumerate(self.factors) for v in factor.block}
        object.__setattr__(self, "_place", places)

    def __repr__(self) -> str:
        return f"<distribution over {sum(len(factor.block) for factor in self.factors):,} variables>"

    def probability(self, claim: Formula, given: Formula = TRUE) -> float:
        """Return P(claim | given); not a number where P(given) = 0.

        What the condition observes is fixed first, so that any number of observations is no obstacle. So is
        what a claim about many variables says of single ones.
        """
        for formula in (claim, given):
            if not isinstance(formula, get_args(Formula)):
                raise LanguageError(
                    f"{formula!r} is no formula", advice='Write proposition("a") or variable.is_("red").'
                )
        world, formulas = observations(given)
        observed = {x: x.values.index(value) for x, value in world.items()}
        over = tuple(x for x in scope(claim, *formulas) if x not in observed)
        if _states(over) > FRONTIER_LIMIT:
            return self._probability_of_many(claim, given)
        joint, _ = self._joint(over, observed)
        event = _truth(conjunction(formulas), over, observed)
        mass = float(joint[event].sum())
        return float(joint[event & _truth(claim, over, observed)].sum()) / mass if mass > 0.0 else nan

    def _probability_of_many(self, claim: Formula, given: Formula) -> float:
        mass, exponent = self._mass(given)
        if mass <= 0.0:
            return nan
        both, more = self._mass(conjunction((claim, given)))
        return float(np.ldexp(both / mass, more - exponent))

    def _mass(self, event: Formula) -> tuple[float, int]:
        """Return the probability of a formula divided by 2**n, and n."""
        world, formulas = observations(event)
        observed = {x: x.values.index(value) for x, value in world.items()}
        over = tuple(x for x in scope(*formulas) if x not in observed)
        joint, exponent = self._joint(over, observed)
        return float(joint[_truth(conjunction(formulas), over, observed)].sum()), exponent

    @property
    def known(self) -> frozenset[Variable]:
        """Return all variables that have a probability."""
        return frozenset(v for factor in self.factors for v in factor.block)

    def marginal(self, over: Sequence[Variable]) -> Floats:
        """Return the joint table of some variables, by variable elimination among their ancestors."""
        return np.ldexp(*self._joint(over, {}))

    def _joint(self, over: Sequence[Variable], observed: Mapping[Variable, int]) -> tuple[Floats, int]:
        """Return the joint table of some variables and the observations, divided by 2**n, and n."""
        factors = self._ancestral((*over, *observed))
        # Plans are remembered by numbers, which compare faster than variables.
        number = {v: i for i, v in enumerate(v for f in factors for v in f.block)}
        states = {number[v]: state for v, state in observed.items()}
        tables = (Potential(tuple(map(number.__getitem__, f.parents + f.block)), f.table) for f in factors)
        kept = tuple(map(number.__getitem__, over))
        return eliminate((restricted(one, states) for one in tables), kept, most=MOST_STATES)

    def marginals(self, scopes: Sequence[tuple[Variable, ...]], budget: Budget | None = None) -> list[Floats]:
        """Return the joint tables of many scopes, most of them found in one pass where that is cheap."""
        found, tables = _along_factors(self.factors, scopes), list[Floats]()
        if len(found) < len(scopes):
            found = _sweep(self.factors, scopes) | found
        for n, over in enumerate(scopes):
            if budget is not None:
                budget.require_time()
            tables.append(found[n] if n in found else self.marginal(over))
        return tables

    def _ancestral(self, over: Iterable[Variable]) -> list[Factor]:
        """Return the factors of some variables and all their ancestors, children first."""
        found: set[int] = set()
        frontier = list(over)
        while frontier:
            variable = frontier.pop()
            if variable not in self._place:
                raise UnknownName(
                    f"the model says nothing of {variable}", advice="It has what bears on the question."
                )
            place = self._place[variable]
            if place not in found:
                found.add(place)
                frontier.extend(self.factors[place].parents)
        return [self.factors[place] for place in sorted(found, reverse=True)]


def observations(given: Formula) -> tuple[World, list[Formula]]:
    """Split a condition into literals and other conjuncts; what contradicts a literal is one of these."""
    world: World = {}
    formulas = []
    for part in given.operands if isinstance(given, And) else (given,):
        literals = literals_of(part)
        if literals is None or any(world.get(x, value) != value for x, value in literals.items()):
            formulas.append(part)
        else:
            world.update(literals)
    return world, formulas


def _truth(formula: Formula, over: Sequence[Variable], observed: Mapping[Variable, int]) -> NDArray[np.bool_]:
    """Evaluate a formula on all worlds of a scope, observed variables fixed."""
    fixed = [x for x in scope(formula) if x in observed]
    table = truth_table(formula, (*over, *fixed))
    states: tuple[Any, ...] = (..., *(observed[x] for x in fixed))
    return np.asarray(table[states])


def _along_factors(factors: Sequence[Factor], scopes: Sequence[tuple[Variable, ...]]) -> dict[int, Floats]:
    """Pass over the factors once, parents first, and read scopes off their own tables P(block, parents).

    Where the parents of a factor are all among the variables of the factor that its latest parent is in, as
    along a junction tree, its table is a product; where they are not, or come later, it and what leans on it
    is missing.
    """
    place = {v: i for i, factor in enumerate(factors) for v in factor.block}
    tables: list[Potential[Variable] | None] = []
    for factor in factors:
        own = factor.parents + factor.block
        before = _read_off(tables, factor.parents, place) if _states(own) <= FRONTIER_LIMIT else None
        shape = () if before is None else before.shape + (1,) * len(factor.block)
        tables.append(None if before is None else Potential(own, before.reshape(shape) * factor.table))
    found = ((n, _read_off(tables, over, place)) for n, over in enumerate(scopes))
    return {n: table for n, table in found if table is not None}


def _read_off(
    tables: Sequence[Potential[Variable] | None], over: tuple[Variable, ...], place: Mapping[Variable, int]
) -> Floats | None:
    """Return the joint table of some variables if the table that the latest of them is in shows them all."""
    if not over:
        return np.ones(())
    last = max(place[v] for v in over)
    latest = tables[last] if last < len(tables) else None
    if latest is None or not set(over) <= set(latest.scope):
        return None
    return _summed(latest.scope, latest.values, over)


def _sweep(factors: Sequence[Factor], scopes: Sequence[tuple[Variable, ...]]) -> dict[int, Floats]:
    """Pass over the factors once, parents first, and read scopes off the joint table of the frontier.

    The frontier holds the variables that later factors or scopes still need. Where it grows too large the
    pass ends, and the scopes not yet met are missing.
    """
    number = {v: i for i, factor in enumerate(factors) for v in factor.block}
    needed = {v: i for i, factor in enumerate(factors) for v in factor.parents}
    due: dict[int, list[int]] = {}
    for n, seen in enumerate(scopes):
        latest = max((number[v] for v in seen), default=0)
        due.setdefault(latest, []).append(n)
        needed.update({v: max(needed.get(v, latest), latest) for v in seen})
    found: dict[int, Floats] = {}
    frontier = Potential[Variable]((), np.ones(()))
    for i, factor in enumerate(factors):
        own = factor.parents + factor.block
        if _states({*frontier.scope, *own}) > FRONTIER_LIMIT:
            break
        over = tuple(dict.fromkeys((*frontier.scope, *own)))
        table = combined([frontier, Potential(own, factor.table)], over)
        found |= {n: _summed(over, table, scopes[n]) for n in due.get(i, ())}
        kept = tuple(v for v in over if needed.get(v, i) > i)
        frontier = Potential(kept, _summed(over, table, kept))
    return found


def _summed(over: tuple[Variable, ...], table: Floats, kept: tuple[Variable, ...]) -> Floats:
    """Sum out all but some variables, and bring those into their order."""
    axes = tuple(axis for axis, v in enumerate(over) if v not in kept)
    left = [v for v in over if v in kept]
    summed: Floats = table.sum(axis=axes)
    return summed.transpose([left.index(v) for v in kept])


def _states(variables: Iterable[Variable]) -> int:
    return prod(len(v.values) for v in variables)
