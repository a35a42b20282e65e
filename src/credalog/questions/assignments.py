"""What can be said of P(assignment | evidence), from cheap bounds to proved and attained ends.

Input: an engine, the variables Y to be assigned, and evidence e. Output: `Assignments`, which bounds
P(y | e) for partial and complete assignments y.

The closed form. Let A be the ancestors of the evidence, of everything said beyond local polytopes, and of
every y whose parents are not all in Y or observed. A is ancestral, so for y = (y_A, y_B)

    P(y | e)  =  P(y_A | e) * product over x in B of theta(y_x | y_parents(x)).

The thetas of B are restricted by their own local polytopes only, and P(y_A | e) does not depend on them.
So either end of P(y | e) is that end of P(y_A | e) times the ends of these thetas. Only P(y_A | e) needs
optimization; where A is empty, as in a full MAP of a credal network without evidence, nothing does.

The cheap bounds. In any model P(y, e) is at most a product of upper thetas, each in one configuration. And
for any model m found on the way the lower end of P(y | e) is at most P_m(y | e), for all y at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import NamedTuple, TypeAlias

import numpy as np

from credalog.errors import (
    ImpossibleEvidence,
    InconsistentNetwork,
    ProblemTooLarge,
    impossible_evidence,
    no_model,
)
from credalog.methods import intervals
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.factorization import factorize
from credalog.methods.cliques.fragment import entangled_in
from credalog.methods.cliques.models import find_models
from credalog.methods.cliques.search import Ending, Limits, Witness
from credalog.network.formulas import (
    TRUE,
    Formula,
    Is,
    Variable,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.network.polytopes import FamilyPolytopes, ranges, vacuous
from credalog.network.problem import Problem, relevant_part
from credalog.network.sentences import Query
from credalog.network.structure import Reading, ancestors
from credalog.numbers.budget import Budget, OutOfTime, require_time
from credalog.numbers.interval import End, Endpoint
from credalog.program.program import Objective
from credalog.questions.bounding import Bounding, Solver, bounding_reading, readings_of, search_in_turn
from credalog.questions.evidence import Evidence
from credalog.questions.models import encode_in_time
from credalog.questions.products import ROUNDING, Floats, Products, Table
from credalog.tables.credal import FamilyTable
from credalog.tables.distribution import Distribution
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import NORMAL, above, below, enclosed, outward_product, round_up

Assigned: TypeAlias = Mapping[int, int]
"""The state of each assigned variable, by numbers."""

MOST_AXES = 60
"""A table has no more variables than this: numpy ends at 64 axes."""

RELAXATION_SECONDS, RELAXATION_SHARE = 5.0, 0.25
"""How long the linear relaxation of one partial assignment may take, and the share of the time left."""

LARGEST_FAMILY = 1 << 14
"""Upper thetas of a family with more entries are taken to be one."""

TABLED = 1 << 10
"""Up to this many assignments one table shows them all, which makes the relaxation stronger."""

QUICKLY_TABLED = 1 << 4
"""The same where only a quick bound is wanted, of one partial assignment among many."""

SEARCH_SHARE = 0.6
"""The share of the time that one search may take; the rest is for asking in any other way."""

ENCODING_SHARE = 0.3
"""The share of the time left that writing down one program may take."""

PROPAGATED = 1 << 12
"""An assignment with more alternatives is not asked for as one formula: set propagation would make it a
variable of its own, with so many rows."""

PROPAGATION_SHARE = 0.7
"""The share of the time that set propagation may take before the search on cliques."""

_States: TypeAlias = tuple[tuple[int, int], ...]
_Key: TypeAlias = tuple[_States, End]
"""An assignment of variables in A, and which end is meant."""


class _Encoded(NamedTuple):
    """A part of the network, its encoding, the variables that show all their states, and a solver."""

    part: Problem
    encoding: Encoding
    free: frozenset[Variable]
    solver: Solver


class Assignments:
    """The assignments of some variables of a network, under evidence.

    `is_consistent` says whether the network is known to have a model; otherwise nothing counts as attained.
    """

    def __init__(
        self, engine: Engine, chosen: Iterable[int], given: Formula, budget: Budget, *, is_consistent: bool
    ) -> None:
        self.engine = engine
        self.budget = budget
        self.problem = engine.problem
        self.given = given
        self.is_consistent = is_consistent
        self.chosen = frozenset(chosen)
        self.number = {v: i for i, v in enumerate(engine.network.variables)}
        literals = literals_of(given) or {}
        self.observed = {self.number[v]: v.values.index(value) for v, value in literals.items()}
        self.given_scope = tuple(self.number[v] for v in scope(given))
        self.models: list[tuple[Products, float]] = []
        self._tables: dict[tuple[tuple[int, ...], Reading], _Encoded] = {}
        self._relaxed: dict[_States, float] = {}
        self._least: dict[_States, float] = {}
        self._found: dict[_Key, Endpoint] = {}
        self._witnesses: dict[_Key, Witness] = {}
        self.is_too_large = False
        """Whether some program could not be written down in time."""

    # ---- which variables need optimization ------------------------------------------------------------

    @cached_property
    def entangled(self) -> frozenset[int]:
        """Return A, the variables whose probabilities are not a product of local choices."""
        problem = self.problem
        if problem.reading is Reading.FREE:
            return frozenset(range(len(problem.variables)))
        parents, known = problem.structure.parents, self.chosen | self.observed.keys()
        start = [x for s in problem.all_statements for x in s.scope]
        start += [x for c in problem.declared for x in (*c.left, *c.right, *c.given)]
        start += [*problem.structure.core, *self.given_scope]
        start += [x for x in self.chosen if not known.issuperset(parents[x])]
        return ancestors(parents, start)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Return the variables to be assigned: parents first, those of A before the others."""
        topological = [x for c in self.problem.structure.components for x in c if x in self.chosen]
        return tuple(sorted(topological, key=lambda x: x not in self.entangled))

    @cached_property
    def evidence(self) -> Evidence | None:
        """Return the ancestors of the evidence, where they alone need optimization and all are assigned."""
        problem, known = self.problem, self.chosen | self.observed.keys()
        is_credal = not any(problem.all_statements) and not problem.declared and not problem.structure.core
        if not is_credal or problem.reading is Reading.FREE or self.engine.frame is not None:
            return None
        # Only where all of the evidence is literals is anything observed.
        if not self.observed or not known.issuperset(self.entangled):
            return None
        return Evidence.of(problem, self.observed, self.entangled)

    def _prefix(self, assigned: Assigned) -> dict[int, int]:
        return {x: state for x, state in sorted(assigned.items()) if x in self.entangled}

    # ---- cheap bounds ---------------------------------------------------------------------------------

    @cached_property
    def likelihood(self) -> float:
        """Return a proved lower bound on P(evidence)."""
        if self.given == TRUE:
            return 1.0
        try:
            encoded = self._encode((), self.observed, bounding_reading(self.problem))
        except ProblemTooLarge:
            self.is_too_large = True
            return self._outer_bound(Query(self.given), end=End.LOWER)
        objective = self._unconditional(encoded, {})
        return encoded.solver.bound(objective, self._for_relaxation, end=End.LOWER)[0].bound

    @cached_property
    def _all_upper(self) -> Products:
        everything = ancestors(self.problem.structure.parents, (*self.chosen, *self.observed))
        tailed = everything - self.problem.structure.core
        if self.problem.reading is Reading.FREE:
            tailed = frozenset()
        return self._products(tailed, End.UPPER)

    @cached_property
    def _loose(self) -> Mapping[End, Products]:
        """Return the products of the thetas of B, as they stand at each end."""
        return {end: self._products(self.chosen - self.entangled, end) for end in End}

    def _products(self, members: Iterable[int], end: End) -> Products:
        return Products(tuple(self._ends(x, end) for x in sorted(members)), self.chosen)

    def _ends(self, x: int, end: End) -> Table:
        """Tabulate the greatest or least theta(x | parents) in every configuration, rounding outwards."""
        structure, parents = self.problem.structure, self.problem.structure.parents[x]
        sizes = [structure.sizes[p] for p in parents]
        if prod(sizes) * structure.sizes[x] > LARGEST_FAMILY and x in self.entangled:
            return (), np.ones(())
        found = self.problem.polytopes[x]
        if isinstance(found, FamilyPolytopes):
            least, most = FamilyTable(found.family).ranges()
            return (*parents, x), most if end is End.UPPER else least
        values: Floats = np.empty((*sizes, structure.sizes[x]))
        for configuration in product(*map(range, sizes)):
            require_time()
            polytope = found.get(configuration) or vacuous(structure.sizes[x])
            values[configuration] = [
                above(high) if end is End.UPPER else below(low) for low, high in ranges(polytope)
            ]
        return (*parents, x), values

    def upper(self, assigned: Assigned) -> float:
        """Bound P(y | e) from above for every completion y, by products of upper thetas."""
        cheap = 1.0
        known_least = self._least.get(tuple(self._prefix(assigned).items()), 0.0)
        least = max(self.likelihood, known_least * (1.0 - ROUNDING))
        if least > 0.0:
            cheap = self._all_upper.bound({**self.observed, **assigned}) / least
        known = self._relaxed.get(tuple(self._prefix(assigned).items()), 1.0)
        return min(1.0, cheap * (1.0 + ROUNDING), self._loosely(known, assigned, End.UPPER))

    def lower(self, assigned: Assigned) -> float:
        """Bound the lower end of P(y | e) from above for every completion y, by every model found."""
        known = self._relaxed.get(tuple(self._prefix(assigned).items()), 1.0)
        by_model = (m.bound({**self.observed, **assigned}) / mass for m, mass in self.models)
        bounds = [self._loosely(known, assigned, End.LOWER), *by_model]
        return min(self.upper(assigned), *(bound * (1.0 + ROUNDING) for bound in bounds))

    def _loosely(self, known: float, assigned: Assigned, end: End) -> float:
        """Bound from above what the thetas of B, as they stand at one end, make of a bound on P(y_A | e)."""
        return outward_product((known, self._loose[end].bound({**self.observed, **assigned})), End.UPPER)

    # ---- bounds by linear relaxation, and exact ends --------------------------------------------------

    @property
    def _for_relaxation(self) -> Budget:
        return self.budget.share(RELAXATION_SHARE).at_most(RELAXATION_SECONDS)

    def relax(self, assigned: Assigned) -> None:
        """Sharpen the bounds of a partial assignment by the linear relaxation of P(y_A | e)."""
        prefix = self._prefix(assigned)
        key = tuple(prefix.items())
        if key not in self._relaxed:
            with suppress(OutOfTime):
                if self.evidence is not None:
                    self._least[key], self._relaxed[key] = self.evidence.least(prefix), 1.0
                else:
                    self._relaxed[key] = self._relaxation_bound(prefix) if prefix else 1.0

    def _relaxation_bound(self, prefix: Assigned) -> float:
        try:
            bounding = self._bounding(prefix, bounding_reading(self.problem), QUICKLY_TABLED)
        except ProblemTooLarge:
            self.is_too_large = True
            return self._outer_bound(self._query(prefix), end=End.UPPER)
        return bounding.relaxed(self._for_relaxation, end=End.UPPER).bound

    def _query(self, prefix: Assigned) -> Query:
        return Query(conjunction(self._atoms(prefix)), self.given)

    def _outer_bound(self, asked: Query, *, end: End) -> float:
        """Bound a probability by propagation in a slice of the network, whatever its size."""
        engine, budget = self.engine, self._for_relaxation
        found = intervals.bounds(
            engine.network, asked, markov=engine.markov, budget=budget, graph=engine.graph
        )
        return found[end].bound

    def end(self, assigned: Assigned, limits: Limits, *, end: End) -> Endpoint:
        """Find one end of P(y | e) for a complete assignment; what is found is remembered.

        `limits.decided` hears of P(y_A | e) times the loose thetas, as they stand at this end.
        """
        prefix = self._prefix(assigned)
        if prefix:
            factor = self._loose_factor(assigned, end)
            # What was found by the time that is up counts.
            with suppress(OutOfTime):
                self._find_end(prefix, _scaled(limits, factor), end=end)
        return self.known_end(assigned, end=end)

    def _loose_factor(self, assigned: Assigned, end: End, rounded: End | None = None) -> float:
        return self._loose[end].value({**self.observed, **assigned}, rounded or end)

    def known_end(self, assigned: Assigned, *, end: End) -> Endpoint:
        """Return what is known of one end without further work."""
        prefix = self._prefix(assigned)
        factor = self._loose_factor(assigned, end)
        found = self._found.get((tuple(prefix.items()), end), Endpoint.trivial(end))
        if not prefix:
            # The empty assignment has probability one.
            found = replace(Endpoint.trivial(End.UPPER), witnessed=1.0 if self.is_consistent else None)
        value = outward_product((found.bound, factor), end)
        proved = enclosed(value, error=ROUNDING * value, end=end)
        witnessed = None
        if found.witnessed is not None:
            witnessed = outward_product(
                (found.witnessed, self._loose_factor(assigned, end, End.UPPER)), End.UPPER
            )
        # What is too small for a float is not said to be attained.
        is_said = witnessed is not None and (witnessed > NORMAL or witnessed == 0.0)
        return replace(proved, witnessed=witnessed if is_said else None, warrant=found.warrant)

    def _find_end(self, prefix: Assigned, limits: Limits, *, end: End) -> None:
        """Find one end of P(y_A | e): by set propagation in a credal network, else by search.

        What that leaves open, because its tables are too large, say, is asked as any probability is.
        """
        key = (tuple(prefix.items()), end)
        if self.evidence is not None and prefix.keys() | self.observed.keys() >= self.entangled:
            self._divide(self.evidence, prefix, limits, end)
            if self._suffices(key, limits):
                return
        if self._may_propagate(prefix):
            if not self._suffices(key, limits):
                seconds = limits.budget.share(PROPAGATION_SHARE).for_solver
                self._ask(prefix, Options(limits.tolerance, seconds, "sets"))
        elif key not in self._found:
            self._glance(prefix, end)
        if not self._suffices(key, limits):
            self._search(prefix, replace(limits, budget=limits.budget.share(SEARCH_SHARE)), end)
        if self._is_short(prefix) and not self._suffices(key, limits) and not limits.budget.is_spent:
            self._ask(prefix, Options(limits.tolerance, limits.budget.for_solver))

    def _divide(self, evidence: Evidence, prefix: Assigned, limits: Limits, end: End) -> None:
        """Find one end of P(y_A | e) by the greatest or least P(e), and keep its model."""
        found = evidence.end(prefix, limits, end=end)
        if not found.tables:
            return
        model = evidence.model(found.tables)
        witnessed = found.endpoint.witnessed if self.is_consistent else None
        self._remember(
            (tuple(prefix.items()), end), replace(found.endpoint, witnessed=witnessed, model=model)
        )
        if end is End.LOWER and witnessed is not None:
            self._witnesses[tuple(prefix.items()), end] = Witness(model, witnessed)

    def _suffices(self, key: _Key, limits: Limits) -> bool:
        end = self._found.get(key)
        if end is None or end.gap <= limits.tolerance:
            return end is not None
        return limits.decided is not None and limits.decided(end.bound, end.witnessed)

    def _remember(self, key: _Key, found: Endpoint) -> None:
        """Keep the tighter bound and the value attained that lies farther out."""
        prefix, end = key
        self._found[key] = found.joined(self._found[key], end) if key in self._found else found
        if end is End.UPPER:
            self._relaxed[prefix] = min(self._relaxed.get(prefix, 1.0), self._found[key].bound)

    def _may_propagate(self, prefix: Assigned) -> bool:
        """Tell whether everything said is local and the graph acyclic, and the assignment not too long."""
        problem = self.problem
        if problem.reading is Reading.FREE or self.engine.frame is not None or not self._is_short(prefix):
            return False
        return not any(problem.all_statements) and not problem.declared and not problem.structure.core

    def _is_short(self, prefix: Assigned) -> bool:
        return prod(self.problem.structure.sizes[x] for x in prefix) <= PROPAGATED

    def _glance(self, prefix: Assigned, end: End) -> None:
        """Solve one linear program, whose point may be the model that is looked for already."""
        key = (tuple(prefix.items()), end)
        for reading in readings_of(self.problem)[:2]:
            try:
                bounding = self._bounding(prefix, reading)
            except ProblemTooLarge:
                self.is_too_large = True
                return
            bound, witness = bounding.glance(self._for_relaxation, end=end)
            self._remember(key, replace(bound, witnessed=self._witnessed(key, witness, prefix)))

    def _ask(self, prefix: Assigned, options: Options) -> None:
        """Ask for P(y_A | e) as for any other probability."""
        answer = self.engine.query(self._query(prefix), options)
        key = tuple(prefix.items())
        for end in End:
            self._remember((key, end), answer.interval[end])
        if answer.interrupted:
            raise KeyboardInterrupt

    def _search(self, prefix: Assigned, limits: Limits, end: End) -> None:
        key = (tuple(prefix.items()), end)
        finding = search_in_turn(
            readings_of(self.problem),
            lambda reading: self._bounding(prefix, reading),
            limits,
            end=end,
            known=self._witnesses.get(key),
        )
        if finding.ending is Ending.EMPTY:
            if finding.warrant is Checker.warrant:
                raise self._nothing()
            # A solver's word that there is no model proves nothing.
            finding = finding.without_bound(end)
        witnessed = self._witnessed(key, finding.witness, prefix)
        self._remember(key, replace(finding.endpoint, witnessed=witnessed))
        if finding.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt

    def _witnessed(self, key: _Key, witness: Witness | None, prefix: Assigned) -> float | None:
        """Compute what a witness gives P(y_A | e) once more, from its conditional tables; keep the best."""
        if witness is None or not self.is_consistent:
            return None
        if literals_of(self.given) is not None:
            products, mass = self._as_model(witness.distribution)
            joint = products.bound({**self.observed, **prefix}) / (1.0 + ROUNDING)
            if 0.0 < joint <= NORMAL:
                return None
            witness = Witness(witness.distribution, min(1.0, joint / mass))
        known = self._witnesses.get(key)
        if known is None or key[1].is_farther(witness.value, known.value):
            self._witnesses[key] = witness
        return witness.value

    def learn(self, assigned: Assigned) -> None:
        """Keep a model in which an assignment is improbable: it bounds the lower end of every assignment."""
        prefix = self._prefix(assigned)
        if not prefix or not self.is_consistent:
            return
        witness = self._witnesses.get((tuple(prefix.items()), End.LOWER))
        if witness is None and not self.is_too_large:
            witness = self._glanced(prefix)
        if witness is not None:
            products, mass = self._as_model(witness.distribution)
            tables = (*products.tables, *self._loose[End.LOWER].tables)
            self.models.append((Products(tables, self.chosen), mass))

    def _glanced(self, prefix: Assigned) -> Witness | None:
        """Return the model that one linear program may show; None where there is no time to write it down."""
        try:
            bounding = self._bounding(prefix, bounding_reading(self.problem))
        except ProblemTooLarge:
            self.is_too_large = True
            return None
        return bounding.glance(self._for_relaxation, end=End.LOWER)[1]

    def guess(self, budget: Budget) -> dict[int, int] | None:
        """Return the values that are likeliest in a model that allows the evidence; keep what it attains."""
        engine, asked = self.engine, Query(self.given)
        chosen = [self.problem.variables[x] for x in sorted(self.chosen)]
        about = tuple(dict.fromkeys((*chosen, *asked.scope)))
        with suppress(OutOfTime):
            for witness in find_models(engine.network, engine.graph, engine.markov, asked, budget=budget):
                model = witness.distribution
                if witness.value > 0.0 and engine.cliques.admits(model, engine.network, about, self.budget):
                    tables = model.marginals([(v,) for v in chosen], self.budget)
                    states = {self.number[v]: int(np.argmax(t)) for v, t in zip(chosen, tables, strict=True)}
                    self._attain(self._prefix(states), model)
                    return states
        return None

    def _attain(self, prefix: Assigned, model: Distribution) -> None:
        """Take note of what a model gives an assignment."""
        self.is_consistent = True
        asked = self._query(prefix)
        value = model.probability(asked.claim, asked.given)
        found = replace(Endpoint.trivial(End.UPPER), witnessed=value, model=model)
        self._remember((tuple(prefix.items()), End.UPPER), found)

    def _as_model(self, distribution: Distribution) -> tuple[Products, float]:
        """Return a model's tables, by numbers, and its probability of the evidence."""
        tables = tuple(
            (tuple(self.number[v] for v in (*f.parents, *f.block)), f.table) for f in distribution.factors
        )
        return Products(tables, self.chosen), distribution.probability(self.given)

    # ---- the program of P(y_A | e) --------------------------------------------------------------------

    def _bounding(self, prefix: Assigned, reading: Reading, tabled: int = TABLED) -> Bounding:
        """Encode P(y_A | e): in a table of all assignments while that is small, else of this one alone."""
        sizes = self.problem.structure.sizes
        # To hold an assignment takes a table of the evidence; where that is wide, the other way is cheaper.
        most = TABLED if prod(sizes[x] for x in self.given_scope) > TABLED else tabled
        is_small = prod(sizes[x] for x in prefix) <= most
        return self._tabled(prefix, reading) if is_small else self._held(prefix, reading)

    def _tabled(self, prefix: Assigned, reading: Reading) -> Bounding:
        key = (tuple(prefix), reading)
        if key not in self._tables:
            self._tables[key] = self._encode(prefix, self.observed, reading)
        encoded = self._tables[key]
        objective = encoded.encoding.objective(conjunction(self._atoms(prefix)), self.given)
        bounds = np.minimum(objective.mass_bounds, self._most_mass)
        return self._as_bounding(encoded, replace(objective, mass_bounds=bounds), prefix)

    def _held(self, prefix: Assigned, reading: Reading) -> Bounding:
        """Hold everything assigned at its state, and show P(e) in a table of its own."""
        encoded = self._encode(prefix, {**self.observed, **prefix}, reading)
        objective = self._unconditional(encoded, prefix)
        if self.given != TRUE:
            number = {v: i for i, v in enumerate(encoded.part.variables)}
            evidence = tuple(number[v] for v in scope(self.given))
            objective = self._conditioned(objective, encoded.encoding, evidence)
        return self._as_bounding(encoded, objective, prefix)

    def _as_bounding(self, encoded: _Encoded, objective: Objective, prefix: Assigned) -> Bounding:
        members = dict.fromkeys((*prefix, *self.given_scope))
        asked = tuple(self.problem.variables[x] for x in members)
        return Bounding(self.engine, asked, encoded.part, encoded.encoding, objective, encoded.solver)

    def _unconditional(self, encoded: _Encoded, prefix: Assigned) -> Objective:
        """Return P(y_A, e); what is held needs not be said again."""
        atoms = (atom for atom in self._atoms(prefix) if atom.variable in encoded.free)
        other = self.given if encoded.free.intersection(scope(self.given)) else TRUE
        return encoded.encoding.unconditional(conjunction((*atoms, other)))

    def _atoms(self, assigned: Assigned) -> Iterator[Is]:
        for x, state in assigned.items():
            variable = self.problem.variables[x]
            yield Is(variable, variable.values[state])

    def _conditioned(self, objective: Objective, encoding: Encoding, evidence: tuple[int, ...]) -> Objective:
        """Divide an objective by P(e)."""
        number = encoding.factorization.smallest_covering(evidence)
        variables = [encoding.problem.variables[x] for x in encoding.factorization.cliques[number].scope]
        denominator = np.zeros(encoding.program.columns)
        denominator[encoding.columns[number][truth_table(self.given, variables)]] = 1.0
        bounds = np.full(len(objective.mass_bounds), self._most_mass)
        return Objective(objective.numerator, denominator, bounds)

    @property
    def _most_mass(self) -> float:
        return round_up(1.0 / self.likelihood) if self.likelihood > 0.0 else inf

    def _encode(self, asked: Iterable[int], held: Assigned, reading: Reading) -> _Encoded:
        """Encode what bears on some variables and the evidence; return also which variables are not held.

        A variable in a component of several shows all its states. Where more is held than the evidence, the
        evidence gets a table in which nothing is.
        """
        members = dict.fromkeys((*asked, *self.given_scope))
        part, kept = relevant_part(self.problem, members)
        new = {old: i for i, old in enumerate(kept)}
        several = entangled_in(part, reading)
        # What is certain is not observed: there is no other state that a table could leave out.
        certain = {x for x, variable in enumerate(part.variables) if len(variable.values) == 1}
        fixed = {new[x]: state for x, state in held.items() if new[x] not in several | certain}
        scopes: list[tuple[int, ...]] = [s.scope for s in part.all_statements]
        scopes += [(*c.left, *c.right, *c.given) for c in part.declared]
        scopes += [(x,) for x in part.structure.core] if reading is Reading.TIED else []
        if len(held) > len(self.observed) and self.given_scope:
            scopes.append(tuple(new[x] for x in self.given_scope))
        query, observed = [new[x] for x in members], frozenset(fixed)
        free = frozenset(v for x, v in enumerate(part.variables) if x not in fixed)
        if len(members) > MOST_AXES:
            raise ProblemTooLarge(f"{len(members)} variables are to be assigned at once")
        factorization = factorize(part.structure, scopes, query=query, observed=observed, reading=reading)
        encoding = encode_in_time(part, factorization, fixed, self.budget.share(ENCODING_SHARE))
        return _Encoded(part, encoding, free, Solver(encoding.program))

    def _nothing(self) -> InconsistentNetwork | ImpossibleEvidence:
        if self.given == TRUE:
            return no_model()
        return impossible_evidence()


def _scaled(limits: Limits, factor: float) -> Limits:
    """Restate limits on P(y | e) for P(y_A | e), which is multiplied by a factor."""
    tolerance = limits.tolerance / factor if factor > 0.0 else 1.0
    decided = None if limits.decided is None else _heard_times(limits.decided, factor)
    return replace(limits, tolerance=min(tolerance, 1.0), decided=decided)


def _heard_times(
    decided: Callable[[float, float | None], bool], factor: float
) -> Callable[[float, float | None], bool]:
    return lambda bound, witnessed: decided(bound * factor, None if witnessed is None else witnessed * factor)
