"""The model of greatest entropy.

Input: a network. Output: `MaximumEntropy`: a checked model, its entropy, and a proved bound that no model's
entropy passes. Where the two meet, the model is the one of greatest entropy.

The entropy of a product of tables P(block | parents) is the sum of their conditional entropies, each the mean
over a clique's rows of -log P(block | rest of the clique). Such a sum is concave in the columns of the
program and homogeneous of degree one: at any positive point its gradient, -log(x / row sum), is the cost of a
linear function that no distribution's entropy exceeds (docs/proofs.md, proof 12). So one linear program,
checked like any other, turns an approximate solution of the convex relaxation into a proved bound. Without
independences, or where every ratio is known, the relaxation is the program itself and the answer exact.
Otherwise independences make the program nonconvex: several starts are tried, branch and bound on the ratios
narrows the gap, and what is left of it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import floor, inf, log, log10, sqrt
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import CredalogError, ImpossibleEvidence, ProblemTooLarge, UnknownName, no_model
from credalog.methods.answer import Options, last_of
from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding, encode
from credalog.methods.cliques.models import explicit_model, uncertain_models
from credalog.methods.cliques.search import halves
from credalog.methods.cliques.slices import RUNGS, Rung, Slices
from credalog.methods.cliques.witness import distribution_at, ratio_values, tables_of
from credalog.network.formulas import TRUE, Formula
from credalog.network.graph import Markov
from credalog.network.problem import Problem
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import Status
from credalog.numbers.printed import DIGITS, Printed
from credalog.program.branch import BranchAndBound, Explored
from credalog.program.program import Box, Floats, Objective, Outcome, Program, Ratios
from credalog.program.solvers.highs import Relaxation
from credalog.program.solvers.ipopt import spread
from credalog.questions.models import encode_tables, is_model, model_of_part, parts_of, simple_model
from credalog.show.html import as_chances
from credalog.tables.conditional import as_tables, chances
from credalog.tables.distribution import Distribution, Factor
from credalog.text.builder import query_of
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import round_up

Columns: TypeAlias = NDArray[np.intp]

CONSISTENCY_SHARE = 0.25
"""The share of the time that may go into asking whether there is a model at all."""

ENCODING_SHARE, RELAXATION_SHARE, CLIMBING_SHARE = 0.3, 0.5, 0.6
"""The shares of the time left for writing down a program, for its relaxation, and for climbing from there."""

SMALLEST, EMPTY = Rung(1, 1 << 4), Rung(1, 1)
"""Slices for when time is short: small tables, and none at all."""

CONTEXTS_PER_SECOND = 500
"""How many products a program may have for each second that is left: one step of IPOPT cannot be stopped."""

STARTS = 6
"""From how many points the search begins at most, where the first leaves a gap."""

FIXED = 1e-9
"""A ratio whose range is narrower than this is known."""

FLOOR = 1e-12
"""The least share of a row at which the gradient of the entropy is taken."""


@dataclass(frozen=True, slots=True, repr=False)
class MaximumEntropy(Printed):
    """A model, its entropy in nats, and what no model's entropy passes.

    Without a distribution no model was found in time. EXACT says that the model's entropy is within the
    tolerance of the greatest; BOUNDED, that another model may have more, but not more than `at_most`.
    `is_interrupted` says that the user stopped the work.
    """

    distribution: Distribution | None
    entropy: float
    at_most: float
    status: Status
    seconds: float = field(compare=False)
    is_interrupted: bool = False

    @property
    def gap(self) -> float:
        """Return how much more entropy another model might have."""
        return max(0.0, self.at_most - self.entropy)

    def probability(self, claim: Formula, given: Formula = TRUE) -> float:
        """Return P(claim | given) under the model."""
        if self.distribution is None:
            raise CredalogError("no model was found in time", advice="Allow more time: timeout=300.")
        known = {variable for factor in self.distribution.factors for variable in factor.block}
        for variable in query_of(Query(claim, given)).scope:
            if variable not in known:
                raise UnknownName(f"the model has no variable {variable.name}")
        if self.distribution.probability(given) <= 0.0:
            raise ImpossibleEvidence(
                "the model of greatest entropy gives the condition probability zero",
                advice="Ask for a probability without it.",
            )
        return self.distribution.probability(claim, given)

    def __str__(self) -> str:
        """Say what was found and what is proved."""
        if self.distribution is None:
            return f"No model was found in time; none has an entropy above {self.at_most:.6f} nats."
        if self.status is Status.EXACT:
            return f"The greatest entropy is {self.entropy:.6f} nats (proved up to {self.gap:.0e})."
        return (
            f"The best model found has an entropy of {self.entropy:.6f} nats; "
            f"no model has more than {self.at_most:.6f}."
        )

    def digits(self, given: Formula = TRUE) -> int:
        """Return how many decimals of P(... | given) the gap warrants.

        By Pinsker's inequality, a model whose entropy is short of the greatest by g differs from that of
        greatest entropy by at most sqrt(g / 2) in any probability, where the models form a convex set. Given
        something, by that over its probability.
        """
        away = sqrt(self.gap / 2.0)
        # Where the least number of digits is all there is anyway, nothing need be computed.
        mass = self.probability(given) if away < 0.01 else 1.0
        away = away / mass if mass > 0.0 else 1.0
        return min(DIGITS, max(2, floor(-log10(max(away, 10.0**-DIGITS)))))

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        found = self.distribution
        return {
            "status": "INTERRUPTED" if self.is_interrupted else self.status.name,
            "entropy": None if found is None else self.entropy,
            "at_most": self.at_most,
            "is_interrupted": self.is_interrupted,
            "seconds": self.seconds,
            "tables": None if found is None else as_tables(found),
        }

    def _repr_html_(self) -> str:
        if self.distribution is None:
            return f"<p>{self}</p>"
        rows = [(str(query), chance) for query, chance in chances(self.distribution)]
        is_best = self.status is Status.EXACT
        heading = "The model of greatest entropy" if is_best else "The model of greatest entropy found"
        return as_chances(rows, heading=heading, note=str(self))


def maximum_entropy(network: Network, options: Options = Options()) -> MaximumEntropy:
    """Find the model of greatest entropy."""
    budget = Budget.of(options.timeout)
    uniform = sum(log(len(v.values)) for v in network.variables)
    nothing = MaximumEntropy(None, -inf, uniform, Status.UNDECIDED, 0.0)
    with spending(budget):
        found, is_interrupted = last_of(_stages(network, options, budget), nothing)
    return replace(found, seconds=budget.elapsed, is_interrupted=is_interrupted or found.is_interrupted)


def _stages(network: Network, options: Options, budget: Budget) -> Iterator[MaximumEntropy]:
    """Yield the best model found, once everything is set up."""
    engine = Engine(network, options.markov)
    if engine.is_consistent(options, budget.share(CONSISTENCY_SHARE)) is False:
        raise no_model()
    numbered = list(parts_of(engine.problem))
    shares = (budget.share(ENCODING_SHARE / left) for left in range(len(numbered), 0, -1))
    parts = [
        _Part(engine, part, options.tolerance / len(numbered), share)
        for part, share in zip(numbered, shares, strict=True)
    ]
    at_most, is_interrupted = last_of(_bounds(engine, parts, options.tolerance, budget), inf)
    yield replace(_together(parts, at_most, options.tolerance), is_interrupted=is_interrupted)


def _bounds(engine: Engine, parts: Sequence[_Part], tolerance: float, budget: Budget) -> Iterator[float]:
    """Work on every part; yield what no entropy passes beside what is proved of the parts."""
    for number, part in enumerate(parts):
        part.begin(budget.share(1.0 / (len(parts) - number)))
    if not all(part.is_closed for part in parts) and engine.markov is not Markov.NONE:
        yield _without_independences(engine, tolerance, budget.share(0.5))
    for number, part in enumerate(parts):
        part.close(budget.share(1.0 / (len(parts) - number)))


def _together(parts: Sequence[_Part], at_most: float, tolerance: float) -> MaximumEntropy:
    """Put the models of all parts together."""
    at_most = min(at_most, sum(part.at_most for part in parts))
    models = [part.best for part in parts if part.best is not None]
    if len(models) < len(parts):
        return MaximumEntropy(None, -inf, at_most, Status.UNDECIDED, 0.0)
    whole = Distribution(tuple(factor for model in models for factor in model.factors))
    entropy = entropy_of(whole)
    status = Status.EXACT if at_most - entropy <= tolerance else Status.BOUNDED
    return MaximumEntropy(whole, entropy, at_most, status, 0.0)


def _without_independences(engine: Engine, tolerance: float, budget: Budget) -> float:
    """Bound the entropy in Nilsson's logic, where it is a convex program; every model is one there too."""
    free = Engine(engine.network, Markov.NONE)
    parts = [_Part(free, part, tolerance, budget.share(ENCODING_SHARE)) for part in parts_of(free.problem)]
    return sum(part.relaxed_bound(budget) for part in parts)


def entropy_of(distribution: Distribution) -> float:
    """Return the entropy of a distribution in nats."""
    above = distribution.marginals([factor.parents for factor in distribution.factors])
    pairs = zip(above, distribution.factors, strict=True)
    return sum(_conditional_entropy(parents, factor) for parents, factor in pairs)


def _conditional_entropy(parents: Floats, factor: Factor) -> float:
    """Return the entropy of a block given its parents, of which the joint table is known."""
    inner = tuple(range(len(factor.parents), factor.table.ndim))
    logs = np.log(np.maximum(factor.table, np.finfo(float).tiny))
    rows = -(factor.table * logs).sum(axis=inner)
    return float((parents * rows).sum())


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A box of ratios, where its convex relaxation has most entropy, and what no model in it passes."""

    box: Box
    point: Floats
    bound: float


class _Part:
    """The search for the greatest entropy in one part of a network.

    `best` is the best model found so far and `entropy` its entropy. Where the part is too wide, its tables
    are those of a slice: by the chain rule no model's entropy passes the sum of what each variable has given
    some that are eliminated later, and a variable that no table shows has at most that of equal chances.
    """

    def __init__(self, engine: Engine, problem: Problem, tolerance: float, budget: Budget) -> None:
        self.engine = engine
        self.encoding = _encoded(problem, budget)
        self.is_slice = self.encoding.factorization.is_slice
        self.tolerance = tolerance
        self.groups = tuple(_groups(self.encoding))
        shown = {x for block in self.encoding.factorization.blocks for x in block}
        hidden = (size for x, size in enumerate(problem.structure.sizes) if x not in shown)
        self.hidden = float(sum(np.log(size) for size in hidden))
        self.objective = self.encoding.objective(TRUE, TRUE)
        self.relaxation = Relaxation(self.encoding.program)
        self.checker = Checker(self.encoding.program)
        self.uniform = float(sum(np.log(size) for size in problem.structure.sizes))
        self.budget = Budget.of()
        self.best: Distribution | None = None
        self.entropy = -inf
        self.tree: BranchAndBound[_Leaf] | None = None

    @property
    def at_most(self) -> float:
        """Return what is proved that no model's entropy passes."""
        return self.uniform if self.tree is None else min(self.uniform, max(-self.tree.bound, self.entropy))

    @property
    def is_closed(self) -> bool:
        """Tell whether model and bound meet."""
        return self.at_most - self.entropy <= self.tolerance

    def _is_over(self) -> bool:
        return self.is_closed or self.budget.is_spent

    def relax(self, budget: Budget) -> _Leaf:
        """Solve the convex relaxation of the whole part."""
        self.budget = budget
        box = self.encoding.program.ratios.box
        center = self.relaxation.center(self.objective, box, budget.share(0.5).for_solver)
        start = np.ones(self.encoding.program.columns) if center is None else center
        return self._leaf(box, start, self.uniform)

    def relaxed_bound(self, budget: Budget) -> float:
        """Return what the convex relaxation alone proves."""
        return self.uniform if budget.is_spent else self.relax(budget).bound

    def begin(self, budget: Budget) -> None:
        """Bound the entropy by the relaxation, and climb to a model from several starts."""
        if budget.is_spent:
            return
        root = self.relax(budget.share(RELAXATION_SHARE))
        self.tree = BranchAndBound(root, -root.bound)
        self.budget = budget.share(CLIMBING_SHARE)
        for point in () if self.is_slice else self._points(root.point):
            self._offer(point)
            if self._is_over():
                break
        if self.best is None:
            self._seek(budget)

    def _seek(self, budget: Budget) -> None:
        """Look for models elsewhere: in which nothing is certain from the start; failing that, for any."""
        problem, engine = self.encoding.problem, self.engine
        said = engine.network.about(problem.variables)
        for found in uncertain_models(said, engine.graph, engine.markov, budget=budget.share(0.6)):
            self._consider(found)
        if self.best is None:
            seek = simple_model if self.is_slice else model_of_part
            self._consider(seek(engine, problem, budget))

    def close(self, budget: Budget) -> None:
        """Cut the ranges of ratios until bound and model meet, or the time is up."""
        self.budget = budget
        if self.tree is not None:
            self.tree.run(self._explore, until=self._is_over, enough=self._enough)

    def _enough(self) -> float:
        """Return the bound of leaves that need no cut: in them no model has noticeably more entropy."""
        return -(self.entropy + self.tolerance)

    def _explore(self, _: float, leaf: _Leaf) -> Explored[_Leaf]:
        boxes = halves(self.encoding, leaf.box, leaf.point)
        if not boxes:
            return Explored(closed=-leaf.bound)
        children = [self._leaf(box, leaf.point, leaf.bound) for box in boxes]
        for child in children:
            self._offer(child.point)
        return Explored(tuple((-child.bound, child) for child in children))

    def _leaf(self, box: Box, start: Floats, known: float) -> _Leaf:
        """Solve the convex relaxation within a box and prove a bound there, at worst the one known."""
        relaxed = _relaxed(self.encoding.program, box)
        found = spread(relaxed, self.groups, start, timeout=self.budget.for_solver)
        point = start if found is None else found
        return _Leaf(box, point, min(known, self._bound(point, box)))

    def _points(self, relaxed: Floats) -> Iterator[Floats]:
        """Yield the relaxed optimum itself, then where climbing from each start ends."""
        yield relaxed
        contexts = len(self.encoding.program.ratios.of)
        for start in self._starts(relaxed):
            if contexts > CONTEXTS_PER_SECOND * self.budget.remaining:
                return
            climbed = spread(self.encoding.program, self.groups, start, timeout=self.budget.for_solver)
            if climbed is not None:
                yield climbed

    def _starts(self, relaxed: Floats) -> Iterator[Floats]:
        """Yield points to begin from: the relaxed optimum, and mixtures of it with random corners."""
        yield relaxed
        rng = np.random.default_rng(0)
        for _ in range(STARTS - 1):
            cost = rng.normal(size=self.encoding.program.columns)
            corner = replace(self.objective, numerator=cost)
            box, seconds = self.encoding.program.ratios.box, self.budget.for_solver
            claim, _ = self.relaxation.minimize(corner, box, timeout=seconds)
            if claim.outcome is Outcome.OPTIMAL:
                yield 0.5 * relaxed + 0.5 * claim.point

    def _bound(self, point: Floats, box: Box) -> float:
        """Prove that no model in a box has more entropy than the tangent at a point allows."""
        cost = np.zeros(self.encoding.program.columns)
        for group in self.groups:
            table = np.maximum(point[group], FLOOR)
            cost[group] = -np.log(table / table.sum(axis=1, keepdims=True))
        tangent = Objective(cost, self.encoding.program.mass, self.objective.mass_bounds)
        claim, _ = self.relaxation.maximize(tangent, box, timeout=self.budget.for_solver)
        match claim.outcome:
            case Outcome.OPTIMAL:
                proved = self.checker.upper_bound(tangent, box, claim.multipliers)
                return round_up(proved + self.hidden)
            case Outcome.INFEASIBLE if self.checker.proves_empty(tangent, box, claim.multipliers):
                return -inf
            case _:
                return inf

    def _offer(self, point: Floats) -> None:
        """Read a distribution off a point, and keep it if it is a better model; a slice shows none."""
        if self.is_slice:
            return
        self._consider(polished(self.encoding, distribution_at(self.encoding, point)))

    def _consider(self, found: Distribution | None) -> None:
        """Keep a model, or the one that a distribution stands for, if it has more entropy."""
        entropy = -inf if found is None else entropy_of(found)
        if found is None or entropy <= self.entropy:
            return
        passes = is_model(found, self.engine)
        if not passes and not self.budget.is_spent:
            network, graph = self.engine.network.about(self.encoding.problem.variables), self.engine.graph
            with suppress(CredalogError, OutOfTime):
                found = explicit_model(found, network, graph, budget=self.budget).distribution
                entropy, passes = entropy_of(found), is_model(found, self.engine)
        if passes and entropy > self.entropy:
            self.best, self.entropy = found, entropy


def _encoded(problem: Problem, budget: Budget) -> Encoding:
    """Encode all tables of a part, or those of a slice where they are too large."""
    with suppress(ProblemTooLarge):
        return encode_tables(problem, budget=budget.share(0.5))
    slices = Slices(problem, ())
    for rung in (RUNGS[0], SMALLEST):
        with suppress(OutOfTime):
            return encode(problem, slices.factorization(rung), {}, budget)
    return encode(problem, slices.factorization(EMPTY), {})


def _groups(encoding: Encoding) -> Iterator[Columns]:
    """Yield for each block the columns of its widest clique: a row per state of the rest."""
    widest: dict[tuple[int, ...], int] = {}
    for number, clique in enumerate(encoding.factorization.cliques[:-1]):
        other = widest.setdefault(clique.block, number)
        if len(encoding.factorization.cliques[other].scope) < len(clique.scope):
            widest[clique.block] = number
    for block, number in widest.items():
        rest = [x for x in encoding.factorization.cliques[number].scope if x not in block]
        yield encoding.arranged(number, rest, block)[:, :, 0]


def _relaxed(program: Program, box: Box) -> Program:
    """Return the convex relaxation: known ratios stay, the others become ranges in every context."""
    ratios = program.ratios
    is_known = box.upper - box.lower <= FIXED
    known, open_ = np.flatnonzero(is_known[ratios.of]), np.flatnonzero(~is_known[ratios.of])
    part, whole = ratios.numerator[open_], ratios.denominator[open_]
    low, high = box.lower[ratios.of[open_]], box.upper[ratios.of[open_]]
    rows = sp.vstack(
        [program.inequalities, part - sp.diags_array(low) @ whole, sp.diags_array(high) @ whole - part]
    )
    kept = Ratios(
        box.lower,
        box.upper,
        ratios.at_vertex,
        ratios.of[known],
        ratios.numerator[known],
        ratios.denominator[known],
    )
    added = (-1,) * (2 * len(open_))
    return replace(
        program,
        inequalities=sp.csr_array(rows),
        ratios=kept,
        inequality_origin=program.inequality_origin + added,
    )


# ---- Newton's method --------------------------------------------------------------------------------------
# The last digits of a witness.
# Input: a distribution that all but satisfies the statements of an encoding, as an interior-point method
# leaves it. Output: one near by that satisfies them, if a few steps of Newton's method lead there.
#
# A step changes tables and ratios together, by as little as possible relative to their size, so that rows
# which are missed are met to first order: sentences, agreement on separators, and every context of a ratio.

STEPS = 4

ENOUGH = 1e-12
"""Rows that are missed by less than this are met."""


def polished(encoding: Encoding, distribution: Distribution) -> Distribution:
    """Move a distribution onto the rows that it barely misses."""
    for _ in range(STEPS):
        point = tables_of(encoding, distribution)
        short = encoding.program.inequalities @ point
        if max(_worst(-short), _worst(np.abs(encoding.program.equalities @ point))) <= ENOUGH:
            break
        distribution = distribution_at(encoding, np.maximum(0.0, point + _step(encoding, point, short)))
    return distribution


def _worst(missed: Floats) -> float:
    return float(missed.max(initial=0.0))


def _step(encoding: Encoding, point: Floats, short: Floats) -> Floats:
    """Return the least relative change of the tables that meets all rows to first order."""
    # Small commands end before this is imported.
    from scipy.sparse.linalg import lsqr

    program, ratios = encoding.program, encoding.program.ratios
    values = ratio_values(encoding, point)
    missed = np.flatnonzero(short < 0.0)
    contexts = ratios.numerator - sp.diags_array(values[ratios.of]) @ ratios.denominator
    mass = ratios.denominator @ point
    turn = sp.csr_array((-mass, (np.arange(len(ratios.of)), ratios.of)), shape=(len(mass), len(values)))
    linear = sp.vstack(
        [program.equalities, program.inequalities[missed], sp.csr_array(program.mass[None, :])]
    )
    rows = sp.block_array([[sp.csr_array(linear), None], [contexts, turn]], format="csr")
    sizes = np.concatenate([point, np.ones(len(values))])
    wanted = np.concatenate(
        [-(program.equalities @ point), -short[missed], [1.0 - point[0]], -(contexts @ point)]
    )
    change: Floats = lsqr(rows @ sp.diags_array(sizes), wanted, atol=1e-15, btol=1e-15)[0]
    return (sizes * change)[: program.columns]
