"""From cliques to a program: one column per state of a clique, one row per thing said.

Input: a `Problem` and its `Factorization`. Output: `Encoding`: the `Program`, and the way back from its
columns to tables and conditional probabilities.

A condition "left independent of right given given" becomes ratios theta(left | given), the same for
every state of right. What is said about theta(x | configuration) of a variable holds in every context of
its clique, not only on average: these rows make the linear relaxation strong (docs/proofs.md, proof 6). Where
nothing is cyclic the same is true of other sentences, in every state of what d-separation allows (proof 32):
`Contexts` are the state that a condition names, and what is independent of the claim given that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.methods.cliques.factorization import Agreement, Clique, Factorization, Separator
from credalog.methods.cliques.interior import interior_of
from credalog.network.formulas import Formula, Variable, literals_of, truth_table
from credalog.network.polytopes import LocalPolytope, ranges
from credalog.network.problem import Problem, Statement
from credalog.network.sentences import Sentence
from credalog.network.structure import Condition, Reading, ancestors, d_connected
from credalog.numbers.budget import Budget
from credalog.program.program import Floats, Objective, Program, Ratios
from credalog.trusted.rounding import above, below, relative_error, round_up

__all__ = ["Apart", "Contexts", "Encoding", "RatioKey", "bounds_of_state", "encode"]


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


Columns = NDArray[np.intp]

ONE: Floats = np.ones(1)

FULL_LIMIT = 1 << 7
"""Up to this size of a clique, each conditional probability is stated in every context there is."""

MIRROR_LIMIT = 1 << 6
"""Up to this size of a clique, ratios that nothing bounds yet are added for the sake of branching."""


class RatioKey(NamedTuple):
    """Which conditional probability a ratio is: P(left = states | given = configuration)."""

    left: tuple[int, ...]
    given: tuple[int, ...]
    states: tuple[int, ...]
    configuration: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A program and the way back from its columns."""

    problem: Problem
    factorization: Factorization
    evidence: Mapping[int, int]
    program: Program
    keys: tuple[RatioKey, ...]
    columns: tuple[Columns, ...]

    def objective(self, claim: Formula, given: Formula) -> Objective:
        """Return P(claim | given), read off the clique that shows the query and what is observed."""
        number = self.factorization.query_clique
        event = self._truth(given, number)
        numerator = np.zeros(self.program.columns)
        denominator = np.zeros(self.program.columns)
        columns = self.columns[number]
        numerator[columns[event & self._truth(claim, number)]] = 1.0
        denominator[columns[event]] = 1.0
        return Objective(numerator, denominator, self._mass_bounds(number, bool(event.all())))

    def unconditional(self, claim: Formula) -> Objective:
        """Return P(claim and what is observed), the total mass being one."""
        number = self.factorization.query_clique
        numerator = np.zeros(self.program.columns)
        numerator[self.columns[number][self._truth(claim, number)]] = 1.0
        return Objective(numerator, self.program.mass, np.ones(len(self.columns)))

    def _mass_bounds(self, query: int, is_whole: bool) -> Floats:
        """Bound what each table holds where the query's evidence has mass one.

        An observation x = v divides the mass of the table before it by P(x = v | parents), which its
        bounds keep away from zero; tables with the same evidence that agree hold the same.
        """
        bounds = np.full(len(self.columns), np.inf)
        bounds[query] = 1.0 if is_whole else np.inf
        cliques = self.factorization.cliques
        for number, clique in enumerate(cliques):
            for s in self.factorization.separators_of.get(number, ()):
                if s.agreement is Agreement.DENOMINATOR:
                    held = {x: self.evidence[x] for x in clique.fixed}
                    least = self._least_likelihood(clique.block[0], held)
                    grown = round_up(float(bounds[number]) / least) if least > 0.0 else np.inf
                elif clique.fixed == cliques[s.second].fixed:
                    grown = bounds[number]
                else:
                    continue
                bounds[s.second] = min(bounds[s.second], grown)
        # Nothing holds more than the total mass, which the last clique is.
        bounds = np.minimum(bounds, bounds[-1])
        return np.concatenate([bounds[-1:], bounds[:-1]])

    def with_column_bounds(self, objective: Objective) -> Objective:
        """Bound every column from the bounds on the tables' masses and on each P(x | parents).

        A column is P(block | rest) times what the rest holds: in a table that adds an observation that is the
        mass of the table before it, not its own.
        """
        masses = np.append(objective.mass_bounds[1:], objective.mass_bounds[0])
        bounds = np.full(self.program.columns, masses[-1])
        for number in reversed(range(len(self.columns) - 1)):
            clique = self.factorization.cliques[number]
            observes = any(x in clique.fixed for x in clique.block)
            before = masses[self.lean(number)] if observes else masses[number]
            table = np.full(self.columns[number].shape, before)
            for part in clique.rest:
                sums = bounds[self.arranged(self.leans_on(number, part), part)].sum(axis=1)
                shape = [self.problem.structure.sizes[x] if x in part else 1 for x in clique.shown]
                table = np.minimum(table, sums.reshape(shape))
            bounds[self.columns[number]] = np.minimum(masses[number], table * self._greatest(clique))
        # No more roundings lie behind a number than there are columns and tables.
        error = relative_error(self.program.columns + 3 * len(self.columns))
        return replace(objective, column_bounds=bounds * (1.0 + error))

    def _greatest(self, clique: Clique) -> Floats:
        """Return an upper bound on P(block | rest) in every state of a clique.

        P(x, y, ...) is at most P(x | parents), whichever x of the block is taken.
        """
        table: Floats = np.ones(tuple(self.problem.structure.sizes[x] for x in clique.shown))
        if clique.is_free:
            return table
        for x in clique.block:
            parents = self.problem.structure.parents[x]
            for configuration, polytope in self.problem.polytopes[x].items():
                for state in range(self.problem.structure.sizes[x]):
                    place = {x: state, **dict(zip(parents, configuration, strict=True))}
                    pick = self._where(place, clique)
                    if pick is not None:
                        table[pick] = np.minimum(table[pick], above(ranges(polytope)[state][1]))
        return table

    def _where(self, place: Mapping[int, int], clique: Clique) -> tuple[int | slice, ...] | None:
        """Return the part of a clique's table in which variables have given states, if it shows them."""
        if any(self.evidence[y] != place[y] for y in clique.fixed if y in place):
            return None
        return tuple(place.get(y, slice(None)) for y in clique.shown)

    def leans_on(self, number: int, part: Sequence[int]) -> int:
        """Return the clique off which a clique reads a part of what it leaves."""
        return next(
            s.second
            for s in self.factorization.separators_of[number]
            if s.scope == tuple(part) and s.agreement is not Agreement.BELOW
        )

    def least_likelihood(self, others: Mapping[int, int]) -> float:
        """Return a lower bound on the probability of what is observed given other observations.

        The product of the least P(x = observed | parents) over the configurations that agree with all that
        is observed: summing out the rest, with the observed variables held, leaves exactly the others'
        probability. It holds where no observed variable of a table of its own leads to one of the others.
        """
        before = ancestors(self.problem.structure.parents, others)
        if not before.isdisjoint(self.evidence):
            return 0.0
        known = {**others, **self.evidence}
        return prod((self._least_likelihood(x, known) for x in self.evidence), start=1.0)

    def _least_likelihood(self, x: int, known: Mapping[int, int]) -> float:
        """Return a lower bound on P(x = observed | parents) in any configuration that agrees with others."""
        structure = self.problem.structure
        parents = structure.parents[x]
        agreeing = product(*((known[p],) if p in known else range(structure.sizes[p]) for p in parents))
        polytopes = [self.problem.polytopes[x].get(configuration) for configuration in agreeing]
        return below(min(Fraction(0) if p is None else ranges(p)[self.evidence[x]][0] for p in polytopes))

    def _truth(self, formula: Formula, clique: int) -> NDArray[np.bool_]:
        shown = self.factorization.cliques[clique].shown
        return _truth(formula, self.problem, shown, self.evidence)

    def arranged(self, number: int, *groups: Iterable[int]) -> Columns:
        """Return a clique's columns with one axis per group of variables, and a last one for the rest."""
        return _arranged(self.columns[number], self.factorization.cliques[number], *groups)

    def lean(self, number: int) -> int:
        """Return the clique that holds the denominators of an observation."""
        return _lean(self.factorization, number).second

    def state_numbers(self, variables: Sequence[int], clique: Clique) -> Columns:
        """Return the numbers of the states of some variables that a clique shows, among all their states."""
        sizes = [self.problem.structure.sizes[x] for x in variables]
        numbers = np.arange(prod(sizes), dtype=np.intp).reshape(sizes)
        pick = tuple(
            slice(self.evidence[x], self.evidence[x] + 1) if x in clique.fixed else slice(None)
            for x in variables
        )
        return numbers[pick].ravel()


def _arranged(columns: Columns, clique: Clique, *groups: Iterable[int]) -> Columns:
    axis_of = {x: axis for axis, x in enumerate(clique.shown)}
    lists = [[axis_of[x] for x in group if x not in clique.fixed] for group in groups]
    lists.append([a for a in axis_of.values() if not any(a in found for found in lists)])
    shape = [prod(columns.shape[a] for a in found) for found in lists]
    return columns.transpose([a for found in lists for a in found]).reshape(shape)


def _lean(factorization: Factorization, number: int) -> Separator:
    found = factorization.separators_of[number]
    return next(s for s in found if s.agreement is Agreement.DENOMINATOR)


def _truth(
    formula: Formula, problem: Problem, scope: Sequence[int], evidence: Mapping[int, int]
) -> NDArray[np.bool_]:
    """Evaluate a formula on the states of a table, the variables of `evidence` being observed."""
    variables = problem.variables
    known = {variables[x]: variables[x].values[state] for x, state in evidence.items()}
    return truth_table(formula, [variables[x] for x in scope], known)


def encode(
    problem: Problem,
    factorization: Factorization,
    evidence: Mapping[int, int],
    budget: Budget | None = None,
) -> Encoding:
    """Write the program of a factorization, if there is time for it."""
    return _Encoder(problem, factorization, evidence, budget or Budget.of()).run()


class _Rows:
    """Sparse homogeneous rows under construction."""

    def __init__(self) -> None:
        self.columns: list[Columns] = [np.zeros(0, np.intp)]
        self.values: list[Floats] = [np.zeros(0)]
        self.lengths: list[Columns] = [np.zeros(1, np.intp)]

    def add(self, columns: Columns, values: Floats) -> int:
        """Add rows that differ in their columns only, one or several; return how many."""
        rows = np.atleast_2d(columns)
        self.columns.append(rows.ravel())
        self.values.append(np.broadcast_to(values, rows.shape).ravel())
        self.lengths.append(np.full(len(rows), rows.shape[1], np.intp))
        return len(rows)

    def matrix(self, width: int) -> sp.csr_array:
        """Return the rows as a matrix; entries of one column add up."""
        start = np.cumsum(np.concatenate(self.lengths))
        columns, values = np.concatenate(self.columns), np.concatenate(self.values)
        matrix = sp.csr_array((values, columns, start), shape=(len(start) - 1, width))
        matrix.sum_duplicates()
        return matrix


class _Encoder:
    def __init__(
        self, problem: Problem, factorization: Factorization, evidence: Mapping[int, int], budget: Budget
    ) -> None:
        self.problem = problem
        self.factorization = factorization
        self.evidence = evidence
        self.budget = budget
        self.contexts = Contexts(problem, has_conditions=factorization.reading is not Reading.FREE)
        self.owners = Counter(clique.block for clique in factorization.cliques)
        self.columns = self._number_columns()
        self.width = sum(columns.size for columns in self.columns)
        self.inequalities, self.equalities = _Rows(), _Rows()
        self.origin: list[int] = []
        self.equal_origin: list[int] = []
        self.ratio_of: dict[RatioKey, int] = {}
        self.of: list[int] = []
        self.numerator, self.denominator = _Rows(), _Rows()
        # What no sentence says is said with whole numbers: none of these is 1 - 1e-20.
        self.rationals = {float(whole): Fraction(whole) for whole in (-1, 0, 1)}
        self.are_told_apart = True

    def run(self) -> Encoding:
        """Write all rows, then all ratios."""
        for separator in self.factorization.separators:
            self.budget.require_time()
            self._separate(separator)
        for number, clique in enumerate(self.factorization.cliques):
            self.budget.require_time()
            self._encode_clique(number, clique)
        for statement in self.problem.all_statements:
            self.budget.require_time()
            self._state(statement)
            self._state_in_contexts(statement)
        if self.factorization.is_slice:
            self._state_families()
        self._declare()
        program = Program(
            self.width,
            tuple((int(c.flat[0]), int(c.flat[-1]) + 1) for c in (self.columns[-1], *self.columns[:-1])),
            self.inequalities.matrix(self.width),
            self.equalities.matrix(self.width),
            self._ratios(),
            tuple(self.origin),
            tuple(self.equal_origin),
            self.rationals,
        )
        keys = tuple(self.ratio_of)
        return Encoding(self.problem, self.factorization, self.evidence, program, keys, tuple(self.columns))

    def _number_columns(self) -> list[Columns]:
        """Give each clique its columns; the total mass, the last clique, comes first."""
        found: list[Columns] = []
        next_column = 1
        for clique in self.factorization.cliques[:-1]:
            shape = tuple(self.problem.structure.sizes[x] for x in clique.shown)
            found.append(np.arange(next_column, next_column + prod(shape), dtype=np.intp).reshape(shape))
            next_column += prod(shape)
        return [*found, np.zeros((), dtype=np.intp)]

    def _arranged(self, number: int, *groups: Iterable[int], fixed: Iterable[int] = ()) -> Columns:
        """Return a clique's columns with one axis per group of variables, and a last one for the rest.

        A variable in `fixed` that the clique does not fix is taken at its observed state.
        """
        clique = self.factorization.cliques[number]
        columns = self.columns[number]
        for axis, x in enumerate(clique.shown):
            if x in fixed:
                columns = columns.take([self.evidence[x]], axis=axis)
        return _arranged(columns, clique, *groups)

    def _separate(self, separator: Separator) -> None:
        if separator.agreement is Agreement.DENOMINATOR:
            return
        fixed = self.factorization.cliques[separator.first].fixed
        first = self._arranged(separator.first, separator.scope)
        second = self._arranged(separator.second, separator.scope, fixed=fixed)
        add = self._equal if separator.agreement is Agreement.EQUAL else self._unequal
        values = np.repeat([1.0, -1.0], [second.shape[1], first.shape[1]])
        add(np.concatenate([second, first], axis=1), values)

    def _encode_clique(self, number: int, clique: Clique) -> None:
        if any(x in clique.fixed for x in clique.block):
            self._observe(number, clique.block[0])
            return
        for condition in clique.conditions:
            self._relate(number, condition.left, condition.right, condition.given)
            self._mirror(number, condition)
        self._put_in_full_context(number)
        right_of = {c.left: c.right for c in clique.conditions if c.given == self._block_parents(c.left)}
        if self._is_shared(clique) and clique.block not in right_of:
            self._relate(number, clique.block, (), self._block_parents(clique.block))
        for x in () if self.factorization.is_slice else clique.block:
            given = self.problem.structure.parents[x]
            # Of a tied variable whose parents are not all shown, the sentences are stated elsewhere.
            if self.problem.polytopes[x] and set(given) <= set(clique.scope):
                if (x,) not in right_of and not (self._is_shared(clique) and clique.block == (x,)):
                    self._relate(number, (x,), (), given)
                self._bound_in_context(number, x, right_of.get((x,), ()))

    def _is_shared(self, clique: Clique) -> bool:
        """Tell whether other tables rest on the same P(block | parents)."""
        one_law = len(clique.block) == 1 or self.factorization.reading is Reading.CHAIN
        return one_law and self.owners[clique.block] > 1 and not clique.is_free

    def _block_parents(self, block: Sequence[int]) -> tuple[int, ...]:
        parents = {p for x in block for p in self.problem.structure.parents[x]}
        return tuple(sorted(parents - set(block)))

    def _states(self, variables: Sequence[int], clique: Clique) -> list[tuple[int, ...]]:
        """List the states of some variables of a clique, in the order of its columns."""
        sizes = self.problem.structure.sizes
        ranges = ([self.evidence[x]] if x in clique.fixed else range(sizes[x]) for x in variables)
        return list(product(*ranges))

    def _relate(self, number: int, left: Sequence[int], right: Sequence[int], given: Sequence[int]) -> None:
        """Add the ratios P(left | given), the same in every context right.

        Of a two-valued variable one ratio says all.
        """
        clique = self.factorization.cliques[number]
        columns = self._arranged(number, given, right, left)
        states = list(enumerate(self._states(left, clique)))
        for g, configuration in enumerate(self._states(given, clique)):
            for s, state in states[1:] if len(states) == 2 else states:
                ratio = self._ratio(RatioKey(tuple(left), tuple(given), state, configuration))
                self._contexts(ratio, columns[g][:, s], columns[g].reshape(len(columns[g]), -1))

    def _mirror(self, number: int, condition: Condition) -> None:
        """Add for each y on the right the ratios P(y | given), the same for every state of the left.

        They follow from the condition. With bounds on both sides the error of the relaxation shrinks with
        the product of two ranges instead of one, which is what lets branch and bound converge. Where the
        condition contains the parents of y and else only its ndnp, P(y | given) is theta(y | parents).
        """
        if self.factorization.cliques[number].fixed:
            # In a table that holds P(scope, evidence) the frequency of y is P(y | given, evidence).
            return
        structure = self.problem.structure
        for y in condition.right:
            parents = structure.parents[y]
            others = tuple(z for z in condition.given if z not in parents)
            is_family = set(parents) <= set(condition.given) and structure.ndnp(y, others) == others
            if is_family and self.factorization.reading is not Reading.FREE:
                self._relate(number, (y,), (*others, *condition.left), parents)
            elif self.columns[number].size <= MIRROR_LIMIT:
                self._relate(number, (y,), condition.left, condition.given)

    def _put_in_full_context(self, number: int) -> None:
        """State each P(y | parents) in every state of all that is neither a parent nor a descendant of y.

        The conditions imply it, but not their relaxation: of variables that are all independent, the chain
        rule puts each in the context of those before it only. In a table that holds P(scope, evidence) it is
        true of those y from which nothing observed descends.
        """
        clique, structure = self.factorization.cliques[number], self.problem.structure
        if self.factorization.reading is Reading.FREE or self.columns[number].size > FULL_LIMIT:
            return
        stated = {(c.left, frozenset(c.right), c.given) for c in clique.conditions}
        for y in clique.scope:
            parents, others = structure.parents[y], structure.ndnp(y, clique.scope)
            is_family = set(parents) <= set(clique.scope) and self.problem.polytopes[y]
            is_prior = y not in clique.fixed and clique.fixed <= {*parents, *others}
            if is_family and is_prior and others and ((y,), frozenset(others), parents) not in stated:
                self._relate(number, (y,), others, parents)

    def _observe(self, number: int, x: int) -> None:
        """Add the ratio P(x = observed | parents); another clique holds its denominators.

        Where only P(x = 1 | parents) is kept and 0 was observed, its numerator is the difference.
        """
        clique = self.factorization.cliques[number]
        lean = _lean(self.factorization, number)
        given = self.problem.structure.parents[x]
        right = [y for y in lean.scope if y not in given]
        ours, theirs = self._arranged(number, given, right), self._arranged(lean.second, given, right)
        state, complement = self.evidence[x], self.problem.structure.sizes[x] == 2 and self.evidence[x] == 0
        for g, configuration in enumerate(self._states(given, clique)):
            ratio = self._ratio(RatioKey((x,), given, (1 if complement else state,), configuration))
            part, whole = ours[g], theirs[g]
            difference = np.concatenate([whole, part], axis=1)
            signs = np.repeat([1.0, -1.0], [whole.shape[1], part.shape[1]])
            self._unequal(difference, signs)
            if complement:
                self._contexts(ratio, difference, whole, signs)
            else:
                self._contexts(ratio, part, whole)
        for statement in self.contexts.claiming[x]:
            self._state_observed(statement, number, lean, x)

    def _state_observed(self, statement: Statement, number: int, lean: Separator, x: int) -> None:
        """State a sentence about an observed x where one table holds P(x = observed, …), another P(…).

        All that is observed there has to be independent of x given the condition of the sentence (proof 32).
        """
        clique, apart = self.factorization.cliques[number], self.contexts.of(statement)
        bounds = bounds_of_state(statement.sentence, self.problem.variables[x], self.evidence[x])
        if apart is None or bounds is None or not apart.given.keys() <= set(lean.scope):
            return
        if not apart.others(clique.fixed) >= clique.fixed - {x}:
            return
        others = apart.others(set(lean.scope) - clique.fixed)
        given = tuple(apart.given)
        at = self._states(given, clique).index(tuple(apart.given.values()))
        part, whole = (self._arranged(n, given, sorted(others))[at] for n in (number, lean.second))
        columns = np.concatenate([part, whole], axis=1)
        for one, other in ((Fraction(1), -bounds[0]), (Fraction(-1), bounds[1])):
            values = self._rounded([one] * part.shape[1] + [other] * whole.shape[1])
            self._unequal(columns, values, statement.number)

    def _ratio(self, key: RatioKey) -> int:
        return self.ratio_of.setdefault(key, len(self.ratio_of))

    def _contexts(self, ratio: int, part: Columns, whole: Columns, signs: Floats = ONE) -> None:
        """Add contexts of a ratio: in each the sum over `part` is its share of the sum over `whole`."""
        self.of += [ratio] * self.numerator.add(part, signs)
        self.denominator.add(whole, ONE)

    def _unequal(self, columns: Columns, values: Floats, origin: int = -1) -> None:
        self.origin += [origin] * self.inequalities.add(columns, values)

    def _equal(self, columns: Columns, values: Floats, origin: int = -1) -> None:
        self.equal_origin += [origin] * self.equalities.add(columns, values)

    def _bound_in_context(self, number: int, x: int, right: Sequence[int]) -> None:
        """State in every context what a local polytope says beyond bounds on single values."""
        clique = self.factorization.cliques[number]
        given = self.problem.structure.parents[x]
        columns = self._arranged(number, given, right, (x,))
        for g, configuration in enumerate(self._states(given, clique)):
            polytope = self.problem.polytopes[x].get(configuration)
            for normal in _normals(polytope) if polytope is not None else ():
                values = np.repeat(self._rounded(normal), columns[g].shape[2])
                self._unequal(columns[g].reshape(len(columns[g]), -1), values)

    def _state(self, statement: Statement) -> None:
        """State a sentence that is not local on a clique that shows it."""
        number = self._covering(statement.scope)
        if number is None:
            return
        self._put(statement, self._arranged(number, statement.scope)[None])

    def _put(self, statement: Statement, arranged: Columns) -> None:
        """Put the rows of a sentence; `arranged` are, in each of some contexts, the states of its scope."""
        sentence, scope = statement.sentence, statement.scope
        given = _truth(sentence.given, self.problem, scope, {})
        totals = np.zeros(np.count_nonzero(given), dtype=object)
        for weight, claim in sentence.claims:
            totals[_truth(claim, self.problem, scope, {})[given]] += weight
        columns = arranged[:, given.ravel()]

        def rows(coefficients: Iterable[Fraction]) -> tuple[Columns, Floats, int]:
            values = np.repeat(self._rounded(coefficients), columns.shape[2])
            return columns.reshape(len(columns), -1), values, statement.number

        if sentence.lower == sentence.upper:
            self._equal(*rows(totals - sentence.lower))
            return
        if len(totals) and min(totals) < sentence.lower:
            self._unequal(*rows(totals - sentence.lower))
        if len(totals) and max(totals) > sentence.upper:
            self._unequal(*rows(sentence.upper - totals))

    def _state_in_contexts(self, statement: Statement) -> None:
        """State a sentence in every state of what its claim is independent of given its condition (proof 32).

        The conditions imply it, but not their relaxation. The condition has to name one state of each of its
        variables: in others a context moves the weight from one state to another.
        """
        apart = self.contexts.of(statement)
        if apart is None:
            return
        for number in self._showing[statement.scope[0]]:
            clique = self.factorization.cliques[number]
            others = sorted(apart.others(clique.scope))
            is_shown = not clique.fixed and set(statement.scope) <= set(clique.scope)
            if is_shown and others and self.columns[number].size <= FULL_LIMIT:
                self._put(statement, self._arranged(number, others, statement.scope))

    @cached_property
    def _showing(self) -> dict[int, list[int]]:
        """The cliques that show a variable."""
        found: dict[int, list[int]] = {x: [] for x in range(len(self.problem.variables))}
        for number, clique in enumerate(self.factorization.cliques):
            for x in clique.scope:
                found[x].append(number)
        return found

    def _rounded(self, coefficients: Iterable[Fraction]) -> Floats:
        """Round the coefficients of a row; note what each was, and whether one float stands for two."""
        exact = list(coefficients)
        # A row has many coefficients and few different ones.
        rounded = {c: float(c) for c in set(exact)}
        for c, value in rounded.items():
            self.are_told_apart &= self.rationals.setdefault(value, c) == c
        return np.array([rounded[c] for c in exact])

    def _covering(self, scope: Iterable[int]) -> int | None:
        """Return the clique on which something is stated; a slice need not show it."""
        found = self.factorization
        return found.covering(scope) if found.is_slice else found.smallest_covering(scope)

    def _state_families(self) -> None:
        """State of each variable of a slice what is local to it, where its parents are shown."""
        for x, polytopes in enumerate(self.problem.polytopes):
            parents = self.problem.structure.parents[x]
            number = self.factorization.covering((x, *parents)) if polytopes else None
            if number is not None:
                self._relate(number, (x,), (), parents)
                self._bound_in_context(number, x, ())

    def _declare(self) -> None:
        for condition in self.problem.declared:
            scope = (*condition.left, *condition.right, *condition.given)
            number = self._covering(scope)
            if number is None:
                continue
            self._relate(number, condition.left, condition.right, condition.given)
            self._mirror(number, condition)

    def _ratios(self) -> Ratios:
        exact = tuple(self._box(key) for key in self.ratio_of)
        free = self.problem.free_variables()
        at_vertex = [self._at_vertex(key, free) for key in self.ratio_of]
        return Ratios(
            np.array([below(low) for low, _ in exact], dtype=float),
            np.array([above(high) for _, high in exact], dtype=float),
            np.array(at_vertex, dtype=bool),
            np.array(self.of, dtype=np.intp),
            self.numerator.matrix(self.width),
            self.denominator.matrix(self.width),
            exact if self.are_told_apart else None,
            None if self.factorization.reading is Reading.FREE else interior_of(self.problem, self.ratio_of),
        )

    def _is_family(self, key: RatioKey) -> bool:
        return len(key.left) == 1 and key.given == self.problem.structure.parents[key.left[0]]

    def _box(self, key: RatioKey) -> tuple[Fraction, Fraction]:
        """Bound a ratio by its local polytope."""
        if not self._is_family(key):
            return Fraction(0), Fraction(1)
        polytope = self.problem.polytopes[key.left[0]].get(key.configuration)
        if polytope is None:
            return Fraction(0), Fraction(1)
        return ranges(polytope)[key.states[0]]

    def _at_vertex(self, key: RatioKey, free: frozenset[int]) -> bool:
        """Tell whether some optimum has this ratio at an end: its theta is an interval of its own."""
        x = key.left[0]
        is_free = x in free and self.factorization.reading is not Reading.FREE
        return is_free and self._is_family(key) and self.problem.structure.sizes[x] == 2


def _normals(polytope: LocalPolytope) -> Iterator[list[Fraction]]:
    """Yield the rows a with a @ theta >= 0 of a polytope that are not bounds on one value."""
    for row in polytope.rows:
        if polytope.size == 2 or sum(c != 0 for c in row.coefficients) <= 1:
            continue
        for sign, bound in ((1, row.lower), (-1, row.upper)):
            normal = [sign * (c - bound) for c in row.coefficients]
            if min(normal) < 0:
                yield normal
