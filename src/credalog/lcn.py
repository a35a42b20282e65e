"""The object a user holds: a Logical Credal Network, and every question that can be asked of it.

Input: text, files, or sentences built in Python. Output: `LCN`, immutable and compared by content. Its
methods only delegate: each question is answered by the module that is named after it, which is imported
when the question is asked.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property, partial
from math import inf
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias, cast, get_args

from credalog.choices import (
    METHODS,
    PROPAGATIONS,
    CriterionName,
    EndName,
    MarkovName,
    MethodName,
    ScheduleName,
    VariantName,
)
from credalog.errors import Ask, CredalogError, GroundingTooLarge, LanguageError, Option, UnknownName
from credalog.grounding.network import LIMIT, Grounder, instance_count
from credalog.grounding.terms import nearest
from credalog.network.expressions import Combined, Linear, Mean, Question, Quotient, Summand, observing
from credalog.network.formulas import TRUE, And, Formula, Variable, conjunction, scope
from credalog.network.graph import DependencyGraph, Markov, dependency_graph, independences
from credalog.network.sentences import Contrast, Independence, Network, Number, Query, Sentence, exact
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.tolerances import TOLERANCE
from credalog.text.builder import (
    Expression,
    Given,
    Ratio,
    Stated,
    check_depth,
    condition,
    literal,
    query_of,
    sentence_of,
)
from credalog.text.data import Data, extended, library_of
from credalog.text.lifting import declarations_of, theory_of, with_rules
from credalog.text.parse import read, read_file, read_formula, read_query, read_threshold
from credalog.text.sheets import NOWHERE, Frame, Library, sheet_of
from credalog.text.unparse import unparse, unparse_formula
from credalog.theory import AskedRule, Evidence, Order, Theory, is_wanted, lifted, written

if TYPE_CHECKING:
    from credalog.methods.answer import Answer, Marginals, Options, Report
    from credalog.methods.automatic import Engine
    from credalog.methods.cliques.models import Explicit
    from credalog.methods.intervals import Propagation, Round
    from credalog.methods.lifted.answering import Lifted
    from credalog.questions.certificates import Certificate
    from credalog.questions.comparing import JointDecision, Statement
    from credalog.questions.decide import Decision
    from credalog.questions.diagnose import Diagnosis, Repair
    from credalog.questions.entropy import MaximumEntropy
    from credalog.questions.influence import Explanation, Measurement
    from credalog.questions.map import BestAssignments, Criterion
    from credalog.questions.mending import Repairs
    from credalog.questions.ranking import Ranking


Asked: TypeAlias = str | Question | Expression | Ratio | Formula
"""A question: text such as "P(a | b)" or "P(a) - P(b)", a query, `P(a, given=b)`, or a formula whose
probability is meant."""

GivenHere: TypeAlias = str | Given
"""What is given: a formula, text such as "a and not b", or {"a": True, "Color": "red"}."""

OTHER_FORMATS = (".uai", ".bif")

FEW_INSTANCES = 500
"""A theory with more instances of rules is first asked around the atoms of a question."""

MANY_INSTANCES = 50_000
"""A theory with more instances of rules is not grounded whole for a question."""

PROPAGATION_TOLERANCE = 1e-7
"""Messages that change by less than this have converged."""


def parse(text: str, *, data: Data | None = None) -> LCN:
    """Read an LCN from text, its domains and relations extended by data."""
    if not isinstance(text, str):
        raise LanguageError(
            f"{text!r} is no text", advice='Write parse("P(a) >= 0.3") or LCN.of(P(a) >= 0.3).'
        )
    library = library_of(data)
    return _complete(read(text, library=library), data, library)


def load(path: str | Path, *, data: Data | None = None) -> LCN:
    """Read an LCN from a file and the files it includes; also from a .uai or .bif file."""
    if not isinstance(path, (str, Path)):
        raise LanguageError(f"{path!r} is no path", advice='Write load("network.lcn").')
    if Path(path).suffix.lower() in OTHER_FORMATS:
        from credalog.text import readers

        return LCN.from_network(readers.read(path))
    library = library_of(data)
    return _complete(read_file(path, library=library), data, library)


def _complete(theory: Theory, data: Data | None, library: Library = NOWHERE) -> LCN:
    lcn = LCN(theory if data is None else extended(theory, data, library=library))
    lcn.check()
    return lcn


@dataclass(frozen=True, repr=False, eq=False)
class LCN:
    """A Logical Credal Network: a theory, its ground network, and what follows from it.

    Two are equal when they say the same in the same words, wherever they were written. A network that was
    read from a file of another format is held as it is: it is ground already.
    """

    stated: Theory | Network
    _lock: RLock = field(default_factory=RLock, init=False, compare=False, repr=False)
    """Held while something is kept for later questions, so that threads may share an LCN."""

    def __post_init__(self) -> None:
        if not isinstance(self.stated, Theory | Network):
            raise LanguageError(
                f"{self.stated!r} is no theory",
                advice='Write parse("P(a) >= 0.3"), load("network.lcn") or LCN.of(P(a) >= 0.3).',
            )

    # ---- making one -----------------------------------------------------------------------------------

    @classmethod
    def of(cls, *sentences: Sentence | Contrast | Stated | str) -> LCN:
        """Build an LCN from sentences: LCN.of(P(a) >= 0.3, P(b, given=a).between(0.1, 0.2))."""
        return cls(Theory()).with_sentences(*sentences)

    @classmethod
    def structure(cls, parents: Mapping[str, Sequence[str]], data: Frame) -> LCN:
        """Hold a structure that wants its numbers: the parents of each variable, values from a table."""
        from credalog.learning.structure import structure_of_parents

        return cls(structure_of_parents(parents, sheet_of(data)))

    @classmethod
    def from_network(cls, network: Network) -> LCN:
        """Hold a ground network."""
        return cls(network)

    def with_sentences(self, *sentences: Sentence | Contrast | Stated | str) -> LCN:
        """Return this LCN with more sentences, or more text in the .lcn language."""
        theory, pending = self.theory, list[Sentence | Contrast]()
        for added in sentences:
            if isinstance(added, str):
                theory, pending = read(added, onto=with_rules(theory, pending)), []
            else:
                pending.append(sentence_of(added))
        theory = with_rules(theory, pending)
        _check_labels(theory)
        # What was there before was checked before: only the new sentences are, so that a copy is cheap.
        added_rules = theory.rules[len(self.theory.rules) :]
        LCN(replace(theory, rules=added_rules, independences=(), queries=(), evidence=())).check()
        return LCN(theory)

    def with_evidence(self, *observed: GivenHere) -> LCN:
        """Return this LCN with more formulas observed to be true."""
        patterns = [read_formula(o) if isinstance(o, str) else lifted(self._given(o)) for o in observed]
        added = tuple(Evidence(pattern) for pattern in patterns)
        return _complete(replace(self.theory, evidence=self.theory.evidence + added), None)

    def with_data(self, data: Data) -> LCN:
        """Return this LCN with its domains, relations and functions extended."""
        return _complete(self.theory, data)

    def check(self) -> None:
        """Complain about names, arities and sorts that do not fit; a domain may still wait for data."""
        if isinstance(self.stated, Theory) and not self.stated.is_open:
            self._grounder.check()

    # ---- what it says ---------------------------------------------------------------------------------

    def ground(self, *, limit: int | None = None) -> Network:
        """Return the ground network, built once; refuse if it has more sentences than the limit.

        Without a limit that is two million, unless a larger one was agreed to before.
        """
        if limit is not None:
            _count(limit, "limit")
        with self._lock:
            if "_network" not in self.__dict__:
                is_ground = isinstance(self.stated, Network)
                self.__dict__["_network"] = (
                    self.stated if is_ground else self._grounder.network(limit or LIMIT)
                )
        network: Network = self.__dict__["_network"]
        if limit is not None and (count := instance_count(network)) > limit:
            raise GroundingTooLarge(
                f"the theory grounds to {count:,} sentences; the limit is {limit:,}",
                advice="Add guards, make the domains smaller, or raise the limit.",
            )
        return network

    @property
    def variables(self) -> Sequence[Variable]:
        """Return the ground variables."""
        return self.ground().variables

    @property
    def sentences(self) -> Sequence[Sentence]:
        """Return the ground sentences."""
        return self.ground().sentences

    @cached_property
    def queries(self) -> tuple[Question, ...]:
        """Return the queries that the text asks."""
        return self._grounder.queries()

    @cached_property
    def evidence(self) -> Formula:
        """Return what was observed, as one formula; every query is conditioned on it."""
        return self._grounder.evidence()

    @cached_property
    def graph(self) -> DependencyGraph:
        """Return the dependency graph."""
        return dependency_graph(self.ground())

    def independences(self) -> Iterator[Independence]:
        """Yield the independences that the Markov condition implies."""
        return independences(self.graph)

    def formula(self, text: str | Formula) -> Formula:
        """Return the ground formula that a text, or a formula built in Python, denotes here."""
        if not isinstance(text, str):
            return self._given(text)
        return self._grounder.formula(read_formula(text), text=text)

    def variable(self, named: str | Variable) -> Variable:
        """Return the ground variable of a name."""
        name = str(named)
        if name not in self._by_name:
            name = name.replace(" ", "")
        if name not in self._by_name:
            raise UnknownName(
                f"there is no variable {name}",
                advice=nearest(name, self._by_name) or "{} lists all variables.",
                remedies=(Ask("graph FILE", "lcn.variables"),),
            )
        return self._by_name[name]

    def unparse(self) -> str:
        """Return the LCN as text that reads back as the same."""
        return unparse(self.theory)

    def widen(
        self, *, by: Number | None = None, contaminate: Number | None = None, zeros: bool = False
    ) -> LCN:
        """Return the ground network with every probability an interval: off by so much, or by a share of it.

        What is impossible or certain stays so, unless zeros are to be widened, too.
        """
        from credalog.network.imprecision import Imprecision, widened

        amount = Imprecision.of(by=by, contaminate=contaminate, zeros=zeros)
        network = widened(self.ground(), self.graph, amount)
        if isinstance(self.stated, Network):
            return LCN(network)
        return LCN(theory_of(network, evidence=self.evidence, queries=self.queries))

    # ---- numbers from data ----------------------------------------------------------------------------

    @property
    def wanted(self) -> int:
        """Return how many statements still want their numbers from data."""
        if isinstance(self.stated, Network):
            return 0
        return sum(is_wanted(rule) for rule in self.stated.rules)

    def learn(
        self,
        data: Frame,
        *,
        method: str = "dirichlet",
        s: Number | None = None,
        confidence: Number | None = None,
        simultaneous: str | None = None,
        columns: Mapping[str, str] | None = None,
        missing: Iterable[str] = (),
        report: Callable[[str], None] | None = None,
    ) -> LCN:
        """Return this LCN with an interval for every `?`, learned from a table of observations.

        Of a network read from a .bif or .uai file only the structure counts. `columns` names the columns of
        variables that have another heading, `missing` more words for a missing value; `report` is told where
        the data say little.
        """
        from credalog.learning.counting import Observations
        from credalog.learning.filling import learned
        from credalog.learning.intervals import Recipe
        from credalog.learning.structure import structure_of_network

        recipe = Recipe.of(method, s=s, confidence=confidence, simultaneous=simultaneous)
        theory = self.stated if isinstance(self.stated, Theory) else structure_of_network(self.stated)
        observations = Observations(sheet_of(data), dict(columns or {}), tuple(missing))
        found = learned(theory, observations, recipe)
        if report is not None:
            for note in found.notes:
                report(note)
        return _complete(found.theory, None)

    def written(self, form: str = "lcn") -> str:
        """Return this LCN as text: "lcn", or "v-credal", "h-credal", "bayes" or "bif" of a credal network."""
        if form == "lcn":
            return self.unparse()
        from credalog.show.formats import FORMS, formatted

        return formatted(self.ground(), _named(form, FORMS, "form"))

    # ---- what can be asked ----------------------------------------------------------------------------
    #
    # A new kind of question is one more method here: it makes the options and the ground query, and
    # hands both to the module of credalog.questions or credalog.methods that answers it.

    def asked(self, asked: Asked) -> Question:
        """Return the ground question that is asked, conditioned on the evidence: a probability or more."""
        if isinstance(asked, str):
            return self._ground_query(read_query(asked), asked)
        return self._in_this_network(query_of(asked))

    def question(self, asked: Asked) -> Query:
        """Return the ground query that is asked, conditioned on the evidence; refuse what is not one."""
        question = self.asked(asked)
        if not isinstance(question, Query):
            raise CredalogError(
                f"{question} is not one probability", advice="Ask for the probabilities one by one: P(a | b)."
            )
        return question

    def _in_this_network(self, question: Question) -> Question:
        """Return a question built in Python, over the variables of this network."""
        match question:
            case Query(claim, given):
                return Query(self._resolved(claim), self._observed(given))
            case Quotient(over, under):
                return Quotient(self._summed(over), self._summed(under))
            case Linear():
                return self._summed(question)

    def _summed(self, asked: Linear) -> Linear:
        return replace(asked, terms=tuple(map(self._summand, asked.terms)))

    def _summand(self, term: Summand) -> Summand:
        claim = Mean(self.variable(term.claim.variable)) if isinstance(term.claim, Mean) else term.claim
        resolved = claim if isinstance(claim, Mean) else self._resolved(claim)
        return Summand(term.weight, resolved, self._observed(term.given))

    def statement(self, text: str) -> tuple[Question, Order, Fraction]:
        """Return what a statement such as P(a | b) >= 0.5 compares: the ground question, and with what."""
        read = read_threshold(text)
        return self._ground_query(read.asked, text), read.order, read.number

    def _ground_query(self, rule: AskedRule, text: str) -> Question:
        """Return the ground question that a text asks, conditioned on the evidence."""
        with self._lock:
            (query,) = self._grounder.ground_queries(rule, text)
        if isinstance(query, Query):
            return replace(query, given=self._with_evidence(query.given))
        return query.observing(self.evidence)

    def _resolved(self, formula: Formula) -> Formula:
        """Return a formula built in Python, over the variables of this network.

        Only one with a variable that the network does not mention, such as the mirror image of a symmetric
        atom, has to be looked up.
        """
        check_depth(formula)
        if not self._is_large and self._mentioned.issuperset(scope(formula)):
            return formula
        with self._lock:
            return self._grounder.formula(lifted(formula), text=unparse_formula(formula))

    def _observed(self, given: GivenHere) -> Formula:
        """Return all that was observed: what is given now, and the evidence of the text."""
        return self._with_evidence(self.formula(given) if isinstance(given, str) else self._given(given))

    def _given(self, given: Given) -> Formula:
        """Return what is given in Python as one formula of this network."""
        if isinstance(given, Mapping):
            return conjunction(self._seen(*one) for one in given.items())
        return self._resolved(condition(given))

    def _seen(self, named: str | Variable, value: str | bool) -> Formula:
        """Return one observation; the variable must be declared, but no sentence need mention it."""
        name = str(named)
        if not self._is_large and name.replace(" ", "") in self._by_name:
            return literal(self.variable(name), value)
        if not isinstance(value, bool):
            return self.formula(f"{name} = {written(str(value))}")
        return self.formula(name) if value else ~self.formula(name)

    def _with_evidence(self, given: Formula) -> Formula:
        """Return a condition joined with the evidence, each part once."""
        return _each_once(conjunction((given, self.evidence)))

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
    ) -> Answer:
        """Bound one probability, a sum of probabilities or a quotient of sums over all models.

        What is given joins the conditions of the question and the evidence.
        """
        options = _options(timeout, tolerance, markov, method=method, report=report)
        query = self.asked(asked)
        if given is not None:
            query = observing(query, self._observed(given))
        if not isinstance(query, Query):
            return self._combined(query, options)
        answer = self._answer(query, options)
        # What was never grounded whole has no certificate, nor have sentences across conditions.
        is_certain = not self._is_large and not self.ground().contrasts
        return replace(
            answer, origin=partial(self.certificate, markov=options.markov) if is_certain else None
        )

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

        added = frozenset(engine.network.variables) - self._mentioned - frozenset(answer.query.scope)
        return Plain(engine.network, added).restored(answer, replace(network, sentences=(), independences=()))

    def reasons(
        self, answer: Answer, *, timeout: float = 2.0, markov: MarkovName | Markov = Markov.LOCAL
    ) -> tuple[str, ...]:
        """Say why an answer is no narrower than [0, 1], where a reason can be found."""
        options = _options(timeout, TOLERANCE, markov)
        is_vacuous = answer.lower <= TOLERANCE and answer.upper >= 1.0 - TOLERANCE
        if not isinstance(answer.query, Query) or not is_vacuous or self._is_large:
            return ()
        from credalog.questions.vacuous import reasons

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
        from credalog.methods.answer import Answer
        from credalog.methods.cliques.models import explicit_model

        if not isinstance(answer, Answer):
            raise CredalogError(f"{answer!r} is no answer", advice="Give one of lcn.query(...).")
        is_upper = _named(end, get_args(EndName), "end") == "upper"
        witness = answer.upper_witness if is_upper else answer.lower_witness
        if witness is None:
            raise CredalogError(f"the {end} end has no witness", advice="Ask again with more time.")
        network = self._solvable(Markov.LOCAL, answer.query)
        said = network.about(v for factor in witness.factors for v in factor.block)
        options = _options(timeout, TOLERANCE, markov)
        return explicit_model(
            witness,
            said,
            dependency_graph(network),
            asked=answer.query.scope,
            markov=options.markov,
            budget=Budget.of(options.timeout),
        )

    def certificate(
        self, *results: Answer | Decision, markov: MarkovName | Markov = Markov.LOCAL, timeout: float = 30.0
    ) -> Certificate:
        """Return proofs of the bounds of results, and the models that attain them, for `credalog verify`.

        Without results it is about whether there is a model. The results were asked for under one Markov
        condition. `timeout` is for each bound; what could not be certified is in `missing`.
        """
        from credalog.questions.certificates import certify, certify_consistency

        options = _options(timeout, TOLERANCE, markov)
        sums = [result.query for result in results if not isinstance(result.query, Query)]
        if (sums and len(sums) == len(results)) or self.ground().contrasts:
            raise CredalogError(
                f"there are no certificates of {sums[0] if sums else 'sentences across conditions'} yet",
                advice="Certify answers for single probabilities, in a network without such sentences.",
            )
        single = [result for result in results if isinstance(result.query, Query)]
        engine = self._engine(options.markov, *(result.query for result in single))
        if engine.network is not self.ground():
            raise CredalogError(
                "a certificate is about the network, and a question is about atoms that it does not mention",
                advice="Certify answers about variables of which something is said.",
            )
        found = certify(engine, single, options) if single else certify_consistency(engine, options)
        left = (f"{asked} is not one probability: it has no certificate yet" for asked in sums)
        return replace(found, missing=(*found.missing, *left))

    def verify(self, path: str | Path, *, markov: MarkovName | None = None) -> tuple[str, ...]:
        """Check a certificate of this network; return what it proves, or raise with the step that fails."""
        from credalog.verify import lines_of, verify

        return tuple(verify(self.ground(), lines_of(str(path)), markov=markov))

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
        count = min(_count(jobs, "jobs"), os.cpu_count() or 1)
        options = _options(timeout, tolerance, markov, method=method, report=report if count == 1 else None)
        observed = self._observed(given)
        if method in PROPAGATIONS:
            return Marginals(self._propagated(observed, options))
        at_once = self._at_once(observed, options)
        asked = [Query(atom, observed) for atom in marginal_atoms(self.ground())]
        left = [query for query in asked if query not in at_once]
        if count > 1 and left:
            shared = _shared_out(self._solvable(options.markov, *left), left, options, count)
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
        return self._at_once(self._observed(None), _options(timeout, tolerance, markov, method=method))

    def _at_once(self, observed: Formula, options: Options) -> Mapping[Query, Answer]:
        from credalog.methods.answer import marginal_atoms

        atoms, pointwise = marginal_atoms(self.ground()), self._pointwise(observed, options)
        if pointwise is not None:
            return {Query(a, observed): answer for a, answer in zip(atoms, pointwise, strict=False)}

        engine = self._engine(options.markov, Query(TRUE, observed))
        found = engine.at_once(atoms, observed, options)
        return {Query(atom, observed): answer for atom, answer in found.items()}

    def _pointwise(self, observed: Formula, options: Options) -> tuple[Answer, ...] | None:
        """Find all marginals at once, without importing what only intervals need."""
        if any(sentence.lower != sentence.upper for sentence in self.ground().sentences):
            return None
        from credalog.methods.answer import marginal_atoms
        from credalog.methods.compiled import Compiled
        from credalog.methods.points import answers as points

        if options.method not in ("auto", "points"):
            return None
        compiled = Compiled(self._solvable(options.markov, Query(TRUE, observed)), options.markov)
        atoms = marginal_atoms(self.ground())
        # Where there is no time for it, nobody need try again.
        found: tuple[Answer, ...] | None = ()
        with suppress(OutOfTime), spending(Budget.of(options.timeout * len(atoms))):
            if compiled.credal is None:
                return None
            found = points.marginals(compiled.credal, atoms, observed, options)
        return found

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
        from credalog.methods.intervals import propagate

        options = _options(timeout, tolerance, markov)
        if window:
            _count(window, "window")
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
        variables: Iterable[str | Variable] | None = None,
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

        options = _options(timeout, tolerance, markov, report=report)
        _count(top, "top")
        observed = self._observed(given)
        chosen = None if variables is None else [self.variable(v) for v in _several(variables)]
        if chosen is None and self.ground().contrasts:
            # Variables that stand for comparisons across conditions are nobody's to assign.
            chosen = [v for v in self.variables if v not in scope(observed)]
        engine = self._engine(options.markov, Query(TRUE, observed))
        rule = Criterion(_named(criterion, get_args(CriterionName), "criterion"))
        return best_assignments(engine, chosen, observed, options, criterion=rule, alpha=alpha, top=top)

    def decide(
        self,
        statement: str | Sentence | Contrast | Stated,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        report: Report | None = None,
    ) -> Decision:
        """Tell whether a statement such as P(a | b) >= 0.5 holds in every model, in none, or in some."""
        from credalog.questions.comparing import decided, decided_by

        options = _options(timeout, tolerance, markov, report=report)
        compared = self._compared(statement)
        if self._is_large and not isinstance(compared.asked, Query):
            return decided_by(compared, self._combined(compared.asked, options))
        if self._is_first_order and isinstance(compared.asked, Query):
            return self._decided_around(compared, options)
        return decided(self._engine(options.markov, compared.asked), compared, options)

    def _decided_around(self, compared: Statement, options: Options) -> Decision:
        from credalog.questions.lifted import decide as decide_around

        asked, relation, threshold = compared.asked, compared.relation, compared.threshold
        assert isinstance(asked, Query)
        whole = None if self._is_large else partial(self._engine, options.markov, asked)
        lifted = self._around(options.markov)
        return decide_around(lifted, asked, threshold, options, relation=relation, whole=whole)

    def decide_together(
        self,
        *statements: str | Sentence | Contrast | Stated,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> JointDecision:
        """Decide several statements one by one, and whether all of them hold at once."""
        from credalog.questions.comparing import decide_together

        options = _options(timeout, tolerance, markov)
        compared = [self._compared(statement) for statement in statements]
        if not compared:
            raise CredalogError("there is nothing to decide", advice='Give statements: "P(a) >= 0.5".')
        engine = self._engine(options.markov, *(one.asked for one in compared))
        return decide_together(engine, compared, options)

    def hold_together(
        self,
        decisions: Sequence[Decision],
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> JointDecision:
        """Tell whether statements that are decided one by one hold at once."""
        from credalog.questions.comparing import Statement, joined

        options = _options(timeout, tolerance, markov)
        engine = self._engine(options.markov, *(one.query for one in decisions))
        compared = [Statement(one.query, one.relation, one.threshold) for one in decisions]
        return joined(engine, compared, decisions, options)

    def _compared(self, statement: str | Sentence | Contrast | Stated) -> Statement:
        """Return a statement over the variables of this network."""
        from credalog.questions.comparing import Statement
        from credalog.questions.decide import Relation, statement_of

        if isinstance(statement, str):
            query, order, number = self.statement(statement)
            return Statement(query, Relation(order.value), number)
        asked, relation, threshold = statement_of(sentence_of(statement))
        return Statement(self.asked(asked), relation, threshold)

    def diagnose(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        weights: Mapping[str, float] | None = None,
    ) -> Diagnosis:
        """Decide whether there is a model; if not, name a minimal conflict and the cheapest repair.

        The weights say what widening a sentence costs, by its label or file; infinity forbids it.
        """
        from credalog.questions.diagnose import diagnose

        if weights is not None and not isinstance(weights, Mapping):
            raise CredalogError(f"{weights} are no weights", advice='Give them by name: {"expert 1": 2.0}.')
        options = _options(timeout, tolerance, markov)
        return diagnose(self._solvable(options.markov), options, weights=weights)

    def repairs(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        weights: Mapping[str, float] | None = None,
        most: int = 3,
    ) -> Repairs:
        """Find the cheapest repair of a contradiction, and runners-up to choose from."""
        from credalog.questions.mending import repairs

        options = _options(timeout, tolerance, markov)
        _count(most, "most")
        return repairs(self._solvable(options.markov), options, weights=weights, most=most)

    def mended(self, chosen: Repair) -> LCN:
        """Return this LCN with the bounds of a repair: ground, with its evidence and its queries."""
        from credalog.questions.mending import mended

        network = mended(self.ground(), chosen)
        return LCN(theory_of(network, evidence=self.evidence, queries=self.queries))

    def mended_text(self, chosen: Repair) -> str:
        """Return the text with the bounds of a repair: line by line as it was, where that is possible."""
        from credalog.questions.mending import mended, with_changes_in

        if len(self.theory.texts) == 1:
            ((file, text),) = self.theory.texts
            changed = with_changes_in(text, chosen.changes, file)
            if changed is not None and _grounds_to(changed, mended(self.ground(), chosen)):
                return changed
        return self.mended(chosen).unparse()

    def explain(
        self,
        asked: Asked,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        most: int = 20,
    ) -> Explanation:
        """Find the sentences that hold the ends of an interval; at most so many are tried."""
        from credalog.questions.influence import explain

        options = _options(timeout, tolerance, markov)
        _count(most, "most")
        query = self.asked(asked)
        if self._is_large and isinstance(query, Query):
            from credalog.questions.lifted import explain as explain_around

            return explain_around(self._around(options.markov), query, options, most=most)
        network, stated = self._solvable(options.markov, query), len(self.ground().sentences)
        return explain(network, query, options, most=most, stated=stated)

    def measure(
        self,
        asked: Asked,
        measured: Asked,
        *,
        within: Number,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> Measurement:
        """Bound a query as if another probability had been measured up to a precision, wherever it falls."""
        from credalog.questions.influence import measure

        options = _options(timeout, tolerance, markov)
        query, target = self.asked(asked), self.question(measured)
        precision = _precision(within)
        return measure(self._solvable(options.markov, query, target), query, target, precision, options)

    def rank(
        self,
        asked: Asked,
        *,
        within: Number = Fraction(1, 100),
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        most: int = 20,
    ) -> Ranking:
        """Rank what sentences bound by what measuring it would be worth to a question."""
        from credalog.questions.ranking import rank

        options = _options(timeout, tolerance, markov)
        _count(most, "most")
        query = self.asked(asked)
        return rank(self._solvable(options.markov, query), query, _precision(within), options, most=most)

    def maxent(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> MaximumEntropy:
        """Find the model of greatest entropy."""
        from credalog.questions.entropy import maximum_entropy

        options = _options(timeout, tolerance, markov)
        if self.ground().contrasts:
            # The entropy of the variables that stand for comparisons would be counted.
            raise CredalogError(
                "the greatest entropy is not found beside sentences across conditions",
                advice="Leave them out, or bound each of their probabilities by a sentence of its own.",
            )
        return maximum_entropy(self.ground(), options)

    # ---- kept between questions -----------------------------------------------------------------------

    @cached_property
    def theory(self) -> Theory:
        """Return what was stated as a theory."""
        return self.stated if isinstance(self.stated, Theory) else theory_of(self.stated)

    @cached_property
    def _grounder(self) -> Grounder:
        if isinstance(self.stated, Theory):
            return Grounder(self.stated)
        # Of a ground network, questions need to know no more than the names.
        return Grounder(Theory(tuple(declarations_of(self.stated.variables))))

    @cached_property
    def _engines(self) -> dict[Markov, Engine]:
        return {}

    @cached_property
    def _lifted(self) -> dict[Markov, Lifted]:
        return {}

    def _around(self, markov: Markov) -> Lifted:
        """Return the theory made ready for questions about a few of its atoms."""
        from credalog.methods.lifted.answering import Lifted

        with self._lock:
            return self._lifted.setdefault(markov, Lifted(self._grounder, markov))

    @cached_property
    def _is_first_order(self) -> bool:
        """Tell whether rules may have so many instances that a question is asked around its atoms first."""
        return isinstance(self.stated, Theory) and self._instances > FEW_INSTANCES

    @cached_property
    def _is_large(self) -> bool:
        """Tell whether the theory is not grounded whole for one question."""
        return isinstance(self.stated, Theory) and self._instances > MANY_INSTANCES

    @cached_property
    def _instances(self) -> int:
        """Return at most how many instances the rules with logical variables have."""
        if not isinstance(self.stated, Theory) or not all(rule.is_plain for rule in self.stated.rules):
            return 0
        return self._grounder.estimate if any(rule.prefix.binders for rule in self.stated.rules) else 0

    def _engine(self, markov: Markov, *queries: Question) -> Engine:
        """Return the engine of the network; variables that only the queries mention join it."""
        from credalog.methods.automatic import Engine

        if self._ground_with(*queries) is not self.ground():
            return Engine(self._solvable(markov, *queries), markov)
        with self._lock:
            if markov not in self._engines:
                self._engines[markov] = Engine(self._solvable(markov), markov)
            return self._engines[markov]

    def _solvable(self, markov: Markov, *queries: Question) -> Network:
        """Return the ground network with queries, its comparisons across conditions put under single ones."""
        network = self._ground_with(*queries)
        if not network.contrasts:
            return network
        from credalog.methods.reduction import plain

        return plain(network, markov).network

    def _ground_with(self, *queries: Question) -> Network:
        """Return the ground network, joined by variables that only queries mention."""
        network = self.ground()
        asked = dict.fromkeys(variable for query in queries for variable in query.scope)
        added = tuple(variable for variable in asked if variable not in self._mentioned)
        return replace(network, variables=(*network.variables, *added)) if added else network

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        named = {variable.name: variable for variable in self.variables}
        return {variable.name.replace(" ", ""): variable for variable in self.variables} | named

    @cached_property
    def _mentioned(self) -> frozenset[Variable]:
        return frozenset(self.ground().variables)

    # ---- as a value -----------------------------------------------------------------------------------

    @cached_property
    def _hash(self) -> int:
        return hash(self.theory)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LCN):
            return NotImplemented
        return self.stated == other.stated or self.theory == other.theory

    def __str__(self) -> str:
        return self.unparse()

    def __repr__(self) -> str:
        said = len(self.stated.sentences if isinstance(self.stated, Network) else self.stated.rules)
        return f"<LCN of {said} sentence{'' if said == 1 else 's'}>"

    def __reduce__(self) -> tuple[type[LCN], tuple[Theory | Network]]:
        # What is kept between questions does not travel to other processes.
        return (LCN, (self.stated,))


def _precision(within: Number) -> Fraction:
    precision = exact(within)
    if not 0 < precision <= 1:
        raise CredalogError(f"within={within} is no precision", advice="Give one: within=0.01.")
    return precision


def _grounds_to(text: str, network: Network) -> bool:
    """Tell whether a text says what a ground network does."""
    try:
        return parse(text).ground() == network
    except CredalogError:
        return False


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
        answer = known.get(query) or engine().query(query, options)
        yield answer
        if answer.interrupted:
            return


def _each_once(condition: Formula) -> Formula:
    """Return a conjunction without repeated parts."""
    return conjunction(dict.fromkeys(condition.operands)) if isinstance(condition, And) else condition


def _options(
    timeout: float,
    tolerance: float,
    markov: MarkovName | Markov,
    *,
    method: str = "auto",
    report: Report | None = None,
) -> Options:
    """Return options that make sense, or say which does not."""
    from credalog.methods.answer import Options

    condition = Markov(_named(markov, get_args(MarkovName), "Markov condition"))
    return Options(tolerance, timeout, _named(method, METHODS, "method"), condition, report).checked()


def _named(chosen: object, known: tuple[str, ...], what: str) -> str:
    """Return a name that is known, or that of a member of an enumeration, and complain of any other."""
    name = chosen.value if isinstance(chosen, Enum) else chosen
    if name not in known:
        raise UnknownName(f"there is no {what} {name}", advice=f"Choose one of {', '.join(known)}.")
    return str(name)


def _count(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise CredalogError(f"{name}={number} is no count", advice=f"Give 1 or more: {name}=1.")
    return number


def _several(variables: Iterable[str | Variable]) -> Iterable[str | Variable]:
    """Return variables one by one, and a single one as such: Python would take its name apart."""
    return [variables] if isinstance(variables, (str, Variable)) else variables


def _check_labels(theory: Theory) -> None:
    counts = Counter(theory.labels())
    if repeated := next((label for label, count in counts.items() if count > 1), None):
        raise LanguageError(
            f"the label {repeated} is used twice", advice="Give each sentence its own label, or none."
        )
