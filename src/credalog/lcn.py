"""The object a user holds: a Logical Credal Network, and every question that can be asked of it.

Input: text, files, or sentences built in Python. Output: `LCN`, immutable and compared by content. Its
methods only delegate: each question is answered by the module that is named after it, which is imported
when the question is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from credalog.errors import LanguageError, UnknownName
from credalog.grounding import LIMIT, Grounder, nearest
from credalog.network.formulas import TRUE, Formula, Variable, conjunction, scope
from credalog.network.graph import DependencyGraph, Markov, dependency_graph, independences
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.numbers.tolerances import TOLERANCE
from credalog.text import (
    Data,
    check_depth,
    declarations_of,
    extended,
    read,
    read_file,
    read_formula,
    read_query,
    read_threshold,
    theory_of,
    unparse,
    unparse_formula,
    with_rules,
)
from credalog.text.builder import Expression, Stated, query_of, sentence_of
from credalog.theory import Evidence, QueryRule, Theory, lifted

if TYPE_CHECKING:
    from credalog.methods.answer import Answer, Options, Report
    from credalog.methods.automatic import Engine
    from credalog.methods.intervals import Propagation, Round
    from credalog.questions.decide import Decision
    from credalog.questions.diagnose import Diagnosis
    from credalog.questions.entropy import MaximumEntropy
    from credalog.questions.influence import Explanation, Measurement
    from credalog.questions.map import BestAssignments, Criterion

__all__ = ["LCN", "load", "parse"]

Asked: TypeAlias = str | Query | Expression
"""A question: text such as "P(a | b)", a query, or `P(a, given=b)`."""

OTHER_FORMATS = (".uai", ".bif")

PROPAGATION_TOLERANCE = 1e-7
"""Messages that change by less than this have converged."""


def parse(text: str, *, data: Data | None = None) -> LCN:
    """Read an LCN from text, its domains and relations extended by data."""
    return _complete(read(text), data)


def load(path: str | Path, *, data: Data | None = None) -> LCN:
    """Read an LCN from a file and the files it includes; also from a .uai or .bif file."""
    if Path(path).suffix.lower() in OTHER_FORMATS:
        from credalog.text import readers

        return LCN.from_network(readers.read(path))
    return _complete(read_file(path), data)


def _complete(theory: Theory, data: Data | None) -> LCN:
    lcn = LCN(theory if data is None else extended(theory, data))
    lcn.check()
    return lcn


@dataclass(frozen=True, repr=False, eq=False)
class LCN:
    """A Logical Credal Network: a theory, its ground network, and what follows from it.

    Two are equal when they say the same in the same words, wherever they were written. A network that was
    read from a file of another format is held as it is: it is ground already.
    """

    stated: Theory | Network

    # ---- making one -----------------------------------------------------------------------------------

    @classmethod
    def of(cls, *sentences: Sentence | Stated) -> LCN:
        """Build an LCN from sentences: LCN.of(P(a) >= 0.3, P(b, given=a).between(0.1, 0.2))."""
        return cls(Theory()).with_sentences(*sentences)

    @classmethod
    def from_network(cls, network: Network) -> LCN:
        """Hold a ground network."""
        return cls(network)

    def with_sentences(self, *sentences: Sentence | Stated | str) -> LCN:
        """Return this LCN with more sentences, or more text in the .lcn language."""
        theory, pending = self.theory, list[Sentence]()
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

    def with_evidence(self, *observed: Formula | str) -> LCN:
        """Return this LCN with more formulas observed to be true."""
        check_depth(*(o for o in observed if not isinstance(o, str)))
        patterns = [read_formula(o) if isinstance(o, str) else lifted(o) for o in observed]
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

    def ground(self, *, limit: int = LIMIT) -> Network:
        """Return the ground network, built once; refuse if it has more sentences than the limit."""
        if isinstance(self.stated, Network):
            return self.stated
        if "_network" not in self.__dict__:
            self.__dict__["_network"] = self._grounder.network(limit)
        network: Network = self.__dict__["_network"]
        return network

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Return the ground variables."""
        return self.ground().variables

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """Return the ground sentences."""
        return self.ground().sentences

    @cached_property
    def queries(self) -> tuple[Query, ...]:
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

    def formula(self, text: str) -> Formula:
        """Return the ground formula that a text denotes here."""
        return self._grounder.formula(read_formula(text), text=text)

    def variable(self, named: str | Variable) -> Variable:
        """Return the ground variable of a name."""
        name = named if isinstance(named, str) else named.name
        if name not in self._by_name:
            name = name.replace(" ", "")
        if name not in self._by_name:
            advice = nearest(name, self._by_name) or "`credalog graph FILE` lists all variables."
            raise UnknownName(f"there is no variable {name}", advice=advice)
        return self._by_name[name]

    def unparse(self) -> str:
        """Return the LCN as text that reads back as the same."""
        return unparse(self.theory)

    # ---- what can be asked ----------------------------------------------------------------------------
    #
    # A new kind of question is one more method here: it makes the options and the ground query, and
    # hands both to the module of credalog.questions or credalog.methods that answers it.

    def question(self, asked: Asked) -> Query:
        """Return the ground query that is asked, conditioned on the evidence."""
        if isinstance(asked, str):
            return self._ground_query(read_query(asked), asked)
        query = query_of(asked)
        return Query(self._resolved(query.claim), self._observed(query.given))

    def _ground_query(self, rule: QueryRule, text: str) -> Query:
        """Return the ground query that a text asks, conditioned on the evidence."""
        (query,) = self._grounder.ground_queries(rule, text)
        return replace(query, given=conjunction((query.given, self.evidence)))

    def _resolved(self, formula: Formula) -> Formula:
        """Return a formula built in Python, over the variables of this network.

        Only one with a variable that the network does not mention, such as the mirror image of a symmetric
        atom, has to be looked up.
        """
        check_depth(formula)
        if self._mentioned.issuperset(scope(formula)):
            return formula
        return self._grounder.formula(lifted(formula), text=unparse_formula(formula))

    def _observed(self, given: Formula | str) -> Formula:
        """Return all that was observed: what is given now, and the evidence of the text."""
        formula = self.formula(given) if isinstance(given, str) else self._resolved(given)
        return conjunction((formula, self.evidence))

    def query(
        self,
        asked: Asked,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        method: str = "auto",
        markov: str | Markov = Markov.LOCAL,
        jobs: int = 1,
        report: Report | None = None,
    ) -> Answer:
        """Bound one probability over all models; a single question is the work of one process."""
        from credalog.methods.answer import Options

        options = Options(tolerance, timeout, method, _condition(markov), report)
        query = self.question(asked)
        return self._engine(options.markov, query).query(query, options)

    def marginals(
        self,
        *,
        given: Formula | str = TRUE,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        method: str = "auto",
        markov: str | Markov = Markov.LOCAL,
        jobs: int = 1,
        report: Report | None = None,
    ) -> tuple[Answer, ...]:
        """Bound the probability of every variable, given the evidence; the timeout is for each.

        With several jobs, the variables are shared out among processes.
        """
        from credalog.methods import automatic as exact
        from credalog.methods.answer import Options

        options = Options(tolerance, timeout, method, _condition(markov), report if jobs == 1 else None)
        observed = self._observed(given)
        if jobs == 1:
            return exact.marginals(self.ground(), options, observed)
        asked = [Query(atom, observed) for atom in exact.marginal_atoms(self.ground())]
        return _shared_out(self.ground(), asked, options, jobs)

    def propagate(
        self,
        *,
        variant: str = "bp",
        window: int = 0,
        given: Formula | str = TRUE,
        schedule: str = "residual",
        tolerance: float = PROPAGATION_TOLERANCE,
        markov: str | Markov = Markov.LOCAL,
        start: Propagation | None = None,
        report: Callable[[Round], None] | None = None,
    ) -> Propagation:
        """Propagate intervals, given the evidence: "bp" as the paper does, "sound" with bounds that hold."""
        from credalog.methods.intervals import propagate

        return propagate(
            self.ground(),
            variant=variant,
            window=window,
            evidence=self._observed(given),
            schedule=schedule,
            markov=_condition(markov),
            tolerance=tolerance,
            start=start,
            report=report,
        )

    def map(
        self,
        variables: Iterable[str | Variable] | None = None,
        *,
        given: Formula | str = TRUE,
        criterion: str | Criterion = "maximax",
        alpha: float = 0.5,
        top: int = 1,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: str | Markov = Markov.LOCAL,
        report: Report | None = None,
    ) -> BestAssignments:
        """Find the assignments whose posterior intervals are best, of some variables or of all unobserved."""
        from credalog.methods.answer import Options
        from credalog.questions.map import best_assignments, read_criterion

        options = Options(tolerance, timeout, markov=_condition(markov), report=report)
        observed = self._observed(given)
        chosen = None if variables is None else [self.variable(v) for v in variables]
        engine = self._engine(options.markov, Query(TRUE, observed))
        rule = read_criterion(criterion)
        return best_assignments(engine, chosen, observed, options, criterion=rule, alpha=alpha, top=top)

    def decide(
        self,
        statement: str,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: str | Markov = Markov.LOCAL,
        report: Report | None = None,
    ) -> Decision:
        """Tell whether a statement such as P(a | b) >= 0.5 holds in every model, in none, or in some."""
        from credalog.methods.answer import Options
        from credalog.questions.decide import Relation, decide

        options = Options(tolerance, timeout, markov=_condition(markov), report=report)
        read = read_threshold(statement)
        query = self._ground_query(read.asked, statement)
        engine = self._engine(options.markov, query)
        relation = Relation(read.order.value)
        return decide(engine, query, float(read.number), options, relation=relation)

    def diagnose(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: str | Markov = Markov.LOCAL,
        weights: Mapping[str, float] | None = None,
    ) -> Diagnosis:
        """Decide whether there is a model; if not, name a minimal conflict and the cheapest repair.

        The weights say what widening a sentence costs, by its label or file; infinity forbids it.
        """
        from credalog.methods.answer import Options
        from credalog.questions.diagnose import diagnose

        options = Options(tolerance, timeout, markov=_condition(markov))
        return diagnose(self.ground(), options, weights=weights)

    def explain(
        self,
        asked: Asked,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: str | Markov = Markov.LOCAL,
        most: int = 20,
    ) -> Explanation:
        """Find the sentences that hold the ends of an interval; at most so many are tried."""
        from credalog.methods.answer import Options
        from credalog.questions.influence import explain

        options = Options(tolerance, timeout, markov=_condition(markov))
        query = self.question(asked)
        return explain(self._ground_with(query), query, options, most=most)

    def measure(
        self,
        asked: Asked,
        measured: Asked,
        *,
        within: float | Fraction,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: str | Markov = Markov.LOCAL,
    ) -> Measurement:
        """Bound a query as if another probability had been measured up to a precision, wherever it falls."""
        from credalog.methods.answer import Options
        from credalog.questions.influence import measure

        options = Options(tolerance, timeout, markov=_condition(markov))
        query, target = self.question(asked), self.question(measured)
        precision = within if isinstance(within, Fraction) else Fraction(str(within))
        return measure(self._ground_with(query, target), query, target, precision, options)

    def maxent(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: str | Markov = Markov.LOCAL,
    ) -> MaximumEntropy:
        """Find the model of greatest entropy."""
        from credalog.methods.answer import Options
        from credalog.questions.entropy import maximum_entropy

        return maximum_entropy(self.ground(), Options(tolerance, timeout, markov=_condition(markov)))

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

    def _engine(self, markov: Markov, query: Query) -> Engine:
        """Return the engine of the network; a variable that only the query mentions joins it."""
        from credalog.methods.automatic import Engine

        network = self._ground_with(query)
        if network is not self.ground():
            return Engine(network, markov)
        if markov not in self._engines:
            self._engines[markov] = Engine(network, markov)
        return self._engines[markov]

    def _ground_with(self, *queries: Query) -> Network:
        """Return the ground network, joined by variables that only queries mention."""
        network = self.ground()
        asked = dict.fromkeys(variable for query in queries for variable in query.scope)
        added = tuple(variable for variable in asked if variable not in self._mentioned)
        return replace(network, variables=network.variables + added) if added else network

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


def _shared_out(network: Network, asked: list[Query], options: Options, jobs: int) -> tuple[Answer, ...]:
    """Answer every jobs-th question in one process, and put the answers into the order of the questions."""
    from joblib import Parallel, delayed

    shares = Parallel(n_jobs=jobs)(delayed(_answers)(network, asked[i::jobs], options) for i in range(jobs))
    return tuple(shares[i % jobs][i // jobs] for i in range(len(asked)))


def _answers(network: Network, asked: list[Query], options: Options) -> list[Answer]:
    from credalog.methods.automatic import Engine

    engine = Engine(network, options.markov)
    return [engine.query(query, options) for query in asked]


def _condition(markov: str | Markov) -> Markov:
    try:
        return Markov(markov)
    except ValueError:
        known = ", ".join(member.value for member in Markov)
        raise LanguageError(
            f"there is no Markov condition {markov}", advice=f"Choose one of {known}."
        ) from None


def _check_labels(theory: Theory) -> None:
    counts = Counter(theory.labels())
    if repeated := next((label for label, count in counts.items() if count > 1), None):
        raise LanguageError(
            f"the label {repeated} is used twice", advice="Give each sentence its own label, or none."
        )
