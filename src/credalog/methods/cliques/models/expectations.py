"""Expectations under tables P(x | some parents), and how they change with the tables.

Input: a directed acyclic graph in numbers, parents first; functions of a few variables. Output:
`Expectations`: their expected values, and linear forms in the families' tables P(parents, x) with the same
values and the same derivatives.

Let F hold the variables a function depends on. Take the latest x of F away: the function becomes its mean
over P(x | parents), and F loses x and gains the parents. Stop as soon as one family's table shows all of F:
that is the top, where the mean is linear. Below it P(x | parents) changes by the change of P(parents, x) less
P(x | parents) times that of P(parents), over P(parents); so the coefficient of P(parents, x) is the mean of
the function given parents and x, less the mean given the parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge

__all__ = ["Expectations", "Form", "Tables"]

Floats = NDArray[np.float64]
Tables = dict[int, Floats]
"""For each variable a table with an axis per parent, and one for itself."""

LARGEST = 1 << 12
"""No table larger than this is built."""

MANY = 51
"""The label of the axis that runs over functions; those of variables are smaller."""


class Form(NamedTuple):
    """Linear forms, one per function: values here, and the coefficients of each family's table."""

    values: Floats
    slopes: tuple[tuple[int, Floats], ...]


class _Step(NamedTuple):
    """Take x away from a function of some variables, which gains the parents of x."""

    x: int
    family: list[int]
    before: list[int]
    after: list[int]


@dataclass(frozen=True, slots=True)
class _Path:
    """The steps from a scope to the family that shows what is left, and what is left."""

    steps: tuple[_Step, ...]
    top: int
    family: list[int]
    shown: list[int]


@dataclass(frozen=True)
class Expectations:
    """Families P(x | parents) of numbered variables, parents first."""

    arcs: Mapping[int, tuple[int, ...]]
    sizes: Sequence[int]

    @cached_property
    def _place(self) -> dict[int, int]:
        return {x: i for i, x in enumerate(self.arcs)}

    @cached_property
    def _paths(self) -> dict[tuple[int, ...], _Path]:
        return {}

    def is_linear(self, scope: tuple[int, ...]) -> bool:
        """Tell whether one family's table shows a scope: then its forms are the same everywhere."""
        return not self._path(scope).steps

    def joint(self, tables: Tables) -> Tables:
        """Return P(parents, x) of every family from P(x | parents)."""
        found: Tables = {}
        for x, parents in self.arcs.items():
            found[x] = tables[x]
            if parents:
                found[x] = tables[x] * self._marginal(parents, found, tables)[..., None]
        return found

    def _marginal(self, scope: tuple[int, ...], joint: Tables, tables: Tables) -> Floats:
        """Return the joint table of a scope: the means of all its indicators."""
        shape = [self.sizes[y] for y in scope]
        indicators = np.eye(prod(shape)).reshape(-1, *shape)
        return self.means(scope, indicators, joint, tables).reshape(shape)

    def means(self, scope: tuple[int, ...], functions: Floats, joint: Tables, tables: Tables) -> Floats:
        """Return the means of functions of a scope, stacked along their first axis."""
        path = self._path(scope)
        *_, last = self._means(path, scope, functions, tables)
        return self._at_top(path, last, joint)

    def form(self, scope: tuple[int, ...], functions: Floats, joint: Tables, tables: Tables) -> Form:
        """Return the linear forms of functions of a scope, stacked along their first axis."""
        path = self._path(scope)
        means = list(self._means(path, scope, functions, tables))
        slopes = [(path.top, _stretched(means[-1], path.shown, path.family, joint[path.top].shape))]
        weight = _contracted(joint[path.top], path.family, path.shown)
        for step, mean in zip(reversed(path.steps), reversed(means[:-1]), strict=True):
            slopes.append((step.x, _slope(step, mean, weight, tables[step.x])))
            weight = _contracted(weight, step.after, tables[step.x], step.family, step.before)
        return Form(self._at_top(path, means[-1], joint), tuple(slopes))

    def _at_top(self, path: _Path, mean: Floats, joint: Tables) -> Floats:
        return _contracted(joint[path.top], path.family, mean, [MANY, *path.shown], [MANY])

    def _means(
        self, path: _Path, scope: tuple[int, ...], functions: Floats, tables: Tables
    ) -> Iterator[Floats]:
        """Yield the functions before each step, and what is left of them at the top."""
        order = sorted(range(len(scope)), key=lambda i: self._place[scope[i]])
        mean = functions.transpose([0, *(i + 1 for i in order)])
        yield mean
        for step in path.steps:
            before, after = [MANY, *step.before], [MANY, *step.after]
            mean = _contracted(mean, before, tables[step.x], step.family, after)
            yield mean

    def _path(self, scope: tuple[int, ...]) -> _Path:
        if scope not in self._paths:
            self._paths[scope] = self._planned(scope)
        return self._paths[scope]

    def _planned(self, scope: tuple[int, ...]) -> _Path:
        """Take the latest variable away until one family shows what is left; labels follow the order."""
        place = self._place
        steps: list[_Step] = []
        shown = sorted(scope, key=place.__getitem__)
        while True:
            x = shown[-1] if shown else next(iter(self.arcs))
            family = (*self.arcs[x], x)
            if set(shown) <= set(family):
                return _Path(tuple(steps), x, *_labelled(family, shown))
            after = sorted({*shown[:-1], *self.arcs[x]}, key=place.__getitem__)
            if prod(self.sizes[y] for y in {*after, x}) > LARGEST:
                raise ProblemTooLarge("a sparse table has too many states")
            steps.append(_Step(x, *_labelled(family, shown, after)))
            shown = after


def _labelled(*scopes: Sequence[int]) -> list[list[int]]:
    """Give the variables of some scopes small numbers."""
    label = {x: i for i, x in enumerate(dict.fromkeys(x for scope in scopes for x in scope))}
    return [[label[x] for x in scope] for scope in scopes]


def _contracted(*operands: Any) -> Floats:
    """Multiply arrays, each followed by the labels of its axes, and sum over labels not in the last list."""
    return np.asarray(np.einsum(*operands))


def _stretched(mean: Floats, shown: list[int], family: list[int], shape: tuple[int, ...]) -> Floats:
    """Write functions of some variables as functions of all a family's."""
    return _contracted(mean, [MANY, *shown], np.ones(shape), family, [MANY, *family])


def _slope(step: _Step, mean: Floats, weight: Floats, table: Floats) -> Floats:
    """Return the mean of functions given parents and x, less that given the parents."""
    parents = step.family[:-1]
    mass = _contracted(weight, step.after, parents)[..., None]
    total = _contracted(weight, step.after, mean, [MANY, *step.before], [MANY, *step.family])
    if not mass.all():
        # Where parents have no mass, other variables are taken to be as they are on the whole.
        rest = [y for y in step.after if y not in parents]
        whole, alike = _contracted(weight, step.after, rest), np.ones(mass.shape[:-1])
        average = _contracted(whole, rest, alike, parents, step.after)
        overall = _contracted(average, step.after, mean, [MANY, *step.before], [MANY, *step.family])
        total = np.where(mass > 0.0, total, overall)
        mass = np.where(mass > 0.0, mass, 1.0)
    given = total / mass
    return np.asarray(given - (given * table).sum(axis=-1, keepdims=True))
