"""How probable something is: the questions whose answers are intervals.

Input: questions and options. Output: answers of one method or of the automatic choice, with their models and
certificates. Each is found by the module that is named after it, which is imported when it is asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from credalog.choices import (
    PROPAGATIONS,
    CriterionName,
    EndName,
    MarkovName,
    MethodName,
    ScheduleName,
    VariantName,
)
from credalog.errors import CredalogError, Option
from credalog.lcn.grounded import (
    Asked,
    GivenHere,
    Wording,
    counted,
    one_of,
    options_of,
    require,
    several,
    workers_of,
)
from credalog.network.expressions import Combined
from credalog.network.families import is_precise
from credalog.network.formulas import TRUE, Formula, Is, Variable, scope
from credalog.network.graph import Markov, dependency_graph
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.tolerances import TOLERANCE
from credalog.text.statements import readable
from credalog.theory import Theory

if TYPE_CHECKING:
    from credalog.methods.answer import Answer, Marginals, Options, Report
    from credalog.methods.automatic import Engine
    from credalog.methods.cliques.models import Explicit
    from credalog.methods.intervals import Propagation, Round
    from credalog.questions.certificates import Certificate
    from credalog.questions.decide import Decision
    from credalog.questions.map import BestAssignments, Criterion

PROPAGATION_TOLERANCE = 1e-7
"""Messages that change by less than this have converged."""

PROVED_WHOLE = 1_000
"""Answers around a question are proved about the whole grounding if rules have at most so many instances."""


class Inference(Wording):
    """A network that bounds probabilities.

    A new kind of question is one more method here or in `Analysis`: it makes the options and the ground
    query, and hands both to the module of credalog.questions or credalog.methods that answers it.
    """

    def query(
        self,
        asked: Asked,
        *,
        given: GivenHere = None,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        method: MethodName = "auto",
        markov: MarkovName | Markov = Markov.LOCAL,
        report: Report | None = None,
        jobs: int = 1,
        client: Any = None,
    ) -> Answer:
        """Bound one probability, a sum of probabilities or a quotient of sums over all models.

        What is given joins the conditions of the question and the evidence. With several jobs, or a Dask
        client, processes share a search that takes long; each of their bounds is proved once more here.
        """
        options = options_of(timeout, tolerance, markov, method=method, report=report)
        options = replace(options, workers=workers_of(jobs, client))
        query = self.posed(asked, given)
        answer = self._answer(query, options) if isinstance(query, Query) else self._combined(query, options)
        return replace(answer, origin=partial(self.certificate, markov=options.markov))

    def _combined(self, query: Combined, options: Options) -> Answer:
        """Answer a sum or a quotient; around the question, where the network is too large to be ground."""
        if self._is_large and options.method in ("auto", "lifted"):
            from credalog.questions.lifted import query as query_around

            return query_around(self._around(options.markov), query, options)
        from credalog.questions.combined import answer as combined

        engine = self._engine(options.markov, query)
        return self._restored(engine, combined(engine, query, options))

    def _answer(self, query: Query, options: Options) -> Answer:
        """Answer around the question where rules have many instances, and else by the whole network."""
        is_lifted = options.method == "lifted" and isinstance(self.stated, Theory)
        if is_lifted and not all(rule.is_plain for rule in self.theory.rules):
            raise CredalogError(
                "lifted questions need rules whose numbers stand in the text, under one condition each",
                advice="Use {}.",
                remedies=(Option("method", "auto"),),
            )
        if not is_lifted and not (options.method == "auto" and self._is_first_order):
            engine = self._engine(options.markov, query)
            return self._restored(engine, engine.query(query, options))
        from credalog.questions.lifted import query as query_around

        whole = None if self._is_large else partial(self._engine, options.markov, query)
        return query_around(self._around(options.markov), query, options, whole)

    def _restored(self, engine: Engine, answer: Answer) -> Answer:
        """Return an answer without the variables that stand for comparisons across conditions."""
        network = self.ground()
        if not network.contrasts:
            return answer
        from credalog.methods.reduction import Plain

        added = frozenset(engine.network.variables) - self._mentioned.keys() - frozenset(answer.query.scope)
        return Plain(engine.network, added).restored(answer, replace(network, sentences=(), independences=()))

    def reasons(
        self, answer: Answer, *, timeout: float = 2.0, markov: MarkovName | Markov = Markov.LOCAL
    ) -> tuple[str, ...]:
        """Say why an answer is no narrower than [0, 1], where a reason can be found."""
        options = options_of(timeout, TOLERANCE, markov)
        _require_answers(answer)
        is_vacuous = answer.lower <= TOLERANCE and answer.upper >= 1.0 - TOLERANCE
        if not isinstance(answer.query, Query) or not is_vacuous or self._is_large:
            return ()
        from credalog.questions.measurements import reasons

        return tuple(reasons(self._engine(options.markov, answer.query), answer, options))

    def explicit_model(
        self,
        answer: Answer,
        *,
        end: EndName = "upper",
        markov: MarkovName | Markov = Markov.LOCAL,
        timeout: float = 30.0,
    ) -> Explicit:
        """Return the model that a witness of an answer about ties stands for, with its residual.

        The witness itself has the same probabilities of all that is said and asked, but not every
        independence among tied variables; here every one holds (docs/proofs.md, proof 9). `markov` is
        the condition under which the question was asked.
        """
        from credalog.methods.cliques.models import explicit_model

        _require_answers(answer)
        is_upper = one_of(end, get_args(EndName), "end") == "upper"
        witness = answer.upper_witness if is_upper else answer.lower_witness
        if witness is None:
            raise CredalogError(f"the {end} end has no witness", advice="Ask again with more time.")
        network = self._solvable(Markov.LOCAL, answer.query)
        said = network.about(v for factor in witness.factors for v in factor.block)
        options = options_of(timeout, TOLERANCE, markov)
        return explicit_model(
            witness,
            said,
            dependency_graph(network),
            asked=answer.query.scope,
            markov=options.markov,
            budget=Budget.of(options.timeout),
        )

    def certificate(
        self,
        *results: Answer | Decision | BestAssignments,
        markov: MarkovName | Markov = Markov.LOCAL,
        timeout: float = 30.0,
    ) -> Certificate:
        """Return proofs of the bounds of results, and the models that attain them, for `credalog verify`.

        Without results it is about whether there is a model. The results were asked for under one Markov
        condition. `timeout` is for each bound; what could not be certified is in `missing`.
        """
        from credalog.questions.certificates import certify, certify_consistency
        from credalog.questions.map import BestAssignments

        options = options_of(timeout, TOLERANCE, markov)
        _require_answers(*results)
        if results and (self._is_large or (self._is_proved_around and _are_lifted(results))):
            from credalog.questions.certificates.lifted import certify_around

            ends = [result for result in results if not isinstance(result, BestAssignments)]
            return certify_around(self._around(options.markov), ends, options)
        queries = [result.query for result in results if not isinstance(result, BestAssignments)]
        if self._ground_with(*queries) is not self.ground():
            raise CredalogError(
                "a certificate is about the network, and a question is about atoms that it does not mention",
                advice="Certify answers about variables of which something is said.",
            )
        engine, network = self._engine(options.markov), self.ground()
        if results:
            return certify(engine, network, results, options)
        return certify_consistency(engine, network, options)

    def verify(self, path: str | Path, *, markov: MarkovName | None = None) -> tuple[str, ...]:
        """Check a certificate of this network; return what it proves, or raise with the step that fails."""
        from credalog.text.packed import lines_of
        from credalog.verify import verify

        require(path, (str, Path), "path", 'Write lcn.verify("network.proof").')
        with readable(Path(path)):
            lines = lines_of(str(path))
        return tuple(verify(self.verified, lines, markov=markov))

    @property
    def verified(self) -> Theory | Network:
        """Return what certificates are about: the ground network, or a theory that is too large for it."""
        return self._grounder.theory if self._is_proved_around else self.ground()

    @property
    def _is_proved_around(self) -> bool:
        """Tell whether what was answered around a question is proved there, too."""
        return isinstance(self.stated, Theory) and self._instances > PROVED_WHOLE

    def marginals(
        self,
        *,
        given: GivenHere = None,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        method: MethodName = "auto",
        markov: MarkovName | Markov = Markov.LOCAL,
        jobs: int = 1,
        report: Report | None = None,
    ) -> Marginals:
        """Bound the probability of every variable, given the evidence; the timeout is for each.

        With several jobs, the variables are shared out among processes.
        """
        from credalog.methods.answer import Marginals, marginal_atoms

        # More processes than processors help nobody.
        count = min(counted(jobs, "jobs"), os.cpu_count() or 1)
        options = options_of(timeout, tolerance, markov, method=method, report=report)
        observed = self._observed(given)
        if method in PROPAGATIONS:
            return Marginals(self._propagated(observed, options))
        at_once = self._at_once(observed, options)
        asked = [Query(atom, observed) for atom in marginal_atoms(self.ground())]
        left = [query for query in asked if query not in at_once]
        if count > 1 and left:
            # Reports do not cross from one process to another: of these only the answers are told.
            silent = replace(options, report=None)
            shared = _shared_out(self._solvable(options.markov, *left), left, silent, count)
            at_once = {**at_once, **dict(zip(left, shared, strict=True))}
        answers = _until_interrupted(partial(self._engine, options.markov, *asked), asked, options, at_once)
        return Marginals(tuple(answers))

    def marginals_at_once(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        method: MethodName = "auto",
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> Mapping[Query, Answer]:
        """Find the marginals that need not be asked for one by one: of points, and of many tied variables."""
        return self._at_once(self._observed(None), options_of(timeout, tolerance, markov, method=method))

    def _at_once(self, observed: Formula, options: Options) -> Mapping[Query, Answer]:
        from credalog.methods.answer import marginal_atoms

        found: Mapping[Is, Answer] | None = self._pointwise(observed, options)
        if found is None:
            engine = self._engine(options.markov, Query(TRUE, observed))
            found = engine.at_once(marginal_atoms(self.ground()), observed, options)
        return {Query(atom, observed): answer for atom, answer in found.items()}

    def _pointwise(self, observed: Formula, options: Options) -> dict[Is, Answer] | None:
        """Find all marginals at once, without importing what only intervals need."""
        if not is_precise(self.ground()):
            return None
        from credalog.methods.answer import marginal_atoms
        from credalog.methods.compiled import Compiled
        from credalog.methods.points import answers as points

        if options.method not in ("auto", "points"):
            return None
        compiled = Compiled(self._solvable(options.markov, Query(TRUE, observed)), options.markov)
        atoms = marginal_atoms(self.ground())
        # Where there is no time for it, nobody need try again.
        found: dict[Is, Answer] | None = {}
        budget = Budget.of(options.timeout * len(atoms))
        with suppress(OutOfTime), spending(budget):
            if compiled.credal is None:
                return None
            found = points.marginals(compiled.credal, atoms, observed, options)
        return {} if found is None and budget.is_spent else found

    def _propagated(self, observed: Formula, options: Options) -> tuple[Answer, ...]:
        """Propagate once, and return the answers about the variables of the network."""
        found = self.propagate(
            variant=cast("VariantName", options.method),
            given=observed,
            timeout=options.timeout * len(self.variables),
            markov=options.markov,
        )
        return tuple(answer for answer in found.answers() if answer.query.scope[0] in self._mentioned)

    def propagate(
        self,
        *,
        variant: VariantName = "bp",
        window: int | None = 0,
        given: GivenHere = None,
        schedule: ScheduleName = "residual",
        timeout: float = inf,
        tolerance: float = PROPAGATION_TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        start: Propagation | None = None,
        report: Callable[[Round], None] | None = None,
    ) -> Propagation:
        """Propagate intervals, given the evidence, for as long as the timeout allows.

        "printed" is the paper's algorithm to the letter, "bp" our variant that is exact on polytrees, "sound"
        the one whose bounds hold. With `window=None` its windows grow as long as time and gain allow.
        """
        from credalog.methods.intervals import Propagation, propagate

        options = options_of(timeout, tolerance, markov, report=cast("Report | None", report))
        if start is not None:
            require(start, Propagation, "propagation", "Give the result of lcn.propagate(...).")
        if window:
            counted(window, "window")
        observed = self._observed(given)
        return propagate(
            self._solvable(options.markov, Query(TRUE, observed)),
            variant=variant,
            window=window,
            evidence=observed,
            schedule=schedule,
            markov=options.markov,
            tolerance=tolerance,
            timeout=timeout,
            start=start,
            report=report,
        )

    def map(
        self,
        variables: str | Variable | Is | Iterable[str | Variable | Is] | None = None,
        *,
        given: GivenHere = None,
        criterion: CriterionName | Criterion = "maximax",
        alpha: float = 0.5,
        top: int = 1,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        report: Report | None = None,
    ) -> BestAssignments:
        """Find the assignments whose posterior intervals are best, of some variables or of all unobserved."""
        from credalog.questions.map import Criterion, best_assignments

        options = options_of(timeout, tolerance, markov, report=report)
        counted(top, "top")
        observed = self._observed(given)
        chosen = None if variables is None else [self.variable(v) for v in several(variables)]
        if chosen is None and self.ground().contrasts:
            # Variables that stand for comparisons across conditions are nobody's to assign.
            chosen = [v for v in self.variables if v not in scope(observed)]
        engine = self._engine(options.markov, Query(TRUE, observed))
        rule = Criterion(one_of(criterion, get_args(CriterionName), "criterion"))
        return best_assignments(engine, chosen, observed, options, criterion=rule, alpha=alpha, top=top)


def _require_answers(*results: object) -> None:
    from credalog.methods.answer import Answer
    from credalog.questions.decide import Decision
    from credalog.questions.map import BestAssignments

    kinds = (Answer, Decision, BestAssignments)
    for result in results:
        advice = "Give one of lcn.query(...), lcn.decide(...) or lcn.map(...)."
        if isinstance(result, Iterable):
            advice += " Several are given with a star: lcn.certificate(*answers)."
        require(result, kinds, "answer", advice)


def _are_lifted(results: Iterable[object]) -> bool:
    """Tell whether all results are answers that were found around the question."""
    return all(getattr(result, "method", "") == "lifted" for result in results)


def _shared_out(network: Network, asked: list[Query], options: Options, jobs: int) -> tuple[Answer, ...]:
    """Answer every jobs-th question in one process, and put the answers into the order of the questions."""
    from joblib import Parallel, delayed

    shares = Parallel(n_jobs=jobs)(delayed(_answers)(network, asked[i::jobs], options) for i in range(jobs))
    return tuple(shares[i % jobs][i // jobs] for i in range(len(asked)))


def _answers(network: Network, asked: list[Query], options: Options) -> list[Answer]:
    from credalog.methods.automatic import Engine

    engine = Engine(network, options.markov)
    return [engine.query(query, options) for query in asked]


def _until_interrupted(
    engine: Callable[[], Engine], asked: Iterable[Query], options: Options, known: Mapping[Query, Answer]
) -> Iterator[Answer]:
    """Answer one question after the other that is not answered yet; one that the user stopped is the last."""
    for query in asked:
        if (answer := known.get(query)) is None:
            answer = engine().query(query, options)
        elif options.report is not None:
            answer = answer.told(options.telling(query))
        yield answer
        if answer.interrupted:
            return
