"""Exact inference: the lower and upper probability of a query, each end proved and attained.

Enters: a network and a query. Leaves: an `Answer`. Per end of the interval: the part of the network that
bears on the query is factorized and encoded, its linear relaxation solved and checked, a witness sought,
and branch and bound started on a gap that is left.

A large core is sandwiched. Outside: one block per component with only the local conditions that fit into
its clique, which every model satisfies. Inside: the chain-graph reading, each of whose models is a model
(ARCHITECTURE.md has the proof). Where the two meet, the answer is exact and the core was never formed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, prod
from time import monotonic

import numpy as np

from credalog.errors import CredalogError, ImpossibleEvidence, Option, ProblemTooLarge, UnknownName, no_model
from credalog.methods.answer import Answer, Options, Progress
from credalog.methods.cliques import likelihood, loglinear
from credalog.methods.cliques import other_solvers as elsewhere
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.fragment import Part
from credalog.methods.cliques.search import Ending, Finding, Limits, Search, Witness, search
from credalog.methods.cliques.witness import LARGEST_SCOPE
from credalog.methods.vertices import sets
from credalog.network.formulas import TRUE, Formula, Is, Variable
from credalog.network.graph import DependencyGraph, Markov, dependency_graph
from credalog.network.problem import Problem, problem_of, relevant_part, restrict, separate_parts
from credalog.network.relevance import is_polytree, relevance
from credalog.network.sentences import Network, Query
from credalog.network.structure import Reading, ancestors
from credalog.numbers.interval import End, Endpoint, Interval, Status, Warrant
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.program import Objective, Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.tables import credal
from credalog.tables.distribution import Distribution
from credalog.trusted.certify import Checker
from credalog.trusted.check import violation
from credalog.trusted.rounding import round_up

__all__ = ["Engine", "marginal_atoms", "marginals", "query"]

UNSEARCHED = Finding(1.0, None, Ending.INTERRUPTED, Warrant.CHECKED, 0, None)
"""What is known of the upper end when the user stopped the search for the lower one."""

SMALLEST_EVIDENCE = 1e-14
"""Evidence that no model makes more probable than this counts as impossible, unless proved otherwise."""

RARE = 1e3
"""Evidence that may be less probable than one over this is handled with scaled programs."""

REMEMBERED = 8
"""How many models of one part are kept as starts for other queries."""

CORE_LIMIT = 1 << 12
"""The literal core is formed as one table up to this many states."""


def query(network: Network, asked: Query, options: Options = Options()) -> Answer:
    """Bound one probability over all models of a network."""
    return Engine(network, options.markov).query(asked, options)


def marginals(network: Network, options: Options = Options(), given: Formula = TRUE) -> tuple[Answer, ...]:
    """Bound the probability of every proposition, and of every value of every other variable.

    Where the user stops one of the searches, its answer is the last.
    """
    engine, answers = Engine(network, options.markov), list[Answer]()
    for atom in marginal_atoms(network):
        answers.append(engine.query(Query(atom, given), options))
        if answers[-1].interrupted:
            break
    return tuple(answers)


def marginal_atoms(network: Network) -> tuple[Is, ...]:
    """List the atoms whose probabilities are the marginals of a network."""
    return tuple(
        Is(variable, value)
        for variable in network.variables
        for value in (variable.values if not variable.is_proposition else ("true",))
    )


@dataclass(frozen=True)
class Engine:
    """A network made ready for many queries under one Markov condition.

    `frame` is the network whose dependency graph counts, by default the network itself. It lets sentences be
    dropped or changed while the independences stay.
    """

    network: Network
    markov: Markov = Markov.LOCAL
    frame: Network | None = None

    @cached_property
    def graph(self) -> DependencyGraph:
        """Return the dependency graph."""
        return dependency_graph(self.network if self.frame is None else self.frame)

    @cached_property
    def problem(self) -> Problem:
        """Return the network in numbers."""
        return problem_of(self.network, self.graph, self.markov)

    @cached_property
    def _number(self) -> Mapping[Variable, int]:
        return {v: i for i, v in enumerate(self.network.variables)}

    def query(self, asked: Query, options: Options = Options()) -> Answer:
        """Bound one probability over all models, by the method asked for or the best that applies."""
        self._know(asked)
        methods: dict[str, Callable[[Query, Options], Answer]] = {
            "auto": self._automatic,
            "factorized": self._factorized,
            "sets": self._by_sets,
            "joint": self._jointly,
            "scip": self._by_solver,
            "ipopt": self._by_solver,
            "nilsson": self._by_columns,
        }
        if options.method not in methods:
            raise CredalogError(
                f"there is no method {options.method}", advice=f"Choose one of {', '.join(methods)}."
            )
        return methods[options.method](asked, options)

    def _automatic(self, asked: Query, options: Options) -> Answer:
        """Posteriors of credal networks go to set propagation first; what it leaves open, to the cliques."""
        start = monotonic()
        if self.markov is Markov.NONE:
            return self._free(asked, options)
        if not self._suits_sets(asked):
            return self._folded(asked, options)
        first = self._by_sets(asked, replace(options, timeout=options.timeout / 2.0))
        if first.status is Status.EXACT or first.interrupted:
            return first
        remaining = max(options.timeout - (monotonic() - start), 1.0)
        return tighter(first, self._factorized(asked, replace(options, timeout=remaining)), options.tolerance)

    def _folded(self, asked: Query, options: Options) -> Answer:
        """Search on cliques, with the observations that only weigh their parents gathered into one."""
        folded = likelihood.fold(self.network, asked) if self.frame is None else None
        smaller = self if folded is None else Engine(folded.network, self.markov)
        if folded is None or not folded.keeps(self.graph, smaller.graph):
            return self._factorized(asked, options)
        return folded.restored(smaller._factorized(folded.query, options), asked)

    def _factorized(self, asked: Query, options: Options, *, jointly: bool = False) -> Answer:
        """Search on cliques; the lower end first, which leaves the upper one at least half of the time.

        What the upper end leaves in turn goes to the lower one, if that is not closed.
        """
        start = monotonic()
        task = _Task(self, asked, options, start, jointly=jointly)
        lower = task.end(end=End.LOWER)
        interrupted = lower.ending is Ending.INTERRUPTED
        upper = UNSEARCHED if interrupted else task.end(end=End.UPPER)
        if Ending.INTERRUPTED not in (lower.ending, upper.ending):
            lower = task.resumed(lower)
        return _answer(asked, lower, upper, options, "joint" if jointly else "factorized", start)

    def _free(self, asked: Query, options: Options) -> Answer:
        """Answer in Nilsson's logic: on a junction tree, or by columns where its tables are too large."""
        try:
            return self._factorized(asked, options)
        except ProblemTooLarge:
            return self._by_columns(asked, options)

    def _by_columns(self, asked: Query, options: Options) -> Answer:
        if self.markov is not Markov.NONE:
            raise CredalogError(
                "column generation knows no independence",
                advice="Add {}.",
                remedies=(Option("markov", "none"),),
            )
        from credalog.methods import columns as nilsson

        return nilsson.query(self.network, asked, options)

    def _by_sets(self, asked: Query, options: Options) -> Answer:
        if self._credal is None or credal.ask(self._credal, asked) is None:
            raise CredalogError(
                "set propagation needs a credal network: local sentences only, on an acyclic graph",
                advice="Use {}.",
                remedies=(Option("method", "auto"),),
            )
        return sets.answer(self._credal, asked, options)

    def _jointly(self, asked: Query, options: Options) -> Answer:
        return self._factorized(asked, options, jointly=True)

    def _by_solver(self, asked: Query, options: Options) -> Answer:
        """Hand the paper's joint program to another solver: SCIP for a claim, IPOPT for witnesses alone."""
        start = monotonic()
        task = _Task(self, asked, options, start, jointly=True)
        lower = task.by_solver(options.method, end=End.LOWER)
        interrupted = lower.ending is Ending.INTERRUPTED
        upper = UNSEARCHED if interrupted else task.by_solver(options.method, end=End.UPPER)
        return _answer(asked, lower, upper, options, options.method, start)

    @cached_property
    def _credal(self) -> credal.CredalNetwork | None:
        """Return the network read as a credal network, if it is one."""
        return credal.credal_network(self.network, self.graph) if self.frame is None else None

    def _suits_sets(self, asked: Query) -> bool:
        """Tell whether set propagation is the better start: a credal network, a posterior or a polytree."""
        put = None if self._credal is None else credal.ask(self._credal, asked)
        if put is None:
            return False
        network, question = put
        relevant = relevance(network.parents, [question.target], question.observed)
        return asked.is_conditional or is_polytree(relevant)

    def part(self, asked: Query) -> Part:
        """Return what bears on a query."""
        return Part(*relevant_part(self.problem, (self._number[v] for v in asked.scope)))

    def extends(self, kept: Iterable[int], options: Options, *, searching: bool = True) -> bool | None:
        """Tell whether models of a part extend to the whole network; None where that is not known."""
        inside = set(kept)
        others = [part for part in self._anchored_parts if not part & inside]
        verdicts = [
            self._verdict(part, options) if searching else self._verdicts.get(part) for part in others
        ]
        return False if False in verdicts else None if None in verdicts else True

    def is_consistent(self, options: Options) -> bool | None:
        """Tell whether the network has a model; None where the time ran out first."""
        return self.extends((), options)

    def admits(self, distribution: Distribution, said: Network) -> bool:
        """Check a distribution against sentences and, of the independences, those of its variables."""
        graph = None if self.markov is Markov.NONE else self.graph
        return violation(distribution, said, graph) <= FEASIBILITY

    @cached_property
    def _anchored_parts(self) -> tuple[frozenset[int], ...]:
        """Return the parts in which something is said beyond local polytopes: only these can be empty."""
        anchors = frozenset(x for s in self.problem.statements for x in s.scope)
        needed = ancestors(self.problem.structure.parents, anchors)
        return tuple(part for part in separate_parts(self.problem, needed) if part & anchors)

    @cached_property
    def _models(self) -> dict[tuple[int, ...], deque[Distribution]]:
        """Keep the latest models of each part: what attains one query is a start for the next."""
        return {}

    @cached_property
    def _families(self) -> dict[tuple[int, ...], loglinear.LogLinear | None]:
        """Keep the log-linear distributions of each part."""
        return {}

    @cached_property
    def _verdicts(self) -> dict[frozenset[int], bool | None]:
        return {}

    def _verdict(self, members: frozenset[int], options: Options) -> bool | None:
        if members not in self._verdicts:
            kept = tuple(sorted(members))
            part = Part(restrict(self.problem, kept), kept)
            finding = _Task(self, Query(TRUE), options, monotonic(), part=part).seek()
            if finding.ending is Ending.INTERRUPTED:
                # A verdict is no answer that could say so itself.
                raise KeyboardInterrupt
            empty = finding.ending is Ending.EMPTY
            self._verdicts[members] = False if empty else None if finding.witness is None else True
        return self._verdicts[members]

    def _know(self, asked: Query) -> None:
        for variable in asked.scope:
            if variable not in self._number:
                raise UnknownName(f"the network has no variable {variable.name}")


class _Task:
    """One query under way."""

    def __init__(
        self,
        engine: Engine,
        asked: Query,
        options: Options,
        start: float,
        *,
        part: Part | None = None,
        jointly: bool = False,
    ) -> None:
        self.engine = engine
        self.asked = asked
        self.options = options
        self.start = start
        self.deadline = start + options.timeout
        self.part = engine.part(asked) if part is None else part
        self.jointly = jointly
        self.searched: Search | None = None
        self.encodings: dict[tuple[Reading, bool], tuple[Encoding, Objective]] = {}

    def end(self, *, end: End) -> Finding:
        """Find one end of the interval; the lower one may use half of the time that is left."""
        now = monotonic()
        finding = self._find(self.deadline if end is End.UPPER else (now + self.deadline) / 2.0, end)
        return self._settled(finding, end=end)

    def resumed(self, lower: Finding) -> Finding:
        """Take up the search for the lower end where it stopped, if there is time left."""
        if lower.ending is not Ending.STOPPED or self.searched is None or monotonic() >= self.deadline:
            return lower
        found = self._settled(self.searched.go_on(self.deadline), end=End.LOWER)
        return replace(_tighter_bound(found, lower, end=End.LOWER), witness=found.witness or lower.witness)

    def _settled(self, finding: Finding, *, end: End) -> Finding:
        """Say why there is no model, or re-check the witness."""
        if finding.ending is Ending.EMPTY:
            if finding.warrant is Warrant.CLAIMED and self._is_doubtful():
                bound, warrant = end.trivial, Warrant.CHECKED
                return replace(finding, bound=bound, warrant=warrant, ending=Ending.STOPPED)
            raise self._nothing()
        return self._rechecked(finding, end=end)

    def _is_doubtful(self) -> bool:
        """Tell whether the solver's word that no model allows the evidence is better not repeated.

        It is not where a model is known that does, nor where no model of the network is known at all.
        """
        if self.engine.is_consistent(self.options) is None or self._is_allowed_by(self._known(end=End.UPPER)):
            return True
        *_, (encoding, _) = self.encodings.values()
        evidence = encoding.with_column_bounds(encoding.unconditional(self.asked.given))
        limits = Limits(self.options.tolerance, monotonic() + 2.0, root_only=True)
        found = self._rechecked(search(encoding, evidence, limits, end=End.UPPER), end=End.UPPER)
        return self._is_allowed_by(found.witness)

    def _is_allowed_by(self, witness: Witness | None) -> bool:
        """Tell whether a model gives the evidence more than the traces that rounding leaves."""
        if witness is None:
            return False
        return witness.distribution.probability(self.asked.given) > SMALLEST_EVIDENCE

    def by_solver(self, name: str, *, end: End) -> Finding:
        """Take another solver's point as a witness once it is re-checked, and its bound as a claim."""
        encoding, objective = self._encoded(self.part.problem.reading, jointly=True)
        now = monotonic()
        deadline = self.deadline if end is End.UPPER else (now + self.deadline) / 2.0
        limits = Limits(self.options.tolerance, max(deadline, now + 0.1))
        finding = elsewhere.find(name, encoding, objective, limits, end=end)
        return self._rechecked(finding, end=end)

    def seek(self) -> Finding:
        """Look for any model of the part."""
        return self._find(self.deadline, end=End.UPPER)

    def _find(self, deadline: float, end: End) -> Finding:
        problem = self.part.problem
        known = self._known(end)
        if problem.reading is Reading.LITERAL and problem.structure.core and not self.jointly:
            return self._sandwich(deadline, end, known)
        jointly = self.part.is_small_and_cyclic
        return self._search(problem.reading, deadline, end, known, jointly=jointly)

    def _sandwich(self, deadline: float, end: End, known: Witness | None) -> Finding:
        """Attain from inside, bound from outside, and form the literal core only on a gap that is left."""
        structure = self.part.problem.structure
        small = self.part.core_states <= CORE_LIMIT
        if small and tuple(sorted(structure.core)) in structure.components:
            # The core is one component: all readings are the same.
            return self._literally(deadline, end, self._tied(known, deadline, end))
        now = monotonic()
        inner = self._search(Reading.CHAIN, now + (deadline - now) / 4.0, end, known, root_only=small)
        if inner.ending is Ending.INTERRUPTED:
            return replace(inner, bound=end.trivial, warrant=Warrant.CHECKED)
        known = known if inner.ending is Ending.EMPTY else inner.witness
        if self.part.is_small_and_cyclic:
            return self._literally(deadline, end, known)
        if inner.ending is not Ending.CLOSED:
            known = self._tied(known, deadline, end)
        outer = self._search(Reading.OUTER, deadline, end, known, root_only=small)
        if not small or outer.ending in (Ending.CLOSED, Ending.EMPTY, Ending.INTERRUPTED):
            return outer
        literal = self._literally(deadline, end, outer.witness)
        return _tighter_bound(literal, outer, end=end)

    def _tied(self, known: Witness | None, deadline: float, end: End) -> Witness | None:
        """Return a model found among the log-linear ones, where they suit the part and it is better."""
        until = monotonic() + (deadline - monotonic()) / 4.0
        found = None if self._family is None else self._family.witness(self.asked, until, end=end)
        if found is None or not self._is_model(found):
            return known
        value = found.probability(self.asked.claim, self.asked.given)
        is_better = known is None or (value > known.value if end is End.UPPER else value < known.value)
        return Witness(found, value) if is_better else known

    @property
    def _family(self) -> loglinear.LogLinear | None:
        """Return the log-linear distributions of the part, unless it is so small that all ways are short."""
        families, kept = self.engine._families, self.part.kept
        if self.part.is_small_and_cyclic:
            return None
        if kept not in families:
            families[kept] = loglinear.family_of(self.part.problem, self._said.sentences)
        return families[kept]

    def _literally(self, deadline: float, end: End, known: Witness | None) -> Finding:
        """Search with the whole core in one table; with everything in it where that is small."""
        jointly = self.part.is_small_and_cyclic
        return self._search(Reading.LITERAL, deadline, end, known, jointly=jointly)

    def _known(self, end: End) -> Witness | None:
        """Return the best of the models that were found for the same part before."""
        seen = prod(len(v.values) for v in self.asked.scope)
        models = self.engine._models.get(self.part.kept, ()) if seen <= LARGEST_SCOPE else ()
        values = [(model.probability(self.asked.claim, self.asked.given), model) for model in models]
        found = [Witness(model, value) for value, model in values if isfinite(value)]
        best = max if end is End.UPPER else min
        return best(found, key=lambda witness: witness.value, default=None)

    def _search(
        self,
        reading: Reading,
        deadline: float,
        end: End,
        known: Witness | None = None,
        *,
        root_only: bool = False,
        jointly: bool = False,
    ) -> Finding:
        encoding, objective = self._encoded(reading, jointly or self.jointly)
        limits = Limits(self.options.tolerance, deadline, root_only, self._report(end))
        found = Search(encoding, objective, limits, end, known, self._is_model)
        self.searched = self.searched if end is End.UPPER else found
        return found.run()

    def _encoded(self, reading: Reading, jointly: bool) -> tuple[Encoding, Objective]:
        key = reading, jointly
        if key not in self.encodings:
            part, asked = self.part, self.asked
            encoded = part.encode_jointly(asked) if jointly else part.encode(asked, reading)
            self.encodings[key] = self._bounded_mass(*encoded)
        return self.encodings[key]

    def _bounded_mass(self, encoding: Encoding, objective: Objective) -> tuple[Encoding, Objective]:
        """Bound the mass by 1 over the least probability of the evidence, where that can be proved.

        Rare evidence makes columns differ by many orders of magnitude: then each gets a bound of its own.
        """
        if not np.isfinite(objective.mass_bounds[0]):
            evidence = encoding.with_column_bounds(encoding.unconditional(self.asked.given))
            box = encoding.program.ratios.box
            claim, _ = Relaxation(encoding.program).minimize(evidence, box)
            least = Checker(encoding.program).lower_bound(evidence, box, claim.multipliers)
            if claim.outcome is Outcome.OPTIMAL and least > 0.0:
                bounds = np.minimum(objective.mass_bounds, round_up(1.0 / least))
                objective = replace(objective, mass_bounds=bounds)
        if RARE < objective.mass_bounds[0] < np.inf:
            objective = encoding.with_column_bounds(objective)
        return encoding, objective

    def _report(self, end: End) -> Callable[[float, float | None], None] | None:
        report = self.options.report
        if report is None:
            return None
        task = "upper" if end is End.UPPER else "lower"
        return lambda bound, found: report(Progress(task, bound, found, monotonic() - self.start))

    def _nothing(self) -> CredalogError:
        """Say why there is no point: no model at all, or none that allows the evidence."""
        if self.asked.is_conditional and self.engine.is_consistent(self.options) is not False:
            return ImpossibleEvidence(
                "every model gives the evidence probability zero",
                advice="Weaken the evidence, or the sentences that exclude it.",
            )
        return no_model()

    def _rechecked(self, finding: Finding, *, end: End) -> Finding:
        """Keep a witness only if it is a model in the eyes of the independent checker.

        One that lies outside a proved bound cannot be: it satisfies some sentence to the tolerance only.
        """
        if finding.witness is None:
            return finding
        beyond = finding.witness.value - finding.bound
        if (beyond if end is End.UPPER else -beyond) > FEASIBILITY:
            return replace(finding, witness=None)
        goes_on = finding.ending is not Ending.INTERRUPTED
        extends = self.engine.extends(self.part.kept, self.options, searching=goes_on)
        if extends is False:
            raise no_model()
        if extends is None:
            return replace(finding, witness=None)
        distribution = finding.witness.distribution
        if not self._is_model(distribution):
            return replace(finding, witness=None)
        value = distribution.probability(self.asked.claim, self.asked.given)
        return replace(finding, witness=Witness(distribution, value))

    def _is_model(self, distribution: Distribution) -> bool:
        """Check a distribution against all that is said of the part; remember those that pass."""
        models = self.engine._models.setdefault(self.part.kept, deque(maxlen=REMEMBERED))
        if any(distribution is model for model in models):
            return True
        passed = self.engine.admits(distribution, self._said)
        if passed:
            models.append(distribution)
        return passed

    @cached_property
    def _said(self) -> Network:
        """Return what the network says about the variables of the part."""
        return self.engine.network.about(self.part.problem.variables)


def _tighter_bound(latest: Finding, other: Finding, *, end: End) -> Finding:
    """Give the latest finding the other's bound, and its warrant, where that is tighter."""
    is_tighter = other.bound < latest.bound if end is End.UPPER else other.bound > latest.bound
    return replace(latest, bound=other.bound, warrant=other.warrant) if is_tighter else latest


def _answer(
    asked: Query, lower: Finding, upper: Finding, options: Options, method: str, start: float
) -> Answer:
    interval = Interval(_endpoint(lower), _endpoint(upper))
    return Answer(
        asked,
        interval,
        interval.status(options.tolerance),
        method,
        monotonic() - start,
        None if lower.witness is None else lower.witness.distribution,
        None if upper.witness is None else upper.witness.distribution,
        Ending.INTERRUPTED in (lower.ending, upper.ending),
    )


def tighter(first: Answer, second: Answer, tolerance: float) -> Answer:
    """Combine two answers to one query: the better bound and the better witness of each end."""
    lowers, uppers = (
        (first.interval.lower, second.interval.lower),
        (first.interval.upper, second.interval.upper),
    )
    lower = _joined(*lowers, max(lowers, key=lambda end: end.bound), min)
    upper = _joined(*uppers, min(uppers, key=lambda end: end.bound), max)
    interval = Interval(lower, upper)
    return replace(
        second,
        interval=interval,
        status=interval.status(tolerance),
        seconds=first.seconds + second.seconds,
    )


def _joined(
    first: Endpoint, second: Endpoint, stronger: Endpoint, outermost: Callable[[list[float]], float]
) -> Endpoint:
    attained = [end.witnessed for end in (first, second) if end.witnessed is not None]
    return replace(stronger, witnessed=outermost(attained) if attained else None)


def _endpoint(finding: Finding) -> Endpoint:
    bound = min(max(finding.bound, 0.0), 1.0)
    witnessed = None if finding.witness is None else min(max(finding.witness.value, 0.0), 1.0)
    return Endpoint(bound, witnessed, finding.warrant)
