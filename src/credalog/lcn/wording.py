"""Text, Python's formulas and observations, as questions about one network.

Input: what a user writes. Output: ground questions and formulas, conditioned on the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from credalog.errors import CredalogError, Place
from credalog.lcn.grounded import Grounded
from credalog.network.expressions import Linear, Mean, Question, Quotient, Summand, observing
from credalog.network.formulas import And, Formula, Variable, conjunction, scope
from credalog.network.sentences import Query
from credalog.text.builder import Expression, Given, Ratio, check_depth, condition, literal, plain, query_of
from credalog.text.parse import read_formula, read_query, read_threshold
from credalog.text.unparse import unparse_formula
from credalog.theory import AskedRule, Order, lifted, written

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
