"""The two ends of one query on cliques, each proved and attained.

Input: a fragment of a network and a query. Output: a `Finding` per end: the fragment is factorized and
encoded, its linear relaxation solved and checked, a witness sought, and branch and bound started on a gap
that is left.

A large core is sandwiched. Outside: one block per component with only the local conditions that fit into its
clique, which every model satisfies. Inside: the chain-graph reading, each of whose models is a model
(docs/proofs.md, proofs 3 and 4). Where the two meet, the answer is exact and the core was never formed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isfinite, prod
from typing import TYPE_CHECKING

import numpy as np

from credalog.errors import CredalogError, ProblemTooLarge, impossible_evidence, no_model
from credalog.methods.answer import Answer, Options
from credalog.methods.cliques import other_solvers
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.factorization import Factorization
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.loglinear import LogLinear
from credalog.methods.cliques.models import find_models
from credalog.methods.cliques.models.finding import copying_models
from credalog.methods.cliques.reports import Glances
from credalog.methods.cliques.search import Ending, Finding, Limits, Search, Witness, farther_witness
from credalog.methods.cliques.slices import RUNGS, Rung
from credalog.methods.cliques.witness import LARGEST_SCOPE
from credalog.network.formulas import Formula, Is, conjunction, literals_of
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Query
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import VACUOUS, End, Interval
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.program import Objective, Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.tables.distribution import Distribution
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import relative_error, round_down, round_up

if TYPE_CHECKING:
    from credalog.methods.cliques.engine import Cliques

__all__ = ["CORE_LIMIT", "PER_SECOND", "Ends", "Models"]

RARE = 1e3
"""Evidence that may be less probable than one over this is handled with scaled programs."""

REMEMBERED = 8
"""How many models of one fragment are kept as starts for the other queries of one batch."""

WIDE = 1 << 14
"""Where all tables together are larger than this, slices are tried first."""

TRIED = {
    Reading.LITERAL: "cliques",
    Reading.OUTER: "cliques around components",
    Reading.CHAIN: "cliques of the chain graph",
    Reading.SLICED: "slices",
    Reading.TIED: "cliques along the ties",
    Reading.GLOBAL: "cliques of ties and their conditions",
    Reading.FREE: "cliques without independences",
}
"""What the search in each reading is called in an answer."""

CLIMB = 0.7
"""The share of the time for slices in wide networks, and of that for models of simple forms."""

OUTSIDE_SHARE = 0.1
"""The share of the time for the bounds of another method, or for models with copies beside a search."""

EVIDENCE_SHARE = 0.1
"""The share of the time for how improbable the evidence may be, where the relaxation does not tell."""

MOST_MASS = 1e12
"""Where evidence may be less probable than one over this, fractions prove more than floats with errors."""

PER_SECOND = 1 << 15
"""How large a program may be for each second that is left."""

LOG_LINEAR_CORE = 1 << 9
"""Up to this many states a core whose models are log-linear is searched in one table at once."""

CORE_LIMIT = 1 << 12
"""The literal core is formed as one table up to this many states."""


@dataclass(slots=True)
class Models:
    """The latest models of each fragment: what attains one query of a batch is a start for the next."""

    found: dict[tuple[int, ...], deque[Distribution]] = field(default_factory=dict)

    def of(self, fragment: Fragment) -> tuple[Distribution, ...]:
        """Return the models of a fragment."""
        return tuple(self.found.get(fragment.kept, ()))

    def add(self, fragment: Fragment, model: Distribution) -> None:
        """Remember a model, and forget the oldest where there are many."""
        self.found.setdefault(fragment.kept, deque(maxlen=REMEMBERED)).append(model)


class Ends:
    """One query under way."""

    def __init__(
        self,
        cliques: Cliques,
        asked: Query,
        options: Options,
        budget: Budget,
        fragment: Fragment,
        models: Models,
        *,
        jointly: bool = False,
        outside: Callable[[Budget], Interval] | None = None,
    ) -> None:
        self.cliques = cliques
        self.asked = asked
        self.options = options
        self.budget = budget
        self.fragment = fragment
        self.models = models
        self.glances = Glances(options.telling(asked), self._counts)
        # What stands for a model in one question need not in the next.
        self.accepted: list[Distribution] = []
        self.jointly = jointly
        self.outside = outside
        self.lower_search: Search | None = None
        self.slices: dict[End, Search] = {}
        self.tried: dict[str, None] = {}
        self.factorizations: dict[Reading, tuple[Factorization, dict[int, int]]] = {}
        self.encodings: dict[tuple[Reading, bool] | Rung, tuple[Encoding, Objective]] = {}
        self.floors: dict[End, float] = {}
        self.evidence_searched: set[tuple[Reading, bool]] = set()
        self.simple_models_sought: set[End] = set()

    # ---- the interval ---------------------------------------------------------------------------------

    def answer(self, method: str, find: Callable[[Budget, End], Finding]) -> Answer:
        """Find the lower end, which leaves the upper one at least half of the time, then the upper one.

        What the upper end leaves in turn goes to the lower one, if that is not closed.
        """
        lower = self._settled(self._begun(find, self.budget.share(0.5), End.LOWER), End.LOWER)
        upper = Finding(1.0, None, Ending.INTERRUPTED, Checker.warrant, 0, None)
        if lower.ending is not Ending.INTERRUPTED:
            upper = self._settled(self._begun(find, self.budget, End.UPPER), End.UPPER)
        if Ending.INTERRUPTED not in (lower.ending, upper.ending):
            lower = self._resumed(lower)
        interval = Interval(lower.endpoint, upper.endpoint)
        if interval.is_empty and lower.warrant is upper.warrant is Checker.warrant:
            raise self._nothing()
        is_interrupted = Ending.INTERRUPTED in (lower.ending, upper.ending)
        status = interval.status(self.options.tolerance)
        seconds, tried = self.budget.elapsed, tuple(self.tried)
        return Answer(self.asked, interval, status, method, seconds, is_interrupted, tried)

    def _begun(self, find: Callable[[Budget, End], Finding], budget: Budget, end: End) -> Finding:
        """Find an end; where that is stopped between two searches, return what the first ones found."""
        try:
            with spending(budget):
                return self.glances.joined(find(budget, end), end)
        except (KeyboardInterrupt, OutOfTime) as stopped:
            ending = Ending.INTERRUPTED if isinstance(stopped, KeyboardInterrupt) else Ending.STOPPED
            prior = self.__dict__.get("_prior", VACUOUS)[end]
            found = self.glances.joined(Finding(prior.bound, None, ending, prior.warrant, 0, None), end)
            sliced = self.slices[end].found(ending) if end in self.slices else found
            return sliced.joined(found, end) if sliced.ending is ending else found

    def _resumed(self, lower: Finding) -> Finding:
        """Take up the search for the lower end where it stopped, if there is time left."""
        if lower.ending is not Ending.STOPPED or self.lower_search is None or self.budget.is_spent:
            return lower
        return self._settled(self.lower_search.go_on(self.budget), End.LOWER).joined(lower, End.LOWER)

    def _settled(self, finding: Finding, end: End) -> Finding:
        """Say that there is no model where that is proved, or re-check the witness."""
        if finding.ending is not Ending.EMPTY:
            return self._rechecked(finding, end)
        if finding.warrant is not Checker.warrant:
            return replace(finding.without_bound(end), ending=Ending.STOPPED)
        raise self._nothing()

    def _nothing(self) -> CredalogError:
        """Say why there is no point: no model at all, or none that allows the evidence."""
        if self.asked.is_conditional and self.cliques.extends((), self.options, self.budget) is not False:
            return impossible_evidence()
        return no_model()

    def _rechecked(self, finding: Finding, end: End) -> Finding:
        """Keep a witness only if it is a model in the eyes of the independent checker.

        One that lies outside a proved bound cannot be: it satisfies some sentence to the tolerance only.
        """
        if finding.witness is None:
            return finding
        if end.sign * (finding.bound - finding.witness.value) > FEASIBILITY:
            return replace(finding, witness=None)
        if finding.ending is Ending.INTERRUPTED:
            extends = self.cliques.known_to_extend(self.fragment.kept)
        else:
            extends = self.cliques.extends(self.fragment.kept, self.options, self.budget)
        if extends is False:
            raise no_model()
        distribution = finding.witness.distribution
        if extends is None or not self._is_model(distribution):
            return replace(finding, witness=None)
        value = distribution.probability(self.asked.claim, self.asked.given)
        return replace(finding, witness=Witness(distribution, value))

    def _is_model(self, distribution: Distribution) -> bool:
        """Check a distribution against all that is said of the fragment; remember those that pass."""
        if any(distribution is model for model in self.accepted):
            return True
        passed = self.cliques.admits(distribution, self._said, self.asked.scope, self.budget)
        if passed:
            self.accepted.append(distribution)
            self.models.add(self.fragment, distribution)
        return passed

    @cached_property
    def _suits_one_table(self) -> bool:
        return self.fragment.suits_one_table(self.asked)

    @cached_property
    def _said(self) -> Network:
        return self.cliques.said_of(self.fragment)

    # ---- the ways to one end --------------------------------------------------------------------------

    def any_model(self) -> Finding:
        """Look for any model of the fragment; where it is wide, for one of a simple form first."""
        found = Finding(End.UPPER.trivial, None, Ending.STOPPED, Checker.warrant, 0, None)
        if self._is_wide:
            found = self._simply_attained(found, self.budget.share(0.5), End.UPPER)
        return found if found.ending is Ending.CLOSED else self.by_search(self.budget, End.UPPER)

    def by_solver(self, name: str, budget: Budget, end: End) -> Finding:
        """Take another solver's point as a witness once it is re-checked, and its bound as a claim."""
        encoding, objective = self._encoded(self.fragment.problem.reading, jointly=True)
        limits = Limits(self.options.tolerance, budget, report=self.glances.of(end, name))
        return other_solvers.find(name, encoding, objective, limits, end=end, accepts=self._is_model)

    def by_search(self, budget: Budget, end: End) -> Finding:
        """Search on cliques: as they are, or first on slices where they are large."""
        known = self._known(end)
        if self.jointly:
            return self._searched(self.fragment.problem.reading, budget, end, known)
        if self._is_wide:
            return self._widely(budget, end, known)
        try:
            outer = self._bounded_in_one_table(budget, end)
            if outer.ending is not Ending.STOPPED:
                return outer
            self.floors[end] = outer.bound
            found = self._whole(budget, end, known).joined(outer, end)
        except (ProblemTooLarge, OutOfTime):
            return self._branched_slice(self._climbed(budget.share(0.5), end, known), budget, end)
        is_open = found.ending is Ending.STOPPED and not budget.is_spent
        return self._simply_attained(found, budget, end) if is_open else found

    def _bounded_in_one_table(self, budget: Budget, end: End) -> Finding:
        """Bound an end by the relaxation of one table over everything, where that is small.

        It shows what evidence hides that is kept out of the tables of cliques.
        """
        if self._suits_one_table or not self.fragment.fits_one_table:
            return Finding(end.trivial, None, Ending.STOPPED, Checker.warrant, 0, None)
        reading = self.fragment.problem.reading
        return self._searched(reading, budget, end, None, jointly=True, root_only=True, attains=False)

    def _widely(self, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Climb first; then search all cliques if these can be written down in time, or the last slice."""
        climbed = self._climbed(budget.share(CLIMB), end, known)
        if climbed.ending is not Ending.STOPPED:
            return climbed
        if self._size > PER_SECOND * budget.remaining:
            return self._branched_slice(climbed, budget, end)
        try:
            return self._whole(budget.share(0.5), end, climbed.witness).joined(climbed, end)
        except (ProblemTooLarge, OutOfTime):
            return self._branched_slice(climbed, budget, end)

    @cached_property
    def _prior(self) -> Interval:
        """Return what another method bounds from outside, in little time."""
        if self.outside is None:
            return VACUOUS
        self.tried["sound propagation"] = None
        found = self.outside(self.budget.share(OUTSIDE_SHARE))
        self.glances.telling.tell_both(found, stage="sound propagation")
        return found

    @cached_property
    def _size(self) -> float:
        """Return how large all tables are together."""
        problem = self.fragment.problem
        has_core = bool(problem.structure.core) and problem.reading is not Reading.FREE
        try:
            found, _ = self._factorized(Reading.TIED if has_core else problem.reading)
        except ProblemTooLarge:
            return inf
        return found.entries(problem.structure.sizes)

    def _factorized(self, reading: Reading) -> tuple[Factorization, dict[int, int]]:
        if reading not in self.factorizations:
            self.factorizations[reading] = self.fragment.factorize(self.asked, reading)
        return self.factorizations[reading]

    @property
    def _is_wide(self) -> bool:
        return self._size > WIDE

    def _climbed(self, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Bound from ever larger slices around the query, until they close the end or the time is up."""
        prior = self._prior[end]
        best = Finding(prior.bound, known, Ending.STOPPED, prior.warrant, 0, None)
        best = best.closed_within(self.options.tolerance)
        for rung in RUNGS if best.ending is Ending.STOPPED else ():
            share = budget.share(0.5)
            with suppress(ProblemTooLarge, OutOfTime), spending(share):
                stage = f"slices up to {rung.variables} variables"
                limits = Limits(self.options.tolerance, share, True, False, self.glances.of(end, stage))
                search = Search(*self._sliced(rung, share), limits, end, best.witness, self._is_model)
                self.slices[end] = search
                self.tried[stage] = None
                best = search.run().joined(best, end)
            if rung is RUNGS[0] and best.ending is Ending.STOPPED:
                best = self._simply_attained(best, budget.share(CLIMB), end)
            is_whole = rung.variables >= len(self.fragment.problem.variables)
            if best.ending is not Ending.STOPPED or is_whole or budget.is_spent:
                break
        return best

    def _simply_attained(self, found: Finding, budget: Budget, end: End) -> Finding:
        """Look for models of a simple form, which are found at any width, as far out as the bound.

        They are the same whenever they are looked for, unless time was short.
        """
        if end in self.simple_models_sought:
            return found
        found = self._attained_by_copies(found, budget.share(0.5), end)
        if found.ending is not Ending.STOPPED:
            return found
        self.tried["models of simple forms"] = None
        network, bound = self.cliques.compiled, found.bound
        found_models = find_models(
            self._said, network.graph, network.markov, self.asked, end=end, budget=budget, enough=bound
        )
        with suppress(ProblemTooLarge, OutOfTime), spending(budget):
            for witness in found_models:
                self.accepted.append(witness.distribution)
                self.models.add(self.fragment, witness.distribution)
                found = replace(found, witness=farther_witness(found.witness, witness, end))
                self.glances.tell(end, found, "models of simple forms")
        if not budget.is_spent:
            self.simple_models_sought.add(end)
        return found.closed_within(self.options.tolerance)

    def _attained_by_copies(self, found: Finding, budget: Budget, end: End) -> Finding:
        """Look for models in which the variables of a query across ties have copies beside them."""
        structure, network = self.fragment.problem.structure, self.cliques.compiled
        if network.markov is not Markov.LOCAL or len(structure.components) > 1 or not self.asked.scope:
            return found
        self.tried["models with copies"] = None
        for model in copying_models(self._said, network.graph, self.asked, end=end, budget=budget):
            value = model.probability(self.asked.claim, self.asked.given)
            if isfinite(value) and self._is_model(model):
                found = replace(found, witness=farther_witness(found.witness, Witness(model, value), end))
                found = found.closed_within(self.options.tolerance)
                self.glances.tell(end, found, "models with copies")
            if found.ending is not Ending.STOPPED or budget.is_spent:
                break
        return found

    def _branched_slice(self, found: Finding, budget: Budget, end: End) -> Finding:
        """Go on in the largest slice that was begun, by cutting."""
        if found.ending is Ending.STOPPED and end in self.slices and not budget.is_spent:
            found = self.slices[end].go_on(budget.share(0.5)).joined(found, end)
            found = found.closed_within(self.options.tolerance)
        if found.ending is not Ending.STOPPED or budget.is_spent:
            return found
        return self._simply_attained(found, budget, end)

    def _sliced(self, rung: Rung, budget: Budget) -> tuple[Encoding, Objective]:
        if rung not in self.encodings:
            encoded = self.fragment.encode_slice(self.asked, rung, budget)
            self.encodings[rung] = self._with_mass_bounded(*encoded)
        return self.encodings[rung]

    def _whole(self, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Search on all cliques, in the readings that the fragment asks for."""
        problem = self.fragment.problem
        if self._tied is not None and self._tied.is_closed and not problem.declared:
            return self._searched(Reading.TIED, budget, end, known)
        if problem.reading is Reading.LITERAL and problem.structure.core and not self.jointly:
            return self._open(budget, end, known)
        if problem.reading is Reading.GLOBAL and problem.structure.core:
            return self._globally(budget, end, known)
        return self._searched(problem.reading, budget, end, known, jointly=self._suits_one_table)

    @cached_property
    def _tied(self) -> Factorization | None:
        """Return the factorization that follows the ties, if it applies and its tables are small.

        Where all that is demanded of it is closed, it is exact: no condition inside matters (proof 9).
        """
        problem = self.fragment.problem
        if problem.reading is Reading.FREE or not problem.structure.core or self.jointly:
            return None
        try:
            return self._encoded(Reading.TIED, jointly=False)[0].factorization
        except ProblemTooLarge:
            return None

    def _globally(self, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Search along the ties; where these are no junction tree, in one table per component as well."""
        try:
            along = self._encoded(Reading.GLOBAL, jointly=False)[0].factorization
        except ProblemTooLarge:
            return self._loosely(Reading.TIED, budget, end, known)
        if along.is_closed and not self.fragment.problem.declared:
            return self._searched(Reading.GLOBAL, budget, end, known)
        if self._suits_one_table:
            return self._searched(Reading.GLOBAL, budget, end, known, jointly=True)
        known = self._log_linear_witness(known, budget, end)
        outer = self._loosely(Reading.GLOBAL, budget.share(0.5), end, known)
        if outer.ending is not Ending.STOPPED:
            return outer
        try:
            inner = self._searched(Reading.CHAIN, budget, end, outer.witness, floor=outer.bound)
        except ProblemTooLarge:
            return outer
        return inner.joined(outer, end)

    def _loosely(self, reading: Reading, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Bound from outside in a reading that every model fits; models of simple forms may attain that."""
        outer = self._searched(reading, budget.share(0.5), end, known, floor=self._prior[end].bound)
        return self._simply_attained(outer, budget, end) if outer.ending is Ending.STOPPED else outer

    def _open(self, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Bound from outside along the ties; where that leaves a gap, search the readings that fit."""
        if self._tied is None or self._suits_one_table:
            return self._sandwiched(budget, end, known)
        if self._suits_log_linear_core:
            start = Finding(end.trivial, known, Ending.STOPPED, Checker.warrant, 0, None)
            if len(self.asked.scope) > 1:
                start = self._attained_by_copies(start, budget.share(OUTSIDE_SHARE), end)
            return self._sandwiched(budget, end, start.witness)
        outer = self._searched(Reading.TIED, budget.share(0.5), end, known, floor=self._prior[end].bound)
        if outer.ending is Ending.STOPPED:
            outer = self._simply_attained(outer, budget.share(0.5), end)
        if outer.ending is not Ending.STOPPED:
            return outer
        try:
            return self._sandwiched(budget, end, outer.witness).joined(outer, end)
        except ProblemTooLarge:
            return outer

    @cached_property
    def _suits_log_linear_core(self) -> bool:
        """Tell whether the literal core is small and log-linear models reach what they can of it.

        Then tables along the ties, of which fewer conditions are stated, bound no better in more time.
        """
        structure = self.fragment.problem.structure
        is_one = tuple(sorted(structure.core)) in structure.components
        return is_one and self.fragment.core_states <= LOG_LINEAR_CORE and self._log_linear is not None

    def _sandwiched(self, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Attain from inside, bound from outside, and form the literal core only on a gap that is left."""
        structure = self.fragment.problem.structure
        small = self.fragment.core_states <= CORE_LIMIT
        if small and tuple(sorted(structure.core)) in structure.components:
            # The core is one component: all readings are the same.
            return self._literally(budget, end, self._log_linear_witness(known, budget, end))
        inner = self._searched(Reading.CHAIN, budget.share(0.25), end, known, root_only=small)
        if inner.ending is Ending.INTERRUPTED:
            return inner.without_bound(end)
        known = known if inner.ending is Ending.EMPTY else inner.witness
        if self._suits_one_table:
            return self._literally(budget, end, known)
        if inner.ending is not Ending.CLOSED:
            known = self._log_linear_witness(known, budget, end)
        floor = self._prior[end].bound
        outer = self._searched(Reading.OUTER, budget, end, known, root_only=small, floor=floor)
        if not small or outer.ending in (Ending.CLOSED, Ending.EMPTY, Ending.INTERRUPTED):
            return outer
        return self._literally(budget, end, outer.witness).joined(outer, end)

    def _log_linear_witness(self, known: Witness | None, budget: Budget, end: End) -> Witness | None:
        """Return a model found among the log-linear ones, where they suit the fragment and it is better."""
        family = self._log_linear
        found = None if family is None else family.witness(self.asked, budget.share(0.25), end=end)
        if found is None or not self._is_model(found):
            return known
        value = found.probability(self.asked.claim, self.asked.given)
        return farther_witness(known, Witness(found, value), end)

    @property
    def _log_linear(self) -> LogLinear | None:
        """Return the log-linear distributions of the fragment, unless all ways through it are short."""
        return None if self._suits_one_table else self.cliques.log_linear(self.fragment)

    def _literally(self, budget: Budget, end: End, known: Witness | None) -> Finding:
        """Search with the whole core in one table; with everything in it where that is small."""
        if self._suits_log_linear_core and known is not None:
            return self._searched(Reading.LITERAL, budget, end, known, attains=False)
        jointly, floor = self._suits_one_table, self._prior[end].bound
        return self._searched(Reading.LITERAL, budget, end, known, jointly=jointly, floor=floor)

    def _known(self, end: End) -> Witness | None:
        """Return the best of the models that were found for the same fragment before."""
        states = prod(len(v.values) for v in self.asked.scope)
        models = self.models.of(self.fragment) if states <= LARGEST_SCOPE else ()
        best: Witness | None = None
        for model in models:
            value = model.probability(self.asked.claim, self.asked.given)
            best = farther_witness(best, Witness(model, value), end) if isfinite(value) else best
        return best

    def _searched(
        self,
        reading: Reading,
        budget: Budget,
        end: End,
        known: Witness | None,
        *,
        root_only: bool = False,
        jointly: bool = False,
        attains: bool = True,
        floor: float | None = None,
    ) -> Finding:
        jointly = jointly or self.jointly
        floor = end.tightest((end.trivial if floor is None else floor, self.floors.get(end, end.trivial)))
        encoding, objective = self._encoded(reading, jointly=jointly)
        stage = "one table" if jointly else TRIED[reading]
        self.tried[stage] = None
        is_outer = reading is not Reading.CHAIN
        report = self.glances.of(end, stage, is_outer=is_outer)
        workers, tolerance = self.options.workers, self.options.tolerance
        limits = Limits(tolerance, budget, root_only, attains, report, gap=self.options.gap, workers=workers)

        def search(known: Witness | None, floor: float | None) -> Search:
            found = Search(encoding, objective, limits, end, known, self._is_model, floor=floor)
            # What bounds a narrower reading does not bound all models, and is not taken up again.
            if end is End.LOWER and is_outer:
                self.lower_search = found
            return found

        if root_only or isfinite(objective.mass_bounds[0]):
            return search(known, floor).run()
        limits = replace(limits, root_only=True)
        first = search(known, floor).run()
        if first.ending is Ending.STOPPED and not budget.is_spent:
            # A relaxation's point is a poor guide to contexts that are rarer than a solver's tolerance.
            first = self._simply_attained(first, budget.share(OUTSIDE_SHARE), end)
        if first.ending is not Ending.STOPPED or budget.is_spent:
            return first
        limits = replace(limits, root_only=False)
        objective = self._with_evidence_searched(reading, budget, jointly=jointly)
        return search(first.witness, first.bound).run().joined(first, end)

    # ---- the programs ---------------------------------------------------------------------------------

    def _encoded(self, reading: Reading, *, jointly: bool) -> tuple[Encoding, Objective]:
        key = reading, jointly
        if key not in self.encodings:
            fragment, asked = self.fragment, self.asked
            if jointly:
                encoded = fragment.encode_jointly(asked)
            else:
                encoded = fragment.encode_cliques(asked, *self._factorized(reading), self.budget)
            self.encodings[key] = self._with_mass_bounded(*encoded)
        return self.encodings[key]

    def _with_mass_bounded(self, encoding: Encoding, objective: Objective) -> tuple[Encoding, Objective]:
        """Bound the mass by 1 over the least probability of the evidence, where that can be proved.

        Rare evidence makes columns differ by many orders of magnitude: then each gets a bound of its own.
        """
        if not np.isfinite(objective.mass_bounds[0]):
            least = self._least(encoding, self.asked.given)
            if least <= 0.0:
                least = self._least_by_parts(encoding)
            if least > 0.0:
                objective = _with_mass_below(objective, round_up(1.0 / least))
        if RARE < objective.mass_bounds[0] < np.inf:
            objective = encoding.with_column_bounds(objective)
        return encoding, objective

    def _with_evidence_searched(self, reading: Reading, budget: Budget, *, jointly: bool) -> Objective:
        """Bound the mass by a search for the least probability of the evidence: a relaxation was too weak.

        A factor of two is near enough; a model without the evidence ends the search at once.
        """
        key = reading, jointly
        encoding, objective = self.encodings[key]
        if key not in self.evidence_searched:
            self.evidence_searched.add(key)
            evidence = encoding.with_column_bounds(encoding.unconditional(self.asked.given))
            limits = Limits(0.5, budget.share(EVIDENCE_SHARE), gap=lambda share, value: share * value)
            found = Search(encoding, evidence, limits, End.LOWER, None, None).run()
            if found.ending is Ending.INTERRUPTED:
                raise KeyboardInterrupt
            if 1.0 / MOST_MASS <= found.bound < inf:
                objective = _with_mass_below(objective, round_up(1.0 / found.bound))
                if objective.mass_bounds[0] > RARE:
                    objective = encoding.with_column_bounds(objective)
                self.encodings[key] = encoding, objective
        return self.encodings[key][1]

    def _least(self, encoding: Encoding, given: Formula) -> float:
        """Bound the probability of a formula and of what an encoding observes from below."""
        evidence = encoding.with_column_bounds(encoding.unconditional(given))
        box, seconds = encoding.program.ratios.box, self.budget.for_solver
        claim, _ = Relaxation(encoding.program).minimize(evidence, box, timeout=seconds)
        if claim.outcome is not Outcome.OPTIMAL:
            return 0.0
        return Checker(encoding.program).lower_bound(evidence, box, claim.multipliers)

    def _least_by_parts(self, encoding: Encoding) -> float:
        """Bound rare evidence from below: what the tables show by a program, the rest by its likelihood.

        A solver's tolerances drown a product of many small numbers, but not each of them.
        """
        variables = self.fragment.problem.variables
        kept_out = {variables[x] for x in encoding.evidence}
        literals = literals_of(self.asked.given) or {}
        shown = {v: value for v, value in literals.items() if v not in kept_out}
        if not kept_out:
            return 0.0
        states = {variables.index(v): v.values.index(value) for v, value in shown.items()}
        likelihood = encoding.least_likelihood(states)
        if not shown or likelihood <= 0.0:
            return round_down(likelihood * (1.0 - relative_error(len(kept_out))))
        asked = Query(conjunction(Is(v, value) for v, value in shown.items()))
        alone, _ = self.cliques.fragment(asked).encode(asked, encoding.factorization.reading)
        least = max(self._least(alone, asked.claim), 0.0)
        return round_down(least * likelihood * (1.0 - relative_error(len(kept_out) + 1)))

    def _counts(self, witness: Witness) -> bool:
        """Tell whether a witness is known to count in the answer: a model, of what extends to the whole."""
        is_accepted = any(witness.distribution is model for model in self.accepted)
        return is_accepted and self.cliques.known_to_extend(self.fragment.kept) is True


def _with_mass_below(objective: Objective, most: float) -> Objective:
    """Return an objective whose tables hold no more than the evidence allows."""
    return replace(objective, mass_bounds=np.minimum(objective.mass_bounds, most))
