"""Check a certificate in whole numbers and fractions: no solver's word is taken, and none of the engine's.

Input: a network and a certificate (docs/certificates.md). Output: a sentence per claim, or `Refused` with the
first step that fails. Of Credalog this module uses the parser, grounding and the Markov condition.

A *table* shows some variables, others fixed at one state; its columns are the probabilities of its states. A
*row* is a linear form in columns that is zero, or not negative, in every model; it is rebuilt here from its
*reason*. A *leaf* writes w (P(q, e) - b P(e)) - k P(e) as a sum of rows and columns that are not negative: so
P(q | e) >= b, or with w = 0 < k no model has P(e) > 0. A *cut* halves a range of P(left | given).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any, NamedTuple

from credalog.errors import CredalogError, Refused, require
from credalog.grounding.network import Grounder, ground
from credalog.grounding.representatives import cell_of, fewer, require_short_paths
from credalog.grounding.slices import sliced
from credalog.network.best_assignments import Chosen, Explanations
from credalog.network.copies import without_contrasts
from credalog.network.expressions import Question, Quotient
from credalog.network.graph import Markov
from credalog.network.meaning import Asked, Box, Event, Meaning, Range, key
from credalog.network.models import Model
from credalog.network.sentences import Network, Query
from credalog.network.sums import Goal, Group, Sums
from credalog.network.tables import Column
from credalog.text.lifting import declarations_of
from credalog.text.packed import lines_of, object_of
from credalog.text.parse import read_file, read_query
from credalog.theory import Theory

FORMAT, VERSION = "credalog certificate", 1
MOST_RESIDUAL = Fraction(1, 10**5)
NUMBER = re.compile(r"-?\d{1,4000}(\.\d{1,4000})?(/\d{1,4000})?")
ZERO, ONE = Fraction(0), Fraction(1)
ANEW = "Name the file that `--certificate` wrote, or write it anew."

Form = list[tuple[Column, Fraction]]


class Known(NamedTuple):
    """A network as models must satisfy it and as proofs use it; the values of exact models."""

    model: Network | Theory
    condition: Markov
    said: Meaning
    meaning: Meaning
    attained: list[tuple[Question, Fraction]]


def number(text: Any) -> Fraction:
    """Read a fraction or a decimal number."""
    require(isinstance(text, str) and NUMBER.fullmatch(text) is not None, f"{str(text)[:40]} is a number")
    return Fraction(text)


def walk(nodes: Any, start: Any, step: Callable[[str, Any, Any], Iterable[tuple[int, Any]]]) -> None:
    """Go through all cases of a claim; a step closes one, or returns those into which it falls."""
    waiting: list[tuple[int, Any]] = [(0, start)]
    visited = set[int]()
    while waiting:
        n, case = waiting.pop()
        require(type(n) is int and n >= 0 and n not in visited, "every node stands in one place")
        visited.add(n)
        waiting += step(f"leaf {n}", nodes[n], case)


class Proof:
    """The tables, rows and cuts of one claim."""

    def __init__(self, meaning: Meaning, line: Mapping[str, Any]) -> None:
        self.meaning, self.reasons = meaning, line["rows"]
        self.tables = [
            (tuple(map(meaning.variable, t)), self.meaning.event(fixed)) for t, fixed in line["tables"]
        ]
        distinct = (len({*shown, *fixed}) == len(shown) + len(fixed) for shown, fixed in self.tables)
        require(all(distinct), "a table names each variable once")

    def cells(self, t: int, event: Event) -> list[Column]:
        """Return the columns whose sum is the probability of an event."""
        shown, fixed = self.tables[t]
        is_shown = fixed.items() <= event.items() and event.keys() <= {*shown, *fixed}
        require(is_shown, f"table {t} shows an event")
        return [(t, *states.values()) for states in self.meaning.worlds(shown, event)]

    def row(self, reason: Any, box: Box) -> tuple[Form, bool]:
        """Rebuild a row from its reason; tell whether it is an equation."""
        match reason:
            case ["part", t, event, u, other]:
                first, second = self.meaning.event(event), self.meaning.event(other)
                require(second.items() <= first.items(), "one event is part of the other")
                whole = [(column, ONE) for column in self.cells(u, second)]
                return whole + [(column, -ONE) for column in self.cells(t, first)], first == second
            case ["sentence", k, "lower" | "upper" as end, t, context]:
                return self._sentence(k, end, t, self.meaning.event(context)), False
            case ["ratio", "lower" | "upper" as end, left, given, right, t, u]:
                events = self.meaning.event(left), self.meaning.event(given), self.meaning.event(right)
                return self._ratio(events, end, (t, u), box)
            case ["product", ["lower" | "upper", "lower" | "upper"] as ends, *events, t] if len(events) == 5:
                return self._product([self.meaning.event(e) for e in events], ends, t, box), False
        raise Refused(f"{str(reason)[:60]} is no reason for a row")

    def _sentence(self, k: int, end: str, t: int, context: Event) -> Form:
        """Write a sentence on a table; in a context, where its condition is one state and that follows."""
        require(type(k) is int and 0 <= k < len(self.meaning.sentences), f"there is a sentence {str(k)[:20]}")
        s = self.meaning.sentences[k]
        require(not context or self.meaning.holds_within(s, context), f"sentence {k} holds in a context")
        sign, bound = (1, s.lower) if end == "lower" else (-1, s.upper)
        return [
            (column, sign * (weight - bound))
            for event, weight in self.meaning.said(k)
            for column in self.cells(t, {**context, **event})
        ]

    def _ratio(self, events: Sequence[Event], end: str, tables: Sequence[int], box: Box) -> tuple[Form, bool]:
        """Write P(left, given, right) >= l P(given, right), or <= u P(given, right), or = if l = u."""
        left, given, right = events
        everything = {**left, **given, **right}
        require(len(everything) == sum(map(len, events)), "three events are about different variables")
        require(self.meaning.independent(*map(frozenset, (left, right, given))), "two events are independent")
        low, high = self.meaning.range(left, given, box)
        sign, bound = (1, low) if end == "lower" else (-1, high)
        part = [(column, Fraction(sign)) for column in self.cells(tables[0], everything)]
        whole = [(column, -sign * bound) for column in self.cells(tables[1], {**given, **right})]
        return part + whole, low == high

    def _product(self, events: Sequence[Event], ends: Sequence[str], t: int, box: Box) -> Form:
        """Write (P(a | g) - l) (P(b | h) - m) P(z) >= 0, where z settles g and h; also of upper ends.

        Given g and h, a is independent of b and the rest of z, and b of the rest of z (proof 22).
        """
        left, given, right, under, context = events
        around, first, second = frozenset(context), frozenset(given), frozenset(under)
        everything = {**left, **right, **context}
        require(len(everything) == len(left) + len(right) + len(context), "events are about other variables")
        require(given.items() | under.items() <= context.items(), "a context settles two conditions")
        is_free = self.meaning.independent(frozenset(left), frozenset(right) | around - first, first)
        is_free = is_free and self.meaning.independent(frozenset(right), around - second, second)
        require(is_free, "two events are independent in a context")
        ranges = self.meaning.range(left, given, box), self.meaning.range(right, under, box)
        (sign, l), (other, m) = (
            (1, low) if end == "lower" else (-1, high) for end, (low, high) in zip(ends, ranges, strict=True)
        )
        terms = (everything, ONE), ({**left, **context}, -m), ({**right, **context}, -l), (context, l * m)
        return [(column, sign * other * worth) for e, worth in terms for column in self.cells(t, e)]

    def step(self, name: str, node: Any, case: tuple[Form, Box]) -> Iterable[tuple[int, Any]]:
        """Check that the goal, P(q, e) - b P(e) or its negative, is not negative; or split a range."""
        goal, box = case
        match node:
            case ["leaf", weight, less, multipliers]:
                self._leaf(name, goal, (number(weight), number(less)), multipliers, box)
                return ()
            case ["cut", left, under, at, below, above]:
                events = self.meaning.event(left), self.meaning.event(under)
                (low, high), place = self.meaning.range(*events, box), key(*events)
                halves = (below, (low, number(at))), (above, (number(at), high))
                return [(child, (goal, {**box, place: half})) for child, half in halves]
            case ["ends", x, under, *children]:
                event = self.meaning.event(under)
                found = zip(children, self.meaning.ends(self.meaning.variable(x), event), strict=True)
                fixed = ((child, {key({x: s}, event): (p, p) for s, p in enumerate(v)}) for child, v in found)
                return [(child, (goal, {**box, **at})) for child, at in fixed]
        raise Refused(f"{str(node)[:60]} is no node")

    def _leaf(self, name: str, goal: Form, scales: Range, multipliers: Any, box: Box) -> None:
        weight, less = scales
        require(weight >= 0 and less >= 0 and weight + less > 0, f"{name} proves something")
        reduced = {column: weight * worth - less for column, worth in goal}
        for r, text in multipliers:
            require(type(r) is int and r >= 0, "rows have numbers")
            times, (form, is_equation) = number(text), self.row(self.reasons[r], box)
            require(is_equation or times >= 0, f"row {r} of {name} is used the right way round")
            for column, coefficient in form:
                reduced[column] = reduced.get(column, ZERO) - times * coefficient
        require(all(r >= 0 for r in reduced.values()), f"the sum of {name} leaves nothing negative")


def verify(model: Network | Theory, lines: Iterable[str], *, markov: str | None = None) -> Iterator[str]:
    """Check a certificate of a network or a theory, claim by claim; yield what each says."""
    head, n = object_of(1, next(rest := iter(lines), "")), 1
    is_named = head.get("markov") in [m.value for m in Markov]
    if not is_named or (head.get("format"), head.get("version")) != (FORMAT, VERSION):
        raise CredalogError(f"this is no {FORMAT} of version {VERSION}", advice=ANEW)
    network, frame = _about(model, head.get("slice"))
    is_other = head.get("network") != network.digest
    if is_other or markov not in (None, head["markov"]):
        what = "the certificate is about another " + (
            "network" if is_other else f"Markov condition, {head['markov']}"
        )
        raise CredalogError(what, advice="Name the files, the data and --markov that it was written for.")
    names = Grounder(Theory(tuple(declarations_of(network.variables))))
    condition = Markov(head["markov"])
    # What holds of a slice under the local condition holds under the global one (proof 17).
    used = condition if frame is None or condition is Markov.NONE else Markov.LOCAL
    said = Meaning(network, used, frame)
    known = Known(model, condition, said, said.grown(without_contrasts(network, used)), [])
    under = "" if condition is Markov.LOCAL else f"under --markov {condition.value}, "
    for n, line in enumerate(rest, start=2):
        claim = object_of(n, line)
        try:
            (asked,) = names.ground_queries(read_query(claim["query"]), claim["query"])
            check = {"lower": _bounded, "upper": _bounded, "model": _attained, "best": _best}[claim["claim"]]
            yield under + check(known, asked, claim)
        except (CredalogError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            why = error.message if isinstance(error, CredalogError) else f"{type(error).__name__} {error}"
            raise Refused(f"refused: line {n}, {str(claim.get('query'))[:60]}: {why}") from None
    require(n > 1, "the certificate claims something")


def _about(model: Network | Theory, atoms: Any) -> tuple[Network, Network | None]:
    """Return the network that a certificate is about; of a slice of a theory also what draws its graph."""
    if atoms is None:
        # Grounding in columns needs arrays, which whoever checks a proof may not have.
        return (ground(model, columns_from=sys.maxsize) if isinstance(model, Theory) else model), None
    if not isinstance(model, Theory) or not isinstance(atoms, list):
        raise CredalogError("it is about a slice of a theory, not a network", advice=ANEW)
    names = Grounder(model)
    asked = (q for atom in atoms for q in names.ground_queries(read_query(f"P({atom})"), str(atom)))
    found = sliced(names, (variable for query in asked for variable in query.scope))
    return found.network, found.frame or found.network


def check_sums(meaning: Meaning, asked: Asked, line: Mapping[str, Any], goal: Goal) -> None:
    """Check a proof that sums variables out."""
    sums = Sums(meaning, asked)
    for group in line["groups"]:
        sums.add(Group(*group))
    sums.account()
    walk(line["nodes"], (sums.score(goal), {}), sums.step)


def _bounded(known: Known, question: Question, line: Mapping[str, Any]) -> str:
    """Check a bound; that P(true) is at least 2 says that there is no model."""
    claimed, sign = number(line["bound"]), {"lower": 1, "upper": -1}[line["claim"]]
    meaning, asked, bound = known.meaning.posed(question, claimed, is_strict="strict" in line)
    if "orders" in line and isinstance(asked, Query):
        free, world = explanations(meaning, asked, line), meaning.only_state(asked.claim) or {}
        is_bound = free.least(world) >= bound if sign > 0 else free.most(world, {}, "upper") <= bound
        require(is_bound, "the laws that an assignment names bound it")
    elif "groups" in line:
        check_sums(meaning, asked, line, meaning.goal(asked, sign, bound))
    else:
        goal, proof = meaning.goal(asked, sign, bound), Proof(meaning, line)
        columns = [(column, worth) for event, worth in goal for column in proof.cells(line["table"], event)]
        walk(line["nodes"], (columns, {}), proof.step)
    if isinstance(asked, Query) and not 0 <= bound <= 1 and (bound > 0) == (sign > 0):
        return f"no model has P({asked.given}) > 0" if asked.is_conditional else "there is no model"
    if meaning is known.meaning and not isinstance(question, Quotient):
        meaning.learn_bound(asked, sign, bound)
    word, rounded = (">=", floor(claimed * 10**9)) if sign > 0 else ("<=", ceil(claimed * 10**9))
    return f"every model has {question} {word} {rounded / 10**9:.9f}"


def _attained(known: Known, asked: Question, line: Mapping[str, Any]) -> str:
    model = _of_few(known, line) if "few" in line else Model(known.said, line["factors"])
    require("few" in line or known.said.frame is None, "a model of a slice is one of the whole theory")
    stated = min(number(line["residual"]), MOST_RESIDUAL)
    require(model.residual(asked) <= stated, f"everything is satisfied within {upwards(stated)}")
    value, within = number(line["value"]), number(line["within"])
    require(abs(model.value(asked) - value) <= within, f"{asked} is {float(value):.9f}")
    who = f"a distribution that satisfies everything within {upwards(stated)}" if stated else "a model"
    if not stated:
        known.attained.append((asked, value + within))
    shown = round(value, 9)
    return f"{who} attains {asked} = {float(shown):.9f} within {upwards(within + abs(value - shown))}"


def _of_few(known: Known, line: Mapping[str, Any]) -> Model:
    """Return a model of a theory with fewer elements that is one of the whole theory (proof 21)."""
    if not isinstance(known.model, Theory) or known.condition is Markov.GLOBAL:
        raise Refused("only models of a theory, and under no global condition, are shown by few elements")
    theory = fewer(known.model, line["few"])
    network = ground(theory, columns_from=sys.maxsize)
    require_short_paths(network)
    meaning = Meaning(network, known.condition)
    alike = frozenset(element for _, others in line["few"].values() for element in others)
    model = Model(meaning, line["factors"])
    laws = dict[Any, list[Fraction]]()
    for x, variable in enumerate(meaning.variables):
        cell = cell_of(theory, variable, alike)
        is_alone = not model.arrows[x] and not any(x in above for above in model.arrows.values())
        law = [Fraction(p, model.factors[x].whole) for p in model.factors[x].table.values()]
        is_like = is_alone and model.factors[x].is_single and laws.setdefault(cell, law) == law
        require(cell is None or is_like, f"{variable.name} is a coin like others")
    is_whole = meaning.left_open(model.arrows, [frozenset(range(len(meaning.sizes)))]) == []
    require(is_whole or meaning.markov is Markov.NONE, "every independence holds by the arrows")
    return model


class Best:
    """That no assignment has a greater a * upper + (1 - a) * lower end than a score, but perhaps one."""

    def __init__(self, known: Known, asked: Query, line: Mapping[str, Any]) -> None:
        self.meaning, self.best = known.meaning, known.meaning.only_state(asked.claim) or {}
        self.alpha, self.score, given = number(line["alpha"]), number(line["score"]), asked.given
        require(0 <= self.alpha <= 1, "alpha is between 0 and 1")
        self.said = [
            (s.claim, s.upper) for s in self.meaning.sentences if s.given == given and not s.is_linear
        ]
        shown = ((q, v) for q, v in known.attained if isinstance(q, Query) and q.given == given)
        self.shown = [(q.claim, v) for q, v in shown]
        self.free = explanations(self.meaning, asked, line) if line.get("orders") is not None else None
        self.are_models = self.free is not None and self.free.are_models and known.said is known.meaning

    def step(self, name: str, node: Any, case: tuple[Event, Chosen]) -> Iterable[tuple[int, Any]]:
        """Check all assignments that agree with a part, or go through the values of one more variable."""
        part, chosen = case
        match node:
            case ["value", x, *children]:
                require(x in self.best and x not in part, f"{name} is about a variable that is assigned")
                found = zip(children, range(self.meaning.sizes[x]), strict=True)
                return [(child, ({**part, x: s}, chosen)) for child, s in found]
            case ["choose", rows, child] if self.free is not None:
                return [(child, (part, self.free.chosen(chosen, rows)))]
            case ["bound"] if self.free is not None:
                most = self.free.most(part, {}, "upper")
                least = self.free.most(part, chosen, "lower") if self.alpha < 1 and self.are_models else most
            case ["claims"]:
                most, least = (
                    min((v for f, v in facts if self.meaning.implies(part, f)), default=ONE)
                    for facts in (self.said, self.shown)
                )
            case _:
                raise Refused(f"{str(node)[:60]} is no node")
        is_less = self.alpha * most + (1 - self.alpha) * min(most, least) <= self.score
        require(part == self.best or is_less, f"no other assignment scores more than {float(self.score):.9g}")
        return ()


def explanations(meaning: Meaning, asked: Query, line: Mapping[str, Any]) -> Explanations:
    """Return the assignments of the variables of a question, under its condition."""
    chosen, known = meaning.only_state(asked.claim), meaning.only_state(asked.given)
    if chosen is None or known is None or not chosen.keys().isdisjoint(known):
        raise Refused("a question is about one state of some variables given one of others")
    return Explanations(meaning, chosen, known, line["orders"])


def _best(known: Known, asked: Question, line: Mapping[str, Any]) -> str:
    """Check that no other assignment of the same variables scores more (proof 35)."""
    if not isinstance(asked, Query) or known.meaning.only_state(asked.claim) is None:
        raise Refused("an assignment is one event")
    best = Best(known, asked, line)
    walk(line["nodes"], ({}, {}), best.step)
    score = Context(prec=9, rounding=ROUND_CEILING).divide(*map(Decimal, best.score.as_integer_ratio()))
    return f"no assignment but that of {asked} scores over {score} (alpha = {float(best.alpha):g})"


def upwards(error: Fraction) -> str:
    """Write an error with one digit, no smaller than it is."""
    return f"{Context(prec=1, rounding=ROUND_CEILING).divide(*error.as_integer_ratio()):.0e}"


def main(words: Sequence[str]) -> int:
    """Check the certificate of a model: `python -m credalog.verify MODEL CERTIFICATE`."""
    try:
        if len(words) != 2:
            raise CredalogError("two files are needed", advice="python -m credalog.verify MODEL CERTIFICATE")
        for claim in verify(read_file(words[0]), lines_of(words[1])):
            print(claim)
    except (CredalogError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return getattr(error, "exit_code", 2)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
