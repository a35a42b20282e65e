"""Models of a sparse form: a table P(x | some parents) per variable, all independences by construction.

Input: a network and a directed acyclic graph on its variables in which its Markov condition holds. Output:
`SparseModels`: models of this form, the later ones with better values of a query, by sequential linear
programming.

The columns of the linear programs are the tables P(parents, x) of the families. What one family shows is
linear in them, anything else is linearized (`expectations`). Sentences may be missed at a price, and no
column moves more than a radius, which shrinks where the tables that follow are no better than those before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import inf, nan, prod
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.methods.cliques.models.arcs import Arcs
from credalog.methods.cliques.models.expectations import LARGEST, Expectations, Floats, Form, Tables
from credalog.network.formulas import Formula, Variable, conjunction, truth_table
from credalog.network.polytopes import (
    LocalPolytope,
    interval_centre,
    local_polytopes,
    single_value_bounds,
    vertices,
)
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.descent import Radii, descent
from credalog.program.solvers.highs import elastic_step
from credalog.tables.distribution import Distribution, Factor

__all__ = ["SparseModels", "Start"]

STEPS = 40
"""How many linear programs one walk may solve."""

PRICE, HIGHEST_PRICE = 100.0, 1e4
"""What missing a sentence costs, against the value of the query; and what contradicting oneself costs."""

MISSED = 4e-10
"""The largest miss of all sentences together that counts as none; finer than what the check allows."""

LEAST_SCALE = 1e-14
"""A sentence is measured relative to its condition, but to no less than this."""

SMALLEST_RADIUS, SMALLEST_GAIN = 1e-6, 1e-11
"""A walk whose steps, or their gains, are smaller has converged."""

NEARLY = 1e-2
"""What misses no more than this may be kept exactly where a margin cannot be."""

MARGIN, ROOM = 1e-6, 1e-3
"""By how much sentences are kept at first, where their bounds are farther apart: it saves the last steps."""

PATIENCE, IDLE = 6, 1e-6
"""A walk that so many steps have not brought much further ends; how much that is for the value of a query."""

TRACE = 1e-15
"""Parents with less mass than this keep the table they have."""

HOPS = 3
"""How far from the query tables move at first."""

TIGHT = 1e-6
"""A sentence that is kept by less than this may be in the way of the query."""

COPIED = 1.0
"""How much of a value is copied from the first parent, where walks start from copies."""


class Start(Enum):
    """Say where a walk starts; the value is how far its first step goes."""

    COPIES = 1.0
    """Each variable has the value of its first parent."""

    CENTRE = 0.25
    """Each table is in the middle of what is said of it; steps to far vertices would lose that."""


@dataclass(frozen=True, slots=True)
class _Demand:
    """Functions of a scope whose means must not be negative, and the conditions they are relative to."""

    scope: tuple[int, ...]
    functions: Floats
    conditions: Floats
    rarity: Floats
    margin: Floats


@dataclass(frozen=True, slots=True)
class _Here:
    """Tables, the linear forms of all demands, and how good they are."""

    tables: Tables
    joint: Tables
    point: Floats
    rows: sp.csr_array
    values: Floats
    cost: Floats
    value: float

    @property
    def is_feasible(self) -> bool:
        """Tell whether no sentence is missed."""
        return _missed(self.values) <= MISSED

    def merit(self, sign: float, step: Floats | None = None) -> float:
        """Return the value with what is missed, here or after a step if all were linear; less is better."""
        if step is None:
            return (sign * self.value if sign else 0.0) + PRICE * _missed(self.values)
        value = sign * (self.value + float(self.cost @ step)) if sign else 0.0
        return value + PRICE * _missed(self.values + self.rows @ step)


def _is_idle(merits: Sequence[float], sign: float) -> bool:
    """Tell whether the last steps have led nowhere: less than half of what is missed, or hardly any value."""
    if len(merits) <= PATIENCE:
        return False
    before, now = merits[-PATIENCE - 1], merits[-1]
    return before - now < (IDLE if sign else 0.5 * before)


def _missed(values: Floats) -> float:
    return float(np.maximum(-values, 0.0).sum())


@dataclass(frozen=True)
class SparseModels:
    """The models of a network that factorize over some arcs, numbered like its variables, parents first."""

    network: Network
    arcs: Arcs
    budget: Budget
    pressing: dict[tuple[int, ...], float] = field(default_factory=dict, compare=False)
    """The scopes that no family shows and where a sentence was missed, or could just be kept; by how much."""

    def central(self) -> Distribution:
        """Return the distribution with each table in the middle of what is said of it alone."""
        return self._distribution(self._central())

    def best(self, asked: Query, start: Start, *, end: End) -> Iterator[Distribution]:
        """Yield models: one that satisfies the sentences, then some with better values of the query."""
        scope = self._numbers(asked.scope)
        goal = scope, _functions((conjunction((asked.claim, asked.given)), asked.given), asked.scope)
        tables = self._copying() if start is Start.COPIES else self._central()
        found = self._kept(self._at(tables, goal), goal, self._anywhere, radius=start.value)
        if found.is_feasible:
            yield self._distribution(found.tables)
            for moving in (self._near(scope), self._anywhere):
                here = self._walk(found, goal, sign=end.sign, moving=moving)
                here = self._kept(here, goal, moving, radius=start.value)
                yield self._distribution(here.tables)
            found = here
        self._note(found)

    def _note(self, here: _Here) -> None:
        """Note the scopes that press: where the form of the tables is in the way."""
        rows, _, bent = self._linear
        first = rows.shape[0]
        for demand in bent:
            values = here.values[first : first + len(demand.rarity)]
            first += len(demand.rarity)
            if values.min() < TIGHT:
                known = self.pressing.get(demand.scope, 0.0)
                self.pressing[demand.scope] = known + TIGHT + _missed(values)

    def _central(self) -> Tables:
        """Return tables in the middle of the local polytopes, with all values alike where there is none."""
        tables = self._uniform()
        ordered = {x: tuple(sorted(parents)) for x, parents in self.arcs.items()}
        said = local_polytopes(self.network, _Parents(tuple(ordered[x] for x in range(len(ordered)))))
        for x, polytopes in enumerate(said.polytopes):
            place = [ordered[x].index(p) for p in self.arcs[x]]
            for configuration, polytope in polytopes.items():
                if not polytope.is_empty:
                    tables[x][tuple(configuration[i] for i in place)] = _middle(polytope)
        return tables

    def _uniform(self) -> Tables:
        """Return tables in which all values are alike."""
        return {x: np.full(c.shape, 1.0 / c.shape[-1]) for x, c in self._columns.items()}

    def _copying(self) -> Tables:
        """Return tables in which most variables most often have the value of their first parent."""
        tables = self._uniform()
        for x, parents in self.arcs.items():
            count = tables[x].shape[-1]
            if parents and tables[x].shape[0] == count:
                copy = COPIED * np.eye(count).reshape(count, *[1] * (len(parents) - 1), count)
                tables[x] = (1.0 - COPIED) * tables[x] + copy
        return tables

    def _distribution(self, tables: Tables) -> Distribution:
        names = self.network.variables
        return Distribution(
            tuple(
                Factor((names[x],), tuple(names[p] for p in own), tables[x]) for x, own in self.arcs.items()
            )
        )

    # ---- the walk -------------------------------------------------------------------------------------

    def _kept(self, here: _Here, goal: _Goal, moving: Floats, *, radius: float) -> _Here:
        """Walk until no sentence is missed: with a margin, or, where that is in the way, without."""
        here = self._walk(here, goal, sign=0.0, moving=moving, margin=self._margin, radius=radius)
        if _missed(here.values) > NEARLY:
            return here
        return self._walk(here, goal, sign=0.0, moving=moving, margin=np.zeros(len(here.values)))

    def _walk(
        self,
        start: _Here,
        goal: _Goal,
        *,
        sign: float,
        moving: Floats,
        margin: Floats | None = None,
        radius: float = 1.0,
    ) -> _Here:
        """Step while the merit gets better; with no sign, until no sentence is missed."""
        wanted = np.zeros(len(start.values)) if margin is None else margin

        def merit(here: _Here) -> float:
            return here.merit(sign)

        def ahead(here: _Here, radius: float) -> _Here | None:
            step = self._step(here, sign, radius * moving, wanted)
            if step is None or (sign and merit(here) - here.merit(sign, step) <= SMALLEST_GAIN):
                return None
            return self._at(self._tables(here, step), goal)

        radii, merits = Radii(radius, SMALLEST_RADIUS), list[float]()
        for here in descent(start, ahead, merit, steps=STEPS, radii=radii, gain=SMALLEST_GAIN):
            merits.append(merit(here))
            if (here.is_feasible and not sign) or _is_idle(merits, sign) or self.budget.is_spent:
                break
        return here

    def _step(self, here: _Here, sign: float, radius: Floats, wanted: Floats) -> Floats | None:
        """Solve the program linearized here."""
        sizes = self._sizes(here)
        by_size = sp.diags_array(sizes)
        agreements = _of_one_size(self._agreements(here) @ by_size)
        rows = sp.csr_array(sp.vstack([here.rows @ by_size, agreements], format="csr"))
        said, agreed = len(here.values), np.zeros(agreements.shape[0])
        limits = np.append(wanted - here.values, agreed), np.append(np.full(said, inf), agreed)
        bounds = np.maximum(-radius, -here.point) / sizes, np.minimum(radius, 1.0 - here.point) / sizes
        price = np.append(np.full(said, PRICE), np.full(len(agreed), HIGHEST_PRICE))
        cost = sign * here.cost * sizes if sign else np.zeros(len(here.point))
        step = elastic_step(cost, rows, limits, bounds, price=price, timeout=self.budget.for_solver)
        return None if step is None else step * sizes

    def _sizes(self, here: _Here) -> Floats:
        """Return how much mass the parents of each column have: in a rare context all steps are small."""
        sizes = np.empty(len(here.point))
        for columns in self._columns.values():
            mass = here.point[columns].sum(axis=-1, keepdims=True)
            sizes[columns] = np.broadcast_to(np.clip(mass, TRACE, 1.0), columns.shape)
        return sizes

    def _tables(self, here: _Here, step: Floats) -> Tables:
        """Divide P(parents, x) by P(parents); where that is nothing, keep the table from before."""
        point, tables = np.maximum(here.point + step, 0.0), Tables()
        for x, columns in self._columns.items():
            joint = point[columns]
            mass = joint.sum(axis=-1, keepdims=True)
            tables[x] = np.divide(joint, mass, out=here.tables[x].copy(), where=mass > TRACE)
        return tables

    @cached_property
    def _anywhere(self) -> Floats:
        return np.ones(sum(columns.size for columns in self._columns.values()))

    def _near(self, scope: Iterable[int]) -> Floats:
        """Mark the columns of families a few sentences or arcs away from a scope."""
        groups = [(x, *parents) for x, parents in self.arcs.items()]
        groups += [demand.scope for demand in self._demands]
        around: dict[int, list[tuple[int, ...]]] = {}
        for group in groups:
            for x in group:
                around.setdefault(x, []).append(group)
        near = set(scope)
        for _ in range(HOPS):
            near |= {y for x in near for group in around[x] for y in group}
        return np.concatenate([np.full(c.size, float(x in near)) for x, c in self._columns.items()])

    # ---- what the tables say --------------------------------------------------------------------------

    def _at(self, tables: Tables, goal: _Goal) -> _Here:
        """Evaluate tables: every demand, relative to its condition, and the query."""
        expected, joint = self._expectations, self._expectations.joint(tables)
        point = np.concatenate([joint[x].ravel() for x in self._columns])
        rows, masses, bent = self._linear
        values, mass = [rows @ point], [masses @ point]
        matrix = _Matrix(self._columns)
        for demand in bent:
            self.budget.require_time()
            form = expected.form(demand.scope, demand.functions, joint, tables)
            mass.append(expected.means(demand.scope, demand.conditions, joint, tables))
            values.append(form.values)
            matrix.add(form)
        # A sentence is measured relative to its condition, and a bound near certainty on its own scale.
        scale = 1.0 / np.clip(np.concatenate(mass) * self._rarity, LEAST_SCALE, 1.0)
        whole = sp.diags_array(scale) @ sp.vstack([rows, matrix.rows()], format="csr")
        value, cost = self._asked(expected.form(*goal, joint, tables))
        return _Here(tables, joint, point, sp.csr_array(whole), np.concatenate(values) * scale, cost, value)

    def _asked(self, form: Form) -> tuple[float, Floats]:
        """Return the value of the query, a quotient, and its derivatives."""
        matrix = _Matrix(self._columns)
        matrix.add(form)
        part, whole = (float(mean) for mean in form.values)
        if whole <= 0.0:
            return nan, np.zeros(matrix.rows().shape[1])
        return part / whole, matrix.rows().T @ (np.array([1.0, -part / whole]) / whole)

    @cached_property
    def _linear(self) -> tuple[sp.csr_array, sp.csr_array, tuple[_Demand, ...]]:
        """Return the demands that one family shows, as rows, their conditions, and the other demands."""
        expected, tables = self._expectations, self._uniform()
        rows, conditions = _Matrix(self._columns), _Matrix(self._columns)
        joint = expected.joint(tables)
        for demand in self._demands:
            self.budget.require_time()
            if expected.is_linear(demand.scope):
                rows.add(expected.form(demand.scope, demand.functions, joint, tables))
                conditions.add(expected.form(demand.scope, demand.conditions, joint, tables))
        bent = (demand for demand in self._demands if not expected.is_linear(demand.scope))
        return rows.rows(), conditions.rows(), tuple(bent)

    @cached_property
    def _rarity(self) -> Floats:
        return np.concatenate([np.zeros(0), *(demand.rarity for demand in self._ordered)])

    @cached_property
    def _margin(self) -> Floats:
        return np.concatenate([np.zeros(0), *(demand.margin for demand in self._ordered)])

    @cached_property
    def _ordered(self) -> list[_Demand]:
        """Return the demands in the order of their rows."""
        return sorted(self._demands, key=lambda demand: not self._expectations.is_linear(demand.scope))

    def _agreements(self, here: _Here) -> sp.csr_array:
        """Return rows that keep the sums of each family's table what the others say of the parents."""
        matrix = _Matrix(self._columns)
        for x in self._bent_families:
            matrix.add(self._agreement(x, here.joint, here.tables))
        return sp.csr_array(sp.vstack([self._linear_agreements, matrix.rows()], format="csr"))

    @cached_property
    def _bent_families(self) -> tuple[int, ...]:
        return tuple(x for x, own in self.arcs.items() if own and not self._expectations.is_linear(own))

    @cached_property
    def _linear_agreements(self) -> sp.csr_array:
        matrix, tables, bent = _Matrix(self._columns), self._uniform(), set(self._bent_families)
        joint = self._expectations.joint(tables)
        for x in self.arcs:
            if x not in bent:
                matrix.add(self._agreement(x, joint, tables))
        return matrix.rows()

    def _agreement(self, x: int, joint: Tables, tables: Tables) -> Form:
        shape = self._columns[x].shape
        count = int(np.prod(shape[:-1]))
        sums = np.repeat(np.eye(count), shape[-1], axis=1).reshape(count, *shape)
        if not self.arcs[x]:
            return Form(np.zeros(1), ((x, sums),))
        each = np.eye(count).reshape(count, *shape[:-1])
        form = self._expectations.form(self.arcs[x], each, joint, tables)
        return Form(np.zeros(count), ((x, sums), *((y, -slope) for y, slope in form.slopes)))

    @cached_property
    def _demands(self) -> tuple[_Demand, ...]:
        """Return what the sentences demand, those of one scope together."""
        found: dict[tuple[int, ...], list[tuple[Floats, Floats, float, float]]] = {}
        for sentence in self.network.sentences:
            self.budget.require_time()
            over = tuple(sorted(sentence.scope, key=self._number.__getitem__))
            found.setdefault(self._numbers(over), []).extend(_bounds(sentence, over))
        return tuple(
            _Demand(scope, *(np.array(side) for side in zip(*rows, strict=True)))
            for scope, rows in found.items()
            if rows
        )

    def _numbers(self, variables: Iterable[Variable]) -> tuple[int, ...]:
        return tuple(self._number[v] for v in variables)

    @cached_property
    def _number(self) -> dict[Variable, int]:
        return {v: i for i, v in enumerate(self.network.variables)}

    @cached_property
    def _expectations(self) -> Expectations:
        return Expectations(self.arcs, [len(v.values) for v in self.network.variables])

    @cached_property
    def _columns(self) -> dict[int, NDArray[np.intp]]:
        """Return the columns of each family's table."""
        found: dict[int, NDArray[np.intp]] = {}
        first = 0
        for x, parents in self.arcs.items():
            shape = [self._expectations.sizes[y] for y in (*parents, x)]
            count = int(np.prod(shape))
            found[x] = np.arange(first, first + count).reshape(shape)
            first += count
        return found


@dataclass(frozen=True, slots=True)
class _Parents:
    parent_indices: tuple[tuple[int, ...], ...]


def _middle(polytope: LocalPolytope) -> Floats:
    bounds = single_value_bounds(polytope)
    if bounds is not None:
        return np.array(interval_centre(*bounds), dtype=np.float64)
    corners: Floats = np.array(vertices(polytope), dtype=np.float64)
    return np.asarray(corners.mean(axis=0))


def _of_one_size(rows: sp.csr_array) -> sp.csr_array:
    """Scale rows so that the greatest entry of each is one."""
    greatest = abs(rows).max(axis=1).toarray().ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.where(greatest > 0.0, greatest, 1.0)) @ rows)


_Goal: TypeAlias = tuple[tuple[int, ...], Floats]
"""The query: its scope, and claim and condition as functions of it."""


class _Matrix:
    """Linear forms gathered as the rows of one matrix."""

    def __init__(self, columns: Mapping[int, NDArray[np.intp]]) -> None:
        self._columns = columns
        self._count = 0
        self._entries: list[tuple[Floats, NDArray[np.intp], NDArray[np.intp]]] = []

    def add(self, form: Form) -> None:
        """Add one row per function."""
        count = len(form.values)
        places = np.arange(self._count, self._count + count)
        for x, slope in form.slopes:
            columns = self._columns[x].ravel()
            self._entries.append((slope.ravel(), np.repeat(places, len(columns)), np.tile(columns, count)))
        self._count += count

    def rows(self) -> sp.csr_array:
        """Return the matrix."""
        width = sum(columns.size for columns in self._columns.values())
        if not self._entries:
            return sp.csr_array((self._count, width))
        values, rows, columns = (np.concatenate(side) for side in zip(*self._entries, strict=True))
        found = sp.csr_array((values, (rows, columns)), shape=(self._count, width))
        found.eliminate_zeros()
        return found


def _require_table(over: Sequence[Variable], what: str) -> None:
    """Refuse a scope whose table would be too large, before numpy runs out of dimensions or memory."""
    if prod(len(v.values) for v in over) > LARGEST:
        raise ProblemTooLarge(f"{what} is about {len(over)} variables at once")


def _functions(formulas: Iterable[Formula], over: Sequence[Variable]) -> Floats:
    _require_table(over, "the query")
    return np.array([truth_table(formula, over) for formula in formulas], dtype=np.float64)


def _bounds(sentence: Sentence, over: Sequence[Variable]) -> Iterator[tuple[Floats, Floats, float, float]]:
    """Yield functions that must not be negative on average, their conditions, rarity and margin."""
    _require_table(over, "a sentence")
    given = truth_table(sentence.given, over).astype(np.float64)
    part = sum(float(w) * truth_table(claim, over) * given for w, claim in sentence.claims)
    margin = MARGIN if sentence.upper - sentence.lower > ROOM else 0.0
    for sign, bound in ((1.0, float(sentence.lower)), (-1.0, float(sentence.upper))):
        function = sign * (np.asarray(part) - bound * given)
        # A bound that holds in every world is no demand.
        if function.min(initial=0.0) < 0.0:
            rarity = min(bound, 1.0 - bound) if 0.0 < bound < 1.0 else 1.0
            yield function, given, rarity, margin
