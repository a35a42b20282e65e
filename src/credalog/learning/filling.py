"""Fill in what a theory wants from data.

Input: a theory in which some probabilities are `?`, observations, and how intervals are found. Output:
the theory with an interval for each, which remembers how many rows it was learned from and how; and notes
about those of which the data say little or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from credalog.errors import LanguageError
from credalog.grounding.network import Grounder
from credalog.learning.counting import Mask, Observations
from credalog.learning.intervals import Recipe, Tally
from credalog.network.formulas import Formula, Variable, scope
from credalog.text.unparse import unparse_rule
from credalog.theory import (
    YES,
    Application,
    Assessment,
    Comparison,
    Compound,
    Domain,
    Function,
    Misstatement,
    Name,
    Pattern,
    Prefix,
    Quantified,
    Relation,
    Rule,
    Shifted,
    Theory,
    term_of,
)

FEW = 10
"""An interval from fewer rows than this is mentioned."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A theory without wants, and what is to be said about some of its intervals."""

    theory: Theory
    notes: tuple[str, ...]


class _Counted(NamedTuple):
    """A rule that bounds one probability, and the counts for it if it is wanted."""

    rule: Rule
    tally: Tally | None


def learned(theory: Theory, observations: Observations, recipe: Recipe) -> Learned:
    """Fill in every `?` of a theory."""
    grounder = Grounder(theory)
    counted = [list(_counted(rule, grounder, observations)) for rule in theory.rules]
    wanted = [one for each in counted for one in each if one.tally is not None]
    if not wanted:
        raise LanguageError(
            "nothing is to be learned: no probability is `?`",
            advice="Write P(a | b) = ?, or table A | B, C = ?, where the data are to tell.",
        )
    observations.check_headings()
    intervals = _intervals(wanted, recipe)
    rules: list[Rule] = []
    for rule, parts in zip(theory.rules, counted, strict=True):
        is_wanted = any(one.tally is not None for one in parts)
        rules += [_filled(one, recipe, intervals) for one in parts] if is_wanted else [rule]
    return Learned(replace(theory, rules=tuple(rules)), tuple(_notes(wanted, observations)))


def _intervals(wanted: list[_Counted], recipe: Recipe) -> int:
    """Return how many intervals share the probability of being wrong.

    One without rows is [0, 1] and never wrong: Holm's way of taking such hypotheses out, after which the rest
    share the whole. His further steps give tests and no intervals that hold together.
    """
    if recipe.correction == "holm":
        return max(1, sum(one.tally is not None and one.tally.possible_rows[1] > 0 for one in wanted))
    return len(wanted)


def _filled(one: _Counted, recipe: Recipe, intervals: int) -> Rule:
    if one.tally is None:
        return one.rule
    body = one.rule.assessment
    assert isinstance(body, Assessment)
    lower, upper = recipe.interval(one.tally, intervals)
    bounded = replace(body, lower=lower, upper=upper)
    return replace(one.rule, assessment=bounded, wanted=False, learned=recipe.estimate(one.tally, intervals))


def _notes(wanted: list[_Counted], observations: Observations) -> Iterator[str]:
    empty = [one.rule for one in wanted if one.tally and one.tally.possible_rows[1] == 0]
    few = [one.rule for one in wanted if one.tally and 0 < one.tally.possible_rows[1] < FEW]
    unsure = sum(one.tally is not None and _is_unsure(one.tally) for one in wanted)
    if empty:
        count = "1 interval is" if len(empty) == 1 else f"{len(empty)} intervals are"
        yield f"{count} [0, 1]: {observations.sheet.name} has no row for {_first(empty)}"
    if few:
        count = "1 interval is" if len(few) == 1 else f"{len(few)} intervals are"
        yield f"{count} learned from fewer than {FEW} rows, among them {_first(few)}"
    if unsure:
        yield f"missing values widen {unsure} of {len(wanted)} intervals: each holds whatever they are"


def _is_unsure(tally: Tally) -> bool:
    return tally.least != tally.most


def _first(rules: list[Rule]) -> str:
    return unparse_rule(replace(rules[0], label="", wanted=True)).removesuffix(" = ?")


# ---- one rule ---------------------------------------------------------------------------------------------


def _counted(rule: Rule, grounder: Grounder, observations: Observations) -> Iterator[_Counted]:
    """Yield the parts of a rule, each with its counts if it is wanted."""
    for part in grounder.taken_apart(rule):
        if not part.wanted:
            yield _Counted(part, None)
            continue
        body = part.assessment
        assert isinstance(body, Assessment)
        try:
            claim, given = _formulas(part, body, grounder.theory)
            rows = _instances(part, grounder, observations)
        except Misstatement as error:
            raise error.at(grounder.theory.place(rule.source, error.lexeme)) from None
        yield _Counted(part, rows.tally(claim, given, _Headings(scope(claim, given))))


def _formulas(rule: Rule, body: Assessment, theory: Theory) -> tuple[Formula, Formula]:
    """Return claim and condition about one generic instance, in which a logical variable is an element."""
    binders = rule.prefix.binders
    added: dict[str, tuple[str, ...]] = {}
    for binder in binders:
        added[binder.sort] = added.get(binder.sort, ()) + binder.names
    ((_, claim),) = body.claims
    if binders:
        for pattern in (claim, body.given):
            _check_random(pattern, theory)
    declarations = tuple(
        Domain(d.name, tuple(dict.fromkeys((*d.elements, *added.get(d.name, ())))))
        if isinstance(d, Domain)
        else d
        for d in theory.declarations
    )
    plain = replace(rule, assessment=body, prefix=Prefix(), source=None)
    generic = Grounder(Theory(declarations=declarations, rules=(plain,), texts=theory.texts))
    return generic.formula(claim, rule.source), generic.formula(body.given, rule.source)


def _check_random(pattern: Pattern, theory: Theory) -> None:
    """Complain about what a row of a table cannot tell: relations, functions and quantifiers."""
    declared = {declaration.name: declaration for declaration in theory.declarations}
    match pattern:
        case Compound(_, operands):
            for operand in operands:
                _check_random(operand, theory)
        case Comparison(_, left, right):
            for side in (left, right):
                if isinstance(side, Application | Shifted):
                    _check_random(side, theory)
        case Application(name, arguments) if not isinstance(declared.get(name), Relation | Function):
            for argument in arguments:
                if not isinstance(argument, Name):
                    _check_random(argument, theory)
        case Application(name):
            raise Misstatement(
                f"{name} is not random, so that no column tells it",
                lexeme=name,
                advice="Put it into a guard: forall x in Person where ...: P(...) = ?",
            )
        case Quantified() | Shifted():
            raise Misstatement(
                "what stands for several elements at once is no column of a table",
                advice="Give it a predicate of its own, and the predicate a column.",
            )
        case _:
            return


class _Headings:
    """By which other headings a variable is known: Ca(x) by Ca, unless there is a Ca(y) too."""

    def __init__(self, variables: tuple[Variable, ...]) -> None:
        self._terms = {variable: term_of(variable.name) for variable in variables}

    def __call__(self, variable: Variable) -> tuple[str, ...]:
        term = self._terms[variable]
        if not isinstance(term, Application):
            return ()
        same = [
            each for each in self._terms.values() if isinstance(each, Application) and each.name == term.name
        ]
        return (term.name,) if len(same) == 1 else ()


def _instances(rule: Rule, grounder: Grounder, observations: Observations) -> Observations:
    """Return the rows that are instances of a rule: all of them, unless a guard chooses."""
    prefix = rule.prefix
    if prefix.guard == YES and not any(binder.distinct for binder in prefix.binders):
        return observations
    elements = []
    for binder in prefix.binders:
        sort = (binder.sort,) if len(binder.names) == 1 else ()
        elements += [observations.column(name, *sort, what="the guard").texts() for name in binder.names]
    admitted = set(grounder.instances(prefix))
    rows: Mask = np.fromiter(
        (row in admitted for row in zip(*elements, strict=True)), np.bool_, count=observations.sheet.count
    )
    return observations.only(rows)
