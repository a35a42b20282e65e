"""The program of a cheapest widening: how far bounds must give way before a model exists.

Input: the encoding of a network's tables, the sentences that may be widened and the price of each. Output:
`Widening`, a program with one more column for every bound that may give way, and the way from any
distribution to what it would cost to admit it.

Let delta be the widening of the lower bound l of P(q | r). Its row is P(q and r) - l * P(r) + s >= 0 with
s = delta * P(r). Where r is certain, s is delta itself. Otherwise delta is one more ratio of the program:
that of s to P(r), and that of a column d to the total mass. Its mirror image, the ratio P(r), is that of P(r)
to the total mass and that of s to d; with both, the relaxation tightens from two sides. The objective adds
up the columns d at their prices, so that its least value is a proved bound like any other. A condition that
is to stay possible has a row P(r) >= POSSIBLE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.methods.cliques.encoding import Encoding
from credalog.network.formulas import Formula, Variable, scope, truth_table
from credalog.network.sentences import Sentence
from credalog.program.program import Floats, Objective, Program, Ratios
from credalog.tables.distribution import Distribution
from credalog.theory import span
from credalog.trusted.rounding import round_up

Columns = NDArray[np.intp]

TRACE = 1e-12
"""What the rounding of coefficients may add up to."""

POSSIBLE = 0.01
"""The least probability that a repair leaves to a condition; an impossible one would settle anything."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A sentence that may be widened, and the price of widening it by one."""

    sentence: Sentence
    weight: float


def silenced(sentence: Sentence) -> Sentence:
    """Return a sentence with bounds that say nothing: only its stamp in the graph is left."""
    low, high = span(sentence.claims)
    return replace(sentence, lower=min(low, sentence.lower), upper=max(high, sentence.upper))


def widenings_of(distribution: Distribution, sentence: Sentence) -> tuple[float, float]:
    """Return by how much each bound of a sentence must give way to admit a distribution."""
    mass, value = _masses(distribution, sentence)
    if mass <= 0.0:
        return 0.0, 0.0
    ratio = value / mass
    return max(0.0, float(sentence.lower) - ratio), max(0.0, ratio - float(sentence.upper))


def _masses(distribution: Distribution, sentence: Sentence) -> tuple[float, float]:
    over = scope(*(claim for _, claim in sentence.claims), sentence.given)
    joint = distribution.marginal(over)
    given = truth_table(sentence.given, over)
    value = sum(
        float(weight) * float(joint[given & truth_table(claim, over)].sum())
        for weight, claim in sentence.claims
    )
    return float(joint[given].sum()), value


@dataclass(frozen=True, slots=True)
class _Bound:
    """One bound that may give way: where its columns stand, and the condition's columns.

    `price` is what the whole range of the sentence costs, in which `step` and `scaled` are measured. Without
    a condition `scaled` is None.
    """

    number: int
    is_upper: bool
    unit: float
    price: float
    step: int
    scaled: int | None
    given: Columns
    coefficients: Floats


class Widening:
    """The program in which the bounds of some sentences give way at a price."""

    def __init__(
        self, encoding: Encoding, priced: Sequence[Priced], possible: Sequence[Formula], most: float
    ) -> None:
        self.priced = tuple(priced)
        self._tables = encoding
        self._bounds = tuple(self._place(priced))
        self._possible = tuple(possible)
        self.encoding = replace(encoding, program=self._program(most))

    def objective(self, most: float) -> Objective:
        """Return the total price of all widenings, of which none costs more than some price."""
        program = self.encoding.program
        cost = np.zeros(program.columns)
        bounds = np.ones(len(program.tables))
        first = len(self._tables.program.tables)
        for bound in self._bounds:
            cost[bound.step] = bound.price
        for i in range(first, len(bounds)):
            bounds[i] = min(1.0, round_up(most / self._price_of_table(i - first)))
        return Objective(cost, program.mass, bounds)

    def cost(self, distribution: Distribution) -> float:
        """Return the price of admitting a distribution."""
        return sum(p.weight * sum(widenings_of(distribution, p.sentence)) for p in self.priced)

    def complete(self, tables: Floats, distribution: Distribution) -> Floats:
        """Add to the tables of a distribution what its widenings amount to."""
        point = np.concatenate([tables[: self._tables.program.columns], np.zeros(self._added)])
        for bound in self._bounds:
            given = widenings_of(distribution, self.priced[bound.number].sentence)
            point[bound.step] = given[bound.is_upper] / bound.unit
            if bound.scaled is not None:
                point[bound.scaled] = point[bound.step] * point[bound.given].sum()
        return point

    @property
    def _added(self) -> int:
        return sum(1 if bound.scaled is None else 2 for bound in self._bounds)

    def _price_of_table(self, table: int) -> float:
        return [b.price for b in self._bounds for _ in range(1 if b.scaled is None else 2)][table]

    def _place(self, priced: Iterable[Priced]) -> Iterator[_Bound]:
        """Give each bound that excludes anything its columns."""
        column = self._tables.program.columns
        for number, one in enumerate(priced):
            given, totals, is_certain = _given_columns(self._tables, one.sentence)
            low, high = span(one.sentence.claims)
            unit = float(high - low)
            for is_upper, value in ((False, one.sentence.lower), (True, one.sentence.upper)):
                normal = [value - t if is_upper else t - value for t in totals]
                if not normal or min(normal) >= 0:
                    continue
                scaled = None if is_certain else column + 1
                coefficients = np.array([float(c) for c in normal])
                yield _Bound(number, is_upper, unit, one.weight * unit, column, scaled, given, coefficients)
                column += 1 if is_certain else 2

    def _program(self, most: float) -> Program:
        before = self._tables.program
        width = before.columns + self._added
        rows = sp.csr_array(sp.vstack([_wider(before.inequalities, width), self._rows(width)]))
        added = tuple((before.columns + i, before.columns + i + 1) for i in range(self._added))
        return Program(
            width,
            before.tables + added,
            rows,
            _wider(before.equalities, width),
            self._ratios(width, most),
            before.inequality_origin + (-1,) * (rows.shape[0] - len(before.inequality_origin)),
            before.equality_origin,
        )

    def _rows(self, width: int) -> sp.csr_array:
        """Let each bound give way; scaled by P(r), which is at most 1, a widening does not grow."""
        mass = np.concatenate([self._tables.program.mass, np.zeros(self._added)])
        rows = []
        for bound in self._bounds:
            row = _row(width, [bound.step if bound.scaled is None else bound.scaled]) * bound.unit
            row[bound.given] = bound.coefficients
            rows.append(row)
        rows += [_row(width, [bound.step]) - _row(width, [scaled]) for bound, scaled in self._loose]
        for given in self._possible:
            rows.append(_row(width, _columns_of(self._tables, given, scope(given))[0]) - POSSIBLE * mass)
        rows += [self._together(width, *pair) - gap * mass for *pair, gap in self._opposed()]
        return sp.csr_array(np.array(rows).reshape(-1, width))

    def _together(self, width: int, first: _Bound, second: _Bound) -> Floats:
        return first.unit * _row(width, [first.step]) + second.unit * _row(width, [second.step])

    def _opposed(self) -> Iterator[tuple[_Bound, _Bound, float]]:
        """Yield pairs of bounds under one r that exclude each other, where r stays possible, and by how much.

        In every world of r their rows lack at least that gap together: gap * P(r) <= s + s', which may be
        divided by P(r). So much they cost together: l - u if they speak of one P(q | r).
        """
        possible = [b for b, _ in self._loose if self.priced[b.number].sentence.given in self._possible]
        for first, second in combinations(possible, 2):
            if first.given.tolist() == second.given.tolist():
                gap = -float((first.coefficients + second.coefficients).max()) - TRACE
                if gap > 0.0:
                    yield first, second, gap

    @property
    def _loose(self) -> list[tuple[_Bound, int]]:
        """List the conditional bounds, each with its scaled column."""
        return [(bound, bound.scaled) for bound in self._bounds if bound.scaled is not None]

    @property
    def _conditions(self) -> list[tuple[int, ...]]:
        """List the different conditions of conditional bounds, each by its columns."""
        return list(dict.fromkeys(tuple(bound.given.tolist()) for bound, _ in self._loose))

    def _ratios(self, width: int, most: float) -> Ratios:
        """Add a ratio per conditional bound and one per condition; none is known to end at a vertex now."""
        before, loose, conditions = self._tables.program.ratios, self._loose, self._conditions
        mass = np.concatenate([self._tables.program.mass, np.zeros(self._added)])
        contexts = []
        for i, (bound, scaled) in enumerate(loose):
            mirror = len(loose) + conditions.index(tuple(bound.given.tolist()))
            given = _row(width, bound.given)
            contexts += [(i, _row(width, [scaled]), given), (i, _row(width, [bound.step]), mass)]
            contexts += [(mirror, given, mass), (mirror, _row(width, [scaled]), _row(width, [bound.step]))]
        of, parts, wholes = zip(*contexts, strict=True) if contexts else ((), (), ())
        first, added = len(before.lower), len(loose) + len(conditions)
        return Ratios(
            np.concatenate([before.lower, np.zeros(added)]),
            np.concatenate([before.upper, [_share(most, b) for b, _ in loose], np.ones(len(conditions))]),
            np.zeros(first + added, dtype=bool),
            np.concatenate([before.of, np.array(of, dtype=np.intp) + first]),
            _stacked(before.numerator, parts, width),
            _stacked(before.denominator, wholes, width),
        )

    @property
    def conditions(self) -> Iterator[tuple[int, Objective]]:
        """Yield the ratios that are probabilities of conditions, each with that probability to be bounded."""
        first = len(self._tables.program.ratios.lower) + len(self._loose)
        for number, columns in enumerate(self._conditions, first):
            row = _row(self.encoding.program.columns, columns)
            yield number, replace(self.objective(inf), numerator=row)


def _row(width: int, columns: Columns | Sequence[int]) -> Floats:
    row = np.zeros(width)
    row[np.asarray(columns, dtype=np.intp)] = 1.0
    return row


def _stacked(matrix: sp.csr_array, rows: Sequence[Floats], width: int) -> sp.csr_array:
    """Put more rows below a matrix that is made wider."""
    added = sp.csr_array(np.array(rows, dtype=float).reshape(-1, width))
    return sp.csr_array(sp.vstack([_wider(matrix, width), added]))


def _share(most: float, bound: _Bound) -> float:
    return 1.0 if most == inf else min(1.0, round_up(most / bound.price))


def _columns_of(
    encoding: Encoding, given: Formula, shown: Iterable[Variable]
) -> tuple[Columns, list[Variable], NDArray[np.bool_]]:
    """Return the columns in which a condition holds, on a clique that shows some variables."""
    variables = encoding.problem.variables
    numbers = {v: i for i, v in enumerate(variables)}
    clique = encoding.factorization.smallest_covering(numbers[v] for v in shown)
    over = [variables[x] for x in encoding.factorization.cliques[clique].scope]
    holds = truth_table(given, over)
    return encoding.columns[clique][holds], over, holds


def _given_columns(encoding: Encoding, sentence: Sentence) -> tuple[Columns, list[Fraction], bool]:
    """Return the columns in which the condition holds, what the claims add up to, and if it always holds."""
    columns, over, given = _columns_of(encoding, sentence.given, sentence.scope)
    totals = np.full(len(columns), Fraction(0), dtype=object)
    for weight, claim in sentence.claims:
        totals[truth_table(claim, over)[given]] += weight
    return columns, list(totals), bool(given.all())


def _wider(matrix: sp.csr_array, width: int) -> sp.csr_array:
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
