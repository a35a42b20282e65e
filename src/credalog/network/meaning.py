"""What a network says in numbers: the states in which conditions and claims hold, and its Markov condition.

Input: a ground network. Output: `Meaning`: sentences as states with weights, in plain Python. The verifier of
certificates stands on it, so it needs no arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, product
from math import lcm, prod
from typing import TypeAlias

from credalog.errors import ProblemTooLarge
from credalog.network.copies import under_one_condition
from credalog.network.expressions import Linear, Part, Question, Quotient
from credalog.network.formulas import TRUE, Formula, Variable, holds_in, literals_of, scope
from credalog.network.graph import Markov
from credalog.network.markov import MarkovCondition, Variables
from credalog.network.polytopes import LocalPolytope, Row, Vertex, ranges, vertices
from credalog.network.sentences import Network, Query, Sentence

__all__ = ["Asked", "Box", "Event", "Key", "Meaning", "Range", "key"]

Event: TypeAlias = dict[int, int]
"""Some variables, by number, at some states."""

Asked: TypeAlias = Query | Part
"""A question under one condition."""

Range: TypeAlias = tuple[Fraction, Fraction]
Key: TypeAlias = tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]
"""The name of P(left | given)."""

Box: TypeAlias = dict[Key, Range]
"""Between which values some conditional probabilities are."""

WIDEST = 1 << 12
"""In formulas with more states than this, a single one is recognised only where it is spelt out."""

MOST_STATES = 1 << 20
"""More states than this are not gone through one by one."""


def key(left: Event, given: Event) -> Key:
    """Return the name of P(left | given)."""
    return frozenset(left.items()), frozenset(given.items())


class Meaning(MarkovCondition):
    """A network in numbers; `sentences` may grow by what is proved of it."""

    def __init__(self, network: Network, markov: Markov, frame: Network | None = None) -> None:
        super().__init__(network, markov, frame)
        self.frame = frame
        self.network, self.variables = network, network.variables
        self.sizes = tuple(len(v.values) for v in network.variables)
        self.sentences: list[Sentence] = list(network.sentences)
        self._said: dict[int, list[tuple[Event, Fraction]]] = {}
        self._ranges: dict[Key, Range] = {}
        self._rows: dict[tuple[int, frozenset[tuple[int, int]]], tuple[Row, ...]] = {}
        for sentence in self.sentences:
            self._file(sentence)

    def learn(self, sentence: Sentence) -> None:
        """Add a sentence that was proved."""
        self.sentences.append(sentence)
        self._file(sentence)

    def learn_bound(self, asked: Asked, sign: int, bound: Fraction) -> None:
        """Add a bound that was proved of a question; the constant of a sum moves to the other side."""
        constant = sum((weight for weight, claim in asked.claims if claim == TRUE), start=Fraction(0))
        claims = tuple((weight, claim) for weight, claim in asked.claims if claim != TRUE)
        least = sum((weight for weight, _ in claims if weight < 0), start=Fraction(0))
        most = sum((weight for weight, _ in claims if weight > 0), start=Fraction(0))
        low, high = (bound - constant, most) if sign > 0 else (least, bound - constant)
        self.learn(Sentence(claims, asked.given, max(low, least), min(high, most)))

    def posed(self, asked: Question, bound: Fraction, *, is_strict: bool) -> tuple[Meaning, Asked, Fraction]:
        """Return a question under one condition, with its bound, and what it is asked of.

        N / D >= b is N - b D >= 0 where D is never negative; what stands under other conditions is copied.
        """
        if isinstance(asked, Query):
            return self, asked, bound
        if isinstance(asked, Quotient):
            if self._least(asked.under) < 0:
                raise ValueError("a divisor may be negative")
            asked, bound = asked.over.plus(asked.under, -bound), Fraction(0)
        network, part = under_one_condition(
            self.network, asked, self.markov, proved=self.sentences, is_strict=is_strict
        )
        return self.grown(network), part, bound

    def _least(self, asked: Linear) -> Fraction:
        """Return a number that a sum never falls below."""
        parts, constant = asked.parts()
        worlds = ((part, self.worlds(self.numbers(part.scope), {})) for part in parts)
        return sum((min(self.weight(part, e) for e in events) for part, events in worlds), start=constant)

    def grown(self, network: Network) -> Meaning:
        """Return what a network means that has more variables and sentences, with all that was proved."""
        if network is self.network:
            return self
        added = network.sentences[len(self.network.sentences) :]
        frame = self.frame and replace(network, sentences=(*self.frame.sentences, *added))
        found = Meaning(network, self.markov, frame)
        for sentence in self.sentences[len(self.network.sentences) :]:
            found.learn(sentence)
        return found

    def _file(self, sentence: Sentence) -> None:
        """Remember what a sentence says of one variable or event, where its condition is one state."""
        given = self.only_state(sentence.given)
        claimed = self.numbers(sentence.claim_scope)
        if given is None:
            return
        if len(claimed) == 1:
            (x,) = claimed
            weights = tuple(self.weight(sentence, {x: state}) for state in range(self.sizes[x]))
            place = x, frozenset(given.items())
            row = Row(weights, sentence.lower, sentence.upper)
            self._rows[place] = (*self._rows.get(place, ()), row)
        elif not sentence.is_linear and (left := self.only_state(sentence.claim)):
            low, high = self.stated(left, given)
            self._ranges[key(left, given)] = max(low, sentence.lower), min(high, sentence.upper)

    def polytope(self, x: int, given: Event) -> LocalPolytope:
        """Return the distributions of x that single sentences allow under one condition."""
        return LocalPolytope(self.sizes[x], self._rows.get((x, frozenset(given.items())), ()))

    def is_local(self, sentence: Sentence) -> bool:
        """Tell whether a sentence restricts nothing but P(x | one configuration of all parents)."""
        claimed, given = self.numbers(sentence.claim_scope), self.numbers(sentence.given_scope)
        is_tail = len(claimed) == 1 and claimed.isdisjoint(self.core)
        return is_tail and given == self.parents[min(claimed)] and self.only_state(sentence.given) is not None

    def holds_within(self, sentence: Sentence, context: Event) -> bool:
        """Tell whether a sentence, whose condition is one state, says the same in a context of that state."""
        state = self.only_state(sentence.given)
        given = self.numbers(sentence.given_scope)
        left = self.numbers(sentence.claim_scope) - given
        if state is None or not state.items() <= context.items() or not left.isdisjoint(context):
            return False
        return self.independent(left, frozenset(context) - given, given)

    def ends(self, x: int, given: Event) -> tuple[Vertex, ...]:
        """Return the vertices of P(x | given), if some optimum has it at one of them (proofs 7, 21)."""
        is_family = frozenset(given) == self.parents[x] and x not in self.core
        if self.markov is Markov.NONE or not is_family:
            raise ValueError("only a family outside the core is a law of its own")
        if any(x in self.ancestors(frozenset(chain(*sides))) for sides in self.declared):
            raise ValueError("something declared depends on a family")
        for k, s in enumerate(self.network.sentences):
            if x in self.ancestors(self.numbers(s.scope)) and not self.is_local(s):
                raise ValueError(f"sentence {k} is not about one family")
        return self.laws(x, given)[()]

    def laws(self, x: int, known: Event) -> dict[tuple[int, ...], tuple[Vertex, ...]]:
        """Return the vertices of P(x | parents), some known, for all states of the others in order."""
        over = self.unknown(x, known)
        fixed = {p: known[p] for p in self.above(x).difference(over)}
        found = {(*e.values(),): vertices(self.polytope(x, {**fixed, **e})) for e in self.worlds(over, {})}
        if not all(found.values()):
            raise ValueError("a local polytope is empty")
        return found

    def whole_laws(self, x: int, known: Event) -> dict[tuple[int, ...], list[list[int]]]:
        """Return the same in whole numbers: all laws of a variable times one number."""
        found = self.laws(x, known)
        whole = lcm(*(p.denominator for laws in found.values() for law in laws for p in law))
        return {e: [[int(p * whole) for p in law] for law in laws] for e, laws in found.items()}

    def unknown(self, x: int, known: Event) -> tuple[int, ...]:
        """Return the parents of a variable that are not known, in order."""
        return tuple(sorted(self.above(x).difference(known)))

    def above(self, x: int) -> Variables:
        """Return what the law of a variable is given: its parents; a variable of the core is taken alone."""
        return self.parents[x] if x not in self.core else frozenset()

    def variable(self, x: object) -> int:
        """Return the number of a variable, if it is one."""
        if type(x) is not int or not 0 <= x < len(self.sizes):
            raise ValueError(f"there is no variable {str(x)[:20]}")
        return x

    def event(self, pairs: Sequence[tuple[object, object]]) -> Event:
        """Return an event that is given by variables and states, if they exist."""
        found = {self.variable(x): s for x, s in pairs if type(s) is int}
        if len(found) < len(pairs) or not all(0 <= s < self.sizes[x] for x, s in found.items()):
            raise ValueError("an event names states that do not exist")
        return found

    def goal(self, asked: Asked, sign: int, bound: Fraction) -> list[tuple[Event, Fraction]]:
        """Return P(q, e) - bound P(e), or its negative, as states with their worth; of a sum likewise."""
        states = self.states(asked.given, asked.scope)
        return [(event, sign * (self.weight(asked, event) - bound)) for event in states]

    def stated(self, left: Event, given: Event) -> Range:
        """Return between which values sentences keep P(left | given); the greater first if there is none."""
        if len(left) != 1:
            return self._ranges.get(key(left, given), (Fraction(0), Fraction(1)))
        ((x, state),) = left.items()
        found = ranges(self.polytope(x, given))
        return found[state] if found else (Fraction(1), Fraction(0))

    def range(self, left: Event, given: Event, box: Box) -> Range:
        """Return the range of P(left | given): that of a box, within what sentences say."""
        everything = Fraction(0), Fraction(1)
        low, high = self.stated(left, given)
        least, most = box.get(key(left, given), everything)
        if len(left) == 1 and self.sizes[min(left)] == 2:
            below, above = box.get(key({x: 1 - s for x, s in left.items()}, given), everything)
            least, most = max(least, 1 - above), min(most, 1 - below)
        return max(low, least), min(high, most)

    def worlds(self, over: Iterable[int], known: Mapping[int, int]) -> Iterator[Event]:
        """Yield the states of some variables in their order, those known at their known state."""
        shown = tuple(over)
        axes = [(known[x],) if x in known else range(self.sizes[x]) for x in shown]
        if prod(map(len, axes)) > MOST_STATES:
            raise ProblemTooLarge(f"a table of {len(shown)} variables is too large to be gone through")
        return (dict(zip(shown, states, strict=True)) for states in product(*axes))

    def holds(self, formula: Formula, event: Event) -> bool:
        """Tell whether a formula is true in an event."""
        return holds_in(formula, {self.variables[x]: self.variables[x].values[s] for x, s in event.items()})

    def implies(self, event: Event, formula: Formula) -> bool:
        """Tell whether an event settles that a formula is true."""
        return self.numbers(scope(formula)) <= event.keys() and self.holds(formula, event)

    def only_state(self, formula: Formula) -> Event | None:
        """Return the only state of its variables in which a formula holds; None unless there is just one."""
        literals = literals_of(formula)
        if literals is not None:
            return {self.number[v]: v.values.index(value) for v, value in literals.items()}
        over = sorted(self.numbers(scope(formula)))
        if prod(self.sizes[x] for x in over) > WIDEST:
            return None
        states = [e for e in self.worlds(over, {}) if self.holds(formula, e)]
        return states[0] if len(states) == 1 else None

    def states(self, given: Formula, over: Iterable[Variable]) -> Iterator[Event]:
        """Yield the states of some variables in which a formula holds."""
        known = self.only_state(given) or {}
        return (e for e in self.worlds(sorted(self.numbers(over)), known) if self.holds(given, e))

    def weight(self, said: Sentence | Asked, event: Event) -> Fraction:
        """Return the weights of the claims that hold in an event."""
        true = (weight for weight, claim in said.claims if self.holds(claim, event))
        return sum(true, start=Fraction(0))

    def said(self, k: int) -> list[tuple[Event, Fraction]]:
        """Return the states of a sentence in which its condition holds, with the weight of its claims."""
        if k not in self._said:
            s = self.sentences[k]
            self._said[k] = [(event, self.weight(s, event)) for event in self.states(s.given, s.scope)]
        return self._said[k]
