"""Choose among the methods, and join what they find.

Input: a network and a query. Output: an `Answer`, by the method asked for or the best that applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod

from credalog.errors import CredalogError, ImpossibleEvidence, Option, ProblemTooLarge, no_model
from credalog.methods.answer import Answer, Options, marginal_atoms
from credalog.methods.cliques import all_marginals, cases, likelihood, summing_out
from credalog.methods.cliques.cases import Mixture
from credalog.methods.cliques.ends import Ends, Models
from credalog.methods.cliques.engine import Cliques
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.compiled import Compiled
from credalog.methods.gates import WIDE, gated
from credalog.methods.large import Beside, Large, without_models
from credalog.methods.points import answers as points
from credalog.methods.progress import Telling, bounds_alone, values_alone
from credalog.methods.registry import METHODS
from credalog.methods.vertices import constrained, sets
from credalog.network.columns import Sentences
from credalog.network.expressions import Part, Question
from credalog.network.formulas import TRUE, Formula, Is, Variable, literals_of, scope
from credalog.network.graph import DependencyGraph, Markov
from credalog.network.problem import Problem
from credalog.network.sentences import Network, Query
from credalog.network.structure import Relevance, is_polytree
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import VACUOUS, End, Interval, Status
from credalog.numbers.tolerances import absolute_gap
from credalog.tables import credal
from credalog.tables.distribution import Distribution

__all__ = ["Engine", "marginals", "query"]

SETS_SHARE, FIRST_LOOK = 0.85, 0.25
"""The share of the time for set propagation where it suits the query, and where programs suit it better."""

BRIEF_LOOK = 0.2
"""The share of the time for cliques before multipliers of statements, where a posterior is asked for."""

MOMENT = 0.1
"""The seconds that what all methods need may take in any case: of a small network it takes less."""

MOST_FAMILIES = 60
"""Where more tables of a credal network may bear on a query, programs on cliques come to nothing in time."""


def query(network: Network, asked: Query, options: Options = Options()) -> Answer:
    """Bound one probability over all models of a network."""
    return Engine(network, options.markov).query(asked, options)


def marginals(network: Network, options: Options = Options(), given: Formula = TRUE) -> tuple[Answer, ...]:
    """Bound the probability of every proposition, and of every value of every other variable.

    What attains one answer is a start for the next. Where the user stops a search, its answer is the last.
    """
    engine, answers, models = Engine(network, options.markov), list[Answer](), Models()
    atoms = marginal_atoms(network)
    at_once = engine.at_once(atoms, given, options)
    for atom in atoms:
        answers.append(at_once.get(atom) or engine.query(Query(atom, given), options, models=models))
        if answers[-1].interrupted:
            break
    return tuple(answers)


@dataclass(frozen=True)
class Engine:
    """A network made ready for many queries under one Markov condition.

    `frame` is the network whose dependency graph counts, by default the network itself. It lets sentences be
    dropped or changed while the independences stay.
    """

    network: Network
    markov: Markov = Markov.LOCAL
    frame: Network | None = None
    beside: Beside | None = field(default=None, compare=False, repr=False)
    """Tells whether what was cut off a larger network has a model, where this is a part of one."""

    @cached_property
    def large(self) -> Large | None:
        """Return a network in columns, ready to be cut around questions; None for any other network."""
        if self.frame is not None or not isinstance(self.network.sentences, Sentences):
            return None
        return Large.of(self.network, self.markov)

    def near(self, scope: Iterable[Variable]) -> Engine:
        """Return the engine of what bears on some variables of a large network; of any other, this one."""
        if self.large is None:
            return self
        kept = self.large.part(self.compiled.number[v] for v in scope)
        beside = partial(self._extends_beside, kept)
        return self.large.kept_engine(kept, lambda part: Engine(part, self.markov, beside=beside))

    def _extends_beside(self, kept: Sequence[int], options: Options, budget: Budget) -> bool | None:
        """Tell whether models of a part of a large network extend to the whole."""
        assert self.large is not None
        found = self.large.anchored_beside(kept)
        if found is None:
            return True
        places, anchored = found
        rest = self.large.kept_engine(anchored, lambda part: Engine(part, self.markov))
        return rest.extends(places, options, budget)

    @cached_property
    def compiled(self) -> Compiled:
        """Return what all methods share."""
        return Compiled(self.network, self.markov, self.frame)

    @cached_property
    def cliques(self) -> Cliques:
        """Return the engine on cliques, which knows what has a model."""
        return Cliques(self.compiled)

    @cached_property
    def in_cases(self) -> tuple[cases.Cases, tuple[Engine, ...]] | None:
        """Return the cases of a root, and what is made ready in each for many queries; None without any."""
        if self.markov is not Markov.LOCAL or self.frame is not None:
            return None
        found = cases.cases_of(self.network, self.graph)
        if found is None:
            return None
        engines = tuple(Engine(network, self.markov) for network in found.networks)
        return (found, engines) if found.keeps(self.graph, (e.graph for e in engines)) else None

    @property
    def graph(self) -> DependencyGraph:
        """Return the dependency graph."""
        return self.compiled.graph

    @property
    def problem(self) -> Problem:
        """Return the network in numbers."""
        return self.compiled.problem

    def query(self, asked: Query, options: Options = Options(), *, models: Models | None = None) -> Answer:
        """Bound one probability over all models, by the method asked for or the best that applies.

        `models` are shared by the queries of one batch.
        """
        telling = options.telling(asked)
        answer = self._told(asked, replace(options, report=telling), models, telling)
        # Where somebody else tells of a larger question, the last word is theirs.
        return answer if telling is options.report else answer.told(telling)

    def _told(self, asked: Query, options: Options, models: Models | None, telling: Telling) -> Answer:
        """Answer, with no less than was told on the way."""
        budget = Budget.of(options.timeout)
        try:
            with spending(Budget.of(max(options.timeout, MOMENT))):
                answer = self._asked(asked, options, models)
            return self._not_vacuous(_with_told(answer, telling, options), options)
        except (OutOfTime, KeyboardInterrupt) as stopped:
            # It was in the midst of what all methods need.
            is_interrupted = isinstance(stopped, KeyboardInterrupt)
            interval = VACUOUS if is_interrupted else self.hasty_bounds(asked)
            interval = interval.joined(bounds_alone(telling.interval))
            status = Status.UNDECIDED if interval == VACUOUS else Status.BOUNDED
            return Answer(asked, interval, status, options.method, budget.elapsed, is_interrupted)

    def _not_vacuous(self, answer: Answer, options: Options) -> Answer:
        """Return an answer that the time was too short for with what is known in a moment."""
        is_open = answer.interval == VACUOUS and options.method == "auto" and not answer.interrupted
        if not is_open or not isinstance(answer.query, Query):
            return answer
        interval = self.hasty_bounds(answer.query)
        return replace(answer, interval=interval, status=interval.status(options.tolerance))

    def hasty_bounds(self, asked: Query) -> Interval:
        """Bound by what is said near to a query, in a moment when the time is up; if there is a graph."""
        if "graph" not in vars(self.compiled):
            return VACUOUS
        from credalog.methods import intervals

        compiled = self.compiled
        return intervals.bounds(
            compiled.network, asked, markov=compiled.markov, budget=Budget.of(0.0), graph=compiled.graph
        )

    def _asked(self, asked: Query, options: Options, models: Models | None) -> Answer:
        """Bound one probability, unless the time is up before that is begun."""
        self.compiled.require_known(asked)
        if self.large is not None and options.method not in PROPAGATED:
            return self._asked_near(asked, options)
        answer = self._asked_here(asked, options, models)
        return answer if self.beside is None else self._extended(answer, options)

    def _asked_near(self, asked: Query, options: Options) -> Answer:
        """Ask the part of a large network that bears on a query."""
        budget = Budget.of(options.timeout)
        near = self.near(asked.scope)
        # Whether its models extend is known at the end alone.
        heard = options.telling(asked).through(bounds_alone)
        found = near.query(asked, replace(options, timeout=budget.remaining, report=heard))
        return replace(found, seconds=budget.elapsed)

    def _extended(self, answer: Answer, options: Options) -> Answer:
        """Keep models only where they extend to the network of which this is a part."""
        assert self.beside is not None
        left = Budget.of(max(options.timeout - answer.seconds, 0.0))
        extends = None if answer.interrupted else self.beside(options, left)
        if extends is False:
            raise no_model()
        return answer if extends else without_models(answer, options.tolerance)

    def _asked_here(self, asked: Query, options: Options, models: Models | None) -> Answer:
        """Bound one probability by the network as it is."""
        if options.method not in ANSWERS:
            names = ", ".join(method.name for method in METHODS)
            raise CredalogError(f"there is no method {options.method}", advice=f"Choose one of {names}.")
        is_wide = prod(len(v.values) for v in asked.scope) > WIDE
        has_gates = is_wide and options.method in GATED and self.frame is None
        wide = gated(self.network, asked) if has_gates else None
        if wide is not None:
            engine = Engine(wide.network, self.markov)
            return wide.restored(engine.query(wide.query, options), asked)
        return ANSWERS[options.method](_Asked(self, asked, options, models or Models()))

    def at_once(self, atoms: Sequence[Is], given: Formula, options: Options) -> Mapping[Is, Answer]:
        """Return the marginals that are found together: of points in one pass, of ties by a few programs."""
        budget = Budget.of(options.timeout * len(atoms))
        with suppress(OutOfTime), spending(budget):
            return self._at_once(atoms, given, options, budget)
        return {}

    def _at_once(
        self, atoms: Sequence[Is], given: Formula, options: Options, budget: Budget
    ) -> Mapping[Is, Answer]:
        """Find marginals together, unless the time is up before."""
        self.compiled.require_known(Query(TRUE, given))
        credal = self.compiled.credal
        if credal is not None and options.method in ("auto", "points"):
            return points.marginals(credal, atoms, given, options) or {}
        if given != TRUE or options.method != "auto" or self.compiled.markov is Markov.NONE:
            return {}
        return self._tied_at_once(atoms, options, budget)

    def _tied_at_once(self, atoms: Sequence[Is], options: Options, budget: Budget) -> Mapping[Is, Answer]:
        """Bound all marginals by sound propagation, and attain those of tied variables together."""
        compiled = self.compiled
        if len(atoms) < all_marginals.FEWEST or not compiled.problem.structure.core:
            return {}
        from credalog.methods.intervals import propagate

        found = propagate(compiled.network, variant="sound", markov=compiled.markov, timeout=options.timeout)
        bounds = {atom: found.answer(atom, Query(atom)).interval for atom in atoms}
        closed = all_marginals.closed_together(self.cliques, bounds, options.tolerance, budget)
        if not closed or self.cliques.extends((), options, budget) is not True:
            return {}
        seconds = budget.elapsed / len(atoms)
        return {atom: Answer(Query(atom), i, Status.EXACT, "auto", seconds) for atom, i in closed.items()}

    def part(self, asked: Question | Part) -> Fragment:
        """Return what bears on a question."""
        return self.cliques.fragment(asked)

    def extends(self, kept: Iterable[int], options: Options, budget: Budget | None = None) -> bool | None:
        """Tell whether models of a part extend to the whole network; None where that is not known.

        Those of a credal network do: none of its local sets is empty.
        """
        budget = budget or Budget.of(options.timeout)
        try:
            with spending(budget):
                if self.large is not None:
                    return self._extends_beside(tuple(kept), options, budget)
                is_certain = self.compiled.credal is not None
                found = True if is_certain else self.cliques.extends(kept, options, budget)
                if found is False or self.beside is None:
                    return found
                others = self.beside(options, budget)
                return None if found is None and others else others
        except OutOfTime:
            return None

    def is_consistent(self, options: Options, budget: Budget | None = None) -> bool | None:
        """Tell whether the network has a model; None where the time ran out first."""
        return self.extends((), options, budget)

    def admits(self, distribution: Distribution, said: Network) -> bool:
        """Check a distribution against sentences and, of the independences, those of its variables."""
        return self.cliques.admits(distribution, said)


def _with_told(answer: Answer, telling: Telling, options: Options) -> Answer:
    """Return an answer with the bounds that were told on the way, where a later step lost them."""
    interval, told = answer.interval, bounds_alone(telling.interval)
    for end in End:
        if end.is_tighter(told[end].bound, interval[end].bound):
            interval = interval.learning(told[end], end)
    if interval is answer.interval:
        return answer
    return replace(answer, interval=interval, status=interval.status(options.tolerance))


class _Asked:
    """One query, ready for any method."""

    def __init__(self, engine: Engine, asked: Query, options: Options, models: Models) -> None:
        self.engine = engine
        self.compiled = engine.compiled
        self.asked = asked
        self.options = options
        self.models = models
        self.budget = Budget.of(options.timeout)

    def automatic(self) -> Answer:
        """Points need no search; posteriors of credal networks go to set propagation, then to the cliques."""
        if self.compiled.markov is Markov.NONE:
            return self._free()
        if (found := self._pointwise()) is not None:
            return found
        if self._as_credal is None:
            return self._summed() or self._by_cases() or self._with_statements()
        if len(self._relevant.families) + len(self._relevant.separated) > MOST_FAMILIES:
            return self._by_sets(self.budget.remaining)
        ways = (self._by_sets, self._by_cliques)
        return self._in_turn(ways, (SETS_SHARE if self._suits_sets() else FIRST_LOOK, 1.0))

    def _in_turn(self, ways: Sequence[Callable[[float], Answer]], parts: Sequence[float]) -> Answer:
        """Try one way for a part of the time, then the other on what is left open; join what both find."""
        best: Answer | None = None
        for way, part in zip(ways, parts, strict=True):
            with suppress(ProblemTooLarge, OutOfTime):
                found = way(part * self.budget.remaining)
                interval = found.interval if best is None else best.interval.joined(found.interval)
                status = interval.status(self.options.tolerance)
                best = replace(found, interval=interval, status=status, seconds=self.budget.elapsed)
                if status is Status.EXACT or found.interrupted:
                    return best
        if best is None:
            # Bounds without vertices are never too large, so there was no time.
            raise OutOfTime
        return best

    def _by_cliques(self, seconds: float) -> Answer:
        limited = _Asked(self.engine, self.asked, self._with_timeout(seconds), self.models)
        return limited.factorized()

    def factorized(self) -> Answer:
        """Search on cliques."""
        ends = self._ends()
        return ends.answer("factorized", ends.by_search)

    def joint(self) -> Answer:
        """Search on one table of all worlds."""
        ends = self._ends(jointly=True)
        return ends.answer("joint", ends.by_search)

    def by_solver(self) -> Answer:
        """Hand the paper's joint program to another solver: SCIP for a claim, IPOPT for witnesses alone."""
        ends, name = self._ends(jointly=True), self.options.method
        return ends.answer(name, lambda budget, end: ends.by_solver(name, budget, end))

    def by_points(self) -> Answer:
        """Pass over a junction tree."""
        found = self._pointwise()
        if found is None:
            raise CredalogError(
                "an interval bears on the query, or the time is up: not every probability is a point",
                advice="Use {}.",
                remedies=(Option("method", "auto"),),
            )
        return found

    def by_sets(self) -> Answer:
        """Propagate sets, then search over vertices."""
        if self._as_credal is None:
            raise CredalogError(
                "set propagation needs a credal network: local sentences only, on an acyclic graph",
                advice="Use {}.",
                remedies=(Option("method", "auto"),),
            )
        return self._by_sets(self.options.timeout)

    def by_columns(self) -> Answer:
        """Generate columns."""
        if self.compiled.markov is not Markov.NONE:
            raise CredalogError(
                "column generation knows no independence",
                advice="Add {}.",
                remedies=(Option("markov", "none"),),
            )
        from credalog.methods import columns

        return columns.query(self.compiled.network, self.asked, self._with_timeout(self.budget.remaining))

    def by_propagation(self) -> Answer:
        """Propagate intervals, and read the query's own off."""
        claimed, observed = scope(self.asked.claim), literals_of(self.asked.given)
        event = literals_of(self.asked.claim)
        if len(claimed) != 1 or observed is None or event is None:
            raise CredalogError(
                f"{self.options.method} bounds single variables, given observed values",
                advice="Use {}.",
                remedies=(Option("method", "auto"),),
            )
        from credalog.methods.intervals import propagate

        found = propagate(
            self.compiled.network,
            variant=self.options.method,
            evidence=self.asked.given,
            markov=self.compiled.markov,
            timeout=self.budget.remaining,
        )
        atom = Is(claimed[0], event[claimed[0]])
        return found.answer(atom, self.asked)

    def by_slices(self) -> Answer:
        """Bound any query by intervals."""
        from credalog.methods.intervals import Slices, sound_answer

        compiled = self.compiled
        slices = Slices(compiled.network, compiled.graph, compiled.markov)
        return sound_answer(slices, self.asked, self.budget, self.options.telling(self.asked))

    def _free(self) -> Answer:
        """Answer in Nilsson's logic: on a junction tree, or by columns where its tables are too large."""
        try:
            return self.factorized()
        except ProblemTooLarge:
            return self.by_columns()

    def _summed(self) -> Answer | None:
        """Ask with what has known tables summed out; None where there is none below all else."""
        compiled, asked = self.compiled, self.asked
        is_plain = compiled.markov is Markov.LOCAL and compiled.frame is None
        if not asked.is_conditional or not is_plain:
            return None
        found = summing_out.sum_out(compiled.network, compiled.problem, asked)
        smaller = None if found is None else Engine(found.network, compiled.markov)
        if found is None or smaller is None or not found.keeps(compiled.graph, smaller.graph):
            return None
        options = self._with_timeout(self.budget.remaining)
        answer = _Asked(smaller, found.query, options, Models()).automatic()
        return replace(found.restored(answer, asked), seconds=self.budget.elapsed)

    def _by_cases(self) -> Answer | None:
        """Ask in each case of a root by itself, and mix; None where there is no such root."""
        if self.engine.in_cases is None or not self.engine.in_cases[0].suit(self.asked):
            return None
        found, engines = self.engine.in_cases
        # Models mix where those of the cases are of the same variables as those of the whole.
        needed = {found.root, *self.engine.part(self.asked).problem.variables}
        if any({found.root, *e.part(self.asked).problem.variables} != needed for e in engines):
            return None
        shared = [Models() for _ in engines]

        def ask(case: int, options: Options) -> Answer:
            closely = replace(options, gap=absolute_gap)
            return _Asked(engines[case], self.asked, closely, shared[case]).factorized()

        return Mixture(found, self.asked, self.options, self.budget, ask=ask, accepts=self._admits).answer()

    def _admits(self, model: Distribution) -> bool:
        """Tell whether a distribution is a model of what bears on the query."""
        cliques = self.engine.cliques
        said = cliques.said_of(cliques.fragment(self.asked))
        return cliques.admits(model, said, self.asked.scope, self.budget)

    def _with_statements(self) -> Answer:
        """Search on cliques; where tables are few, then weigh the statements beside them."""
        compiled = self.compiled
        part = compiled.credal_part if len(compiled.network.variables) <= constrained.MOST_FAMILIES else None
        if part is None or not part[1]:
            return self._folded()
        share = BRIEF_LOOK if self.asked.is_conditional else FIRST_LOOK
        limited = _Asked(
            self.engine, self.asked, self._with_timeout(share * self.budget.remaining), self.models
        )
        found = limited._folded()
        tolerance = self.options.tolerance
        if found.status is not Status.EXACT and not found.interrupted:
            with suppress(ProblemTooLarge):
                found = constrained.improved(found, *part, tolerance=tolerance, budget=self.budget)
        if found.status is Status.EXACT or found.interrupted or self.budget.is_spent:
            return found
        # What multipliers leave in time, where they do not apply or find no model, is for the cliques.
        again = self._folded()
        interval = found.interval.joined(again.interval)
        tried = tuple(dict.fromkeys((*found.tried, *again.tried)))
        return replace(again, interval=interval, status=interval.status(tolerance), tried=tried)

    def _folded(self) -> Answer:
        """Search on cliques, with the observations that only weigh their parents gathered into one."""
        compiled, asked = self.compiled, self.asked
        is_folded = asked.is_conditional and compiled.frame is None
        folded = likelihood.fold(compiled.network, asked) if is_folded else None
        if folded is None:
            return self.factorized()
        smaller = Engine(folded.network, compiled.markov)
        if not folded.keeps(compiled.graph, smaller.graph):
            return self.factorized()
        corners = tuple(folded.corners())
        limited = self._with_timeout(self.budget.remaining / (2.0 if corners else 1.0))
        found = _Asked(smaller, folded.query, limited, Models()).factorized()
        if found.status is not Status.EXACT and not found.interrupted:
            found = self._at_corners(corners, folded.query, found)
        return folded.restored(found, asked)

    def _at_corners(self, corners: Sequence[likelihood.Corner], asked: Query, found: Answer) -> Answer:
        """Ask each corner of the likelihoods by itself; all of them together bound, each alone attains."""
        intervals = list[Interval]()
        for left, corner in zip(range(len(corners), 0, -1), corners, strict=True):
            # What bounds one corner does not bound the others.
            telling = self.options.telling(asked).through(values_alone)
            options = replace(self._with_timeout(self.budget.remaining / left), report=telling)
            engine = Engine(corner.network, self.compiled.markov)
            with suppress(ImpossibleEvidence):
                answer = _Asked(engine, asked, options, Models()).factorized()
                intervals.append(corner.restored(answer.interval))
                if answer.interrupted:
                    return replace(found, interrupted=True)
        if not intervals:
            return found
        interval = found.interval.joined(likelihood.spanned(intervals))
        tried = (*found.tried, "corners of the likelihoods")
        status = interval.status(self.options.tolerance)
        return replace(found, interval=interval, status=status, seconds=self.budget.elapsed, tried=tried)

    def _ends(self, *, jointly: bool = False) -> Ends:
        cliques = self.engine.cliques
        fragment = cliques.fragment(self.asked)
        return Ends(
            cliques,
            self.asked,
            self.options,
            self.budget,
            fragment,
            self.models,
            jointly=jointly,
            outside=self._outside if fragment.problem.structure.core else None,
        )

    def _outside(self, budget: Budget) -> Interval:
        """Bound by sound propagation, which sees what goes around a cycle."""
        from credalog.methods import intervals

        compiled = self.compiled
        return intervals.bounds(
            compiled.network, self.asked, markov=compiled.markov, budget=budget, graph=compiled.graph
        )

    def _with_timeout(self, seconds: float) -> Options:
        return replace(self.options, timeout=seconds)

    def _by_sets(self, seconds: float) -> Answer:
        assert self.compiled.credal is not None
        return sets.answer(self.compiled.credal, self.asked, self._with_timeout(seconds))

    def _pointwise(self) -> Answer | None:
        """Return the answer where only points bear on the query."""
        credal, limited = self.compiled.credal, self._with_timeout(self.budget.remaining)
        return None if credal is None else points.query(credal, self.asked, limited)

    @cached_property
    def _as_credal(self) -> tuple[credal.CredalNetwork, credal.Question] | None:
        return None if self.compiled.credal is None else credal.ask(self.compiled.credal, self.asked)

    def _suits_sets(self) -> bool:
        """Tell whether set propagation is the better start in a credal network: a posterior or a polytree."""
        return self.asked.is_conditional or is_polytree(self._relevant)

    @cached_property
    def _relevant(self) -> Relevance:
        """Return the families of a credal network that bear on the query."""
        assert self._as_credal is not None
        network, question = self._as_credal
        return network.relevant(question)


ANSWERS: Mapping[str, Callable[[_Asked], Answer]] = {
    "auto": _Asked.automatic,
    "points": _Asked.by_points,
    "factorized": _Asked.factorized,
    "sets": _Asked.by_sets,
    "joint": _Asked.joint,
    # Of a ground network there is nothing to lift.
    "lifted": _Asked.automatic,
    "nilsson": _Asked.by_columns,
    "scip": _Asked.by_solver,
    "ipopt": _Asked.by_solver,
    "sound": _Asked.by_slices,
    "bp": _Asked.by_propagation,
    "printed": _Asked.by_propagation,
}
"""How each method of the registry answers."""

PROPAGATED = ("bp", "printed")
"""The methods that are defined by the whole network."""

GATED = ("auto", "points", "factorized", "sets", "lifted")
"""The methods that answer wide formulas with the help of gates."""

assert set(ANSWERS) == {method.name for method in METHODS}
