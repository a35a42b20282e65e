"""Sums over laws that are free for themselves: the greatest value of a score (docs/proofs.md, proof 26).

Input: what a network means, a question, and the groups and cases of a proof. Output: nothing, or `Refused`
with the first step that fails. The verifier of certificates stands on it, so it needs no arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any, NamedTuple, TypeAlias

from credalog.errors import Refused, require
from credalog.network.graph import Markov
from credalog.network.meaning import Asked, Event, Meaning
from credalog.network.polytopes import rays
from credalog.network.tables import Bounds, Laws, extreme_sum

__all__ = ["Goal", "Group", "Sums"]

Goal: TypeAlias = list[tuple[Event, Fraction]]
"""States, and what each is worth."""

Allowed: TypeAlias = dict[int, Laws]
"""The laws that are left to some variables in a case."""


class Group(NamedTuple):
    """Sums; what is left of laws and messages is a vector m >= 0 over `on` with row . m >= 0 for all rows."""

    on: int | None
    rows: Sequence[Sequence[int]]
    families: Sequence[int]
    order: Sequence[int]
    uses: Sequence[int]


class Sums:
    """The greatest P(q, e) - b P(e), or its negative, where each law is free for itself (proof 26)."""

    def __init__(self, meaning: Meaning, asked: Asked) -> None:
        self.meaning, self.asked, self.known = meaning, asked, meaning.only_state(asked.given) or {}
        self.axes: dict[int, Sequence[int]] = {x: range(size) for x, size in enumerate(meaning.sizes)}
        self.axes |= {x: (state,) for x, state in self.known.items()}
        self.laws, self.groups, self.messages = dict[int, Laws](), list[Group](), list[Bounds]()

    def add(self, group: Group) -> None:
        """Take a group; check the rows of its message, if it leaves one."""
        self.groups.append(group)
        require(set(group.families) <= set(group.order), "a law is used where its variable is summed out")
        if group.on is not None:
            on, n = self.meaning.variable(group.on), len(self.messages)
            size = self.meaning.sizes[on]
            are_rows = all(len(row) == size and all(type(a) is int for a in row) for row in group.rows)
            is_message = list(group.order).count(on) == 1 and on not in self.known
            require(are_rows and is_message, f"message {n} has rows")
            self.require_sum(f"message {n}", self.rows(n, group), {})
            self.messages.append(self.choices(n, group))

    def account(self) -> None:
        """Require that the laws and sums of all groups are those of the question's ancestors."""
        families = sorted(self.meaning.variable(x) for g in self.groups for x in g.families)
        summed = sorted(self.meaning.variable(y) for g in self.groups for y in g.order if y != g.on)
        once = families == summed == sorted({*families}.union(*map(self.meaning.above, families)))
        is_asked = self.meaning.numbers(self.asked.scope).issubset(families)
        require(once and is_asked, "each ancestor has one law and one sum")
        is_product = self.meaning.markov is not Markov.NONE and len(self.meaning.core & {*families}) < 2
        require(is_product, "every model is a product of laws")
        uses = [m for n, group in enumerate(self.groups) for m in group.uses if m < n]
        is_last = self.groups[-1].on is None and len(self.messages) == len(self.groups) - 1
        require(is_last and sorted(uses) == [*range(len(self.messages))], "each message is used once")

    def law(self, x: int) -> Laws:
        """Return the vertices of P(x | parents), in whole numbers."""
        if x not in self.laws:
            self.laws[x] = self.meaning.whole_laws(x, self.known)
        return self.laws[x]

    def rows(self, n: int, group: Group) -> Bounds:
        """Return the rows of message n as what is to be shown not to be positive."""
        self.axes[-1 - n] = range(len(group.rows))
        return Bounds.of(-1 - n, group.on or 0, [[(0, -a) for a in row] for row in group.rows])

    def choices(self, n: int, group: Group) -> Bounds:
        """Return vertices, in whole numbers: message n is a multiple of a mixture of them."""
        found = rays(self.meaning.sizes[group.on or 0], group.rows)
        self.axes[-1 - n] = range(len(found))
        return Bounds.of(-1 - n, group.on or 0, [[(p, p) for p in ray] for ray in found])

    def score(self, goal: Goal) -> Bounds:
        """Return the question as what is to be shown not to be positive."""
        over = tuple(sorted(self.meaning.numbers(self.asked.scope).difference(self.known)))
        scale = lcm(*(worth.denominator for _, worth in goal))
        table = dict.fromkeys(product(*(self.axes[x] for x in over)), (0, 0))
        table |= {tuple(event[x] for x in over): (0, int(-worth * scale)) for event, worth in goal}
        return Bounds(over, table)

    def require_sum(self, name: str, score: Bounds, allowed: Allowed) -> None:
        """Require that no score of the last group is positive, whatever is chosen."""
        scores = self.total(self.groups[-1], score, allowed).table.values()
        require(all(most <= 0 for _, most in scores), f"nothing passes the bound in {name}")

    def total(self, group: Group, score: Bounds, allowed: Allowed) -> Bounds:
        """Sum out all variables of a group; what is left is a score for each choice among messages."""
        waiting = [self.messages[m] for m in group.uses]
        for y in group.order:
            parents, laws = self.meaning.unknown(y, self.known), {**self.law(y), **allowed.get(y, {})}
            if y not in group.families:
                parents, laws = (), {(): [[1] * self.meaning.sizes[y]]}
            near = [f for f in waiting if y in f.over]
            waiting = [f for f in waiting if y not in f.over]
            is_scored = y in score.over
            made = extreme_sum(y, parents, laws, near, score if is_scored else None, self.axes)
            score, waiting = (made, waiting) if is_scored else (score, [*waiting, made])
        require(all(x < 0 for f in (score, *waiting) for x in f.over), "a group sums everything out")
        return score

    def step(self, name: str, node: Any, case: tuple[Bounds, Allowed]) -> Iterable[tuple[int, Any]]:
        """Check a case, or share the vertices of one law between two."""
        score, allowed = case
        match node:
            case ["sum"]:
                self.require_sum(name, score, allowed)
                return ()
            case ["split", x, states, count, first, second]:
                mine, place = allowed.get(x, {}), tuple(states)
                now = mine.get(place, self.law(x)[place])
                parts = (first, now[:count]), (second, now[count:])
                return [(child, (score, {**allowed, x: {**mine, place: part}})) for child, part in parts]
        raise Refused(f"{str(node)[:60]} is no node")
