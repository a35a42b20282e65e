"""The program of a certificate: tables, and rows that each have a reason.

Input: cliques chosen by a factorization. Output: `ReasonedProgram`: a `Program` like that of the engine's
search, but built by the verifier's own code from reasons, so that multipliers of its rows are a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from credalog.methods.cliques.factorization import Agreement, Clique, Factorization, Separator
from credalog.methods.cliques.fragment import Fragment
from credalog.network.graph import Markov
from credalog.network.meaning import Asked, Event, Key, Meaning, key
from credalog.network.polytopes import single_value_bounds
from credalog.network.tables import Column
from credalog.numbers.budget import Budget
from credalog.program.program import Objective, Program, Ratios
from credalog.trusted.rounding import above, below
from credalog.verify import Form, Proof

__all__ = ["Reason", "ReasonedProgram", "reasoned"]

Reason: TypeAlias = list[Any]

MIRROR_LIMIT = 1 << 6
"""Up to this size of a table, conditional probabilities that nothing bounds yet are kept for cutting."""

FULL_LIMIT = 1 << 8
"""Up to this size of a table, each family is stated in every context there is."""


def pairs(event: Event) -> list[list[int]]:
    """Write an event as a certificate does."""
    return [[x, state] for x, state in sorted(event.items())]


@dataclass
class ReasonedProgram:
    """Tables, the reasons of all rows, and the conditional probabilities that may be cut."""

    meaning: Meaning
    asked: Asked
    tables: list[list[Any]]
    question: int
    parts: list[Reason] = field(default_factory=list)
    bounds: list[Reason] = field(default_factory=list)
    contexts: dict[Key, list[Reason]] = field(default_factory=dict)

    def about(self, asked: Asked, question: int) -> ReasonedProgram:
        """Return the same tables and rows, asked something else that one table shows."""
        other = replace(self, asked=asked, question=question)
        # What does not depend on the question is made once.
        other.__dict__.update(program=self.program, column_of=self.column_of, proof=self.proof)
        return other

    @cached_property
    def proof(self) -> Proof:
        """Return the verifier's own reader of reasons."""
        return Proof(self.meaning, {"tables": self.tables, "rows": [], "nodes": []})

    @cached_property
    def column_of(self) -> dict[Column, int]:
        """Number the columns of all tables."""
        sizes = self.meaning.sizes
        states = (
            (t, *state)
            for t, (shown, _) in enumerate(self.tables)
            for state in product(*(range(sizes[x]) for x in shown))
        )
        return {column: n for n, column in enumerate(states)}

    @cached_property
    def keys(self) -> list[tuple[Event, Event]]:
        """Return the conditional probabilities P(left | given) in the order of the program's ratios."""
        return [(dict(left), dict(given)) for left, given in self.contexts]

    @cached_property
    def ratio_reasons(self) -> list[Reason]:
        """Return the reasons of all contexts, in the order of the program."""
        return [reason for reasons in self.contexts.values() for reason in reasons]

    @cached_property
    def is_swapped(self) -> list[bool]:
        """Tell of each context whether it shows the first of two values, while the second is the ratio."""
        return [
            self.meaning.event(reason[2]) != dict(left)
            for (left, _), reasons in self.contexts.items()
            for reason in reasons
        ]

    @cached_property
    def goal(self) -> dict[Column, Fraction]:
        """Return the columns of the condition, and what each is worth."""
        goal = self.meaning.goal(self.asked, 1, Fraction(0))
        return {column: worth for event, worth in goal for column in self.proof.cells(self.question, event)}

    @cached_property
    def program(self) -> Program:
        """Return the program for the solver; what its multipliers are worth is decided in fractions."""
        forms = [self.proof.row(reason, {}) for reason in self.parts]
        equal = [form for form, is_equation in forms if is_equation]
        unequal = [form for form, is_equation in forms if not is_equation]
        stated = [self.proof.row(reason, {})[0] for reason in self.bounds]
        starts = np.cumsum([0, *(prod(self.meaning.sizes[x] for x in shown) for shown, _ in self.tables)])
        tables = tuple((a, b) for a, b in pairwise(starts.tolist()))
        return Program(
            len(self.column_of),
            tables,
            self._matrix([*unequal, *stated]),
            self._matrix(equal),
            self._ratios(),
            (),
            (),
        )

    @cached_property
    def row_reasons(self) -> tuple[list[Reason], list[Reason]]:
        """Return the reasons of inequalities and of equations, in the order of the program."""
        is_equation = [self.meaning.event(r[2]) == self.meaning.event(r[4]) for r in self.parts]
        chosen = list(zip(self.parts, is_equation, strict=True))
        unequal = [reason for reason, equal in chosen if not equal]
        return [*unequal, *self.bounds], [reason for reason, equal in chosen if equal]

    def _ratios(self) -> Ratios:
        ranges = [self.meaning.range(left, given, {}) for left, given in self.keys]
        of = [n for n, reasons in enumerate(self.contexts.values()) for _ in reasons]
        parts, wholes = list[Form](), list[Form]()
        for (_, _, left, given, right, t, u), swaps in zip(self.ratio_reasons, self.is_swapped, strict=True):
            events = [self.meaning.event(e) for e in (left, given, right)]
            whole = [(c, Fraction(1)) for c in self.proof.cells(u, events[1] | events[2])]
            sign = Fraction(-1 if swaps else 1)
            part = [(c, sign) for c in self.proof.cells(t, events[0] | events[1] | events[2])]
            parts.append(whole + part if swaps else part)
            wholes.append(whole)
        return Ratios(
            np.array([below(low) for low, _ in ranges], dtype=float),
            np.array([above(high) for _, high in ranges], dtype=float),
            np.zeros(len(ranges), dtype=bool),
            np.array(of, dtype=np.intp),
            self._matrix(parts),
            self._matrix(wholes),
            tuple(ranges),
        )

    def _matrix(self, forms: Sequence[Form]) -> sp.csr_array:
        place = self.column_of
        columns = [place[c] for form in forms for c, _ in form]
        values = [float(v) for form in forms for _, v in form]
        starts = np.cumsum([0, *map(len, forms)])
        matrix = sp.csr_array((values, columns, starts), shape=(len(forms), len(place)), dtype=float)
        matrix.sum_duplicates()
        return matrix

    def objective(self, mass: float) -> Objective:
        """Return the question for the solver; no table holds more than `mass` where its condition has one."""
        numerator, denominator = (np.zeros(len(self.column_of)) for _ in range(2))
        columns = [self.column_of[c] for c in self.goal]
        numerator[columns] = [float(worth) for worth in self.goal.values()]
        denominator[columns] = 1.0
        return Objective(numerator, denominator, np.full(len(self.tables), mass))


def reasoned(
    meaning: Meaning,
    asked: Asked,
    fragment: Fragment,
    cliques: tuple[Factorization, Mapping[int, int]],
    budget: Budget,
) -> ReasonedProgram:
    """Give a reason to everything that the cliques of a factorization say of every model."""
    return _Reasoning(meaning, asked, fragment, *cliques, budget).run()


class _Reasoning:
    def __init__(
        self,
        meaning: Meaning,
        asked: Asked,
        fragment: Fragment,
        cliques: Factorization,
        evidence: Mapping[int, int],
        budget: Budget,
    ) -> None:
        self.meaning, self.fragment, self.cliques = meaning, fragment, cliques
        self.evidence = {fragment.kept[x]: state for x, state in evidence.items()}
        self.budget = budget
        tables = [[list(self._kept(c.shown)), pairs(self._fixed(c))] for c in cliques.cliques]
        # The total mass, which is the last clique, is the first table.
        self.place = {n: (n + 1) % len(tables) for n in range(len(tables))}
        self.found = ReasonedProgram(
            meaning, asked, [tables[-1], *tables[:-1]], self.place[cliques.query_clique]
        )
        self.seen: set[Any] = set()

    def run(self) -> ReasonedProgram:
        """Give reasons to separators, families, conditions and sentences."""
        for separator in self.cliques.separators:
            self.budget.require_time()
            self._agree(separator)
        for n, clique in enumerate(self.cliques.cliques):
            self.budget.require_time()
            self._relate_all(n, clique)
        for k, sentence in enumerate(self.meaning.sentences):
            self.budget.require_time()
            self._state(k, self.meaning.numbers(sentence.scope))
        for k, (claimed, given) in self.partial.items():
            self.budget.require_time()
            self._state_in_contexts(k, claimed, given)
        return self.found

    def _kept(self, variables: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.fragment.kept[x] for x in variables)

    def _fixed(self, clique: Clique) -> Event:
        return {x: self.evidence[x] for x in self._kept(clique.fixed)}

    def _states(self, clique: Clique, variables: Iterable[int]) -> Iterator[Event]:
        """Yield the states of some variables of a clique."""
        return self.meaning.worlds(variables, self._fixed(clique))

    # ---- tables that agree ----------------------------------------------------------------------------

    def _agree(self, separator: Separator) -> None:
        first, second = (self.cliques.cliques[n] for n in (separator.first, separator.second))
        fixed, other = self._fixed(first), self._fixed(second)
        shown = {*self._kept(second.scope)}
        for states in self._states(first, self._kept(separator.scope)):
            part = {**states, **fixed}
            whole = {x: state for x, state in part.items() if x in shown}
            if separator.agreement is not Agreement.DENOMINATOR and other.items() <= whole.items():
                t, u = self.place[separator.first], self.place[separator.second]
                self.found.parts.append(["part", t, pairs(part), u, pairs(whole)])

    # ---- conditional probabilities --------------------------------------------------------------------

    def _relate_all(self, n: int, clique: Clique) -> None:
        scope = self._kept(clique.scope)
        if any(x in clique.fixed for x in clique.block):
            self._observe(n, clique)
            return
        for condition in clique.conditions:
            left, right, given = map(self._kept, (condition.left, condition.right, condition.given))
            self._relate(n, left, right, given)
            if self._size(clique) <= MIRROR_LIMIT:
                for y in right:
                    self._relate(n, (y,), left, given)
        for x in scope if self.meaning.markov is not Markov.NONE else ():
            parents = self.meaning.parents[x]
            if parents <= {*scope} and x not in self._fixed(clique):
                ndnp = self.meaning.ndnp(x) if self._size(clique) <= FULL_LIMIT else frozenset[int]()
                others = tuple(y for y in scope if y in ndnp)
                self._relate(n, (x,), others, tuple(sorted(parents)))
        for sides in self.meaning.declared if not clique.fixed else ():
            if frozenset[int]().union(*sides) <= {*scope}:
                one, other, known = (tuple(sorted(side)) for side in sides)
                self._relate(n, one, other, known)

    def _size(self, clique: Clique) -> int:
        return prod(self.meaning.sizes[x] for x in self._kept(clique.shown))

    def _relate(self, n: int, left: tuple[int, ...], right: tuple[int, ...], given: tuple[int, ...]) -> None:
        """Let P(left | given) be the same in every state of the right, if it is in every model."""
        clique, t = self.cliques.cliques[n], self.place[n]
        # In a table of P(scope, evidence) all that is observed is part of every context.
        fixed = self._fixed(clique)
        right = (*right, *(x for x in fixed if x not in (*left, *right, *given)))
        if not fixed.keys().isdisjoint(left) or not self.meaning.independent(
            *map(frozenset, (left, right, given))
        ):
            return
        for z in self._states(clique, given):
            for s in self._states(clique, right):
                for a in self._left_states(left):
                    self._add(a, z, s, (t, t))
                for k in self._shapes(left, z) if s else ():
                    context = pairs({**z, **s})
                    self.found.bounds += [["sentence", k, end, t, context] for end in ("lower", "upper")]

    def _shapes(self, left: tuple[int, ...], given: Event) -> Sequence[int]:
        """Return the sentences that say more of one variable under one condition than bounds on values."""
        return self.shaped.get((left[0], key({}, given)), ()) if len(left) == 1 else ()

    @cached_property
    def shaped(self) -> Mapping[tuple[int, Key], Sequence[int]]:
        """File sentences about one variable that are no bounds on single values, by place."""
        found: dict[tuple[int, Key], list[int]] = {}
        for k, sentence in enumerate(self.meaning.sentences):
            claimed, given = (
                self.meaning.numbers(sentence.claim_scope),
                self.meaning.only_state(sentence.given),
            )
            if len(claimed) == 1 and given is not None and self.meaning.sizes[min(claimed)] > 2:
                found.setdefault((min(claimed), key({}, given)), []).append(k)
        return {
            place: numbers
            for place, numbers in found.items()
            if single_value_bounds(self.meaning.polytope(place[0], dict(place[1][1]))) is None
        }

    def _left_states(self, left: tuple[int, ...]) -> list[Event]:
        """Return the states of the left; of two values one says all."""
        states = list(self.meaning.worlds(left, {}))
        return states[1:] if len(states) == 2 else states

    def _observe(self, n: int, clique: Clique) -> None:
        """Let P(x = observed | parents) be the same in every context, with the denominators elsewhere."""
        lean = next(s for s in self.cliques.separators_of[n] if s.agreement is Agreement.DENOMINATOR)
        (x,) = self._kept(clique.block)
        parents = tuple(sorted(self.meaning.parents[x]))
        right = tuple(y for y in self._kept(lean.scope) if y not in parents)
        if not self.meaning.independent(frozenset((x,)), frozenset(right), frozenset(parents)):
            return
        t, u, observed = self.place[n], self.place[lean.second], {x: self.evidence[x]}
        for z in self._states(clique, parents):
            for s in self._states(clique, right):
                self._add(observed, z, s, (t, u))
                self.found.parts.append(["part", t, pairs({**observed, **z, **s}), u, pairs({**z, **s})])
        self._observe_in_contexts(observed, lean, (t, u))

    def _add(self, left: Event, given: Event, right: Event, tables: tuple[int, int]) -> None:
        reason = ["ratio", "", pairs(left), pairs(given), pairs(right), *tables]
        if str(reason) not in self.seen:
            self.seen.add(str(reason))
            self.found.contexts.setdefault(key(self._first_named(left), given), []).append(reason)

    def _first_named(self, left: Event) -> Event:
        """Return the event that stands for another: of two values the second stands for both."""
        is_first = len(left) == 1 and all(self.meaning.sizes[x] == 2 and not s for x, s in left.items())
        return dict.fromkeys(left, 1) if is_first else left

    # ---- sentences ------------------------------------------------------------------------------------

    def _state(self, k: int, scope: frozenset[int]) -> None:
        """Write a sentence on the smallest table that shows it, and in every context of one family."""
        inside = {x: n for n, x in enumerate(self.fragment.kept)}
        if not scope <= inside.keys():
            return
        within = [inside[x] for x in scope]
        n = self.cliques.covering(within)
        if n is None and self._is_under(k):
            n = self.cliques.covering(within, self.cliques.observed)
        if n is not None:
            self.found.bounds += [["sentence", k, end, self.place[n], []] for end in ("lower", "upper")]

    def _is_under(self, k: int) -> bool:
        """Tell whether the condition of a sentence says all that is observed."""
        state = self.meaning.only_state(self.meaning.sentences[k].given)
        return state is not None and self.evidence.items() <= state.items()

    # ---- sentences in context (proof 32) --------------------------------------------------------------

    @cached_property
    def partial(self) -> Mapping[int, tuple[frozenset[int], Event]]:
        """Return what sentences claim, and the state that each has for a condition, where that says more.

        What is said of a family the ratios say already, and about a core the search does not say more either.
        """
        if self.meaning.markov is Markov.NONE or self.fragment.problem.structure.core:
            return {}
        found: dict[int, tuple[frozenset[int], Event]] = {}
        for k, sentence in enumerate(self.meaning.sentences):
            given = self.meaning.only_state(sentence.given)
            if given is not None and not self.meaning.is_local(sentence):
                found[k] = self.meaning.numbers(sentence.claim_scope).difference(given), given
        return found

    def _state_in_contexts(self, k: int, claimed: frozenset[int], given: Event) -> None:
        """Write a sentence in every state of what its claim is independent of, on all tables that show it."""
        for n, clique in enumerate(self.cliques.cliques):
            is_shown = claimed <= {*self._kept(clique.shown)} and self._size(clique) <= FULL_LIMIT
            for right in self._contexts(clique, clique.scope, claimed, given) if claimed and is_shown else ():
                context = pairs({**given, **right})
                bounds = [["sentence", k, end, self.place[n], context] for end in ("lower", "upper")]
                self.found.bounds += bounds if right else []

    def _observe_in_contexts(self, observed: Event, lean: Separator, tables: tuple[int, int]) -> None:
        """Write what is said of an observed variable where another table has the denominators."""
        claimed, before = frozenset(observed), self.cliques.cliques[lean.second]
        places = {key(observed, given): given for left, given in self.partial.values() if left == claimed}
        for given in places.values():
            for right in self._contexts(before, lean.scope, claimed, given):
                reason = [*map(pairs, (observed, given, right)), *tables]
                self.found.bounds += [["ratio", end, *reason] for end in ("lower", "upper")]

    def _contexts(
        self, clique: Clique, within: Iterable[int], claimed: frozenset[int], given: Event
    ) -> Iterable[Event]:
        """Return the states of all that, in a part of a table, a claim is independent of given its condition.

        All that is observed in the table is part of every context, so there is none if that is not.
        """
        scope, fixed, under = frozenset(self._kept(within)), self._fixed(clique), frozenset(given)
        if not under <= scope or any(fixed.get(x, state) != state for x, state in given.items()):
            return ()
        others = frozenset[int]()
        for x in sorted(scope - claimed - under):
            # Independence of single variables, if it is declared, need not add up to one of all of them.
            if self.meaning.independent(claimed, others | {x}, under):
                others |= {x}
        return self._states(clique, sorted(others)) if fixed.keys() <= others | under else ()
