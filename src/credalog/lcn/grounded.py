"""What is stated, and its ground form.

Input: a theory, or a network that is ground already; what a user asks, as text, Python's formulas and
observations. Output: `Grounded`, which computes once, and keeps for later questions, the ground network, its
graph, and the engines that answer; `Wording`, which makes ground questions, conditioned on the evidence.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from credalog.choices import METHODS, MarkovName
from credalog.errors import Ask, CredalogError, GroundingTooLarge, LanguageError, Place, UnknownName
from credalog.grounding.network import LIMIT, Grounder, instance_count
from credalog.grounding.terms import nearest
from credalog.network.columns import Variables
from credalog.network.expressions import Linear, Mean, Question, Quotient, Summand, observing
from credalog.network.formulas import And, Formula, Is, Variable, conjunction, scope
from credalog.network.graph import DependencyGraph, Markov, dependency_graph, independences
from credalog.network.sentences import Independence, Network, Number, Query, Sentence, exact
from credalog.text.builder import (
    Expression,
    Given,
    Ratio,
    check_depth,
    condition,
    literal,
    observations,
    plain,
    query_of,
)
from credalog.text.lifting import declarations_of, theory_of
from credalog.text.parse import read_formula, read_query, read_threshold
from credalog.text.unparse import unparse_formula
from credalog.theory import AskedRule, Evidence, Order, Theory, lifted, written
from credalog.theory.rules import kinds

if TYPE_CHECKING:
    from credalog.methods.answer import Options, Report
    from credalog.methods.automatic import Engine
    from credalog.methods.lifted.answering import Lifted
    from credalog.program.workers import Workers

FEW_INSTANCES = 500
"""A theory with more instances of rules is first asked around the atoms of a question."""

MANY_INSTANCES = 50_000
"""A theory with more instances of rules is not grounded whole for a question."""

SEPARATORS = re.compile(r"[\s,;|/&+]+(?:and\s+)?(?![^()]*\))")
"""What people write between names that are to be given one by one."""

DECORATED = re.compile(r"P\s*\((.*)\)|(?:!|~|¬|not\s)(.*)|(.*?)\s*[=:].*")
"""A variable with something around it: in a probability, denied, or with a value."""


@dataclass(frozen=True, repr=False, eq=False)
class Grounded:
    """A theory or a ground network, and what is computed of it once."""

    stated: Theory | Network
    observed: tuple[Evidence, ...] = ()
    """What was observed of a network that is held as it is; a theory holds its own."""
    _lock: RLock = field(default_factory=RLock, init=False, compare=False, repr=False)
    """Held while something is kept for later questions, so that threads may share an LCN."""

    def __post_init__(self) -> None:
        if not isinstance(self.stated, Theory | Network):
            raise LanguageError(
                f"{self.stated!r} is no theory",
                advice='Write parse("P(a) >= 0.3"), load("network.lcn") or LCN.of(P(a) >= 0.3).',
            )

    def check(self) -> None:
        """Complain about names, arities and sorts that do not fit; a domain may still wait for data."""
        if self.observed or (isinstance(self.stated, Theory) and not self.stated.is_open):
            self._grounder.check()

    def ground(self, *, limit: int | None = None) -> Network:
        """Return the ground network, built once; refuse if it has more sentences than the limit.

        Without a limit that is two million, unless a larger one was agreed to before.
        """
        if limit is not None:
            counted(limit, "limit")
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

    def variable(self, named: str | Variable) -> Variable:
        """Return the ground variable of a name."""
        name = str(named)
        known = self.variables
        if isinstance(known, Variables) and (number := known.find(name)) is not None:
            return known[number]
        if name not in self._by_name:
            name = name.replace(" ", "")
        if name not in self._by_name:
            raise _no_variable(str(named), [variable.name for variable in known])
        return self._by_name[name]

    # ---- kept between questions -----------------------------------------------------------------------

    @cached_property
    def theory(self) -> Theory:
        """Return what was stated as a theory."""
        if isinstance(self.stated, Theory):
            return self.stated
        return replace(theory_of(self.stated), evidence=self.observed)

    @cached_property
    def _grounder(self) -> Grounder:
        if isinstance(self.stated, Theory):
            return Grounder(self.stated)
        # Of a ground network, questions need to know no more than the names and what was observed.
        names = tuple(declarations_of(self.stated.variables))
        return Grounder(Theory(names, evidence=self.observed))

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

    @property
    def is_large(self) -> bool:
        """Tell whether the network is too large to be grounded whole: it is asked around each question."""
        return self._is_large

    @cached_property
    def _is_large(self) -> bool:
        """Tell whether the theory is not grounded whole for one question."""
        return isinstance(self.stated, Theory) and self._instances > MANY_INSTANCES

    @cached_property
    def _instances(self) -> int:
        """Return at most how many instances the rules with logical variables have."""
        if not isinstance(self.stated, Theory):
            return 0
        rules = tuple(kinds(self.stated.rules))
        if not all(rule.is_plain for rule in rules) or not any(rule.prefix.binders for rule in rules):
            return 0
        return self._grounder.estimate

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
    def _mentioned(self) -> Mapping[Variable, int]:
        return self.ground().numbering()


def _no_variable(named: str, known: Collection[str]) -> UnknownName:
    """Return the complaint about a name that no variable has, and what was meant by it, if that is seen."""
    message = f"there is no variable {named}" if named.strip() else "a variable has an empty name"
    parts = [part for part in SEPARATORS.split(named) if part]
    if len(parts) > 1 and all(part in known for part in parts):
        listed = ", ".join(f'"{part}"' for part in parts)
        told = f"Name them one by one, with blanks between them: {shlex.join(parts)}"
        return UnknownName(message, advice=f"{told}; in Python as a list: [{listed}].")
    inside = DECORATED.fullmatch(named.strip())
    alone = next(filter(None, inside.groups()), "").strip() if inside else ""
    if alone in known:
        return UnknownName(message, advice=f"Name the variable alone: {alone}.")
    if near := nearest(named, known):
        return UnknownName(message, advice=near)
    everything = Ask("graph FILE", "lcn.variables")
    return UnknownName(message, advice="{} lists all variables.", remedies=(everything,))


# ---- arguments --------------------------------------------------------------------------------------------
# What users pass to questions, checked.
# Input: names, counts and limits as they were given. Output: `Options` that make sense, or an error that
# says what to write.


def options_of(
    timeout: float,
    tolerance: float,
    markov: MarkovName | Markov,
    *,
    method: str = "auto",
    report: Report | None = None,
) -> Options:
    """Return options that make sense, or say which does not."""
    from credalog.methods.answer import Options

    condition = Markov(one_of(markov, get_args(MarkovName), "Markov condition"))
    if report is not None and not callable(report):
        raise CredalogError(f"{report!r} is no function", advice="Give one: report=print.")
    return Options(tolerance, timeout, one_of(method, METHODS, "method"), condition, report).checked()


def workers_of(jobs: int, client: Any = None) -> Workers | None:
    """Return who helps with a search: a Dask client's workers, several processes of this machine, or none."""
    from credalog.program.workers import of_client, of_processes

    if client is not None:
        if not hasattr(client, "get_executor"):
            raise CredalogError(
                f"{client!r} is no client of Dask",
                advice='Give client=distributed.Client("tcp://host:8786").',
            )
        return of_client(client)
    # More processes than processors help nobody, and how many there are takes a while to find out.
    asked = counted(jobs, "jobs")
    count = 1 if asked == 1 else min(asked, os.cpu_count() or 1)
    return of_processes(count) if count > 1 else None


def one_of(chosen: object, known: tuple[str, ...], what: str) -> str:
    """Return a name that is known, or that of a member of an enumeration, and complain of any other."""
    name = chosen.value if isinstance(chosen, Enum) else chosen
    if name not in known:
        raise UnknownName(f"there is no {what} {name}", advice=f"Choose one of {', '.join(known)}.")
    return str(name)


def counted(number: int, name: str) -> int:
    """Return a count of one or more, and complain of anything else."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
        raise CredalogError(f"{name}={number!r} is no count", advice=f"Give 1 or more: {name}=1.")
    # The whole numbers of numpy are none of Python's.
    return int(number)


def several(variables: str | Variable | Is | Iterable[str | Variable | Is]) -> Iterable[str | Variable]:
    """Return variables one by one, propositions among them; a single one may stand alone."""
    alone = isinstance(variables, (str, Variable, Is))
    if not isinstance(variables, (str, Variable, Is, Iterable)) or isinstance(variables, Mapping):
        # Of a mapping the values would be lost without a word.
        advice = 'Write ["a", "b"]; what is observed is given={"c": True}.'
        raise CredalogError(f"{variables!r} is no list of variables", advice=advice)
    for named in cast("Iterable[str | Variable | Is]", [variables] if alone else variables):
        yield named.variable if isinstance(named, Is) else named


def require(given: object, kind: type | tuple[type, ...], what: str, advice: str) -> None:
    """Complain of what is not of the kind that is needed."""
    if not isinstance(given, kind):
        raise CredalogError(f"{given!r} is no {what}", advice=advice)


def precision_of(within: Number) -> Fraction:
    """Return how precisely something is measured, and complain of what is no precision."""
    precision = exact(within)
    if not 0 < precision <= 1:
        raise CredalogError(f"within={within} is no precision", advice="Give one: within=0.01.")
    return precision


Asked: TypeAlias = str | Question | Expression | Ratio | Formula
"""A question: text such as "P(a | b)" or "P(a) - P(b)", a query, `P(a, given=b)`, or a formula whose
probability is meant."""

GivenHere: TypeAlias = str | Given
"""What is given: a formula, text such as "a and not b", or {"a": True, "Color": "red"}."""


class Wording(Grounded):
    """A network that understands what is said about it."""

    def formula(self, text: str | Formula) -> Formula:
        """Return the ground formula that a text, or a formula built in Python, denotes here."""
        if not isinstance(text, str):
            return self._given(text)
        return self._grounder.formula(read_formula(text), text=text)

    def asked(self, asked: Asked) -> Question:
        """Return the ground question that is asked, conditioned on the evidence: a probability or more."""
        if isinstance(asked, str):
            return self._ground_query(read_query(asked), asked)
        return self._in_this_network(query_of(asked))

    def posed(self, asked: Asked, given: GivenHere = None) -> Question:
        """Return the ground question that is asked, conditioned on the evidence and on what is given now."""
        question = self.asked(asked)
        return question if given is None else observing(question, self._observed(given))

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
        from credalog.questions.decide import require_probability

        require(text, str, "statement", 'Write "P(a | b) >= 0.5".')
        read = read_threshold(text)
        asked = self._ground_query(read.asked, text)
        if isinstance(asked, Query):
            require_probability(read.number, Place.within(text, 0, inside="the statement"))
        return asked, read.order, read.number

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
        if not self._is_large and all(v in self._mentioned for v in scope(formula)):
            return formula
        for variable in scope(formula):
            self._check_values(variable)
        with self._lock:
            return self._grounder.formula(lifted(formula), text=unparse_formula(formula))

    def _check_values(self, variable: Variable) -> None:
        """Complain of a variable that was made in Python with other values than it has here."""
        known = (
            variable
            if variable.is_proposition or self._is_large
            else self._by_name.get(variable.name, variable)
        )
        if set(known.values) != set(variable.values):
            here, there = ", ".join(known.values), ", ".join(variable.values)
            raise LanguageError(
                f"{variable.name} has the values {here}, and not {there}",
                advice=f'Write lcn.variable("{variable.name}").is_("{known.values[0]}").',
            )

    def _observed(self, given: GivenHere) -> Formula:
        """Return all that was observed: what is given now, and the evidence of the text."""
        return self._with_evidence(self.formula(given) if isinstance(given, str) else self._given(given))

    def _given(self, given: Given) -> Formula:
        """Return what is given in Python as one formula of this network."""
        if isinstance(given, Mapping):
            return conjunction(self._seen(*one) for one in observations(given))
        return self._resolved(condition(given))

    def _seen(self, named: str | Variable, value: str | bool) -> Formula:
        """Return one observation; the variable must be declared, but no sentence need mention it."""
        name, value = str(named), plain(value)
        if not self._is_large and name.replace(" ", "") in self._by_name:
            return literal(self.variable(name), value)
        if not isinstance(value, bool):
            return self.formula(f"{name} = {written(str(value))}")
        return self.formula(name) if value else ~self.formula(name)

    def _with_evidence(self, given: Formula) -> Formula:
        """Return a condition joined with the evidence, each part once."""
        return _each_once(conjunction((given, self.evidence)))


def _each_once(condition: Formula) -> Formula:
    """Return a conjunction without repeated parts."""
    return conjunction(dict.fromkeys(condition.operands)) if isinstance(condition, And) else condition
